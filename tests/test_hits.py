"""The hits of all relations, kept up to date in parts."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from casegraph.graph.arrays import ids
from casegraph.statistics.counts import TypeHits
from casegraph.statistics.hits import MAX_PARTS, KnownHits
from casegraph.statistics.incremental import ChangedHits

changes = st.lists(
    st.dictionaries(st.integers(0, 2), st.dictionaries(st.integers(1, 4), st.just(1))),
    max_size=2 * MAX_PARTS + 2,
)


def type_hits(numbers: dict[int, int]) -> TypeHits:
    types = np.array(sorted(numbers), dtype=np.int64)
    return types, np.array([numbers[number] for number in types], dtype=np.int64)


def added(parts: dict[int, dict[int, int]]) -> ChangedHits:
    by_relation = {relation: type_hits(part) for relation, part in parts.items()}
    return ChangedHits(by_relation, entities=ids(), cycles=0)


def read(hits: KnownHits) -> list[tuple[int, list[int], list[int]]]:
    found = []
    for relation, parts in sorted(hits.parts.items()):
        types, numbers = parts.total()
        found.append((relation, types.tolist(), numbers.tolist()))
    return found


@given(changes, st.randoms(use_true_random=False))
def test_reading_hits_between_changes_makes_no_difference(
    history: list[dict[int, dict[int, int]]], random: Random
) -> None:
    never_read = often_read = KnownHits.from_relations({}, longest=2, headroom=100)
    for parts in history:
        change = added(parts)
        never_read = never_read.after(change, edges=1)
        often_read = often_read.after(change, edges=1)
        if random.random() < 0.5:
            read(often_read)
        assert often_read.rows == never_read.rows
    assert read(often_read) == read(never_read)
