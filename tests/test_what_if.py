"""Imagined worlds: what would be asked of other facts, and what would change an answer."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests import oracle
from tests.commands import assert_refused, records, run
from tests.strategies import Fact, crowded_facts, fact_lists, some_settings

from casegraph import (
    Answer,
    CaseBase,
    CaseStore,
    InvalidArgument,
    MalformedFact,
    Settings,
    world,
)
from casegraph.answering.belief import probabilities
from casegraph.answering.pair_strengths import Pairs
from casegraph.answering.query import UNKNOWN
from casegraph.answering.questions import query_of
from casegraph.answering.state import State
from casegraph.answering.support import facts_behind
from casegraph.graph.arrays import ids
from casegraph.graph.directions import backward, forward
from casegraph.graph.graph import Query

if TYPE_CHECKING:
    from pathlib import Path

EINSTEIN = ("Albert Einstein", "born in", "Ulm")


@pytest.fixture(scope="module")
def cases() -> CaseBase:
    """The bundled graph."""
    bundled = CaseBase()
    bundled.update(add=world.facts())
    return bundled


def all_answers(cases: CaseBase) -> list[object]:
    """What a case base says to every question that its facts name, with reasons."""
    said: list[object] = []
    facts = list(cases.graph.facts())
    entities = sorted(oracle.entities(facts))
    relations = sorted({fact.relation for fact in facts})
    for relation, entity in product(relations, entities):
        for answers in (
            cases.ask(entity, relation, -1),
            cases.ask_head(relation, entity, -1),
        ):
            said.append(answers.as_dict())
            said += [explained.as_dict() for explained in cases.explain_all(answers)]
    return said


@settings(max_examples=50)
@given(
    fact_lists(least=1),
    fact_lists(most=4),
    fact_lists(most=4),
    some_settings(),
    st.booleans(),
)
def test_an_imagined_world_is_that_of_its_facts_and_leaves_no_trace(
    before: list[Fact],
    added: list[Fact],
    retracted: list[Fact],
    chosen: Settings,
    is_counted: bool,
) -> None:
    cases = CaseBase(chosen.but(clustering="hac"))
    cases.update(add=before)
    if is_counted:
        cases.prepare()
    state = cases.state
    digest = state.digest
    names = cases.graph.entities.names
    said = all_answers(cases)

    imagined = cases.what_if(add=added, retract=retracted)

    built = CaseBase(cases.settings)
    built.update(add=[fact for fact in before if fact not in retracted] + added)
    assert imagined.state.digest == built.state.digest
    assert all_answers(imagined) == all_answers(built)
    assert cases.state is state
    assert state.digest == digest
    assert cases.graph.entities.names == names
    assert all_answers(cases) == said


def test_an_imagined_world_can_be_changed_on_its_own(cases: CaseBase) -> None:
    imagined = cases.what_if(retract=[EINSTEIN])
    imagined.update(add=[("Nobody", "born in", "Ulm")])
    again = imagined.what_if(add=[EINSTEIN])
    assert EINSTEIN in again.graph
    assert EINSTEIN not in imagined.graph
    assert "Nobody" not in cases.graph.entities


def test_bad_facts_are_refused_as_in_an_update(cases: CaseBase) -> None:
    with pytest.raises(MalformedFact):
        cases.what_if(add=[("Nobody", "born in", " ")])


def test_a_store_is_never_written_by_imagining(tmp_path: Path) -> None:
    with CaseStore.open(tmp_path / "store") as store:
        store.update(add=world.facts()[:200])
        files = {
            path: path.read_bytes() for path in store.folder.iterdir() if path.is_file()
        }
        imagined = store.what_if(add=[EINSTEIN])
        imagined.update(add=[("Nobody", "born in", "Ulm")])
        assert not isinstance(imagined, CaseStore)
        assert files == {path: path.read_bytes() for path in files}
        assert store.sequence == 1
    with CaseStore.open(tmp_path / "store", read_only=True) as reader:
        assert (
            "Nobody"
            in reader.what_if(add=[("Nobody", "born in", "Ulm")]).graph.entities
        )


def place(cases: CaseBase, answer: Answer, known: set[str]) -> int | None:
    """The place of an answer, other answers that are known left out."""
    if answer.asked not in cases.graph.entities:
        return None
    if answer.relation not in cases.graph.relations:
        return None
    if answer.inverse:
        found = cases.ask_head(answer.relation, answer.asked, -1)
    else:
        found = cases.ask(answer.asked, answer.relation, -1)
    names = [one.entity for one in found if one.entity not in known - {answer.entity}]
    return names.index(answer.entity) + 1 if answer.entity in names else None


def belief(cases: CaseBase, answer: Answer) -> float:
    """How probable an answer is, as if it were not known; 0 if nothing is known of it."""
    names = [answer.asked, answer.entity]
    asked, found = map(cases.graph.entities.find, names)
    relation = cases.graph.relations.find(answer.relation)
    if found is None or relation is None or not cases.graph.has_facts(found):
        return 0.0
    if asked is None or not cases.graph.has_facts(asked):
        asked = UNKNOWN
    head, tail = (found, asked) if answer.inverse else (asked, found)
    pair = Pairs(forward(relation), ids([head]), ids([tail]), are_facts=answer.known)
    probable = probabilities(cases.state, pair)
    assert probable is not None
    return float(probable[0])


@settings(max_examples=20)
@given(crowded_facts(), st.integers(0, 100), st.booleans())
def test_the_smallest_set_is_found_and_no_smaller_one_would_do(
    added: list[Fact], which: int, inverse: bool
) -> None:
    cases = CaseBase()
    cases.update(add=added)
    head, relation, tail = added[which % len(added)]
    answers = (
        cases.ask_head(relation, tail, -1) if inverse else cases.ask(head, relation, -1)
    )
    assume(len(answers) > 0)
    answer = answers[which % len(answers)]
    known = {one.entity for one in answers if one.known}
    rank = place(cases, answer, known)
    probability = belief(cases, answer)

    found = cases.counterfactual(answer, budget=10_000)
    assert found.probability == probability

    number = cases.graph.relations.find(relation)
    asked = cases.graph.entities.find(answer.asked)
    entity = cases.graph.entities.find(answer.entity)
    assert number is not None
    assert asked is not None
    assert entity is not None
    query = Query(asked, backward(number) if inverse else forward(number))
    behind = list(facts_behind(cases.state, query, entity))
    assert len(behind) == len(set(behind)) == found.considered
    assert all(fact in cases.graph for fact in behind)

    def is_decisive(facts: tuple[Fact, ...]) -> bool:
        without = cases.what_if(retract=facts)
        then = place(without, answer, known)
        if then is None or rank is None or then > rank:
            return True
        return probability > 0 and 2 * belief(without, answer) <= probability

    decisive: list[tuple[Fact, ...]] = []
    for size in range(1, 4):
        decisive = list(filter(is_decisive, combinations(behind, size)))
        if decisive:
            break
    assert found.is_smallest
    assert len(found.facts) == (len(decisive[0]) if decisive else 0)
    if found.facts:
        assert {frozenset(found.facts)} <= set(map(frozenset, decisive))
        about = [
            facts for facts in decisive if all(answer.asked in one for one in facts)
        ]
        assert not about or frozenset(found.facts) in set(map(frozenset, about))
        then = cases.what_if(retract=found.facts)
        assert found.probability_then == belief(then, answer)
        assert found.rank_then == place(then, answer, known)


def test_a_budget_that_does_not_suffice_is_said(cases: CaseBase) -> None:
    answer = cases.ask("Albert Einstein", "citizen of", known="exclude")[0]
    found = cases.counterfactual(answer, budget=1)
    assert found.tried == 2
    assert not found.is_smallest
    then = cases.what_if(retract=found.facts)
    rank = place(then, answer, {"Switzerland", "United States"})
    fallen = cases.what_if(retract=found.facts or [])
    is_halved = 2 * belief(fallen, answer) <= belief(cases, answer)
    assert bool(found.facts) == (rank != 1 or is_halved)
    with pytest.raises(InvalidArgument):
        cases.counterfactual(answer, most=4)


def test_the_answer_that_was_shown_changes_with_the_facts_that_are_named(
    cases: CaseBase,
) -> None:
    answer = cases.ask("Albert Einstein", "citizen of", known="exclude")[0]
    found = cases.counterfactual(answer)
    assert found.facts
    then = cases.what_if(retract=found.facts)
    known = {
        one.entity
        for one in cases.ask("Albert Einstein", "citizen of", -1)
        if one.known
    }
    first = [one.entity for one in then.ask("Albert Einstein", "citizen of", -1)]
    new = [name for name in first if name not in known]
    assert new[0] == found.instead
    assert found.instead != answer.entity


def small_town() -> list[Fact]:
    """Persons are citizens of where they were born; every second one works there, too."""
    facts = [(f"city {number}", "city in", f"land {number % 3}") for number in range(9)]
    for number in range(27):
        person = f"person {number}"
        facts.append((person, "born in", f"city {number % 9}"))
        facts.append((person, "works in", f"city {(number + 3 + number % 2) % 9}"))
        facts.append((person, "citizen of", f"land {number % 3}"))
    new = [("someone", "born in", "city 1"), ("someone", "works in", "city 4")]
    return [*facts, *new]


def test_a_set_that_halves_the_probability_is_found_and_said() -> None:
    cases = CaseBase()
    cases.update(add=small_town())
    answer = cases.ask("someone", "citizen of")[0]
    assert answer.entity == "land 1"
    found = cases.counterfactual(answer)
    assert found.facts
    assert all("someone" in fact for fact in found.facts)
    assert found.probability == answer.probability
    assert found.probability is not None
    assert found.probability_then is not None
    assert 2 * found.probability_then <= found.probability
    without = cases.what_if(retract=found.facts)
    then = without.ask("someone", "citizen of", top=-1)
    (same,) = (one for one in then if one.entity == "land 1")
    assert same.probability == found.probability_then
    assert same.rank == found.rank_then == 1
    assert found.instead == "land 1"
    words = "the probability of land 1 falls from "
    assert words in found.sentence
    assert "would come first" not in found.sentence
    document = found.as_dict()
    assert document["probability"] == found.probability
    assert document["probability_then"] == found.probability_then


def test_the_rank_then_is_known_however_far_the_answer_falls(cases: CaseBase) -> None:
    answer = cases.ask("Andrei Sakharov", "spouse", known="exclude")[0]
    found = cases.counterfactual(answer, most=1)
    then = cases.what_if(retract=found.facts)
    assert found.rank_then == place(then, answer, set())
    assert found.rank_then is not None
    assert found.rank_then > found.rank + 1


def test_settings_without_belief_look_at_ranks_only() -> None:
    cases = CaseBase(Settings.paper("FB122"))
    cases.update(add=small_town())
    found = cases.counterfactual(cases.ask("someone", "citizen of")[0])
    assert found.probability is None
    assert found.probability_then is None
    assert "probability" not in found.sentence


def test_facts_about_the_entity_are_tried_first(
    cases: CaseBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = cases.ask("Albert Einstein", "citizen of", known="exclude")[0]
    tried: list[tuple[Fact, ...]] = []
    imagined = State.imagined

    def noted(state: State, *arguments: Any, **options: Any) -> State:
        tried.append(options["retract"])
        return imagined(state, *arguments, **options)

    monkeypatch.setattr(State, "imagined", noted)
    found = cases.counterfactual(answer)
    assert found.tried == len(tried)
    single = [fact for (fact,) in tried]
    is_about = [answer.asked in fact for fact in single]
    assert is_about == sorted(is_about, reverse=True)
    assert {True, False} == set(is_about)

    query, entity = query_of(cases.state, answer)
    behind = list(facts_behind(cases.state, query, entity))
    assert sum(answer.asked in fact for fact in behind) == sum(is_about)
    assert [fact for fact in behind if fact in single] != single


def test_ask_goes_with_and_without_facts() -> None:
    question = [
        "ask",
        "world",
        "Lise Meitner",
        "citizen of",
        "--known",
        "exclude",
        "--top",
        "1",
    ]
    died_in = ["Lise Meitner", "died in", "Cambridge"]
    without = ["--without", *died_in]
    assert records(*question)[0]["entity"] == "United Kingdom"
    assert records(*question, *without)[0]["entity"] == "Germany"
    assert (
        records(*question, *without, "--with", *died_in)[0]["entity"]
        == "United Kingdom"
    )
    never = ["--without", "Albert Einstein", "born in", "Bonn"]
    assert_refused(
        run(*question, *never), "(Albert Einstein, born in, Bonn) is no fact here"
    )


def test_explain_says_what_would_change_its_mind() -> None:
    explain = [
        "explain",
        "world",
        "Albert Einstein",
        "citizen of",
        "Germany",
        "--counterfactual",
    ]
    done = run(*explain)
    assert done.exit_code == 0
    assert done.stdout.startswith("without (")
    assert records(*explain)
