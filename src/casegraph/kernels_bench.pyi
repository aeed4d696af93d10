"""What only benchmarks and tests use: bare loops, to compare counting with, and hashes.

In development builds only.
"""

from casegraph.graph.arrays import Ids
from casegraph.kernels import Graph

def bare_halves(graph: Graph, rank: Ids, max_length: int, threads: int) -> int: ...
def bare_cycles(
    graph: Graph, rank: Ids, max_length: int, cycles: int, kinds: int, threads: int
) -> int: ...
def text_hashes(texts: list[str]) -> list[int]: ...
