"""What resembles is weighed by ridge regression: who has the answer among those like the entity,
and how like the known answers a candidate is.
"""

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as example_settings
from hypothesis import strategies as st
from tests import oracle
from tests.saying import questions_about, reply
from tests.strategies import (
    Fact,
    Step,
    crowded_facts,
    fact_lists,
    histories,
    random_facts,
    shuffled,
    surviving,
)

from casegraph import kernels
from casegraph.answering.evidence.context import Piece
from casegraph.answering.evidence.gathering import AnswerEvidence, gathered_evidence
from casegraph.answering.query import answers, relation_query
from casegraph.casebase import CaseBase
from casegraph.graph.arrays import ids
from casegraph.graph.directions import backward, forward
from casegraph.graph.graph import Query
from casegraph.settings import Settings

PRECEDENTS = 1
ANSWERS = 2
NOBODY = -1
NEAR = 2e-4  # how near the plain version, which solves regressions exactly
SOLVED = 1e-3  # how near to each other are two regressions for the same weights
# A question, and a known answer of it that is hidden, or None.
Asked = tuple[str, oracle.Name, str | None]

chosen = st.builds(
    Settings,
    max_length=st.just(1),
    ridge=st.sampled_from([1.0, 10.0, 60.0]),
    nearest=st.sampled_from([1, 2, 3, 512]),
)


def case_base(added: list[Fact], settings: Settings | None = None) -> CaseBase:
    cases = CaseBase(settings or Settings(max_length=1))
    cases.update(add=added)
    return cases


def direction_of(cases: CaseBase, relation: oracle.Name) -> int | None:
    """A relation, or its inverse, in the graph; None if the graph does not have it."""
    is_inverse = isinstance(relation, tuple)
    number = cases.graph.relations.find(relation[0] if is_inverse else relation)
    if number is None:
        return None
    return backward(number) if is_inverse else forward(number)


def evidence(cases: CaseBase, asked: Asked) -> list[AnswerEvidence]:
    """What speaks for every entity as the answer."""
    entity, relation, hidden = asked
    direction = direction_of(cases, relation)
    number = cases.graph.entities.find(entity)
    if direction is None or number is None:
        return []
    unknown = NOBODY if hidden is None else cases.graph.entities.find(hidden)
    assert unknown is not None
    everyone = ids(range(len(cases.graph.entities)))
    return gathered_evidence(cases.state, Query(number, direction), everyone, unknown)


def pieces_of(cases: CaseBase, asked: Asked, kind: int) -> dict[str, Piece]:
    """The evidence of a kind for every answer that has some."""
    found = {}
    for context, pieces in evidence(cases, asked):
        of_kind = [piece for piece in pieces if piece.kind == kind]
        assert len(of_kind) <= 1
        for piece in of_kind:
            found[cases.graph.entities[context.found]] = piece
    return found


def questions(added: list[Fact]) -> list[Asked]:
    """Every entity asked for every relation, both ways."""
    relations = sorted({relation for _, relation, _ in added})
    both = [*relations, *map(oracle.inverse, relations)]
    names = sorted(oracle.entities(added))
    return [(name, relation, None) for name, relation in product(names, both)]


def hiding(fact: Fact) -> list[Asked]:
    """A fact asked for both ways, as if it were not known."""
    head, relation, tail = fact
    return [(head, relation, tail), (tail, oracle.inverse(relation), head)]


def expected_worths(
    added: list[Fact], asked: Asked, settings: Settings, kind: int
) -> dict[str, float]:
    """What the evidence of a kind is worth in the plain version."""
    entity, relation, hidden = asked
    facts = oracle.both_ways(added)
    reflexive = any((name, relation, name) in facts for name in oracle.entities(facts))
    if hidden is not None:
        facts = oracle.left_after(facts, (entity, relation, hidden))
    given = facts, entity, relation, settings.ridge, settings.nearest
    if kind == PRECEDENTS:
        worths = oracle.precedents(*given).scores
    else:
        worths = oracle.like_known_answers(*given)
    return {
        answer: worth
        for answer, worth in worths.items()
        if answer != entity or reflexive
    }


def assert_as_in_the_plain_version(
    added: list[Fact], asked: list[Asked], settings: Settings
) -> int:
    """Returns how many pieces of evidence were compared."""
    cases = case_base(added, settings)
    compared = 0
    for question, kind in product(asked, (PRECEDENTS, ANSWERS)):
        found = pieces_of(cases, question, kind)
        worths = {name: piece.worth for name, piece in found.items()}
        expected = expected_worths(added, question, settings, kind)
        assert worths.keys() <= expected.keys()
        for name, worth in expected.items():
            assert worths.get(name, 0.0) == pytest.approx(worth, abs=NEAR), name
        for piece in found.values():
            assert piece.strength == settings.precedent_weight * piece.worth
        compared += len(expected)
    return compared


@example_settings(max_examples=40)
@given(crowded_facts(), chosen)
def test_resemblance_is_worth_what_it_is_in_the_plain_version(
    added: list[Fact], settings: Settings
) -> None:
    assert_as_in_the_plain_version(added, questions(added), settings)


@example_settings(max_examples=40)
@given(crowded_facts(), chosen)
def test_a_hidden_fact_does_not_exist_in_the_plain_version(
    added: list[Fact], settings: Settings
) -> None:
    for fact in added[:4]:
        assert_as_in_the_plain_version(added, hiding(fact), settings)


@pytest.mark.parametrize("nearest", [4, 512])
def test_on_larger_graphs_too_resemblance_is_that_of_the_plain_version(
    nearest: int,
) -> None:
    random = Random(nearest)
    compared = 0
    for _ in range(3):
        added = random_facts(random, entities=20, relations=3, facts=90)
        asked = random.sample(questions(added), 12)
        asked += [one for fact in added[:4] for one in hiding(fact)]
        settings = Settings(max_length=1, nearest=nearest)
        compared += assert_as_in_the_plain_version(added, asked, settings)
    assert compared > 200


@example_settings(max_examples=40)
@given(crowded_facts(), st.sampled_from([1.0, 10.0, 60.0]))
def test_the_plain_version_leaves_next_to_nothing_unsolved(
    added: list[Fact], ridge: float
) -> None:
    facts = oracle.both_ways(added)
    names = sorted(oracle.entities(facts))
    columns = oracle.columns_of_each(facts, names)
    matrix = oracle.alike(columns, names, names) + ridge * np.eye(len(names))
    root = np.sqrt(np.diag(matrix))
    for wanted in np.eye(len(names)):
        residual = wanted - matrix @ oracle.solved(matrix, wanted)
        unsolved = np.linalg.norm(residual / root)
        assert unsolved <= 1.001 * SOLVED * np.linalg.norm(wanted / root)


@example_settings(max_examples=40)
@given(crowded_facts(), st.integers(0, 4), st.integers(0, 4), chosen)
def test_hiding_what_is_not_known_changes_nothing(
    added: list[Fact], one: int, other: int, settings: Settings
) -> None:
    names = sorted(oracle.entities(added))
    fact = (names[one % len(names)], added[0][1], names[other % len(names)])
    assume(fact not in added)
    cases = case_base(added, settings)
    for entity, relation, hidden in hiding(fact):
        for kind in (PRECEDENTS, ANSWERS):
            found = pieces_of(cases, (entity, relation, hidden), kind)
            assert found == pieces_of(cases, (entity, relation, None), kind)


@example_settings(max_examples=40)
@given(crowded_facts(), chosen)
def test_evidence_says_how_many_it_rests_on(
    added: list[Fact], settings: Settings
) -> None:
    cases = case_base(added, settings)
    facts = oracle.both_ways(added)
    for asked in questions(added):
        entity, relation, _ = asked
        given = facts, entity, relation, settings.ridge, settings.nearest
        expected = oracle.precedents(*given)
        for name, piece in pieces_of(cases, asked, PRECEDENTS).items():
            having = expected.having[name]
            assert (piece.count, piece.of) == (having, len(expected.weights))
        known = oracle.answers(facts, entity, relation)
        for name, piece in pieces_of(cases, asked, ANSWERS).items():
            assert name not in known
            used = min(len(known), settings.nearest)
            assert (piece.count, piece.of) == (used, 0)


@example_settings(max_examples=40)
@given(crowded_facts(), st.integers(0, 11), chosen)
def test_hiding_a_fact_is_asking_without_it(
    added: list[Fact], which: int, settings: Settings
) -> None:
    fact = added[which % len(added)]
    # An entity answers itself only where some entity does: maybe by this very fact.
    assume(fact[0] != fact[2])
    cases = case_base(added, settings)
    without = case_base([other for other in added if other != fact], settings)
    for entity, relation, hidden in hiding(fact):
        for kind in (PRECEDENTS, ANSWERS):
            found = pieces_of(cases, (entity, relation, hidden), kind)
            assert found == pieces_of(without, (entity, relation, None), kind)


def test_hiding_a_fact_matters() -> None:
    added = [(f"e{number}", "likes", f"a{number % 3}") for number in range(6)]
    added += [(f"e{number}", "likes", "a3") for number in range(6)]
    cases = case_base(added)
    asked = ("e0", "likes", None)
    while_hidden = pieces_of(cases, ("e0", "likes", "a3"), PRECEDENTS)
    assert pieces_of(cases, asked, PRECEDENTS) != while_hidden
    assert "a3" not in pieces_of(cases, asked, ANSWERS)
    assert "a3" in pieces_of(cases, ("e0", "likes", "a3"), ANSWERS)


def all_said(cases: CaseBase, facts: list[Fact]) -> list[str | None]:
    """What is said to every question about some facts, with every bit of every score."""
    entities = sorted(oracle.entities(facts))
    relations = sorted({relation for _, relation, _ in facts})
    return [
        reply(cases, question)
        for question in questions_about(cases, entities, relations)
    ]


@example_settings(max_examples=40)
@given(histories(), chosen)
def test_any_history_leads_where_a_rebuild_leads(
    history: list[Step], settings: Settings
) -> None:
    left = sorted(surviving(history))
    cases = CaseBase(settings)
    for doing, named in history:
        if doing == "add":
            cases.update(add=named)
        else:
            cases.update(retract=named)
        all_said(cases, left)  # what was found before is not found again
    assert all_said(cases, left) == all_said(case_base(left, settings), left)


@example_settings(max_examples=40)
@given(fact_lists(least=4), chosen, st.data())
def test_the_order_of_facts_changes_no_byte_of_a_score(
    added: list[Fact], settings: Settings, data: st.DataObject
) -> None:
    in_another_order = data.draw(st.permutations(added))
    cases = case_base(added, settings)
    other = case_base(in_another_order, settings)
    assert all_said(cases, added) == all_said(other, added)
    for asked in (one for fact in added[:3] for one in hiding(fact)):
        for kind in (PRECEDENTS, ANSWERS):
            assert pieces_of(cases, asked, kind) == pieces_of(other, asked, kind)


def test_on_larger_graphs_too_the_order_of_facts_changes_nothing() -> None:
    random = Random(7)
    added = random_facts(random, entities=60, relations=4, facts=400)
    said = all_said(case_base(added), added)
    for _ in range(2):
        assert all_said(case_base(shuffled(random, added)), added) == said


def test_threads_change_nothing() -> None:
    cases = case_base(random_facts(Random(8), entities=60, relations=4, facts=400))
    everyone = ids(range(len(cases.graph.entities)))
    hidden = ids([NOBODY] * len(everyone))
    for relation in range(cases.graph.directions):
        _, kernel, lists = relation_query(cases.state, relation, everyone)
        found = []
        for threads in (1, 2, 7):
            asked = kernel, everyone, lists, hidden, kernels.Workspaces()
            columns: tuple[Any, ...] = kernels.answers(*asked, -1, False, threads)
            found.append([column.tobytes() for column in columns[:4]])
        assert found[0] == found[1] == found[2]


@example_settings(max_examples=40)
@given(crowded_facts(), chosen, st.booleans())
def test_the_weights_of_precedents_and_known_answers_add_up(
    added: list[Fact], settings: Settings, is_hidden: bool
) -> None:
    cases = case_base(added, settings)
    names = cases.graph.entities
    facts = oracle.both_ways(added)
    asked = questions(added)
    if is_hidden:
        asked = [one for fact in added for one in hiding(fact)]
    for entity, relation, hidden in asked:
        seen = facts
        if hidden is not None:
            seen = oracle.left_after(facts, (entity, relation, hidden))
        known = oracle.answers(seen, entity, relation)
        for context, pieces in evidence(cases, (entity, relation, hidden)):
            answer = names[context.found]
            about = (
                context.kernel,
                context.query.entity,
                context.hidden,
                context.found,
                cases.state.workspaces,
            )
            having = oracle.answers(seen, answer, oracle.inverse(relation)) - {entity}
            for piece in pieces:
                if piece.kind == PRECEDENTS:
                    who, weights = kernels.precedents(*about)
                    assert {names[one] for one in who.tolist()} <= having
                    assert len(who) == piece.count
                    assert weights.sum() == pytest.approx(piece.worth, abs=1e-9)
                elif piece.kind == ANSWERS:
                    who, weights = kernels.similar_answers(*about)
                    assert {names[one] for one in who.tolist()} <= known
                    assert weights.sum() == pytest.approx(piece.worth, abs=SOLVED)
                else:
                    continue
                assert len(set(who.tolist())) == len(who) == len(weights)
                assert weights.tolist() == sorted(weights, reverse=True)


@example_settings(max_examples=40)
@given(crowded_facts(), chosen)
def test_an_entity_is_never_its_own_precedent(
    added: list[Fact], settings: Settings
) -> None:
    cases = case_base(added, settings)
    facts = oracle.both_ways(added)
    names = cases.graph.entities
    asked = questions(added) + [one for fact in added[:3] for one in hiding(fact)]
    for entity, relation, hidden in asked:
        seen = facts
        if hidden is not None:
            seen = oracle.left_after(facts, (entity, relation, hidden))
        context = evidence(cases, (entity, relation, hidden))[0].context
        about = context.query.entity, context.hidden
        who, weights = kernels.nearest_entities(
            context.kernel, *about, cases.state.workspaces
        )
        found = [names[one] for one in who.tolist()]
        assert entity not in found
        assert weights.tolist() == sorted(weights, reverse=True)
        expected = oracle.precedents(
            seen, entity, relation, settings.ridge, settings.nearest
        ).weights
        assert dict(zip(found, weights.tolist(), strict=True)) == pytest.approx(
            expected, abs=NEAR
        )


def test_a_precedent_may_speak_against_an_answer() -> None:
    """Bob is like Ann, and like Cyd in other things. What Bob has in common with Cyd says nothing
    about Ann, so Cyd's answer is taken off.
    """
    added = [("ann", "has", f"hat {number}") for number in range(4)]
    added += [("bob", "has", f"hat {number}") for number in range(4)]
    added += [("bob", "plays", f"game {number}") for number in range(8)]
    added += [("cyd", "plays", f"game {number}") for number in range(8)]
    added += [("cyd", "has", "hat 0"), ("bob", "is", "right"), ("cyd", "is", "wrong")]
    settings = Settings(max_length=1, ridge=1.0)
    expected = oracle.precedents(oracle.both_ways(added), "ann", "is", 1.0, 512).scores
    assert expected["wrong"] < 0 < expected["right"]
    cases = case_base(added, settings)
    found = pieces_of(cases, ("ann", "is", None), PRECEDENTS)
    worths = {name: piece.worth for name, piece in found.items()}
    assert worths == pytest.approx(expected, abs=NEAR)
    assert found["wrong"].strength < 0
    ranked = [answer.entity for answer in cases.ask("ann", "is")]
    assert ranked == ["right"]


@pytest.mark.parametrize("people", [1_500, 2_500])
def test_what_more_than_2000_entities_have_brings_nobody_nearer(people: int) -> None:
    crowd = [(f"person {number}", "is", "a person") for number in range(people)]
    added = [("person 1", "is in", "the club"), ("person 2", "is in", "the club")]
    cases = case_base(crowd + added)
    found = pieces_of(cases, ("person 0", "is in", None), PRECEDENTS)
    assert list(found) == (["the club"] if people <= 2_000 else [])


def test_a_query_whose_budget_is_tiny_is_not_exact() -> None:
    added = random_facts(Random(9), entities=12, relations=2, facts=60)
    for budget in (1, 10**6):
        cases = case_base(added, Settings(max_length=1, budget=budget))
        everyone = ids(range(len(cases.graph.entities)))
        for relation in range(cases.graph.directions):
            found = answers(cases.state, relation, everyone, top=-1)
            assert {one.exact for one in found} == {budget > 1}
