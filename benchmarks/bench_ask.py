"""Asking: every question of the test split ranked
in one batch, then single questions of the valid split.

Run: scripts/bench ask WN18RR FB122 NELL-995/minerva FB15k-237

Prints distinct queries a second, by the clock and by the processor,
with a digest of the ranks, so that a change can be seen to change nothing;
and the median and 99th percentile of one `ask` in milliseconds, the counts being prepared.
"""

import argparse
import time
from hashlib import sha256
from typing import Any

import numpy as np

from casegraph.casebase import CaseBase
from casegraph.evaluation.catalogue import located
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import (
    Sides,
    directed,
    questions_of,
    ranked,
    read_files,
    tasks_of,
)
from casegraph.execution.executor import HERE
from casegraph.running import quiet

TAIL_ONLY = "NELL-995/minerva"


def main() -> None:
    """Ask both ways about each folder named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", default=["WN18RR"])
    parser.add_argument(
        "--questions", type=int, default=1000, help="how many single questions"
    )
    arguments = parser.parse_args()
    for folder in arguments.folders:
        benchmark = Benchmark.open(located(folder))
        cases = prepared(benchmark)
        found = batch(cases, benchmark, "tail" if folder == TAIL_ONLY else "both")
        found |= single(cases, benchmark, arguments.questions)
        figures = [f"{name}: {value}" for name, value in found.items()]
        print(folder, *figures, sep="; ", flush=True)


def prepared(benchmark: Benchmark) -> CaseBase:
    """A case base that has counted all it needs."""
    cases = CaseBase()
    cases.update(add=benchmark.facts(benchmark.graph))
    cases.prepare()
    return cases


def batch(cases: CaseBase, benchmark: Benchmark, sides: Sides) -> dict[str, Any]:
    """Rank every target of the test split, as `casegraph evaluate` does."""
    files = read_files(benchmark, "test", benchmark.graph, quiet)
    questions = questions_of(files, "test", sides, None)
    known = directed(files.known, sides)
    tasks = tasks_of(cases.state, questions, known)
    wall = time.perf_counter()
    processor = time.process_time()
    ranks = ranked(cases.state, tasks, HERE, quiet)
    wall = time.perf_counter() - wall
    processor = time.process_time() - processor
    digest = sha256()
    for column in (ranks.optimistic, ranks.pessimistic, ranks.original):
        digest.update(column.tobytes())
    return {
        "queries": questions.distinct,
        "queries/s": questions.distinct / wall,
        "queries/CPU s": questions.distinct / processor,
        "ranks": digest.hexdigest()[:12],
    }


def single(cases: CaseBase, benchmark: Benchmark, questions: int) -> dict[str, Any]:
    """Ask questions of the valid split one at a time."""
    split = "valid" if "valid" in benchmark.splits else "dev"
    held_out = sorted(benchmark.facts(split))
    size = min(questions, len(held_out))
    chosen = np.random.default_rng(0).choice(len(held_out), size, replace=False)
    milliseconds = []
    for place in chosen.tolist():
        fact = held_out[place]
        started = time.perf_counter()
        cases.ask(fact.head, fact.relation, top=10)
        milliseconds.append(1e3 * (time.perf_counter() - started))
    middle, late = np.percentile(milliseconds, [50, 99]).tolist()
    return {"ask p50": middle, "ask p99": late}


if __name__ == "__main__":
    main()
