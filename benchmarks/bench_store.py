"""A store of a million facts: loading it, opening it, and one durable update after the other.

Run: scripts/bench store
Prints seconds of the clock and of the processor, and what one update takes.

The facts are synthetic: 100,000 entities of 200 kinds, each kind with its own relations out of 100.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np

from casegraph.formats.registry import read_facts
from casegraph.formats.writing import write_facts
from casegraph.graph.facts import Fact
from casegraph.storage.store.store import CaseStore

T = TypeVar("T")
OPEN = """
import sys
from casegraph import CaseStore
print(len(CaseStore.open(sys.argv[1], read_only=True).graph))
"""


def main() -> None:
    """Time each, and check what it leaves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument(
        "--folder", help="where to put the store; by default, where temporary files go"
    )
    arguments = parser.parse_args()
    with TemporaryDirectory(dir=arguments.folder) as folder:
        file = Path(folder, "facts.tsv")
        place = Path(folder, "store")
        write_facts(synthetic(arguments.facts), file)
        number = load(file, place)
        timed("open, in this process", lambda: CaseStore.open(place, read_only=True))
        opened = timed("open, in a new process", lambda: in_new_process(place))
        assert opened == number
        update(place, arguments.updates)
        timed("open after the updates", lambda: CaseStore.open(place, read_only=True))
        with CaseStore.open(place) as store:
            timed(
                "write a generation, nothing counted",
                lambda: store._write_generation(store._checked_writer()),
            )
        timed(
            "open with a generation, in this process",
            lambda: CaseStore.open(place, read_only=True),
        )
        timed("open with a generation, in a new process", lambda: in_new_process(place))


def synthetic(number: int) -> list[Fact]:
    """Distinct facts; tails are skewed, so that there are hubs."""
    random = np.random.default_rng(0)
    kinds = [random.choice(100, 8, replace=False) for _ in range(200)]
    heads = random.integers(0, 100_000, number)
    relations = np.array(kinds)[heads % 200, random.integers(0, 8, number)]
    tails = (100_000 * random.random(number) ** 3).astype(np.int64)
    rows = zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True)
    return list(
        dict.fromkeys(
            Fact(f"entity {head}", f"relation {label}", f"entity {tail}")
            for head, label, tail in rows
        )
    )


def load(file: Path, place: Path) -> int:
    """Read a file into a new store, as one update."""
    with CaseStore.open(place) as store:
        clock = time.perf_counter()
        processor = time.process_time()
        added = store.update(add=read_facts(file)).added
        clock = time.perf_counter() - clock
        processor = time.process_time() - processor
    speed = f"{added / clock:,.0f} facts/s ({added / processor:,.0f} per CPU second)"
    print(f"load {added:,} facts from a file: {speed}")
    return added


def update(place: Path, updates: int) -> None:
    """Add one fact at a time, each durable before the next."""
    with CaseStore.open(place) as store:
        taken = []
        for number in range(updates):
            started = time.perf_counter()
            store.update(add=[(f"entity {number}", "relation 0", f"new {number}")])
            taken.append(1e3 * (time.perf_counter() - started))
        assert store.sequence == updates + 1
    middle, late = np.percentile(taken, [50, 99])
    speed = f"{1e3 / np.mean(taken):,.0f}/s"
    print(
        f"durable updates of one fact: {speed}, median {middle:.1f} ms, p99 {late:.1f} ms"
    )


def in_new_process(place: Path) -> int:
    """Open the store in a process that starts for it."""
    return int(
        subprocess.run(
            [sys.executable, "-c", OPEN, str(place)], check=True, capture_output=True
        ).stdout
    )


def timed(what: str, work: Callable[[], T]) -> T:
    """Do some work three times, and print what the quickest took,
    of the clock and of the processor.
    """
    clocks = []
    processors = []
    for _ in range(3):
        clock = time.perf_counter()
        processor = processor_time()
        done = work()
        clocks.append(time.perf_counter() - clock)
        processors.append(processor_time() - processor)
    print(f"{what}: {min(clocks):.2f} s, {min(processors):.2f} s of the processor")
    return done


def processor_time() -> float:
    """The seconds that this process and those it started have worked."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    main()
