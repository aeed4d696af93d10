"""Bare loops over the edges that counting must look at, to compare it with.

In development builds only.
"""

from casegraph.graph.arrays import Counts, Ids
from casegraph.kernels import Graph

def bare_reach(
    graph: Graph,
    entities: Ids,
    relations: Ids,
    types: Counts,
    max_length: int,
    threads: int,
) -> int: ...
def bare_halves(graph: Graph, rank: Ids, max_length: int, threads: int) -> int: ...
def bare_cycles(
    graph: Graph, rank: Ids, max_length: int, cycles: int, kinds: int, threads: int
) -> int: ...
