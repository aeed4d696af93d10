"""How fast files become facts and facts a case base, and how fast names are found among many.

Run: scripts/bench reading
Prints three tables: the format, facts, facts a second one by one and into a case base; for tables
of growing size, seconds into a case base and those of processors, facts a second, the bytes of a
fact beside names that the graph holds, and those that the process has held at most, with names; for
a search in a store, how many names there are, and milliseconds of opening it, of the first search,
and of one after it.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench_graph import facts
from casegraph import CaseBase, CaseStore, read_facts, write_facts
from casegraph.running import peak_memory

FACTS = 500_000
SIZES = (100_000, 1_000_000, 10_000_000)
NAMES = (10_000, 100_000, 1_000_000)
ENDINGS = ("tsv", "csv", "jsonl", "nt", "parquet")
ROUNDS = 3


def main() -> None:
    """All tables, or one line of the second: a process for each size, so that peaks do not mix."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--load", type=Path, help="a file to load in this process")
    parser.add_argument(
        "--sizes", type=int, nargs="*", help="only tables of so many facts"
    )
    given = parser.parse_args()
    if given.load is not None:
        load_alone(given.load)
        return
    with TemporaryDirectory() as folder:
        if given.sizes:
            tables(Path(folder), given.sizes)
            return
        formats(Path(folder))
        tables(Path(folder), list(SIZES))
        searches(Path(folder))


def formats(folder: Path) -> None:
    """Write the same facts in each format, and read them again."""
    print(f"{'format':>8} {'facts':>12} {'read/s':>12} {'cases/s':>12}")
    for ending in ENDINGS:
        file = folder / f"facts.{ending}"
        write_facts(facts(FACTS), file)
        alone = FACTS / best(partial(read_all, file))
        loaded = FACTS / best(partial(load, file))
        print(f"{ending:>8} {FACTS:>12,} {alone:>12,.0f} {loaded:>12,.0f}", flush=True)


def tables(folder: Path, sizes: list[int]) -> None:
    """Load tables of several sizes."""
    columns = ("seconds", "of cpus", "facts/s", "bytes/fact", "peak/fact")
    print(
        f"{'facts':>12} " + " ".join(f"{column:>11}" for column in columns), flush=True
    )
    for size in sizes:
        file = folder / f"{size}.tsv"
        with file.open("w", encoding="utf-8") as lines:
            lines.writelines("\t".join(fact) + "\n" for fact in facts(size))
        command = [
            sys.executable,
            "-m",
            "benchmarks.bench_reading",
            "--load",
            str(file),
        ]
        subprocess.run(command, check=True)
        file.unlink()


def load_alone(file: Path) -> None:
    """Load one table in this process, and print what it took."""
    before = peak_memory()
    started = time.perf_counter()
    processors_before = time.process_time()
    cases = CaseBase()
    update = cases.update(add=read_facts(file))
    seconds = time.perf_counter() - started
    of_processors = time.process_time() - processors_before
    peak = peak_memory()
    graph = cases.graph
    read = update.added + update.repeated
    arrays = sum(
        array.nbytes
        for relation in range(graph.directions)
        for array in graph.edges(relation)
    )
    held = (arrays + graph.kernel.index_bytes()) / len(graph)
    at_peak = (peak - before) / len(graph)
    times = f"{seconds:>11.1f} {of_processors:>11.1f} {read / seconds:>11,.0f}"
    print(f"{read:>12,} {times} {held:>11.1f} {at_peak:>11.1f}", flush=True)


def searches(folder: Path) -> None:
    """Search in stores of several sizes."""
    print(f"{'names':>12} {'open, ms':>12} {'first, ms':>12} {'next, ms':>12}")
    for names in NAMES:
        milliseconds = [
            1e3 * seconds for seconds in searched(folder / f"store {names}", names)
        ]
        print(f"{names:>12,} " + " ".join(f"{one:>12.1f}" for one in milliseconds))


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
    """Make a case base of all facts of a file."""
    cases = CaseBase()
    cases.update(add=read_facts(file))
    assert 0 < len(cases.graph) <= FACTS


def searched(folder: Path, names: int) -> tuple[float, float, float]:
    """The seconds to open a store of so many names, of a search in it, and of the next."""
    with CaseStore.open(folder) as made:
        made.update(
            add=[
                (f"entity number {n}", "r", f"entity number {n // 9}")
                for n in range(names)
            ]
        )
        made.compact()
    started = time.perf_counter()
    store = CaseStore.open(folder, read_only=True)
    opened = time.perf_counter()
    last = f"number {names - 1}"
    assert store.search(last)[0].entity == f"entity number {names - 1}"
    found = time.perf_counter()
    return opened - started, found - opened, best(partial(store.search, last))


if __name__ == "__main__":
    main()
