"""
The paper's stream (§3.4): a graph that grows batch by batch, and how well it answers after each.

The seed graph is added to a case base, then each batch, and questions are asked after each
(`experiments.stream_questions`). It is compared with an *oracle*, which clusters and counts
everything from scratch: that shows how much time an update saves, and how much accuracy is lost by
clusters that depend on history. If clusters do not, the oracle gives the same answers by
construction, so only its seconds are of interest; `verify` checks this. All seconds are processor
time, summed over threads: they are the same on a busy machine.

The settings stay the same. They may be tuned once, on the seed graph, because a system in use does
not know what its graph will become.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import process_time

import numpy as np

from casegraph.answering.ranks import Ranks
from casegraph.answering.state import State, Update
from casegraph.batch.resumption import Resumable
from casegraph.casebase import CaseBase
from casegraph.errors import CasegraphError
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import ranked, read_files, tasks_of
from casegraph.execution.executor import HERE
from casegraph.experiments.arrivals import SEED_GRAPH, Arrivals, Plan, arrivals
from casegraph.experiments.journal import Record, read_records
from casegraph.experiments.stream_questions import (
    TEST,
    Asked,
    asked_after,
    digest_of,
    metrics_of,
)
from casegraph.experiments.verification import differences, rebuilt
from casegraph.graph.arrays import Counts
from casegraph.graph.facts import Fact
from casegraph.graph.graph import Graph
from casegraph.running import Show, quiet
from casegraph.settings import Settings
from casegraph.similarity.clusters.assignment import EVERYONE, depends_on_history

WORK = (
    "added",
    "new_entities",
    "new_relations",
    "reshaped",
    "moved",
    "recounted",
    "rebuilt",
)
NO_RANKS = Ranks(np.zeros(0), np.zeros(0), np.zeros(0))
CLUSTERS_SHOWN = 12
MEMBERS_SHOWN = 6


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """What to do with a stream.

    settings  the settings of the case base
    name      the name of these settings
    plan      how the graph arrives
    tune      whether to tune the settings on the seed graph, once
    verify    whether to compare every state with a rebuild
    limit     how many facts to ask for after each batch, spread evenly; None: all
    """

    settings: Settings
    name: str = "default"
    plan: Plan = field(default_factory=Plan)
    tune: bool = False
    verify: bool = False
    limit: int | None = None

    @property
    def system(self) -> str:
        """The name of the settings, and how they cluster."""
        has_clusters = self.settings.clustering in ("grinch", "hac")
        return f"{self.name}-{self.settings.clustering}" if has_clusters else self.name


def stream(
    benchmark: Benchmark, wanted: StreamOptions, folder: Path, show: Show = quiet
) -> list[Record]:
    """Let a benchmark arrive; a record for each batch is written to a file in `folder`.

    If an earlier call with the same arguments was interrupted, continue its file. Returns all
    records.
    """
    files = read_files(benchmark, TEST, benchmark.graph, show)
    arriving = arrivals(files, benchmark.graph, wanted.plan)
    name = benchmark.folder.resolve().name
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{name}.{wanted.system}.seed{wanted.plan.seed}.jsonl"
    unverified = replace(wanted, verify=False)  # the records do not depend on it
    with Resumable(out, digest_of(files, asdict(unverified))) as file:
        grown = _Growing(arriving, benchmark.graph, wanted, show)
        for batch in range(SEED_GRAPH, arriving.batches + 1):
            show("batches of the stream", batch, arriving.batches + 1)
            if batch < file.done:
                grown.skip(batch, is_last=batch == file.done - 1)
                continue
            record = {
                "benchmark": name,
                "system": wanted.system,
                "seed": wanted.plan.seed,
                "batch": batch,
                **grown.take_in(batch),
            }
            file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
    show("batches of the stream", arriving.batches + 1, arriving.batches + 1)
    return read_records(out)


class _Growing:
    """A case base to which one batch after the other is added."""

    def __init__(
        self, arriving: Arrivals, source: str, wanted: StreamOptions, show: Show
    ) -> None:
        self._arriving = arriving
        self._source = source
        self._wanted = wanted
        self._show = show
        self._cases = CaseBase(wanted.settings)

    def skip(self, batch: int, *, is_last: bool) -> None:
        """Add a batch that was asked about in an earlier run.

        is_last  whether the next batch is not skipped, so that its update must have counts to keep
        """
        for step in self._arriving.steps(batch):
            self._cases.update(add=self._facts(step))
        if batch == SEED_GRAPH and self._wanted.tune:
            self._cases.tune(self._show)
        if is_last:
            self._cases.prepare(show=self._show)

    def take_in(self, batch: int) -> Record:
        """Add a batch and ask questions; the record says what it took, and how well they went."""
        before = self._cases.state
        together, *alone = self._arriving.steps(batch)
        update = self._timed_update(together)
        update["counting_seconds"] = self._timed_count()
        if batch == SEED_GRAPH and self._wanted.tune:
            self._cases.tune(self._show)
        newcomers = [self._timed_newcomer(step) for step in alone]
        catching_up = self._timed_count()

        state = self._cases.state
        asked = asked_after(self._arriving, batch, self._wanted.limit)
        ranks = _ranks(state, asked, self._show)
        oracle, rebuild_seconds = self._rebuild()
        found = {"online": metrics_of(asked, ranks)}
        if depends_on_history(state.settings):
            found["oracle"] = metrics_of(asked, _ranks(oracle, asked, self._show))
        if self._wanted.verify:
            self._verify(state, oracle, asked, ranks)

        is_there = self._arriving.until(batch)
        record: Record = {
            "entities": len(is_there.entities),
            "facts": len(state.graph),
            "newcomers": _number_of_newcomers(self._arriving, batch),
            "update": update,
            "alone": newcomers,
            "catching_up_seconds": catching_up,
            "rebuild": {"seconds": rebuild_seconds},
            "metrics": found,
            "verified": self._wanted.verify,
        }
        if state.settings.weight == "prior":
            record["clusters"] = {
                "online": len(np.unique(state.clusters.entities)),
                "oracle": len(np.unique(oracle.clusters.entities)),
            }
            record["examples"] = list(_examples(before, state))
        return record

    def _facts(self, step: int) -> list[Fact]:
        files = self._arriving.files
        rows = self._arriving.facts(self._source, step)
        return [
            Fact(files.entities[head], files.relations[relation], files.entities[tail])
            for relation, head, tail in rows.tolist()
        ]

    def _timed_update(self, step: int) -> Record:
        """Add the facts of a step; the record says what it took, and what it did."""
        facts = self._facts(step)
        started = process_time()
        update = self._cases.update(add=facts)
        return {"seconds": process_time() - started, **_work(update)}

    def _timed_newcomer(self, step: int) -> Record:
        """Add an entity that arrives alone, and ask about its first fact, if it has any."""
        update = self._timed_update(step)
        started = process_time()
        for fact in self._facts(step)[:1]:
            arriving = int(np.flatnonzero(self._arriving.step_of == step)[0])
            if fact.head == self._arriving.files.entities[arriving]:
                self._cases.ask(fact.head, fact.relation)
            else:
                self._cases.ask_head(fact.relation, fact.tail)
        return {**update, "answer_seconds": process_time() - started}

    def _timed_count(self) -> float:
        """Bring all counts up to date; returns the seconds."""
        started = process_time()
        self._cases.prepare(show=self._show)
        return process_time() - started

    def _rebuild(self) -> tuple[State, float]:
        """The state that clusters and counts everything from scratch, and its seconds."""
        now = self._cases.state.graph
        settings = self._cases.state.settings
        if depends_on_history(settings):
            settings = settings.but(clustering="hac")
        facts = list(now.facts())
        started = process_time()
        graph = Graph(now.entities, now.relations)
        graph.add(facts)
        oracle = State.of(graph, settings)
        oracle.statistics.prepare(range(graph.directions), self._show)
        return oracle, process_time() - started

    def _verify(self, state: State, oracle: State, asked: Asked, ranks: Ranks) -> None:
        """Compare with a rebuild, which the oracle is unless clusters depend on history."""
        other = rebuilt(state) if depends_on_history(state.settings) else oracle
        found = differences(state, other)
        if not found and not _are_equal(ranks, _ranks(other, asked, self._show)):
            found = ["ranks"]
        if found:
            raise CasegraphError(
                f"after update {state.sequence} the state differs from a rebuild in "
                f"{', '.join(found[:3])}; this is an error of casegraph, so report it"
            )


def _ranks(state: State, asked: Asked, show: Show) -> Ranks:
    if not len(asked.questions):
        return NO_RANKS
    return ranked(state, tasks_of(state, asked.questions, asked.known), HERE, show)


def _work(update: Update) -> Record:
    """What an update did, as far as it can happen in a stream."""
    done = asdict(update)
    return {name: done[name] for name in WORK}


def _number_of_newcomers(arriving: Arrivals, batch: int) -> int:
    return int(np.count_nonzero(arriving.batch_of_entities(batch) == batch))


def _examples(before: State, after: State) -> Iterator[Record]:
    """Clusters that new entities joined, those with most new entities first.

    members    some older entities, those with most facts first
    newcomers  some new entities, likewise
    """
    graph = after.graph
    clusters = after.clusters.entities
    has_facts = clusters != EVERYONE
    is_old = np.zeros(len(clusters), dtype=np.bool)
    is_old[: len(before.graph.entities)] = True
    joined, newcomers = np.unique(clusters[has_facts & ~is_old], return_counts=True)
    most_newcomers_first = joined[np.argsort(-newcomers, kind="stable")]

    def names(entities: Counts) -> list[str]:
        return [graph.entities[entity] for entity in entities[:MEMBERS_SHOWN].tolist()]

    prominence = graph.prominence()
    for cluster in most_newcomers_first[:CLUSTERS_SHOWN].tolist():
        inside = np.flatnonzero(clusters == cluster)
        inside = inside[np.argsort(prominence[inside])]
        old = inside[is_old[inside]]
        new = inside[~is_old[inside]]
        if len(old):
            yield {"size": len(inside), "members": names(old), "newcomers": names(new)}


def _are_equal(ranks: Ranks, others: Ranks) -> bool:
    return (
        np.array_equal(ranks.optimistic, others.optimistic)
        and np.array_equal(ranks.pessimistic, others.pessimistic)
        and np.array_equal(ranks.original, others.original)
    )
