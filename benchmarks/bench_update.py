"""One fact more: what an update takes, and the first question after it,
which pays for what went stale.

Run: scripts/bench update WN18RR
Prints medians and 99th percentiles in milliseconds, beside the time of a rebuild.
"""

import argparse
import time

import numpy as np

from casegraph.casebase import CaseBase
from casegraph.evaluation.catalogue import located
from casegraph.evaluation.datasets import Benchmark


def main() -> None:
    """Add held-out facts one at a time, asking about each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default="WN18RR")
    parser.add_argument("--facts", type=int, default=200)
    arguments = parser.parse_args()
    benchmark = Benchmark.open(located(arguments.folder))
    started = time.perf_counter()
    cases = CaseBase()
    cases.update(add=benchmark.facts(benchmark.graph))
    cases.prepare()
    rebuild = time.perf_counter() - started
    held_out = sorted(benchmark.facts("valid"))
    chosen = np.random.default_rng(0).choice(
        len(held_out), arguments.facts, replace=False
    )
    updates = []
    questions = []
    for place in chosen.tolist():
        head, relation, tail = held_out[place]
        started = time.perf_counter()
        done = cases.update(add=[(head, relation, tail)])
        updates.append(time.perf_counter() - started)
        assert done.added == 1
        assert not done.rebuilt
        started = time.perf_counter()
        cases.ask(head, relation)
        questions.append(time.perf_counter() - started)
    print(
        f"{arguments.folder}: {len(cases.graph):,} facts; a rebuild takes {rebuild:.1f} s; "
        f"{arguments.facts} updates:"
    )
    for name, seconds in (("update", updates), ("first question", questions)):
        middle, late = np.percentile(np.array(seconds) * 1e3, [50, 99])
        part = rebuild * 1e3 / middle
        median = f"median {middle:8.2f} ms (1/{part:,.0f} of a rebuild)"
        print(f"  {name:<15} {median}   p99 {late:8.2f} ms")


if __name__ == "__main__":
    main()
