"""
The closed-world experiment (§3.3): hide one end of every fact of a split, ask for it, and rank it.

Each fact gives two questions, (head, relation, ?) and (tail, relation⁻¹, ?); equal questions are
asked once. Ranks are filtered: every other answer that is a fact in any file of the benchmark is
skipped.

Facts and questions are rows of indices into sorted lists of names, so that nothing depends on the
order of lines in a file. The indices become ids of the graph only when the graph is queried.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, get_args

import numpy as np

from casegraph.answering.ranks import Ranks, Targets, distinct, filtered_ranks
from casegraph.answering.state import State
from casegraph.casebase import CaseBase
from casegraph.errors import InvalidArgument, NotABenchmark, UnknownName, several
from casegraph.evaluation.catalogue import located
from casegraph.evaluation.cells import Cell, KnownBefore, cells, known_before
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.intervals import Interval, bootstrap
from casegraph.evaluation.plots import Bar, picture, ranks_panel, relations_panel
from casegraph.evaluation.ranking import TIES, metrics
from casegraph.evaluation.splitting import SHARE, hold_out
from casegraph.execution.executor import HERE, Executor
from casegraph.formats.registry import read_facts
from casegraph.frames import Tabular
from casegraph.graph.arrays import Flags, Ids, rows_with
from casegraph.graph.change import NO_ROWS
from casegraph.graph.directions import backward, forward, is_inverse, relation_of
from casegraph.graph.facts import Fact
from casegraph.graph.graph import Graph
from casegraph.graph.names import Names
from casegraph.graph.rows import RowReader
from casegraph.running import Show, peak_memory, quiet
from casegraph.settings import Settings
from casegraph.storage.store.restoring import is_store
from casegraph.storage.store.store import CaseStore

RANKED_AT_ONCE = 1 << 12  # targets per task

Sides = Literal["both", "head", "tail"]


def evaluate(  # noqa: PLR0913
    benchmark: Benchmark | str | PathLike[str],
    settings: Settings | None = None,
    *,
    split: str = "test",
    graph_split: str | Path | None = None,
    sides: Sides = "both",
    limit: int | None = None,
    relations: Sequence[str] = (),
    tune: bool = False,
    held_out: bool = True,
    keep_length: bool = False,
    executor: Executor = HERE,
    show: Show = quiet,
) -> "Evaluation":
    """Ask for every fact of a split, and rank the answers.

    benchmark    a folder, or the name of a data set, or frames and other facts (`Benchmark.of`); or
                 a file of facts or a store, of which a tenth is asked for (`benchmark_of`)
    settings     how to answer; by default `Settings()`
    split        the facts to ask for
    graph_split  the facts to answer from: a split, or the path of a file of facts or of a store;
                 by default the graph of the benchmark (see `Benchmark.graph`)
    sides        which end of a fact to ask for
    limit        the number of facts to ask for, spread evenly over the sorted split
    relations    ask only for facts of these relations; by default, of all
    tune         whether to tune the settings to the graph first
    held_out     whether tuning asks for the validation facts, if there are any and they are neither
                 asked for nor answered from; else for facts of the graph
    keep_length  whether tuning keeps `max_length` as it is
    executor     where to tune, to count and to rank
    """
    _check(sides, limit)
    if isinstance(benchmark, str | PathLike):
        benchmark = _opened(located(Path(benchmark)))
    if not isinstance(benchmark, Benchmark):
        expected = "a folder, or Benchmark.of(train=…, test=…)"
        raise InvalidArgument("benchmark", benchmark, expected)
    source = graph_split or benchmark.graph
    phases: dict[str, Phase] = {}

    with _phase(phases, "read"):
        files = read_files(benchmark, split, source, show)
        questions = questions_of(files, split, sides, limit, relations)
        known = directed(files.known, sides)
    with _phase(phases, "build"):
        state = State.of(files.graph(source), settings or Settings())
        case_base = CaseBase.of_state(state)
    if tune:
        with _phase(phases, "tune"):
            to_tune_on = benchmark.validation if held_out else None
            if to_tune_on in (split, source):
                to_tune_on = None
            facts = None if to_tune_on is None else files.facts(to_tune_on)
            case_base.tune(
                show, held_out=facts, keep_length=keep_length, executor=executor
            )
    state = case_base.state
    with _phase(phases, "count"):
        asked = ids_of_relations(state, questions).values()
        asked_and_known = [relation for relation in asked if relation is not None]
        executor.count(state, asked_and_known, show)
    with _phase(phases, "rank"):
        tasks = tasks_of(state, questions, known)
        ranks = ranked(state, tasks, executor, show)

    relations_in_graph = ids_of_relations(state, questions)
    return Evaluation(
        benchmark=benchmark.name,
        split=split,
        graph=Path(source).name,
        sides=sides,
        settings=state.settings,
        facts=len(state.graph),
        questions=questions,
        ranks=ranks,
        phases=phases,
        known=known_before(state.graph, questions.rows, relations_in_graph),
    )


@dataclass(frozen=True, slots=True)
class Phase:
    """The time and memory of a part of an experiment.

    peak_memory  the peak memory of the process up to the end of the phase, in bytes; 0 if unknown
    """

    seconds: float
    peak_memory: int


@dataclass(frozen=True, slots=True)
class Questions:
    """What was asked: sorted rows (relation, entity, target) of indices into the lists of names.

    The relation is a direction: forward asks for the tail of a fact, backward for its head.
    """

    entities: list[str]
    relations: list[str]
    rows: Ids

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_head(self) -> Flags:
        """For each question, whether the head of a fact was asked for."""
        return is_inverse(self.rows[:, 0]).astype(np.bool_)

    @property
    def distinct(self) -> int:
        """How many different questions there are; several targets can belong to one question."""
        relation_and_entity = self.rows[:, :2]
        return len(distinct(relation_and_entity))

    def by_relation(self) -> Iterator[tuple[str, Flags]]:
        """The name of each relation, and which questions are about it; in the order of names."""
        relations = relation_of(self.rows[:, 0])
        for relation in np.unique(relations).tolist():
            yield self.relations[relation], relations == relation

    def fact(self, row: int) -> Fact:
        """The fact whose head or tail was asked for."""
        direction, entity, target = self.rows[row].tolist()
        asks_for_head = bool(is_inverse(direction))
        head = target if asks_for_head else entity
        tail = entity if asks_for_head else target
        relation = self.relations[relation_of(direction)]
        return Fact(self.entities[head], relation, self.entities[tail])


@dataclass(frozen=True)
class Evaluation(Tabular):
    """How well the questions of a benchmark were answered.

    graph        the split or file that was answered from
    facts        the number of its facts
    ranks        the ranks of the targets, in the order of `questions`
    phases       "read" the files, "build" the graph and its profiles, "tune" the settings if that
                 was asked for, "count" path types, "rank" targets
    known        what the graph knows of each question: see `cells`
    """

    benchmark: str
    split: str
    graph: str
    sides: str
    settings: Settings
    facts: int
    questions: Questions
    ranks: Ranks
    phases: dict[str, Phase]
    known: KnownBefore

    def __repr__(self) -> str:
        asked = several(len(self.questions.rows), "question")
        mrr = f"{self.sides}.realistic.inverse_harmonic_mean_rank"
        place = f"{self.split} of {self.benchmark}"
        return f"<Evaluation on {place}: {asked}, MRR {self.metrics[mrr]:.4f}>"

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Every metric by its dotted name: side, ties, metric."""
        return metrics(self.ranks, self.questions.is_head)

    @cached_property
    def by_relation(self) -> dict[str, dict[str, float]]:
        """The metrics of each relation that was asked about, in the order of names."""
        return {
            name: self.of(is_asked) for name, is_asked in self.questions.by_relation()
        }

    @property
    def questions_by_relation(self) -> dict[str, int]:
        """How many questions were asked about each relation, in the order of names."""
        by_relation = self.questions.by_relation()
        return {name: int(np.count_nonzero(is_asked)) for name, is_asked in by_relation}

    def mrr_interval(
        self, draws: int = 1000, ties: str = "realistic", seed: int = 0
    ) -> Interval:
        """The MRR, and the interval in which it lies in 95 % of draws of the questions."""
        ranks = {"realistic": self.ranks.realistic, "original": self.ranks.original}
        if ties not in ranks:
            raise InvalidArgument("ties", ties, "'realistic' or 'original'")
        return bootstrap(1 / ranks[ties], draws, seed)

    def of(self, chosen: Flags) -> dict[str, float]:
        """The metrics of some of the questions."""
        return metrics(self.ranks[chosen], self.questions.is_head[chosen])

    def records(self) -> list[dict[str, Any]]:
        """A row for each question: what was asked, and where the target ranked."""
        questions = self.questions
        realistic = self.ranks.realistic.tolist()
        optimistic = self.ranks.optimistic.tolist()
        pessimistic = self.ranks.pessimistic.tolist()
        records = []
        for place, (direction, entity, target) in enumerate(questions.rows.tolist()):
            record = {
                "asked": questions.entities[entity],
                "relation": questions.relations[relation_of(direction)],
                "side": "head" if is_inverse(direction) else "tail",
                "target": questions.entities[target],
                "rank": realistic[place],
                "optimistic": optimistic[place],
                "pessimistic": pessimistic[place],
            }
            records.append(record)
        return records

    def svg(self) -> str:
        """A picture: the MRR of relations, and ranks."""
        bars = []
        for name, is_asked in self.questions.by_relation():
            ranks = self.ranks.realistic[is_asked]
            mrr = float(np.mean(1 / ranks))
            bars.append(Bar(name, len(ranks), mrr))
        panels = [relations_panel(bars), ranks_panel(self.ranks.realistic)]
        return picture(panels)

    @property
    def cells(self) -> list[Cell]:
        """The MRR by what the graph knows of the entity asked about and of the answer."""
        return cells(self.known, self.ranks.realistic)

    @property
    def queries_per_second(self) -> float:
        """Distinct queries ranked in a second."""
        return self.questions.distinct / max(self.phases["rank"].seconds, 1e-9)

    def as_dict(self, *, by_relation: bool = False) -> dict[str, Any]:
        """Plain values, for JSON."""
        metrics_by_relation = (
            {"by_relation": dict(self.by_relation)} if by_relation else {}
        )
        return {
            "benchmark": self.benchmark,
            "split": self.split,
            "graph": self.graph,
            "sides": self.sides,
            "settings": self.settings.as_dict(),
            "facts": self.facts,
            "entities": len(self.questions.entities),
            "queries": len(self.questions),
            "distinct_queries": self.questions.distinct,
            "ties": dict(TIES),
            "metrics": dict(self.metrics),
            "cells": [cell._asdict() for cell in self.cells],
            **metrics_by_relation,
            "phases": {name: asdict(phase) for name, phase in self.phases.items()},
            "queries_per_second": self.queries_per_second,
        }


@dataclass(frozen=True, slots=True)
class Files:
    """The facts of all files of a benchmark.

    entities, relations  all names, sorted
    rows                 for each file, sorted rows (relation, head, tail) of indices into these
    """

    entities: list[str]
    relations: list[str]
    rows: dict[str | Path, Ids]

    @property
    def known(self) -> Ids:
        """The facts of all files, as rows."""
        return distinct(np.concatenate(list(self.rows.values())))

    def graph(self, name: str | Path) -> Graph:
        """The graph of a file, with the names of all files: their indices are its ids."""
        relation, head, tail = self.rows[name].T
        rows = np.stack([head, forward(relation), tail], axis=1)
        return Graph.of_rows(Names(self.entities), Names(self.relations), rows)

    def facts(self, name: str | Path) -> Iterator[Fact]:
        """The facts of a file by name, sorted."""
        for relation, head, tail in self.rows[name].tolist():
            yield Fact(
                self.entities[head], self.relations[relation], self.entities[tail]
            )


def read_files(
    benchmark: Benchmark, split: str, source: str | Path, show: Show
) -> Files:
    """Read all splits of a benchmark, and the file or store to answer from if it is not a split.

    The split to ask for and the source are read first, so that errors about missing files name
    them.
    """
    names = list(dict.fromkeys([split, source, *benchmark.splits]))
    facts_of: dict[str | Path, Iterable[Fact]] = {}
    for name in names:
        facts_of[name] = (
            _facts(name) if isinstance(name, Path) else benchmark.facts(name)
        )

    reader = RowReader(Names(), Names())
    rows_of: dict[str | Path, Ids] = {}
    for done, (name, facts) in enumerate(facts_of.items()):
        show("reading facts", done, len(facts_of))
        rows_of[name] = np.concatenate([NO_ROWS, *reader.rows(facts)])
    show("reading facts", len(facts_of), len(facts_of))
    if not len(rows_of[split]):
        problem = f"expected facts in the split {split!r}, found none"
        raise NotABenchmark(str(benchmark.folder), problem)

    sorted_rows: dict[str | Path, Ids] = {}
    for name, rows in rows_of.items():
        sorted_rows[name] = _sorted_by_name(rows, reader.entities, reader.relations)
    entities = sorted(reader.entities.names)
    relations = sorted(reader.relations.names)
    return Files(entities, relations, sorted_rows)


def benchmark_of(name: str, facts: Iterable[tuple[str, str, str]]) -> Benchmark:
    """A benchmark of facts that are not split: a tenth of them is `test`, the others are `train`.

    Which facts are asked for depends only on their names (`splitting.hold_out`).
    """
    graph = Graph.of(facts)
    held_out = hold_out(graph, SHARE)
    if not len(held_out.rows):
        problem = "expected facts that can be held out, found none"
        raise NotABenchmark(
            name, f"{problem}: an entity or relation needs another fact"
        )
    train = list(held_out.graph.facts())
    return Benchmark.of(
        name=name, train=train, test=list(graph.facts_in(held_out.rows))
    )


def questions_of(
    files: Files,
    split: str,
    sides: Sides,
    limit: int | None,
    relations: Sequence[str] = (),
) -> Questions:
    """The questions for the facts of a split; if limited, for facts spread evenly over it.

    relations  only their facts; by default all
    """
    facts = files.rows[split]
    if relations:
        places = [_place_of(name, files.relations) for name in relations]
        facts = facts[np.isin(facts[:, 0], places)]
    if not len(facts):
        problem = f"expected facts of {', '.join(relations)} there, found none"
        raise NotABenchmark(f"the split {split!r}", problem)
    kept = min(limit or len(facts), len(facts))
    chosen = np.arange(kept) * len(facts) // kept
    rows = directed(facts[chosen], sides)
    return Questions(files.entities, files.relations, rows)


def directed(facts: Ids, sides: Sides) -> Ids:
    """Facts (relation, head, tail) as sorted rows (direction, entity, target), for each side."""
    relation, head, tail = facts.T
    for_tails = np.stack([forward(relation), head, tail], axis=1)
    for_heads = np.stack([backward(relation), tail, head], axis=1)
    of_sides = {
        "both": [for_tails, for_heads],
        "head": [for_heads],
        "tail": [for_tails],
    }
    rows = np.concatenate(of_sides[sides])
    return distinct(rows.astype(np.int32))


def tasks_of(state: State, questions: Questions, known: Ids) -> list[Targets]:
    """The questions as tasks, relation by relation.

    known  rows (direction, entity, target), sorted: the facts to skip
    """
    entity_ids = ids_of_entities(state, questions.entities)
    tasks: list[Targets] = []
    for direction, relation in ids_of_relations(state, questions).items():
        asked = entity_ids[rows_of_relation(questions.rows, direction)]
        its_known = entity_ids[rows_of_relation(known, direction)]
        for start in range(0, len(asked), RANKED_AT_ONCE):
            some = asked[start : start + RANKED_AT_ONCE]
            tasks.append(Targets(relation, some, its_known, among=len(entity_ids)))
    return tasks


def ranked(state: State, tasks: list[Targets], executor: Executor, show: Show) -> Ranks:
    """The rank of each target, in the order of the tasks."""
    total = sum(len(task.asked) for task in tasks)
    done = 0
    parts: list[Ranks] = []
    show("ranking answers", 0, total)
    for ranks in executor.each(state, filtered_ranks, tasks):
        parts.append(ranks)
        done += len(ranks)
        show("ranking answers", done, total)
    return Ranks.joined(parts)


def _check(sides: str, limit: int | None) -> None:
    if sides not in get_args(Sides):
        raise InvalidArgument("sides", sides, "'both', 'head' or 'tail'")
    if limit is not None and limit < 1:
        raise InvalidArgument("limit", limit, "at least 1")


@contextmanager
def _phase(phases: dict[str, Phase], name: str) -> Iterator[None]:
    """Record the time and memory of the `with` block."""
    start = perf_counter()
    yield
    phases[name] = Phase(perf_counter() - start, peak_memory())


def _opened(path: Path) -> Benchmark:
    """The benchmark in a folder, or made of a file of facts or of a store."""
    if is_store(path) or path.is_file():
        return benchmark_of(path.name, _facts(path))
    return Benchmark.open(path)


def _place_of(relation: str, relations: list[str]) -> int:
    """The place of a relation in the list of all."""
    if relation not in relations:
        raise UnknownName("relation", relation, relations)
    return relations.index(relation)


def _facts(path: Path) -> Iterable[Fact]:
    if is_store(path):
        return CaseStore.open(path, read_only=True).graph.facts()
    return read_facts(path)


def _sorted_by_name(rows: Ids, entities: Names, relations: Names) -> Ids:
    """Rows of ids as sorted rows (relation, head, tail) of indices into the sorted names."""
    place_of_entity = entities.ranks()
    place_of_relation = relations.ranks()
    head, relation, tail = rows.T
    columns = [
        place_of_relation[relation],
        place_of_entity[head],
        place_of_entity[tail],
    ]
    return distinct(np.stack(columns, axis=1))


def ids_of_relations(state: State, questions: Questions) -> dict[int, int | None]:
    """For each direction asked about, its id in the graph; None if it has no facts there."""
    graph = state.graph
    by_name = {
        graph.relations[place]: place for place in graph.relations_in_use().tolist()
    }
    found: dict[int, int | None] = {}
    for direction in np.unique(questions.rows[:, 0]).tolist():
        relation = by_name.get(questions.relations[relation_of(direction)])
        if relation is None:
            found[direction] = None
        else:
            found[direction] = (
                backward(relation) if is_inverse(direction) else forward(relation)
            )
    return found


def ids_of_entities(state: State, names: list[str]) -> Ids:
    """The id of each name in the graph; unseen names get ids after those of the graph."""
    found = state.graph.entities.find_all(names)
    unseen = np.flatnonzero(found < 0)
    found[unseen] = len(state.graph.entities) + np.arange(len(unseen))
    return found


def rows_of_relation(rows: Ids, direction: int) -> Ids:
    """The columns (entity, target) of the rows with a direction; rows are sorted by direction."""
    chosen = rows_with(direction, rows[:, 0])
    return rows[chosen, 1:]
