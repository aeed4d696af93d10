"""Graphs as dense as graphs get: the first question, and how soon Ctrl-C stops it.

Run: scripts/bench dense
A complete graph of 300 entities and five relations, a complete bipartite graph of 2,000 and 2,000,
and Nations with paths of up to five steps. Prints a line for each: the seconds of the first
question by the clock and of the processor, of the same question again, and the most seconds from
an interrupt to its end, over interrupts at several moments.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from itertools import permutations, product
from threading import Timer

from benchmarks.bench_all import timed
from casegraph.casebase import CaseBase
from casegraph.evaluation.catalogue import located
from casegraph.evaluation.datasets import Benchmark
from casegraph.graph.facts import Fact
from casegraph.settings import Settings

INTERRUPTED_AFTER = (0.05, 0.3, 0.6, 1.2, 2.4)  # seconds
Question = tuple[str, str]


def main() -> None:
    """A line for each graph."""
    for name, make in GRAPHS.items():
        cases, question = make()
        _, first, processor = timed(lambda: cases.ask(*question))  # noqa: B023  (called at once)
        _, again, _ = timed(lambda: cases.ask(*question))  # noqa: B023
        delays = list(interrupted(make))
        print(
            f"{name}: first question {first:.2f} s, {processor:.2f} cpu s; again {again:.2f} s; "
            f"interrupted {len(delays)} times, stopped within {max(delays, default=0):.3f} s",
            flush=True,
        )


def interrupted(make: Callable[[], tuple[CaseBase, Question]]) -> Iterator[float]:
    """The seconds from an interrupt of the first question to its end."""
    for wait in INTERRUPTED_AFTER:
        cases, question = make()
        sent = 0.0

        def interrupt() -> None:
            nonlocal sent
            sent = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)

        timer = Timer(wait, interrupt)
        timer.start()
        try:
            cases.ask(*question)
            timer.cancel()  # it was answered before
        except KeyboardInterrupt:
            yield time.perf_counter() - sent


def complete() -> tuple[CaseBase, Question]:
    """Everybody is connected to everybody else, in five ways."""
    names = [f"e{number}" for number in range(300)]
    cases = CaseBase()
    pairs = permutations(names, 2)
    cases.update(add=(Fact(a, f"r{k}", b) for (a, b), k in product(pairs, range(5))))
    return cases, ("e1", "r1")


def bipartite() -> tuple[CaseBase, Question]:
    """All of one kind are connected to all of another kind."""
    cases = CaseBase()
    cases.update(
        add=(Fact(f"a{a}", "r", f"b{b}") for a, b in product(range(2000), repeat=2))
    )
    return cases, ("a1", "r")


def nations() -> tuple[CaseBase, Question]:
    """Few entities with many relations, and long paths."""
    benchmark = Benchmark.open(located("Nations"))
    facts = list(benchmark.facts(benchmark.graph))
    cases = CaseBase(Settings(max_length=5))
    cases.update(add=facts)
    return cases, (facts[0].head, facts[0].relation)


GRAPHS = {
    "complete, 300 × 5": complete,
    "bipartite, 2,000²": bipartite,
    "Nations, n = 5": nations,
}


if __name__ == "__main__":
    main()
