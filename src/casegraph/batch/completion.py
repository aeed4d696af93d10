"""
Completion: ask every entity for every relation, and propose the answers that are not facts yet.

Not every question is worth asking. If no entity that has the relation shares another relation with
the entity asked about, then no path type and no shared fact can support an answer, only habit. Such
questions are skipped.

Questions come in the order of relations and entities by name, in batches. The lines of a batch are
a pure function of the case base, and are on disk before the next batch is asked. So an interrupted
run can continue where it stopped, and produces the same file.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import islice
from math import expm1, inf, log1p
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from casegraph import __version__, kernels
from casegraph.answering.explanation import reasons
from casegraph.answering.query import ALL, Found, answers
from casegraph.answering.results import Answer, named_answers
from casegraph.answering.state import State
from casegraph.batch.resumption import Resumable
from casegraph.casebase import CaseBase
from casegraph.errors import InvalidSettings, UnknownName
from casegraph.execution.executor import HERE, Executor
from casegraph.graph.arrays import Ids, ids
from casegraph.graph.digest import relations_in_use
from casegraph.graph.directions import backward, directions_of, forward
from casegraph.graph.graph import Graph, Query
from casegraph.graph.lookup import entities_of_type
from casegraph.graph.names import Names
from casegraph.running import Show, quiet
from casegraph.settings import Settings

AT_ONCE = 256  # questions per batch
NOTHING_HIDDEN = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to propose.

    relations        for which relations; all if empty
    entities         for which entities; all if empty
    heads            whether to ask (?, relation, entity) as well
    lacking          whether to ask only entities that do not have the relation yet
    min_probability  the smallest probability of a proposed answer
    top              the largest number of answers to propose for a question
    explain          whether to give the first reason
    of_type          propose only answers of this type; any if empty
    """

    relations: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    heads: bool = False
    lacking: bool = False
    min_probability: float = 0.5
    top: int = 3
    explain: bool = False
    of_type: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.min_probability <= 1:
            raise InvalidSettings(
                "min_probability", self.min_probability, "from 0 to 1"
            )
        if self.top < 1:
            raise InvalidSettings("top", self.top, "at least 1")


class Completion(NamedTuple):
    """How many questions were asked and facts proposed, including those before an interruption."""

    asked: int
    proposed: int


class Batch(NamedTuple):
    """A task: the questions (entity, relation, ?), as ids."""

    relation: int
    entities: Ids
    wanted: Wanted


def complete(
    case_base: CaseBase,
    out: Path,
    wanted: Wanted,
    executor: Executor = HERE,
    show: Show = quiet,
) -> Completion:
    """Write missing facts to a file, as JSON lines.

    If an earlier call with the same facts, settings and options was interrupted, continue its
    file.
    """
    state = case_base.state
    if state.settings.combination != "noisy-or" and wanted.min_probability > 0:
        expected = "0: these settings give no probability"
        raise InvalidSettings("min_probability", wanted.min_probability, expected)
    _check_known("entity", wanted.entities, state.graph.entities)
    if wanted.of_type:
        _of_type(state, wanted.of_type)  # raises if there is no such type
    relations = chosen_directions(state.graph, wanted.relations, heads=wanted.heads)
    sizes = [len(batch.entities) for batch in _batches(state, relations, wanted)]

    total = sum(sizes)

    with Resumable(out, _digest(state, wanted)) as file:
        asked = sum(sizes[: file.done])
        remaining_sizes = sizes[file.done :]
        remaining = islice(_batches(state, relations, wanted), file.done, None)
        if remaining_sizes:
            executor.count(state, relations, show)
        results = executor.each(state, proposals, remaining)
        for size, lines in zip(remaining_sizes, results, strict=True):
            file.write(lines)
            asked += size
            show("asking", asked, total)

    with out.open("rb") as proposed:
        return Completion(asked, sum(1 for _ in proposed))


def proposals(state: State, batch: Batch) -> bytes:
    """The answers to the questions of a batch that are worth proposing, as lines of JSON."""
    wanted = batch.wanted
    allowed = _of_type(state, wanted.of_type) if wanted.of_type else None
    candidates = None if allowed is None else set(allowed.tolist())
    top = wanted.top if allowed is None else ALL
    found_for_each = answers(
        state, batch.relation, batch.entities, top=top, new_only=True
    )

    lines = []
    for entity, all_found in zip(batch.entities.tolist(), found_for_each, strict=True):
        known = set(state.graph.answers(entity, batch.relation).tolist())
        found = all_found if allowed is None else _only(all_found, allowed, known)
        for answer in _new_answers(state, batch, entity, known, found, candidates):
            record = _record(state, answer, exact=found.exact, explain=wanted.explain)
            lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    return "".join(lines).encode()


def _of_type(state: State, of_type: str) -> Ids:
    """The entities of a type, sorted."""

    def entities() -> Ids:
        names = entities_of_type(state.graph, state.descriptions, of_type)
        found = [state.graph.entities.find(name) for name in names]
        return np.sort(ids(entity for entity in found if entity is not None))

    return state.derived(("ids of type", of_type), entities)


def _only(found: Found, allowed: Ids, known: set[int]) -> Found:
    """The allowed answers, and the best new one: it alone has the probability of a first answer.

    allowed  the entities that may be proposed, sorted
    known    the answers that are facts already
    """
    is_kept = np.isin(found.entities, allowed)
    is_new = ~np.isin(found.entities, ids(known))
    best_new = np.flatnonzero(is_new)[:1]
    is_kept[best_new] = True
    return found._replace(
        entities=found.entities[is_kept], scores=found.scores[is_kept]
    )


def uncalibrated_probability(settings: Settings, score: float) -> float | None:
    """The probability of an answer: 1 - exp(-score) if evidence is combined by noisy-or.

    The extra strength of a decisive path type is removed first. For a calibrated probability, a
    case base must be tuned. Other combinations give no probability.
    """
    if settings.combination != "noisy-or":
        return None
    decisive_score = -log1p(-settings.decisive) if settings.decisive < 1 else inf
    if score > decisive_score:
        score = decisive_score + (score - decisive_score) / (
            1 + kernels.DECISIVE_FACTOR
        )
    return -expm1(-score)


def first_reasons(
    state: State,
    answer: Answer,
    hidden: int = NOTHING_HIDDEN,
    most: int = 1,
) -> list[str]:
    """The most important reasons for an answer, in words.

    hidden  a known answer to treat as unknown, so that it is not evidence for itself; -1 for none
    """
    graph = state.graph
    entity = graph.entities.find(answer.asked)
    found = graph.entities.find(answer.entity)
    relation = graph.relations.find(answer.relation)
    if entity is None or found is None or relation is None:
        return []
    direction = backward(relation) if answer.inverse else forward(relation)
    why = reasons(state, Query(entity, direction), found, hidden)
    return [reason.sentence(answer) for reason in islice(why, most)]


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
    chosen = relations_in_use(graph).tolist()
    if relations:
        chosen = [
            relation for relation in chosen if graph.relations[relation] in relations
        ]
    if heads:
        return list(directions_of(chosen))
    return [forward(relation) for relation in chosen]


def _new_answers(
    state: State,
    batch: Batch,
    entity: int,
    known: set[int],
    found: Found,
    candidates: set[int | None] | None,
) -> list[Answer]:
    """The best answers to a question that are not facts yet and are probable enough.

    candidates  the entities that may be proposed; all if None
    """
    query = (state.graph.entities[entity], batch.relation)
    new = named_answers(
        state, query, found.pairs(), known, exclude=True, candidates=candidates
    )
    best = new[: batch.wanted.top]
    return [
        answer for answer in best if _is_probable(state.settings, answer, batch.wanted)
    ]


def _is_probable(settings: Settings, answer: Answer, wanted: Wanted) -> bool:
    its_probability = _probability(settings, answer)
    return its_probability is None or its_probability >= wanted.min_probability


def _probability(settings: Settings, answer: Answer) -> float | None:
    """The calibrated probability if tuned, else the one from the score."""
    if answer.probability is not None:
        return answer.probability
    return uncalibrated_probability(settings, answer.score)


def _record(
    state: State, answer: Answer, *, exact: bool, explain: bool
) -> dict[str, Any]:
    """A proposed fact and its support, for JSON."""
    head = answer.entity if answer.inverse else answer.asked
    tail = answer.asked if answer.inverse else answer.entity
    record: dict[str, Any] = {
        "head": head,
        "relation": answer.relation,
        "tail": tail,
        "asked": "head" if answer.inverse else "tail",
        "score": answer.score,
        "probability": _probability(state.settings, answer),
        "rank": answer.rank,
        "exact": exact,
    }
    if explain:
        record["reason"] = first_reasons(state, answer)[0]
    return record


def _batches(state: State, relations: list[int], wanted: Wanted) -> Iterator[Batch]:
    """All questions worth asking, in the order of names."""
    names = state.graph.entities
    found = [names.find(name) for name in wanted.entities]
    named = ids(entity for entity in found if entity is not None)
    # A task does not need them.
    without_names = replace(wanted, relations=(), entities=())
    for relation in relations:
        entities = _worth_asking(state, relation)
        if wanted.entities:
            entities = np.intersect1d(entities, named)
        if wanted.lacking:
            entities = np.setdiff1d(entities, state.graph.edges(relation).heads)
        name_ranks = names.ranks()[entities]
        in_name_order = entities[np.argsort(name_ranks)]
        for start in range(0, len(in_name_order), AT_ONCE):
            some = in_name_order[start : start + AT_ONCE]
            yield Batch(relation, some, without_names)


def _worth_asking(state: State, relation: int) -> Ids:
    """The entities that share some relation with an entity that has this one."""
    profiles = state.profiles
    having_it = profiles.having(relation).tolist()
    their_relations = _union([profiles.relations(profile) for profile in having_it])
    similar = _union([profiles.having(other) for other in their_relations.tolist()])
    members = [profiles.members(profile) for profile in similar.tolist()]
    return np.concatenate([ids(), *members])


def _union(parts: list[Ids]) -> Ids:
    return np.unique(np.concatenate([ids(), *parts]))


def _check_known(kind: str, names: tuple[str, ...], known: Names) -> None:
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, known.names)


def _digest(state: State, wanted: Wanted) -> str:
    """A digest of everything that the lines depend on."""
    parts: list[Any] = [__version__, state.digest, asdict(wanted)]
    if wanted.of_type:
        names = entities_of_type(state.graph, state.descriptions, wanted.of_type)
        parts.append(sorted(names))
    content = json.dumps(parts)
    return sha256(content.encode()).hexdigest()
