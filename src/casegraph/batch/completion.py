"""
Completing: ask every entity for every relation, and keep the answers that are no facts yet.

A question is worth asking if some entity has both the relation and a relation that this entity has. Of any other no
path type and no shared fact can speak, only the habit of everyone.

Questions come in the order of relations and entities by name, in batches that are pure functions of the case base, and
the lines of each batch are on the disk before the next: what is interrupted is gone on with, and ends the same.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import islice
from math import expm1
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from casegraph import __version__
from casegraph.answering.explanation import reasons
from casegraph.answering.query import answers
from casegraph.answering.results import Answer, named_answers
from casegraph.answering.state import State
from casegraph.batch.resumption import Resumable
from casegraph.casebase import CaseBase
from casegraph.errors import InvalidSettings, UnknownName
from casegraph.execution.executor import HERE, Executor
from casegraph.graph.arrays import Ids, ids
from casegraph.graph.digest import relations_in_use
from casegraph.graph.graph import Graph, Query
from casegraph.graph.names import Names
from casegraph.running import Show, quiet
from casegraph.settings import Settings

AT_ONCE = 256  # questions that are one task


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to propose.

    relations        for which; none named: all
    entities         about whom; none named: everyone
    heads            whether to ask (?, relation, entity), too
    lacking          whether to ask only those that do not have the relation yet
    min_probability  what an answer must have at least, and top: how many of a question are kept
    explain          whether to give the first reason
    """

    relations: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    heads: bool = False
    lacking: bool = False
    min_probability: float = 0.5
    top: int = 3
    explain: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.min_probability <= 1:
            raise InvalidSettings("min_probability", self.min_probability, "from 0 to 1")
        if self.top < 1:
            raise InvalidSettings("top", self.top, "at least 1")


class Completion(NamedTuple):
    """What was done, now and before an interruption: questions asked, and facts proposed."""

    asked: int
    proposed: int


class Batch(NamedTuple):
    """Questions (entity, relation, ?) as ids."""

    relation: int
    entities: Ids
    wanted: Wanted


def complete(
    case_base: CaseBase, out: Path, wanted: Wanted, executor: Executor = HERE, show: Show = quiet
) -> Completion:
    """Write the facts that are missing to a file of JSON lines; goes on where an earlier call was interrupted."""
    state = case_base.state
    if state.settings.combination != "noisy-or" and wanted.min_probability > 0:
        raise InvalidSettings("min_probability", wanted.min_probability, "0: these settings give no probability")
    _check_known("entity", wanted.entities, state.graph.entities)
    directions = directions_of(state.graph, wanted.relations, heads=wanted.heads)
    sizes = [len(batch.entities) for batch in _batches(state, directions, wanted)]
    with Resumable(out, _digest(state, wanted)) as file:
        asked, total = sum(sizes[: file.done]), sum(sizes)
        if file.done < len(sizes):
            executor.count(state, directions, show)
        rest = islice(_batches(state, directions, wanted), file.done, None)
        for size, content in zip(sizes[file.done :], executor.each(state, proposals, rest), strict=True):
            file.write(content)
            asked += size
            show("asking", asked, total)
    with out.open("rb") as lines:
        return Completion(asked, sum(1 for _ in lines))


def proposals(state: State, batch: Batch) -> bytes:
    """The answers worth keeping, as lines."""
    graph, (relation, entities, wanted) = state.graph, batch
    known = [set(graph.answers(entity, relation).tolist()) for entity in entities.tolist()]
    best = answers(state, relation, entities, top=wanted.top + max(map(len, known), default=0))
    lines = []
    for entity, own, found in zip(entities.tolist(), known, best, strict=True):
        scored = zip(found.entities.tolist(), found.scores.tolist(), strict=True)
        new = named_answers(graph, (graph.entities[entity], relation), scored, own, exclude=True)[: wanted.top]
        kept = (one for one in new if _is_probable(state.settings, one.score, wanted))
        lines += [json.dumps(_record(state, one, found.exact, wanted.explain), ensure_ascii=False) for one in kept]
    return "".join(line + "\n" for line in lines).encode()


def probability(settings: Settings, score: float) -> float | None:
    """How probable an answer is by noisy-or: 1 - exp(-score), not calibrated; other combinations do not say."""
    return -expm1(-score) if settings.combination == "noisy-or" else None


def first_reasons(state: State, answer: Answer, hidden: int | None = None, most: int = 1) -> list[str]:
    """The most important reasons for an answer, in words; `hidden` is a known answer to be treated as unknown."""
    graph = state.graph
    entity, found, relation = (
        graph.entities.find(answer.asked), graph.entities.find(answer.entity), graph.relations.find(answer.relation)
    )  # fmt: skip
    if entity is None or found is None or relation is None:
        return []
    why = reasons(state, Query(entity, 2 * relation + answer.inverse), found, -1 if hidden is None else hidden)
    return [one.sentence(answer) for one in islice(why, most)]


def _is_probable(settings: Settings, score: float, wanted: Wanted) -> bool:
    probable = probability(settings, score)
    return probable is None or probable >= wanted.min_probability


def _record(state: State, answer: Answer, exact: bool, explain: bool) -> dict[str, Any]:
    head, tail = (answer.asked, answer.entity)[:: -1 if answer.inverse else 1]
    return {
        "head": head,
        "relation": answer.relation,
        "tail": tail,
        "asked": "head" if answer.inverse else "tail",
        "score": answer.score,
        "probability": probability(state.settings, answer.score),
        "rank": answer.rank,
        "exact": exact,
        **({"reason": first_reasons(state, answer)[0]} if explain else {}),
    }


def _batches(state: State, directions: list[int], wanted: Wanted) -> Iterator[Batch]:
    names = state.graph.entities
    only = ids(entity for entity in map(names.find, wanted.entities) if entity is not None)
    plain = replace(wanted, relations=(), entities=())  # names that a task does not need
    for relation in directions:
        entities = _worth_asking(state, relation)
        if wanted.entities:
            entities = np.intersect1d(entities, only)
        if wanted.lacking:
            entities = np.setdiff1d(entities, state.graph.edges(relation).heads)
        entities = entities[np.argsort(names.ranks()[entities])]
        for start in range(0, len(entities), AT_ONCE):
            yield Batch(relation, entities[start : start + AT_ONCE], plain)


def _worth_asking(state: State, relation: int) -> Ids:
    """The entities that have a relation in common with an entity that has this one."""
    profiles = state.profiles
    having = [profile for profile in profiles.having(relation).tolist() if len(profiles.members(profile))]
    company = np.unique(np.concatenate([ids(), *map(profiles.relations, having)]))
    alike = np.unique(np.concatenate([ids(), *map(profiles.having, company.tolist())]))
    return np.concatenate([ids(), *map(profiles.members, alike.tolist())])


def directions_of(graph: Graph, relations: tuple[str, ...], *, heads: bool = False) -> list[int]:
    """These relations, or all, in the order of names; if heads are asked for, each with its inverse after it."""
    _check_known("relation", relations, graph.relations)
    chosen = [k for k in relations_in_use(graph).tolist() if graph.relations[k] in (relations or graph.relations)]
    return [direction for k in chosen for direction in ((2 * k, 2 * k + 1) if heads else (2 * k,))]


def _check_known(kind: str, names: tuple[str, ...], known: Names) -> None:
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, known.names)


def _digest(state: State, wanted: Wanted) -> str:
    """Of all that the lines depend on."""
    return sha256(json.dumps([__version__, state.digest, asdict(wanted)]).encode()).hexdigest()
