"""How fast files become facts and facts a graph, and how fast names are found among many.

Run: scripts/bench reading
Prints a table: the format, facts, facts a second alone and into a graph; then for a search how many
names there are, and milliseconds.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench_graph import facts
from casegraph import CaseBase, read_facts, write_facts
from casegraph.graph.graph import Graph

FACTS = 500_000
NAMES = (10_000, 100_000, 1_000_000)
ENDINGS = ("tsv", "csv", "jsonl", "nt", "parquet")
ROUNDS = 3


def main() -> None:
    """Write the same facts in each format, and read them again."""
    with TemporaryDirectory() as folder:
        print(f"{'format':>8} {'facts':>12} {'read/s':>12} {'graph/s':>12}")
        for ending in ENDINGS:
            file = Path(folder) / f"facts.{ending}"
            write_facts(facts(FACTS), file)
            alone = FACTS / best(partial(read_all, file))
            loaded = FACTS / best(partial(load, file))
            print(f"{ending:>8} {FACTS:>12,} {alone:>12,.0f} {loaded:>12,.0f}")
    print(f"{'names':>12} {'search, ms':>12}")
    for names in NAMES:
        print(f"{names:>12,} {1e3 * searched(names):>12.1f}")


def best(work: Callable[[], object]) -> float:
    """The fewest seconds that some work took."""
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def read_all(file: Path) -> None:
    """Read all facts of a file."""
    assert sum(1 for _ in read_facts(file)) == FACTS


def load(file: Path) -> None:
    """Make a graph of all facts of a file."""
    assert 0 < len(Graph.of(read_facts(file))) <= FACTS


def searched(names: int) -> float:
    """The seconds of a search among so many names, after the first."""
    cases = CaseBase()
    cases.update(add=[(f"entity number {n}", "r", f"entity number {n // 9}") for n in range(names)])
    last = f"number {names - 1}"
    assert cases.search(last)[0].entity == f"entity number {names - 1}"
    return best(partial(cases.search, last))


if __name__ == "__main__":
    main()
