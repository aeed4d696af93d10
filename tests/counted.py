"""What tests of counting have in common."""

import numpy as np

from casegraph.graph.arrays import Ids
from casegraph.graph.directions import forward
from casegraph.graph.graph import Graph
from casegraph.settings import Settings
from casegraph.statistics.counts import Counting, Hits


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
