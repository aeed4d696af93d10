from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from casegraph.answering.query import Standings
from casegraph.answering.ranking import Ranks, ranks, unreached
from casegraph.evaluation.ranking import HITS, metrics

TIES = ["realistic", "optimistic", "pessimistic"]
# How many are better, how many are equal, and whether the head is asked for.
RANKED = st.lists(
    st.tuples(st.integers(0, 50), st.integers(0, 50), st.booleans()),
    min_size=1,
    max_size=30,
)


def standing(*rows: tuple[float, int, int, int]) -> Standings:
    """One row (score, better, equal, earlier) for each target."""
    columns = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    score = columns[0]
    better, equal, earlier = columns[1:].astype(np.int64)
    return Standings(score, better, equal, earlier)


def counts(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def only(found: Ranks) -> list[float]:
    """Optimistic, realistic, pessimistic and original rank of the one target."""
    columns = [found.optimistic, found.realistic, found.pessimistic, found.original]
    return [float(column[0]) for column in columns]


def test_a_target_that_nothing_ties_with_has_one_rank() -> None:
    assert only(ranks(standing((0.5, 2, 0, 0)), counts(9))) == [3, 3, 3, 3]


def test_ties_are_a_range_of_ranks_with_the_realistic_one_in_the_middle() -> None:
    assert only(ranks(standing((0.5, 2, 3, 1)), counts(9)))[:3] == [3, 4.5, 6]


def test_the_original_rank_is_by_order_of_discovery() -> None:
    found = ranks(standing((0.5, 2, 3, 1), (0.5, 0, 3, 0)), counts(9, 9))
    assert found.original.tolist() == [4, 1]


def test_an_answer_not_reached_ranks_in_the_middle_of_the_unreached() -> None:
    assert only(ranks(standing((0, 4, 0, 0)), counts(10))) == [5, 8, 11, np.inf]


def test_candidates_that_score_nothing_are_as_good_as_unreached() -> None:
    assert ranks(standing((0, 4, 2, 0)), counts(10)).pessimistic == [11]


def test_where_nothing_is_reached_every_entity_that_is_not_passed_over_ties() -> None:
    found = unreached(counts(0, 4))
    assert found.optimistic.tolist() == [1, 1]
    assert found.pessimistic.tolist() == [1, 5]
    assert found.original.tolist() == [np.inf, np.inf]


def test_metrics_are_means_over_sides() -> None:
    # Realistic: 1, 5, 11.5.
    found = ranks(standing((1, 0, 0, 0), (1, 3, 2, 1), (0, 1, 0, 0)), counts(20, 20, 20))
    values = metrics(found, np.array([False, False, True]))
    expected = {
        "both.realistic.inverse_harmonic_mean_rank": (1 + 1 / 5 + 1 / 11.5) / 3,
        "tail.realistic.inverse_harmonic_mean_rank": (1 + 1 / 5) / 2,
        "both.optimistic.inverse_harmonic_mean_rank": (1 + 1 / 4 + 1 / 2) / 3,
        "both.pessimistic.arithmetic_mean_rank": (1 + 6 + 21) / 3,
    }
    for name, value in expected.items():
        assert values[name] == pytest.approx(value, abs=1e-15)
    assert [values[f"both.realistic.hits_at_{k}"] for k in HITS] == [1 / 3, 1 / 3, 2 / 3, 2 / 3]
    assert [values[f"head.optimistic.hits_at_{k}"] for k in HITS] == [0, 1, 1, 1]


def test_by_the_original_rule_an_answer_not_reached_counts_as_nothing() -> None:
    found = ranks(standing((1, 0, 1, 1), (0, 0, 0, 0)), counts(5, 0))
    values = metrics(found, np.array([False, False]))
    assert values["both.original.inverse_harmonic_mean_rank"] == 1 / 4
    assert values["both.original.hits_at_10"] == 1 / 2
    assert "both.original.arithmetic_mean_rank" not in values


def test_metrics_have_flat_names_and_only_of_the_sides_that_were_asked() -> None:
    values = metrics(unreached(counts(4)), np.array([True]))
    names = ["inverse_harmonic_mean_rank", *(f"hits_at_{k}" for k in HITS)]
    expected = {f"{ties}.{name}" for ties in TIES for name in [*names, "arithmetic_mean_rank"]}
    expected |= {f"original.{name}" for name in names}
    assert set(values) == {f"{side}.{name}" for side in ("both", "head") for name in expected}
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
    for name in ("inverse_harmonic_mean_rank", *(f"hits_at_{k}" for k in HITS)):
        assert values[f"both.pessimistic.{name}"] <= values[f"both.realistic.{name}"]
        assert values[f"both.realistic.{name}"] <= values[f"both.optimistic.{name}"]


def test_joined_ranks_keep_their_order() -> None:
    joined = Ranks.joined([unreached(counts(4)), ranks(standing((1, 2, 0, 0)), counts(9))])
    assert joined.pessimistic.tolist() == [5, 3]
    assert joined[np.array([1, 0])].original.tolist() == [3, np.inf]


def _metrics(rows: list[tuple[int, int, bool]]) -> dict[str, float]:
    standings = [(1.0, better, equal, equal // 2) for better, equal, _ in rows]
    entities = [200] * len(rows)
    found = ranks(standing(*standings), counts(*entities))
    return metrics(found, np.array([is_head for *_, is_head in rows]))
