"""Long lives: what a case base holds, and what an update takes, as the number of updates grows.

Run: scripts/bench lives [NAME …] [--updates 100000]
Prints a curve for each life, as a table in Markdown.

Every life is in a process of its own, so that its memory is its own. FB122 is measured if it is on
this machine (see `casegraph datasets`).
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from tests.lives import LIVES, Fact, Life, Step, toggled

from casegraph import CaseBase, CaseStore, Settings
from casegraph.evaluation.catalogue import find, located
from casegraph.evaluation.datasets import Benchmark

FB122 = "FB122, asked once"
ITS_UPDATES = 10_000
BLOCKS = 3  # lines of a curve for each power of ten
PAPER = Settings.paper("WN18RR").but(max_length=3, neighbours=5)
SETTINGS = {"hac": PAPER, "grinch": PAPER.but(clustering="grinch")}
NAMES = [
    *LIVES,
    *(f"{name}, in a store" for name in ("unrelated", "new entities", "new relations")),
    *(
        f"{name}, {clustering}"
        for clustering in SETTINGS
        for name in ("new entities", "new relations")
    ),
    FB122,
]


def main() -> None:
    """Start a process for each life, or live one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which lives: {'; '.join(NAMES)}"
    )
    parser.add_argument("--updates", type=int, default=100_000)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(NAMES):
        parser.error(
            f"no life is called {sorted(unknown)[0]!r}; there are {'; '.join(NAMES)}"
        )
    if arguments.here:
        live(arguments.names[0], arguments.updates)
        return
    print(
        "| life | updates | memory, MB "
        "| an update, ms (median / p99) | the first question after, ms |"
    )
    print("|---|---|---|---|---|", flush=True)
    for name in arguments.names or NAMES:
        command = [
            sys.executable,
            "-m",
            "benchmarks.bench_lives",
            name,
            "--updates",
            str(arguments.updates),
            "--here",
        ]
        subprocess.run(command, check=True)


def live(name: str, updates: int) -> None:
    """Print the curve of one life."""
    kind, _, how = name.partition(", ")
    if name == FB122 and find("FB122") is None:
        print(f"| {name} | not measured: the data set is not on this machine | | | |")
        return
    life = fb122() if name == FB122 else LIVES[kind]
    with TemporaryDirectory() as folder:
        cases = (
            CaseStore.open(Path(folder, "store"))
            if how == "in a store"
            else CaseBase(SETTINGS.get(how))
        )
        curve(
            name, life, cases, min(updates, ITS_UPDATES) if name == FB122 else updates
        )


def curve(name: str, life: Life, cases: CaseBase, updates: int) -> None:
    """Live, and print a line at the end of each block:
    what is held, what the last tenth of the updates took.
    """
    life.begin(cases)
    facts = len(cases.graph)
    head, relation, _ = life.start()[0]
    ask = partial(cases.ask, head, relation)
    taken: list[float] = []
    print(line(name, 0, [], seconds_of(ask)), flush=True)
    for update in islice(life.updates(cases), updates):
        taken.append(seconds_of(update))
        if len(taken) in blocks(updates):
            last_tenth = max(100, len(taken) // 10)
            print(
                line(name, len(taken), taken[-last_tenth:], seconds_of(ask)), flush=True
            )
    assert abs(len(cases.graph) - facts) <= 1, "a life leaves as many facts as it found"


def blocks(updates: int) -> set[int]:
    """After how many updates to print: evenly in the logarithm, from 100 on."""
    powers = np.log10(updates) - 2
    number = max(2, round(BLOCKS * powers) + 1)
    ends = np.logspace(2, np.log10(updates), number)
    return set(ends.round().astype(int).tolist())


def line(name: str, updates: int, taken: list[float], question: float) -> str:
    """One line of a curve."""
    times = ""
    if taken:
        middle, late = np.percentile(np.array(taken) * 1e3, [50, 99])
        times = f"{middle:.2f} / {late:.2f}"
    held = f"{resident() / 1e6:.0f}"
    return f"| {name} | {updates:,} | {held} | {times} | {question * 1e3:.1f} |"


def resident() -> int:
    """The bytes that this process holds now."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    lines = status.read_text(encoding="utf-8").splitlines()
    kilobytes = next(line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return 1024 * int(kilobytes)


def seconds_of(work: Callable[[], object]) -> float:
    """How long some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def fb122() -> Life:
    """Each relation is asked about once, with an update of an unrelated one between."""
    benchmark = Benchmark.open(located("FB122"))
    start: list[Fact] = [
        (fact.head, fact.relation, fact.tail)
        for fact in benchmark.facts(benchmark.graph)
    ]
    heads = {relation: head for head, relation, _ in reversed(start)}
    questions = [(heads[relation], relation) for relation in sorted(heads)]

    def steps() -> Iterator[Step]:
        for (come, gone, _), question in zip(
            toggled(), chain(questions, repeat(None)), strict=False
        ):
            yield come, gone, question

    return Life(lambda: start, steps, counted=False)


if __name__ == "__main__":
    main()
