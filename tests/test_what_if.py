"""Imagined worlds: what would be asked of other facts, and what would change an answer."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

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
    InvalidSettings,
    MalformedFact,
    Settings,
    world,
)
from casegraph.answering.support import facts_behind
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

    found = cases.change_of_mind(answer, budget=10_000)

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

    def loses_place(facts: tuple[tuple[str, str, str], ...]) -> bool:
        then = place(cases.what_if(retract=facts), answer, known)
        return then is None or rank is None or then > rank

    smallest = None
    for size in range(1, 4):
        if any(loses_place(facts) for facts in combinations(behind, size)):
            smallest = size
            break
    assert found.is_smallest
    assert len(found.facts) == (smallest or 0)
    assert not found.facts or loses_place(found.facts)


def test_a_budget_that_does_not_suffice_is_said(cases: CaseBase) -> None:
    answer = cases.ask("Albert Einstein", "citizen of", known="exclude")[0]
    found = cases.change_of_mind(answer, budget=1)
    assert found.tried == 2
    assert not found.is_smallest
    then = cases.what_if(retract=found.facts)
    rank = place(then, answer, {"Switzerland", "United States"})
    assert bool(found.facts) == (rank != 1)
    with pytest.raises(InvalidSettings):
        cases.change_of_mind(answer, most=4)


def test_the_answer_that_was_shown_changes_with_the_facts_that_are_named(
    cases: CaseBase,
) -> None:
    answer = cases.ask("Albert Einstein", "citizen of", known="exclude")[0]
    found = cases.change_of_mind(answer)
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
        "--change-mind",
    ]
    done = run(*explain)
    assert done.exit_code == 0
    assert done.stdout.startswith("without (")
    assert records(*explain)
