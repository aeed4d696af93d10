"""What supports a pair is the same from both ends, and is the evidence that ranks answers."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from tests import oracle
from tests.strategies import Fact, fact_lists, random_facts

from casegraph import CaseBase, Settings
from casegraph.answering.pair_strengths import (
    NEAREST,
    Pairs,
    PairStrengths,
    pair_strengths,
)
from casegraph.answering.query import ALL, answers
from casegraph.graph.arrays import Ids, ids
from casegraph.graph.directions import forward, inverse

NEAR = 2e-4  # how near the plain version, which solves regressions exactly
ONLY_PATHS = Settings(precedents=False, habit=0.0)


def case_base(facts: list[Fact], settings: Settings | None = None) -> CaseBase:
    cases = CaseBase(settings)
    cases.update(add=facts)
    return cases


def every_pair(cases: CaseBase) -> tuple[Ids, Ids]:
    """The heads and tails of all pairs of different entities."""
    everyone = np.arange(len(cases.graph.entities), dtype=np.int32)
    heads = np.repeat(everyone, len(everyone))
    tails = np.tile(everyone, len(everyone))
    return heads[heads != tails], tails[heads != tails]


def same(one: PairStrengths, other: PairStrengths) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("are_facts", [False, True])
@given(facts=fact_lists(least=5))
def test_a_pair_is_supported_alike_from_both_ends(
    facts: list[Fact], are_facts: bool
) -> None:
    cases = case_base(facts)
    for direction in range(0, cases.graph.directions, 2):
        heads, _, tails = cases.graph.rows(direction).T
        if not are_facts:
            heads, tails = every_pair(cases)
        pairs = Pairs(direction, heads.copy(), tails.copy(), are_facts)
        ahead = pair_strengths(cases.state, pairs)
        turned = pairs._replace(
            relation=inverse(direction), heads=pairs.tails, tails=pairs.heads
        )
        back = pair_strengths(cases.state, turned)
        swapped = PairStrengths(
            back.head_paths, back.tail_paths, back.answers, back.precedents
        )
        assert same(ahead, swapped)


def test_a_pair_is_supported_alike_whatever_it_is_asked_with() -> None:
    facts = random_facts(Random(7), entities=12, relations=2, facts=60)
    cases = case_base(facts)
    direction = forward(0)
    heads, tails = every_pair(cases)
    together = pair_strengths(cases.state, Pairs(direction, heads, tails))
    for place in range(0, len(heads), 5):
        head = heads[[place]]
        tail = tails[[place]]
        alone = Pairs(direction, head, tail)
        with_others_of_head = Pairs(direction, np.repeat(head, 12), tails[:12])
        repeated = Pairs(direction, np.repeat(head, 2), np.repeat(tail, 2))
        expected = PairStrengths(*(column[[place]] for column in together))
        assert same(pair_strengths(cases.state, alone), expected)
        twice = PairStrengths(*(np.repeat(column, 2) for column in expected))
        assert same(pair_strengths(cases.state, repeated), twice)
        of_head = pair_strengths(cases.state, with_others_of_head)
        is_it = tails[:12] == tail
        assert np.all(of_head.tail_paths[is_it] == expected.tail_paths)


@given(facts=fact_lists(least=5))
def test_paths_are_worth_what_they_are_when_answers_are_ranked(
    facts: list[Fact],
) -> None:
    cases = case_base(facts, ONLY_PATHS)
    state = cases.state
    for direction in range(cases.graph.directions):
        for entity in range(len(cases.graph.entities)):
            (found,) = answers(state, direction, ids([entity]), top=ALL)
            others = ids(range(len(cases.graph.entities)))
            pairs = Pairs(direction, np.full(len(others), entity, np.int32), others)
            scores = dict.fromkeys(others.tolist(), 0.0) | dict(found.pairs())
            paths = pair_strengths(state, pairs).tail_paths
            assert paths.tolist() == [scores[other] for other in others.tolist()]


@given(facts=fact_lists(least=5))
def test_resemblance_is_that_of_the_plain_version(facts: list[Fact]) -> None:
    settings = Settings(ridge=2.0, precedent_weight=1.0)
    cases = case_base(facts, settings)
    graph = cases.graph
    plain = oracle.both_ways(facts)
    heads, tails = every_pair(cases)
    for direction in range(0, graph.directions, 2):
        relation = graph.relations[direction // 2]
        strengths = pair_strengths(cases.state, Pairs(direction, heads, tails))
        for head in range(len(graph.entities)):
            expected = oracle.precedents(
                plain, graph.entities[head], relation, 2.0, NEAREST
            ).scores
            for place in np.flatnonzero(heads == head).tolist():
                score = expected.get(graph.entities[tails[place]], 0.0)
                assert strengths.precedents[place] == pytest.approx(score, abs=NEAR)


def test_settings_that_walk_in_loops_have_support_without_loops() -> None:
    facts = random_facts(Random(3), entities=6, relations=2, facts=20)
    pairs = Pairs(forward(0), ids([0, 1, 2]), ids([3, 4, 5]))
    loop_free = pair_strengths(case_base(facts).state, pairs)
    walks = case_base(facts, Settings(loop_free=False))
    assert same(pair_strengths(walks.state, pairs), loop_free)


def test_an_unknown_entity_has_no_support() -> None:
    cases = case_base([("a", "r", "b"), ("c", "r", "b"), ("c", "s", "a")])
    strengths = pair_strengths(cases.state, Pairs(forward(0), ids([-1]), ids([1])))
    assert [column.tolist() for column in strengths] == [[0.0]] * 4
