"""Loading facts, and what a graph of them holds in memory: three sizes, so that growth is visible.

Run: scripts/bench graph
Prints a table: facts, seconds, facts a second, bytes a fact beside names.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np

SIZES = (100_000, 1_000_000, 10_000_000)
RELATIONS = 100


def facts(count: int, seed: int = 0) -> Iterator[tuple[str, str, str]]:
    """A graph with a power law of hubs: one entity for ten facts, `RELATIONS` relations."""
    rng = np.random.default_rng(seed)
    entities = max(10, count // 10)
    for start in range(0, count, 1 << 16):
        size = min(1 << 16, count - start)
        heads = (entities * rng.random(size) ** 3).astype(np.int64)
        tails = (entities * rng.random(size) ** 3).astype(np.int64)
        relations = (RELATIONS * rng.random(size) ** 2).astype(np.int64)
        for head, relation, tail in np.stack(
            [heads, relations, tails], axis=1
        ).tolist():
            yield f"e{head}", f"r{relation}", f"e{tail}"


def measure(count: int) -> None:
    """Load one graph in this process, and print what it took."""
    from casegraph.graph.graph import Graph
    from casegraph.graph.names import Names

    names = {name for head, _, tail in facts(count) for name in (head, tail)}
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    graph = Graph(Names(sorted(names)))
    del names
    started = time.perf_counter()
    change = graph.add(facts(count))
    seconds = time.perf_counter() - started
    arrays = sum(
        array.nbytes
        for relation in range(graph.directions)
        for array in graph.edges(relation)
    )
    index = graph.kernel.index_bytes()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert len(graph) == len(change.added)
    assert change.repeated == count - len(graph)
    bytes_held = (arrays + index) / len(graph)
    bytes_at_peak = (peak - held) / len(graph)
    speed = f"{seconds:>9.1f} {count / seconds:>12,.0f}"
    print(f"{len(graph):>12,} {speed} {bytes_held:>12.1f} {bytes_at_peak:>12.1f}")


def main() -> None:
    """One process for each size, so that peaks do not mix."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--one", type=int)
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments.one)
        return
    print(
        f"{'facts':>12} {'seconds':>9} {'facts/s':>12} {'bytes/fact':>12} {'peak/fact':>12}"
    )
    for size in arguments.sizes:
        subprocess.run(
            [sys.executable, "-m", "benchmarks.bench_graph", "--one", str(size)],
            check=True,
        )


if __name__ == "__main__":
    main()
