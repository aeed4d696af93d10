"""Belief: whether a list of proposed facts is in the right order, and what is stated comes true.

Run: scripts/bench belief [GRAPH …] [--top N] [--all] [--heads N] [--relations NAME …]
     scripts/bench belief --usual

Each graph is tuned on its train facts. Proposed are the first new answers (--top) to questions of
both directions about entities that have the relation already, or with --all about every entity
worth asking; a backward question proposes only such heads, and no entity is paired with itself.
Right are the facts of valid and test whose entities are known. Of Hetionet-part, a random tenth of
train is held out besides, and only the relations in `RELATIONS` are asked about. Where there are
many heads, a sample of --heads for each relation is asked about, and only facts about these count.

Compared on the same pairs: belief, the sum of the scores in both directions, and (known tails of
the head + 1) × (known heads of the tail + 1). If CASEGRAPH_BEFORE names a checkout of 300861d with
its own .venv, also the probability of that version, the higher of both directions; equal ones are
in the order of their scores, as that version lists them.

Average precision is over the right facts that are among the pairs, then over all of them; with the
standard error by bootstrap over pairs. ECE is the expected calibration error, over ten bins of
equal width, of pairs stated at 0.02 or more.

With --usual, the coefficients that each graph and the bundled one are tuned to, and those fitted to
all of them, the same for heads and tails: `settings.USUAL_COEFFICIENTS`.
"""

import argparse
import os
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.reproduce import machine, table
from casegraph import world
from casegraph.casebase import CaseBase
from casegraph.evaluation.catalogue import located
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.trust import (
    LEAST_STATED,
    SHOWN_BINS,
    PairQuestions,
    Proposed,
    average_precision,
    bins,
    calibration_error,
    is_among,
    precision_at,
    proposed_pairs,
)
from casegraph.execution.executor import HERE
from casegraph.formats.writing import write_facts
from casegraph.graph.arrays import Flags, Floats, Ids, ids
from casegraph.graph.directions import forward, inverse, relation_of
from casegraph.graph.facts import Fact
from casegraph.graph.graph import Graph
from casegraph.tuning.fitting import Examples, fitted
from casegraph.tuning.pairs import examples
from casegraph.tuning.sample import PairDigests, own_sample

GRAPHS = ("CoDEx-S", "FB122", "UMLS", "WN18RR", "NELL-995", "Hetionet-part")
RELATIONS = {"Hetionet-part": ("CtD", "CpD", "DrD", "CrC")}
HEADS = {"WN18RR": 1_000}  # for each relation; of other graphs all
HELD_OUT = {"Hetionet-part": 0.1}  # of train
SEED = 2  # of the facts that are held out
TOP = 10
PRECISION_AT = (50, 100, 1_000)
DRAWS = 100
BEFORE = "CASEGRAPH_BEFORE"  # a checkout of 300861d
COMMIT_BEFORE = "300861d"
BELIEF = "belief"
COLUMNS = ("by", "AP of found", "AP of all", "P@50", "P@100", "P@1000", "ECE")


@dataclass(frozen=True)
class Listed:
    """The pairs of all relations of a graph.

    held_out  how many right facts there are, proposed or not
    """

    case_base: CaseBase
    proposed: list[Proposed]
    is_right: Flags
    held_out: int

    def joined(self, values: Callable[[Proposed], Floats]) -> Floats:
        """Values of the pairs of all relations."""
        return np.concatenate([values(part) for part in self.proposed])


def main() -> None:
    """Print a table for each graph named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--top", type=int, default=TOP, help="new answers")
    parser.add_argument(
        "--all", action="store_true", help="ask about every entity worth asking"
    )
    parser.add_argument("--heads", type=int, help="of each relation, at most")
    parser.add_argument("--relations", nargs="*", default=[], help="only these")
    parser.add_argument("--usual", action="store_true", help="the usual coefficients")
    arguments = parser.parse_args()
    print(f"Commit {commit()}; {machine()}; {processor()}.", flush=True)
    if arguments.usual:
        print_usual()
        return
    for name in arguments.graphs:
        heads = arguments.heads or HEADS.get(name)
        relations = arguments.relations or RELATIONS.get(name, ())
        report(name, relations, arguments.top, heads, everyone=arguments.all)


def print_usual() -> None:
    """Print what graphs are tuned to, and what one fit to all of them gives."""
    parts = []
    for name in (*GRAPHS, "world"):
        cases = CaseBase()
        cases.update(add=world.facts() if name == "world" else facts_of(name)[0])
        tuning = cases.tune()
        assert tuning is not None
        print(name, tuning.belief, flush=True)
        own = examples(cases.state, own_sample(cases.graph), True, HERE)
        parts.append(own._replace(weights=own.weights / own.weights[own.is_fact].sum()))
    both_ways = [*parts, *(swapped(part) for part in parts)]
    columns = zip(*both_ways, strict=True)
    together = Examples(*(np.concatenate(column) for column in columns))
    print("together", fitted(together))


def swapped(of_heads: Examples) -> Examples:
    """The same pairs, the other way round."""
    places = [
        place
        for first in range(0, of_heads.features.shape[1], 2)
        for place in (first + 1, first)
    ]
    return of_heads._replace(features=of_heads.features[:, places])


def report(
    name: str,
    relations: Iterable[str],
    top: int,
    heads: int | None,
    *,
    everyone: bool,
) -> None:
    """Print the tables of one graph."""
    started = time.perf_counter()
    train, missing = facts_of(name)
    listed = pairs_of(
        train, missing, set(relations), top=top, heads=heads, everyone=everyone
    )
    columns: dict[str, Floats] = {
        BELIEF: listed.joined(lambda part: part.probabilities),
        "sum of scores": listed.joined(
            lambda part: part.tail_scores + part.head_scores
        ),
        "degrees": listed.joined(lambda part: part.by_degree.astype(np.float64)),
    }
    stating = {BELIEF: columns[BELIEF]}
    checkout = os.environ.get(BEFORE)
    if checkout:
        probable, score = stated_before(Path(checkout), train, listed)
        stating[COMMIT_BEFORE] = probable
        columns[COMMIT_BEFORE] = places_by(probable, score)
    tuning = listed.case_base.settings.tuning
    print(f"\n## {name}\n")
    limits = "" if heads is None else f", at most {heads:,} heads of a relation"
    whom = "every entity worth asking" if everyone else "entities with the relation"
    print(f"First {top} new answers, {whom}{limits}. {tuning!r}.")
    print(f"Settings: {listed.case_base.settings.but(tuning=None)!r}.")
    if tuning is not None:
        print(f"Missing, as estimated: {tuning.belief.missing}.")
    found = int(np.count_nonzero(listed.is_right))
    print(
        f"{len(listed.is_right):,} pairs; {listed.held_out:,} facts held out, "
        f"{found:,} of them among the pairs.\n"
    )
    rows = [
        figures(by, values, listed, stated=stating.get(by))
        for by, values in columns.items()
    ]
    print(table(rows, COLUMNS))
    lines = [reliability(by, stated, listed.is_right) for by, stated in stating.items()]
    header = [f"{low:g}–{high:g}" for low, high in pairwise(SHOWN_BINS)]
    print(table(lines, ["stated → right (pairs)", *header]))
    print(f"{time.perf_counter() - started:.0f} s", flush=True)


def facts_of(name: str) -> tuple[list[Fact], set[Fact]]:
    """The facts to answer from, and the facts that are missing."""
    benchmark = Benchmark.open(located(name))
    train = sorted(set(benchmark.facts("train")))
    missing = {*benchmark.facts("valid"), *benchmark.facts("test")}
    if name in HELD_OUT:
        chances = np.random.default_rng(SEED).random(len(train))
        is_held_out = (chances < HELD_OUT[name]).tolist()
        pairs = list(zip(train, is_held_out, strict=True))
        train = [fact for fact, is_out in pairs if not is_out]
        missing |= {fact for fact, is_out in pairs if is_out}
    return train, missing - set(train)


def pairs_of(
    train: list[Fact],
    missing: set[Fact],
    relations: set[str],
    *,
    top: int,
    heads: int | None,
    everyone: bool,
) -> Listed:
    """Propose facts of some relations, or of all."""
    case_base = CaseBase()
    case_base.update(add=train)
    case_base.tune()
    state = case_base.state
    digests = PairDigests(state.graph)
    missing_rows = known_rows(state.graph, missing)
    proposed = []
    is_right = []
    held_out = 0
    names = relations or set(state.graph.relations.names)
    for name in sorted(names):
        number = state.graph.relations.find(name)
        assert number is not None, name
        relation = forward(number)
        having = partial(has_it, state.graph)
        worth_asking = state.profiles.worth_asking if everyone else having
        asked = PairQuestions(
            relation,
            np.unique(worth_asking(relation)),
            np.unique(worth_asking(inverse(relation))),
        )
        left_out = ids()
        if heads is not None and len(asked.heads) > heads:
            order = np.argsort(digests.of(relation, asked.heads, asked.heads))
            left_out = asked.heads[order[heads:]]
            asked = asked._replace(heads=np.sort(asked.heads[order[:heads]]))
        own = proposed_pairs(state, asked, top=top, among_heads=True, loops=False)
        pairs = missing_rows[missing_rows[:, 1] == relation][:, [0, 2]]
        pairs = pairs[~np.isin(pairs[:, 0], left_out)]
        held_out += len(pairs)
        proposed.append(own)
        is_right.append(is_among(own, pairs, len(state.graph.entities)))
    return Listed(case_base, proposed, np.concatenate(is_right), held_out)


def has_it(graph: Graph, direction: int) -> Ids:
    """The entities that have a relation."""
    return graph.rows(direction)[:, 0]


def known_rows(graph: Graph, facts: Iterable[Fact]) -> Ids:
    """Facts as rows of ids; those with an unknown name are left out."""
    rows = []
    for head_name, relation_name, tail_name in facts:
        head = graph.entities.find(head_name)
        relation = graph.relations.find(relation_name)
        tail = graph.entities.find(tail_name)
        if head is not None and relation is not None and tail is not None:
            rows.append((head, forward(relation), tail))
    return np.array(rows, dtype=np.int32).reshape(-1, 3)


def figures(
    by: str, values: Floats, listed: Listed, *, stated: Floats | None
) -> list[str]:
    """The row of a table: how good an order by values is.

    stated  the probabilities, if there are any
    """
    is_right = listed.is_right
    precision = average_precision(values, is_right) or 0.0
    of_found = int(np.count_nonzero(is_right)) / max(listed.held_out, 1)
    error = bootstrap_error(values, is_right)
    at_k = [precision_at(k, values, is_right) for k in PRECISION_AT]
    calibration = ""
    if stated is not None:
        is_stated = stated >= LEAST_STATED
        off = calibration_error(stated[is_stated], is_right[is_stated])
        calibration = "" if off is None else f"{off:.3f}"
    return [
        by,
        f"{precision:.3f} ± {error:.3f}",
        f"{precision * of_found:.3f} ± {error * of_found:.3f}",
        *("" if share is None else f"{share:.3f}" for share in at_k),
        calibration,
    ]


def bootstrap_error(values: Floats, is_right: Flags) -> float:
    """The standard error of average precision, by drawing pairs with replacement."""
    order = np.argsort(-values, kind="stable")
    in_order = values[order]
    right = is_right[order]
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(DRAWS):
        weights = rng.poisson(size=len(values)).astype(np.float64)
        drawn.append(average_precision(in_order, right, weights) or 0.0)
    return float(np.std(drawn))


def reliability(by: str, stated: Floats, is_right: Flags) -> list[str]:
    """The row of a table: for each bin, what was stated, what was right, and how many pairs."""
    row = [by]
    for bounds in pairwise(SHOWN_BINS):
        is_last = bounds[1] == SHOWN_BINS[-1]
        is_in = (stated >= bounds[0]) & ((stated < bounds[1]) | is_last)
        own = bins(stated[is_in], is_right[is_in], (0.0, 1.0))
        cells = [f"{b.stated:.3f} → {b.observed:.3f} ({b.pairs:,})" for b in own]
        row.append("".join(cells))
    return row


def places_by(first: Floats, second: Floats) -> Floats:
    """Numbers that order pairs by a first value, and equal ones by a second."""
    both = np.stack([first, second], axis=1)
    _, places = np.unique(both, axis=0, return_inverse=True)
    return places.ravel().astype(np.float64)


def stated_before(
    checkout: Path, train: list[Fact], listed: Listed
) -> tuple[Floats, Floats]:
    """The probability and score of the same pairs by an earlier version, in its own process."""
    graph = listed.case_base.graph
    names = np.array(graph.entities.names, dtype=object)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        write_facts(train, place / "train.txt")
        pairs: list[Fact] = []
        for part in listed.proposed:
            relation = graph.relations[relation_of(part.relation)]
            heads = names[part.heads].tolist()
            tails = names[part.tails].tolist()
            pairs += (
                Fact(head, relation, tail)
                for head, tail in zip(heads, tails, strict=True)
            )
        write_facts(pairs, place / "pairs.txt")
        program = Path(__file__).with_name("belief_before.py")
        python = checkout / ".venv" / "bin" / "python"
        subprocess.run([str(python), str(program), folder], check=True)
        probable, score = np.load(place / "stated.npy")
    return probable, score


def commit() -> str:
    """The commit that is measured, and whether files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def processor() -> str:
    """The model of the processor."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return "unknown processor"


if __name__ == "__main__":
    main()
