"""
The closed-world experiment (§3.3): hide one end of every fact of a split, ask for it, and rank it.

A fact is two questions, (head, relation, ?) and (tail, relation⁻¹, ?); those that ask the same are asked once. Every
other answer that a file of the benchmark has is passed over (filtered). Facts and questions are rows of places in
sorted lists of names, so that nothing depends on the order of lines; they become ids of the graph when it is asked.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, get_args

import numpy as np

from casegraph.answering.state import State
from casegraph.casebase import CaseBase
from casegraph.errors import InvalidSettings, NotABenchmark
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.ranking import TIES, Flags, Ranks, Targets, distinct, filtered_ranks, metrics
from casegraph.execution.executor import HERE, Executor
from casegraph.graph.arrays import Ids, ids
from casegraph.graph.facts import Fact, read_facts
from casegraph.graph.names import Names
from casegraph.running import Show, peak_memory, quiet
from casegraph.settings import Settings
from casegraph.storage.store.restoring import is_store
from casegraph.storage.store.store import CaseStore

AT_ONCE = 1 << 16  # facts that become rows together
RANKED_AT_ONCE = 1 << 12  # targets that are one task

Sides = Literal["both", "head", "tail"]


def evaluate(
    benchmark: Benchmark,
    settings: Settings,
    *,
    split: str = "test",
    graph_split: str | Path | None = None,
    sides: Sides = "both",
    limit: int | None = None,
    executor: Executor = HERE,
    show: Show = quiet,
) -> "Evaluation":
    """Ask for every fact of a split, and rank the answers.

    graph_split  the split to answer from, or the path of a file of facts or of a store; by default the benchmark says
    sides        which end of a fact to ask for
    limit        ask for so many facts, spread evenly over the sorted split
    executor     where to count and to rank
    """
    _check(sides, limit)
    source, phases = graph_split or benchmark.graph, dict[str, Phase]()
    with _phase(phases, "read"):
        files = _read(benchmark, split, source, show)
        questions, known = _questions(files, split, sides, limit), _directed(files.known, sides)
    with _phase(phases, "build"):
        state = _state(files.facts(source), settings)
    with _phase(phases, "count"):
        executor.count(state, [one for one in _relations(state, questions).values() if one is not None], show)
    with _phase(phases, "rank"):
        ranked = _ranked(state, _tasks(state, questions, known), executor, show)
    names = benchmark.folder.resolve().name, split, Path(source).name, sides
    return Evaluation(*names, settings, len(state.graph), questions, ranked, phases)


@dataclass(frozen=True, slots=True)
class Phase:
    """What a part of an experiment took.

    peak_memory  the most bytes that the process has held up to the end of the phase; 0 where the system does not say
    """

    seconds: float
    peak_memory: int


@dataclass(frozen=True, slots=True)
class Questions:
    """What was asked, sorted: rows (relation, entity, target) of places in the names.

    Relation number k is two: 2k asks for the tail of a fact, 2k + 1 for its head.
    """

    entities: list[str]
    relations: list[str]
    rows: Ids

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_head(self) -> Flags:
        """Whether the head of the fact was asked for."""
        return np.asarray(self.rows[:, 0] % 2 == 1)

    @property
    def distinct(self) -> int:
        """How many there are, whatever the target."""
        return len(distinct(self.rows[:, :2]))

    def fact(self, row: int) -> Fact:
        """The fact whose head or tail was asked for."""
        relation, entity, target = self.rows[row].tolist()
        head, tail = (target, entity) if relation % 2 else (entity, target)
        return Fact(self.entities[head], self.relations[relation // 2], self.entities[tail])


@dataclass(frozen=True)
class Evaluation:
    """How well the questions of a benchmark were answered; `ranks` is parallel to `questions`.

    graph   the split or file that was answered from;  facts: how many facts it has
    phases  read the files, build the graph and its profiles, count path types, rank the targets
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

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Every metric by its flat name: side, ties, metric."""
        return metrics(self.ranks, self.questions.is_head)

    @cached_property
    def by_relation(self) -> dict[str, dict[str, float]]:
        """The metrics of each relation that was asked about, in the order of names."""
        relation = self.questions.rows[:, 0] // 2
        return {self.questions.relations[k]: self.of(relation == k) for k in np.unique(relation).tolist()}

    def of(self, chosen: Flags) -> dict[str, float]:
        """The metrics of some of the questions."""
        return metrics(self.ranks[chosen], self.questions.is_head[chosen])

    @property
    def queries_per_second(self) -> float:
        """Distinct queries ranked in a second."""
        return self.questions.distinct / max(self.phases["rank"].seconds, 1e-9)

    def as_dict(self, *, by_relation: bool = False) -> dict[str, Any]:
        """Plain values, for JSON."""
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
            **({"by_relation": dict(self.by_relation)} if by_relation else {}),
            "phases": {name: asdict(phase) for name, phase in self.phases.items()},
            "queries_per_second": self.queries_per_second,
        }


@dataclass(frozen=True, slots=True)
class _Files:
    """Sorted names, and the facts of each file as sorted rows (relation, head, tail) of places in them."""

    entities: list[str]
    relations: list[str]
    rows: dict[str | Path, Ids]

    @property
    def known(self) -> Ids:
        return distinct(np.concatenate(list(self.rows.values())))

    def facts(self, name: str | Path) -> Iterator[Fact]:
        for relation, head, tail in self.rows[name].tolist():
            yield Fact(self.entities[head], self.relations[relation], self.entities[tail])


def _check(sides: str, limit: int | None) -> None:
    if sides not in get_args(Sides):
        raise InvalidSettings("sides", sides, "'both', 'head' or 'tail'")
    if limit is not None and limit < 1:
        raise InvalidSettings("limit", limit, "at least 1")


@contextmanager
def _phase(phases: dict[str, Phase], name: str) -> Iterator[None]:
    start = perf_counter()
    yield
    phases[name] = Phase(perf_counter() - start, peak_memory())


def _read(benchmark: Benchmark, split: str, source: str | Path, show: Show) -> _Files:
    entities, relations = Names(), Names()
    arrived: dict[str | Path, Ids] = {}
    names = list(dict.fromkeys([split, source, *benchmark.splits]))
    files = {name: _facts(name) if isinstance(name, Path) else benchmark.facts(name) for name in names}
    for done, (name, facts) in enumerate(files.items()):
        show("reading facts", done, len(files))
        arrived[name], entities, relations = _interned(facts, entities, relations)
    show("reading facts", len(files), len(files))
    if not len(arrived[split]):
        raise NotABenchmark(str(benchmark.folder), f"expected facts in the split {split!r}, found none")
    place, relation_place = entities.ranks(), relations.ranks()
    rows = {
        name: distinct(np.stack([relation_place[row[:, 0]], place[row[:, 1]], place[row[:, 2]]], axis=1))
        for name, row in arrived.items()
    }
    return _Files(sorted(entities.names), sorted(relations.names), rows)


def _facts(path: Path) -> Iterable[Fact]:
    return CaseStore.open(path, read_only=True).graph.facts() if is_store(path) else read_facts(path)


def _interned(facts: Iterable[Fact], entities: Names, relations: Names) -> tuple[Ids, Names, Names]:
    """Rows (relation, head, tail) of ids, in the order of arrival, and the names with those that were new."""
    parts = [np.empty((0, 3), dtype=np.int32)]
    arriving = iter(facts)
    while batch := list(islice(arriving, AT_ONCE)):
        heads, labels, tails = zip(*batch, strict=True)
        relations, its_relations = relations.extended(labels)
        entities, its_heads = entities.extended(heads)
        entities, its_tails = entities.extended(tails)
        parts.append(np.stack([its_relations, its_heads, its_tails], axis=1))
    return np.concatenate(parts), entities, relations


def _questions(files: _Files, split: str, sides: Sides, limit: int | None) -> Questions:
    facts = files.rows[split]
    kept = min(limit or len(facts), len(facts))
    spread = np.arange(kept) * len(facts) // kept
    return Questions(files.entities, files.relations, _directed(facts[spread], sides))


def _directed(facts: Ids, sides: Sides) -> Ids:
    """Facts as sorted rows (relation, entity, target): once for each side."""
    tails, heads = facts * [2, 1, 1], (facts * [2, 1, 1] + [1, 0, 0])[:, [0, 2, 1]]
    chosen = {"both": [tails, heads], "head": [heads], "tail": [tails]}[sides]
    return distinct(np.concatenate(chosen).astype(np.int32))


def _state(facts: Iterator[Fact], settings: Settings) -> State:
    case_base = CaseBase(settings)
    case_base.update(add=facts)
    return case_base.state


def _relations(state: State, questions: Questions) -> dict[int, int | None]:
    """The id in the graph of each relation asked about; none where it has no such relation."""
    asked = np.unique(questions.rows[:, 0]).tolist()
    found = {relation: state.graph.relations.find(questions.relations[relation // 2]) for relation in asked}
    return {relation: None if k is None else 2 * k + relation % 2 for relation, k in found.items()}


def _tasks(state: State, questions: Questions, known: Ids) -> list[Targets]:
    """The questions, relation by relation."""
    entities, tasks = _entity_ids(state, questions.entities), list[Targets]()
    for relation, identity in _relations(state, questions).items():
        asked, passed = entities[_of(questions.rows, relation)], entities[_of(known, relation)]
        starts = range(0, len(asked), RANKED_AT_ONCE)
        tasks += (Targets(identity, asked[at : at + RANKED_AT_ONCE], passed, len(entities)) for at in starts)
    return tasks


def _ranked(state: State, tasks: list[Targets], executor: Executor, show: Show) -> Ranks:
    """The rank of each target, in the order of the tasks."""
    parts, done, total = list[Ranks](), 0, sum(len(task.asked) for task in tasks)
    show("ranking answers", 0, total)
    for ranks in executor.each(state, filtered_ranks, tasks):
        parts.append(ranks)
        done += len(ranks)
        show("ranking answers", done, total)
    return Ranks.joined(parts)


def _entity_ids(state: State, names: list[str]) -> Ids:
    """The id of each name in the graph; one beyond all of the graph's for a name it has not seen."""
    found, beyond = map(state.graph.entities.find, names), count(len(state.graph.entities))
    return ids(next(beyond) if entity is None else entity for entity in found)


def _of(rows: Ids, relation: int) -> Ids:
    """The (entity, target) of the rows of a relation."""
    return rows[slice(*np.searchsorted(rows[:, 0], [relation, relation + 1]).tolist()), 1:]
