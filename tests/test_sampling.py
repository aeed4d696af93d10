"""The prior from sampled walks, as the code of the paper's authors takes it."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st
from tests.histories import PAPER, lived
from tests.strategies import Fact, fact_lists

from casegraph.answering.weights import estimate
from casegraph.casebase import CaseBase
from casegraph.graph.graph import Graph
from casegraph.settings import PUBLISHED_WALKS, Settings
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.statistics.path_types import unpacked
from casegraph.statistics.sampling import sampled_paths

TRIANGLE = [("a", "r", "b"), ("b", "s", "c"), ("a", "t", "c")]
SAMPLING = PAPER.but(sampled_walks=20)
Sampled = dict[tuple[str, str, tuple[str, ...]], int]


def sampled(facts: list[Fact], n: int, walks: int, seed: int = 0) -> Sampled:
    """How often each path was sampled, by the names of entity, query relation and path type."""
    graph = Graph.of(facts)
    found = sampled_paths(graph, n, walks, np.random.default_rng(seed))
    by_name = {}
    rows = zip(*(column.tolist() for column in found), strict=True)
    for relation, entity, number, times in rows:
        path_type = tuple(graph.relation_name(step) for step in unpacked(number, n))
        by_name[graph.entities[entity], graph.relation_name(relation), path_type] = (
            times
        )
    return by_name


def test_every_beginning_of_a_walk_that_ends_at_an_answer_is_counted() -> None:
    found = sampled(TRIANGLE, 2, 100)
    from_a = {key: times for key, times in found.items() if key[0] == "a"}
    assert from_a == {
        ("a", "r", ("r",)): 1,
        ("a", "t", ("r", "s")): 1,
        ("a", "t", ("t",)): 1,
        ("a", "r", ("t", "s⁻¹")): 1,
    }


def test_a_beginning_counts_once_for_each_way_that_it_goes_on() -> None:
    fan = [("a", "r", "b"), ("b", "s", "c"), ("b", "s", "d")]
    assert sampled(fan, 2, 100)["a", "r", ("r",)] == 2


@example_settings(max_examples=40)
@given(fact_lists(least=1), st.integers(1, 3), st.randoms())
def test_samples_do_not_depend_on_the_order_of_facts(
    facts: list[Fact], n: int, random: Random
) -> None:
    shuffled = random.sample(facts, len(facts))
    assert sampled(facts, n, 5) == sampled(shuffled, n, 5)


@example_settings(max_examples=40)
@given(fact_lists(least=1))
def test_only_paths_to_answers_are_sampled(facts: list[Fact]) -> None:
    cases = CaseBase(SAMPLING)
    cases.update(add=facts)
    statistics = cases.state.statistics
    for relation in range(cases.graph.directions):
        counts = statistics.clustered(relation)
        assert ((counts.for_prior > 0) <= (counts.hits > 0)).all()
        of_everyone = counts.for_prior[counts.of(EVERYONE)].sum()
        # Once there, once in a cluster.
        assert 2 * of_everyone == counts.for_prior.sum()


def test_another_seed_samples_other_walks() -> None:
    random = Random(0)
    names = [f"e{number}" for number in range(20)]
    facts = [(random.choice(names), "r", random.choice(names)) for _ in range(80)]
    assert sampled(facts, 3, 5) == sampled(facts, 3, 5)
    assert sampled(facts, 3, 5) != sampled(facts, 3, 5, seed=1)


def test_updates_leave_what_a_rebuild_samples() -> None:
    for seed in range(5):
        lived(Random(seed), 20, SAMPLING)


def test_nothing_is_sampled_of_nothing() -> None:
    assert sampled([], 3, 10) == {}


def test_the_published_settings_are_the_papers_with_a_sampled_prior() -> None:
    published = Settings.published("FB122")
    assert published.but(sampled_walks=None) == Settings.paper("FB122")
    assert published.sampled_walks == PUBLISHED_WALKS == 1000


def test_reasons_under_the_published_settings_have_the_sampled_prior() -> None:
    facts = [("x", "r", "y"), ("x", "s", "y"), ("z", "s", "w"), *TRIANGLE]
    cases = CaseBase(SAMPLING)
    cases.update(add=facts)
    best = cases.ask("z", "r")[0]
    explained = cases.explain(best)
    assert explained.reasons
    for reason in explained.reasons:
        assert reason.worth == pytest.approx(reason.prior * reason.precision)
    assert sum(reason.share for reason in explained.reasons) == pytest.approx(
        best.score
    )
    relation = 2 * cases.graph.relations.names.index("r")
    step = 2 * cases.graph.relations.names.index("s")
    estimated = estimate(cases.state.statistics, EVERYONE, relation, (step,))
    assert estimated.hits == 1
    assert 0 < estimated.prior < 1
