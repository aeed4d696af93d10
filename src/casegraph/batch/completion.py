"""
Completion: the most believed pairs of each relation that are not facts yet.

Every entity is asked for its tails and for its heads. The first new answers to each question are
the pairs to consider; each has one probability, whichever question it answers.

Not every question is worth asking. If no entity that has the relation shares another relation with
the entity asked about, then no path type and no precedent can support an answer, only habit. Such
questions are skipped.

Relations come in the order of their names. The lines of a relation are a pure function of the case
base, and are on disk before the next relation is asked about. So an interrupted run can continue
where it stopped, and produces the same file.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from casegraph import __version__
from casegraph.answering.query import ALL
from casegraph.answering.questions import entities_of_type
from casegraph.answering.reasons import reasons
from casegraph.answering.results.answer import Answer
from casegraph.answering.state import State
from casegraph.batch.pair_lists import (
    AskTask,
    Least,
    NewAnswerTable,
    PairTable,
    ScoredPairs,
    at_most_per_entity,
    best_first,
    new_answers,
    questions_about,
    scored_pairs,
)
from casegraph.batch.restrictions import (
    AllowedAnswers,
    PairSet,
    Row,
    entity_ids,
    pair_numbers,
    pair_set,
)
from casegraph.batch.resumption import Resumable
from casegraph.casebase import CaseBase
from casegraph.errors import InvalidArgument, UnknownName
from casegraph.execution.executor import HERE, Executor
from casegraph.graph.arrays import Counts, Ids
from casegraph.graph.directions import (
    directions_of,
    forward,
    inverse,
    relation_of,
)
from casegraph.graph.graph import Graph, Query
from casegraph.graph.names import Names
from casegraph.running import Show, quiet

LINES_AT_ONCE = 256  # proposals per task that writes them
MUCH_MORE = 10.0  # this many times as much
# A limit per entity over all relations may drop some of the best of each relation.
SPARE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to propose.

    relations        for which relations; all if empty
    heads, tails     the only heads and tails; all if empty
    entities         of which the head or the tail must be one; any if empty
    of_type          the type of all tails; any if empty
    candidates       the only pairs: rows of head, relation and tail, where the relation may be
                     empty for any; all pairs if there are none
    exclude          pairs never to propose
    lacking          whether the head must be without a known tail
    min_probability  the smallest probability of a proposal
    top              how many new answers to each question to consider; with candidates, all
    best             how many pairs to propose, over all relations; all if None
    at_most          in how many proposals of a relation an entity may be; in any number if None
    explain          whether to give the first reason
    """

    relations: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    tails: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    of_type: str = ""
    candidates: tuple[Row, ...] = ()
    exclude: tuple[Row, ...] = ()
    lacking: bool = False
    min_probability: float = 0.5
    top: int = 20
    best: int | None = None
    at_most: int | None = None
    explain: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.min_probability <= 1:
            raise InvalidArgument(
                "min_probability", self.min_probability, "from 0 to 1"
            )
        for name in ("top", "best", "at_most"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidArgument(name, value, "at least 1")

    @property
    def best_of_relation(self) -> int | None:
        """How many pairs of one relation suffice for the best of all."""
        if self.best is None or self.at_most is None:
            return self.best
        return SPARE * self.best


class Completion(NamedTuple):
    """How many questions were asked and facts proposed, including those before an interruption."""

    asked: int
    proposed: int


class Lines(NamedTuple):
    """A task: pairs of a relation to write as lines."""

    relation: int
    pairs: ScoredPairs
    explain: bool


class Allowed(NamedTuple):
    """What `Wanted` allows, as ids; None where everything is allowed."""

    heads: Ids | None
    tails: Ids | None
    either: Ids | None
    candidates: PairSet | None
    exclude: PairSet

    @classmethod
    def by(cls, state: State, wanted: Wanted) -> "Allowed":
        """An unknown name is an error."""
        tails = entity_ids(state, wanted.tails) if wanted.tails else None
        if wanted.of_type:
            of_type = _of_type(state, wanted.of_type)
            tails = of_type if tails is None else np.intersect1d(tails, of_type)
        return cls(
            heads=entity_ids(state, wanted.heads) if wanted.heads else None,
            tails=tails,
            either=entity_ids(state, wanted.entities) if wanted.entities else None,
            candidates=pair_set(state, wanted.candidates)
            if wanted.candidates
            else None,
            exclude=pair_set(state, wanted.exclude),
        )


def complete(
    case_base: CaseBase,
    out: Path,
    wanted: Wanted,
    executor: Executor = HERE,
    show: Show = quiet,
) -> Completion:
    """Write missing facts to a file, as JSON lines: relation by relation, the most believed first.

    Of each relation, `wanted.best_of_relation` are written at most. If an earlier call with the
    same facts, settings and options was interrupted, continue its file.
    """
    state = case_base.state
    if state.settings.belief is None and wanted.min_probability > 0:
        expected = "0: these settings give no probability"
        raise InvalidArgument("min_probability", wanted.min_probability, expected)
    relations = chosen_directions(state.graph, wanted.relations)
    allowed = Allowed.by(state, wanted)
    sizes = [
        _question_count(state, relation, wanted, allowed) for relation in relations
    ]

    with Resumable(out, _digest(state, wanted)) as file:
        asked = sum(sizes[: file.done])
        remaining = relations[file.done :]
        remaining_sizes = sizes[file.done :]
        asked_about = [
            relation_of(relation)
            for relation, size in zip(remaining, remaining_sizes, strict=True)
            if size
        ]
        if asked_about:
            executor.count(state, list(directions_of(asked_about)), show)
        for relation in remaining:
            tasks = list(_questions(state, relation, wanted, allowed))
            found = []
            of_each_task = executor.each(state, new_answers, tasks)
            for task, answers in zip(tasks, of_each_task, strict=True):
                found.append(answers)
                asked += len(task.entities)
                show("asking", asked, sum(sizes))
            pairs = _proposals(state, relation, tasks, found, wanted, executor)
            lines = _lines(relation, pairs, wanted)
            file.write(b"".join(executor.each(state, proposal_lines, lines)))

    with out.open("rb") as proposed:
        return Completion(asked, sum(1 for _ in proposed))


def proposal_lines(state: State, task: Lines) -> bytes:
    """Proposals as lines of JSON."""
    relation, (table, probability), explain = task
    entities = state.graph.entities
    heads = [entities[head] for head in table.heads.tolist()]
    tails = [entities[tail] for tail in table.tails.tolist()]
    probabilities = [None] * len(heads) if probability is None else probability.tolist()
    lines = []
    for place, head in enumerate(heads):
        record: dict[str, Any] = {
            "head": head,
            "relation": state.graph.relations[relation_of(relation)],
            "tail": tails[place],
            "probability": probabilities[place],
            "tail_score": float(table.tail_scores[place]),
            "head_score": float(table.head_scores[place]),
            "exact": bool(table.are_exact[place]),
        }
        if explain:
            record["reason"] = _first_reason(state, relation, table, place, record)
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    return "".join(lines).encode()


def better_explained(record: dict[str, Any]) -> Answer:
    """A proposal as an answer to (head, relation, ?), to be explained.

    If it scores much more as an answer to (?, relation, tail), it is an answer to that.
    """
    is_tail = MUCH_MORE * record["tail_score"] >= record["head_score"]
    return Answer(
        asked=record["head" if is_tail else "tail"],
        relation=record["relation"],
        inverse=not is_tail,
        entity=record["tail" if is_tail else "head"],
        score=record["tail_score" if is_tail else "head_score"],
        rank=0,
        known=False,
        probability=record["probability"],
    )


def chosen_directions(
    graph: Graph,
    relations: tuple[str, ...],
    *,
    heads: bool = False,
) -> list[int]:
    """The forward direction of each named relation, or of all, in the order of names.

    heads  whether each is followed by its inverse, to ask for heads too
    """
    _check_known("relation", relations, graph.relations)
    chosen = graph.relations_in_use().tolist()
    if relations:
        chosen = [
            relation for relation in chosen if graph.relations[relation] in relations
        ]
    if heads:
        return list(directions_of(chosen))
    return [forward(relation) for relation in chosen]


def _proposals(
    state: State,
    relation: int,
    tasks: list[AskTask],
    parts: list[NewAnswerTable],
    wanted: Wanted,
    executor: Executor,
) -> ScoredPairs:
    """The pairs of a relation to propose, the most believed first."""
    ahead: list[NewAnswerTable] = []
    back: list[NewAnswerTable] = []
    for task, part in zip(tasks, parts, strict=True):
        (ahead if task.direction == relation else back).append(part)
    best = wanted.best if wanted.at_most is None else None
    least = Least(wanted.min_probability, best)
    pairs = scored_pairs(state, relation, ahead, back, least, executor)
    order = best_first(state, pairs)
    if wanted.at_most is not None:
        heads = pairs.table.heads[order].tolist()
        tails = pairs.table.tails[order].tolist()
        order = order[at_most_per_entity(heads, tails, wanted.at_most)]
    order = order[: wanted.best_of_relation]
    probability = None if pairs.probability is None else pairs.probability[order]
    return ScoredPairs(pairs.table.at(order), probability)


def _questions(
    state: State, relation: int, wanted: Wanted, allowed: Allowed
) -> Iterator[AskTask]:
    """All questions about a relation that are worth asking: for tails, then for heads."""
    top = wanted.top if allowed.candidates is None else ALL
    for direction in (relation, inverse(relation)):
        is_ahead = direction == relation
        heads, tails = _sides(state, relation, wanted, allowed)
        asked, answers = (heads, tails) if is_ahead else (tails, heads)
        limits = _limits(state, relation, allowed, answers, is_ahead=is_ahead)
        entities = state.profiles.worth_asking(direction)
        if asked is not None:
            entities = np.intersect1d(entities, asked)
        if limits.pairs is not None:
            in_pairs = limits.pairs // len(state.graph.entities)
            entities = np.intersect1d(entities, in_pairs).astype(np.int32)
        yield from questions_about(state, direction, entities, top, limits)


def _question_count(
    state: State, relation: int, wanted: Wanted, allowed: Allowed
) -> int:
    tasks = _questions(state, relation, wanted, allowed)
    return sum(len(task.entities) for task in tasks)


def _sides(
    state: State, relation: int, wanted: Wanted, allowed: Allowed
) -> tuple[Ids | None, Ids | None]:
    """The only heads and tails of a relation, sorted; None for all."""
    heads = allowed.heads
    if wanted.lacking:
        all_entities = np.arange(len(state.graph.entities), dtype=np.int32)
        having = state.graph.edges(relation).heads
        heads = np.setdiff1d(all_entities if heads is None else heads, having)
    return heads, allowed.tails


def _limits(
    state: State,
    relation: int,
    allowed: Allowed,
    answers: Ids | None,
    *,
    is_ahead: bool,
) -> AllowedAnswers:
    """Which answers to questions about a relation are allowed.

    is_ahead  whether they are for tails
    """

    def numbers(pairs: PairSet) -> Counts:
        heads, tails = pairs.of(relation_of(relation))
        asked, found = (heads, tails) if is_ahead else (tails, heads)
        return np.unique(pair_numbers(asked, found, len(state.graph.entities)))

    candidates = allowed.candidates
    heads, _, tails = state.graph.rows(relation).T
    return AllowedAnswers(
        answers=answers,
        either=allowed.either,
        pairs=None if candidates is None else numbers(candidates),
        excluded=numbers(allowed.exclude),
        loops=bool((heads == tails).any()),
    )


def _lines(relation: int, pairs: ScoredPairs, wanted: Wanted) -> Iterator[Lines]:
    table, probability = pairs
    for start in range(0, len(table.heads), LINES_AT_ONCE):
        some = slice(start, start + LINES_AT_ONCE)
        probability_of_some = None if probability is None else probability[some]
        yield Lines(
            relation, ScoredPairs(table.at(some), probability_of_some), wanted.explain
        )


def _first_reason(
    state: State, relation: int, table: PairTable, place: int, record: dict[str, Any]
) -> str:
    """The most important reason for a proposal, in words."""
    answer = better_explained(record)
    head = int(table.heads[place])
    tail = int(table.tails[place])
    if answer.inverse:
        why = reasons(state, Query(tail, inverse(relation)), head)
    else:
        why = reasons(state, Query(head, relation), tail)
    first = next(iter(why), None)
    return "" if first is None else first.sentence


def _of_type(state: State, of_type: str) -> Ids:
    """The entities of a type, sorted."""
    return np.sort(entities_of_type(state, of_type))


def _check_known(kind: str, names: tuple[str, ...], known: Names) -> None:
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, known.names)


def _digest(state: State, wanted: Wanted) -> str:
    """A digest of everything that the lines depend on."""
    parts: list[Any] = [__version__, state.digest, asdict(wanted)]
    if wanted.of_type:
        entities = entities_of_type(state, wanted.of_type).tolist()
        parts.append(sorted(state.graph.entities[entity] for entity in entities))
    content = json.dumps(parts)
    return sha256(content.encode()).hexdigest()
