"""What tests of counting have in common."""

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Ids, ids
from casegraph.graph.directions import forward
from casegraph.graph.graph import Graph
from casegraph.settings import Settings
from casegraph.statistics.counts import (
    ALL_BY_THEMSELVES,
    NO_LIMITS,
    Counting,
    Hits,
    Reach,
)

# Methods of counting what paths reach (kernels/counting/reach.hpp).
ALONE = 1
TOGETHER = 2
BY_HUB = 3


def everyone(graph: Graph) -> Ids:
    return np.arange(len(graph.entities), dtype=np.int32)


def cycles_of(graph: Graph, n: int = 3) -> Hits:
    """The hits of everyone up to length n, with nothing left out."""
    counting = Counting(graph, Settings(max_length=n))
    return counting.cycles(everyone(graph))


def direction_of(graph: Graph, name: str) -> int:
    """The id of a relation in the direction from head to tail."""
    relation = graph.relations.find(name)
    assert relation is not None
    return forward(relation)


def one_by_one(
    graph: Graph, labels: Ids, types: Counts, entities: Ids, n: int = 3
) -> Reach:
    """What path types reach; labels are their relations.

    From a single entity, nothing is counted together with others, nor both ways.
    """
    counting = Counting(graph, Settings(max_length=n))
    total = Reach.nowhere(types)
    for entity in entities:
        of_entity = counting.reach(labels, types, ids([entity]))
        for sums, counts in zip(total, of_entity, strict=True):
            sums[:] += counts
    return total


def counted_by(
    method: int,
    graph: Graph,
    labels: Ids,
    types: Counts,
    entities: Ids,
    n: int = 3,
    ways: Counts = ALL_BY_THEMSELVES,
) -> Reach:
    """What path types reach, counted by one of the methods; labels are their relations."""
    counters = np.zeros(2, dtype=np.int64)
    columns = kernels.reach(
        graph.kernel,
        entities,
        labels,
        types,
        ways,
        NO_LIMITS,
        n,
        2,
        counters,
        method=method,
    )
    assert counters[0] <= len(entities)
    return Reach(*columns)


def assert_same(found: Reach, expected: Reach) -> None:
    for name, column in found._asdict().items():
        assert column.tolist() == getattr(expected, name).tolist(), name
