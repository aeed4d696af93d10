from collections.abc import Iterable
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from casegraph.answering.query import Standings
from casegraph.answering.ranks import Ranks, ranks, unreached
from casegraph.evaluation.ranking import HITS, metrics
from casegraph.graph.arrays import Counts

TIES = ["realistic", "optimistic", "pessimistic"]
HITS_AT = [f"hits_at_{k}" for k in HITS]

BETTER = st.integers(0, 50)
EQUAL = st.integers(0, 50)
IS_HEAD = st.booleans()
RANKED = st.lists(st.tuples(BETTER, EQUAL, IS_HEAD), min_size=1, max_size=30)


class Target(NamedTuple):
    """How a target compares with the candidates that were reached, as in `Standings`.

    others  how many entities, reached or not, compete with it
    """

    score: float
    others: int
    better: int = 0
    equal: int = 0
    earlier: int = 0


def ranks_of(*targets: Target) -> Ranks:
    standing = Standings(
        score=np.array([target.score for target in targets], dtype=np.float64),
        better=counts(target.better for target in targets),
        equal=counts(target.equal for target in targets),
        earlier=counts(target.earlier for target in targets),
    )
    others = counts(target.others for target in targets)
    return ranks(standing, others)


def counts(values: Iterable[int]) -> Counts:
    return np.fromiter(values, dtype=np.int64)


def test_a_target_that_nothing_ties_with_has_one_rank() -> None:
    found = ranks_of(Target(score=0.5, better=2, others=9))
    assert found.optimistic == [3]
    assert found.realistic == [3]
    assert found.pessimistic == [3]
    assert found.original == [3]


def test_ties_are_a_range_of_ranks_with_the_realistic_one_in_the_middle() -> None:
    found = ranks_of(Target(score=0.5, better=2, equal=3, others=9))
    assert found.optimistic == [3]
    assert found.realistic == [4.5]
    assert found.pessimistic == [6]


def test_the_original_rank_is_by_order_of_discovery() -> None:
    second_of_equals = Target(score=0.5, better=2, equal=3, earlier=1, others=9)
    first_of_equals = Target(score=0.5, better=0, equal=3, earlier=0, others=9)
    found = ranks_of(second_of_equals, first_of_equals)
    assert found.original.tolist() == [4, 1]


def test_an_answer_not_reached_ranks_in_the_middle_of_the_unreached() -> None:
    found = ranks_of(Target(score=0, better=4, others=10))
    assert found.optimistic == [5]
    assert found.realistic == [8]
    assert found.pessimistic == [11]
    assert found.original == [np.inf]


def test_candidates_that_score_nothing_are_as_good_as_unreached() -> None:
    found = ranks_of(Target(score=0, better=4, equal=2, others=10))
    assert found.pessimistic == [11]


def test_where_nothing_is_reached_every_entity_that_is_not_passed_over_ties() -> None:
    found = unreached(others=counts([0, 4]))
    assert found.optimistic.tolist() == [1, 1]
    assert found.pessimistic.tolist() == [1, 5]
    assert found.original.tolist() == [np.inf, np.inf]


def test_metrics_are_means_over_sides() -> None:
    found = ranks_of(
        Target(score=1, others=20),
        Target(score=1, better=3, equal=2, earlier=1, others=20),
        Target(score=0, better=1, others=20),
    )
    assert found.realistic.tolist() == [1, 5, 11.5]

    values = metrics(found, is_head=np.array([False, False, True]))
    expected = {
        "both.realistic.inverse_harmonic_mean_rank": (1 + 1 / 5 + 1 / 11.5) / 3,
        "tail.realistic.inverse_harmonic_mean_rank": (1 + 1 / 5) / 2,
        "both.optimistic.inverse_harmonic_mean_rank": (1 + 1 / 4 + 1 / 2) / 3,
        "both.pessimistic.arithmetic_mean_rank": (1 + 6 + 21) / 3,
    }
    for name, value in expected.items():
        assert values[name] == pytest.approx(value, abs=1e-15)
    of_both = [values[f"both.realistic.{name}"] for name in HITS_AT]
    of_heads = [values[f"head.optimistic.{name}"] for name in HITS_AT]
    assert of_both == [1 / 3, 1 / 3, 2 / 3, 2 / 3]
    assert of_heads == [0, 1, 1, 1]


def test_by_the_original_rule_an_answer_not_reached_counts_as_nothing() -> None:
    found = ranks_of(
        Target(score=1, equal=1, earlier=1, others=5),
        Target(score=0, others=0),
    )
    values = metrics(found, is_head=np.array([False, False]))
    assert values["both.original.inverse_harmonic_mean_rank"] == 1 / 4
    assert values["both.original.hits_at_10"] == 1 / 2
    assert "both.original.arithmetic_mean_rank" not in values


def test_metrics_have_flat_names_and_only_of_the_sides_that_were_asked() -> None:
    found = unreached(others=counts([4]))
    values = metrics(found, is_head=np.array([True]))

    names = ["inverse_harmonic_mean_rank", *HITS_AT]
    expected = set[str]()
    for side in ("both", "head"):
        expected |= {f"{side}.original.{name}" for name in names}
        for ties in TIES:
            expected |= {f"{side}.{ties}.{name}" for name in names}
            expected.add(f"{side}.{ties}.arithmetic_mean_rank")
    assert set(values) == expected
    assert all(type(value) is float for value in values.values())


@given(RANKED, st.randoms())
def test_metrics_do_not_depend_on_the_order_of_the_ranks(
    rows: list[tuple[int, int, bool]], random: Random
) -> None:
    shuffled = rows.copy()
    random.shuffle(shuffled)
    assert _metrics(rows) == _metrics(shuffled)


@given(RANKED)
def test_pessimistic_is_never_better_than_realistic_nor_realistic_than_optimistic(
    rows: list[tuple[int, int, bool]],
) -> None:
    values = _metrics(rows)
    for name in ("inverse_harmonic_mean_rank", *HITS_AT):
        pessimistic = values[f"both.pessimistic.{name}"]
        realistic = values[f"both.realistic.{name}"]
        optimistic = values[f"both.optimistic.{name}"]
        assert pessimistic <= realistic <= optimistic


def test_joined_ranks_keep_their_order() -> None:
    first = unreached(others=counts([4]))
    second = ranks_of(Target(score=1, better=2, others=9))
    joined = Ranks.joined([first, second])
    assert joined.pessimistic.tolist() == [5, 3]
    back_to_front = joined[np.array([1, 0])]
    assert back_to_front.original.tolist() == [3, np.inf]


def _metrics(rows: list[tuple[int, int, bool]]) -> dict[str, float]:
    targets = []
    is_head = []
    for better, equal, is_head_asked in rows:
        targets.append(
            Target(score=1, better=better, equal=equal, earlier=equal // 2, others=200)
        )
        is_head.append(is_head_asked)
    return metrics(ranks_of(*targets), np.array(is_head))
