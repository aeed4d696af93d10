"""Large graphs: from a file into a store, opening it, and the first questions.

Run: scripts/bench large [--family hetionet|wikidata|steep] [--facts N …] [--keep FOLDER]
Prints a line for each phase: seconds by the clock and of the processor, and the most memory that
its process held, in MB. Every phase runs in a process of its own. Paths have up to two steps.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from benchmarks.bench_all import synthetic
from benchmarks.synthetic_graphs import FAMILIES, example_questions, write_like
from casegraph import CaseStore, Settings, read_facts
from casegraph.running import peak_memory

T = TypeVar("T")
SIZES = (100_000, 1_000_000, 10_000_000)
STEEP = "steep"
QUESTIONS = 4


def main() -> None:
    """All phases of each size, or one phase in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", default="wikidata", choices=[*FAMILIES, STEEP])
    parser.add_argument("--facts", type=int, nargs="*", default=list(SIZES))
    parser.add_argument(
        "--keep", type=Path, help="a folder for files and stores, to use again"
    )
    parser.add_argument("--phase", nargs=2, help="(of a process that this one starts)")
    given = parser.parse_args()
    if given.phase:
        phase, folder = given.phase
        PHASES[phase](Path(folder), given.family, given.facts[0])
        return
    with TemporaryDirectory() as temporary:
        for facts in given.facts:
            folder = (given.keep or Path(temporary)) / f"{given.family} {facts}"
            folder.mkdir(parents=True, exist_ok=True)
            run_phases(folder, given.family, facts)


def run_phases(folder: Path, family: str, facts: int) -> None:
    """Each phase in a process of its own."""
    print(f"{family}, {facts:,} facts", flush=True)
    for phase in PHASES:
        command = [sys.executable, "-m", "benchmarks.bench_large", "--family", family]
        command += ["--facts", str(facts), "--phase", phase, str(folder)]
        subprocess.run(command, check=True)


def make(folder: Path, family: str, facts: int) -> None:
    """Write the file of facts, unless it is there."""
    file = folder / "facts.tsv"
    if file.exists():
        return
    if family == STEEP:
        with file.open("w", encoding="utf-8") as lines:
            lines.writelines("\t".join(fact) + "\n" for fact in synthetic(facts))
        questions = [
            (fact.head, fact.relation) for fact in islice(synthetic(facts), 99)
        ]
    else:
        write_like(family, facts, file)
        questions = example_questions(family, facts)
    (folder / "questions.json").write_text(json.dumps(questions))


def load(folder: Path, family: str, facts: int) -> None:  # noqa: ARG001
    """From the file into a new store."""
    place = folder / "store"
    if place.exists():
        for file in sorted(place.rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
    with CaseStore.open(place, Settings(max_length=2)) as store:
        added = timed(
            "load", lambda: store.update(add=read_facts(folder / "facts.tsv")).added
        )
        print(f"  {added:,} facts, {len(store.graph.entities):,} entities")
        timed(
            "write a generation",
            lambda: store._write_generation(store._checked_writer()),
        )


def ask(folder: Path, family: str, facts: int) -> None:  # noqa: ARG001
    """Open the store, and ask."""
    store = timed("open", lambda: CaseStore.open(folder / "store", read_only=True))
    questions = json.loads((folder / "questions.json").read_text())
    for number, question in enumerate(questions[:QUESTIONS], start=1):
        timed(f"question {number}", partial(store.ask, *question))


def timed(what: str, work: Callable[[], T]) -> T:
    """Do some work, and print what it took."""
    clock = time.perf_counter()
    processor = time.process_time()
    done = work()
    clock = time.perf_counter() - clock
    processor = time.process_time() - processor
    memory = peak_memory() / 1e6
    print(
        f"  {what:20} {clock:8.2f} s {processor:8.2f} cpu s {memory:8,.0f} MB",
        flush=True,
    )
    return done


PHASES = {"make": make, "load": load, "ask": ask}


if __name__ == "__main__":
    main()
