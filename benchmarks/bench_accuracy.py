"""What each mechanism brings, on validation facts: path types alone, then one kind after the other.

Run: scripts/bench accuracy UMLS CoDEx-S WN18RR … [--max-length N] [--limit FACTS]

Every graph is counted once, without tuning, and its validation facts are ranked by each row of
settings. Prints MRR by mean rank for ties with the standard error of what the row changes against
the row before (paired, over questions); and of the last row, the default, the interval of MRR by
bootstrap, and MRR by how many answers of a question are known already and by kind of relation.
"""

import argparse
from typing import Any, NamedTuple

import numpy as np

from benchmarks.bench_ask import TAIL_ONLY
from casegraph.answering.state import State
from casegraph.casebase import CaseBase
from casegraph.evaluation.catalogue import located
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import (
    Questions,
    Sides,
    directed,
    questions_of,
    ranked,
    read_files,
    tasks_of,
)
from casegraph.evaluation.intervals import bootstrap
from casegraph.execution.executor import HERE
from casegraph.graph.arrays import Counts, Floats, Ids
from casegraph.graph.directions import inverse
from casegraph.running import quiet
from casegraph.settings import Settings

ONLY_PATHS = {"precedent_weight": 0.0, "habit": 0.0, "decisive": 1.0}

ROWS: dict[str, dict[str, Any]] = {
    "path types": {**ONLY_PATHS, "slots": False},
    "+ slots": ONLY_PATHS,
    "+ habit": {"precedent_weight": 0.0, "decisive": 1.0},
    "+ precedents and answers": {"decisive": 1.0},
    "+ rules decide: the default": {},
}
KNOWN_ANSWERS = {
    "0": (0, 0),
    "1–3": (1, 3),
    "4–10": (4, 10),
    "11–100": (11, 100),
    "more": (101, 1 << 40),
}


MANY = 1.5  # answers of an entity, in the mean, from which on a side of a relation is "many"


class Graph(NamedTuple):
    """A benchmark that is counted, and what is asked."""

    state: State
    questions: Questions
    known: Ids
    known_answers: Counts  # of each question, in the graph
    # How many an entity has in the mean that has any, by direction.
    answers_each: Floats


def main() -> None:
    """Print the rows of each folder named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", default=["UMLS", "CoDEx-S"])
    parser.add_argument("--max-length", type=int, default=3)
    parser.add_argument("--limit", type=int, help="facts, spread evenly over the split")
    arguments = parser.parse_args()
    for folder in arguments.folders:
        graph = counted(folder, arguments.max_length, arguments.limit)
        print(
            f"\n{folder}, n = {arguments.max_length}, {len(graph.questions):,} questions\n"
        )
        print("| | MRR | Hits@10 | change |\n|---|---|---|---|")
        before: Floats | None = None
        for name, changes in ROWS.items():
            ranks = ranks_by(
                graph, Settings(max_length=arguments.max_length).but(**changes)
            )
            change = "" if before is None else difference(1 / ranks, 1 / before)
            print(
                f"| {name} | {np.mean(1 / ranks):.4f} | {np.mean(ranks <= 10):.3f} | {change} |"
            )
            before = ranks
        if before is not None:
            print_strata(graph, 1 / before)


def print_strata(graph: Graph, reciprocal_ranks: Floats) -> None:
    """Where the questions are that are answered well, and where the others."""
    interval = bootstrap(reciprocal_ranks, draws=1_000)
    print(
        f"\n95 % of draws of the questions: MRR {interval.low:.4f} to {interval.high:.4f}"
    )
    print("\n| known answers | questions | MRR |\n|---|---|---|")
    for name, (least, most) in KNOWN_ANSWERS.items():
        is_in = (graph.known_answers >= least) & (graph.known_answers <= most)
        print_stratum(name, reciprocal_ranks[is_in])
    print(
        "\n| one answer or many, each with one asker or many | questions | MRR |\n|---|---|---|"
    )
    directions = graph.questions.rows[:, 0]
    has_many_answers = graph.answers_each[directions] >= MANY
    has_many_askers = graph.answers_each[inverse(directions)] >= MANY
    for answers in False, True:
        for askers in False, True:
            is_in = (has_many_answers == answers) & (has_many_askers == askers)
            name = f"{'many' if answers else 'one'}, {'many' if askers else 'one'}"
            print_stratum(name, reciprocal_ranks[is_in])


def print_stratum(name: str, reciprocal_ranks: Floats) -> None:
    """One row, if there are questions."""
    if len(reciprocal_ranks):
        print(f"| {name} | {len(reciprocal_ranks):,} | {reciprocal_ranks.mean():.4f} |")


def counted(folder: str, max_length: int, limit: int | None) -> Graph:
    """A benchmark with everything counted that its validation questions need."""
    benchmark = Benchmark.open(located(folder))
    split = "dev" if folder == TAIL_ONLY else "valid"
    sides: Sides = "tail" if folder == TAIL_ONLY else "both"
    files = read_files(benchmark, split, benchmark.graph, quiet)
    questions = questions_of(files, split, sides, limit)
    cases = CaseBase(Settings(max_length=max_length))
    cases.update(add=files.facts(benchmark.graph))
    cases.prepare()
    in_graph = directed(files.rows[benchmark.graph], "both")
    return Graph(
        cases.state,
        questions,
        directed(files.known, sides),
        answers_in(in_graph, questions.rows),
        answers_of_each(in_graph, 2 * len(files.relations)),
    )


def answers_of_each(facts: Ids, directions: int) -> Floats:
    """How many answers an entity has that has any, in the mean, for each direction."""
    entities = np.unique(facts[:, :2], axis=0)
    answers = np.bincount(facts[:, 0], minlength=directions)
    askers = np.bincount(entities[:, 0], minlength=directions)
    return answers / np.maximum(askers, 1)


def answers_in(facts: Ids, questions: Ids) -> Counts:
    """How many answers questions (relation, entity, target) have among facts of the same form."""
    pairs, counts = np.unique(facts[:, :2], axis=0, return_counts=True)
    known = {
        tuple(pair): count
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True)
    }
    return np.array([known.get(tuple(pair), 0) for pair in questions[:, :2].tolist()])


def ranks_by(graph: Graph, settings: Settings) -> Floats:
    """The rank of every target by other settings, which need the same counts."""
    before = graph.state.statistics
    state = State.of(graph.state.graph, settings, profiles=graph.state.profiles)
    hits = {
        relation: before.hits_of(relation) for relation in range(state.graph.directions)
    }
    state.statistics.restore(before.longest or 0, before.headroom, hits, before.counted)
    tasks = tasks_of(state, graph.questions, graph.known)
    return ranked(state, tasks, HERE, quiet).realistic


def difference(now: Floats, before: Floats) -> str:
    """The mean of what changed, and its standard error."""
    change = now - before
    error = change.std() / np.sqrt(len(change))
    return f"{change.mean():+.4f} ± {error:.4f}"


if __name__ == "__main__":
    main()
