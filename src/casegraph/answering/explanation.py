"""
What a user sees: answers, and for each answer the reasons that add up to its score and the precedents they rest on.

A score is a sum of terms, one for each piece of evidence that counts, so every reason has its share of it. The shares
are computed as the kernel computed them, in the same order: they add up to the score to the last bit.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from html import escape
from itertools import islice
from math import log1p, sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from casegraph import kernels
from casegraph.answering.query import asking
from casegraph.answering.results import Answer, html_table
from casegraph.graph.arrays import ids
from casegraph.graph.directions import INVERSE
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.similarity.retrieval import contextual_entities
from casegraph.statistics.path_types import PathType, in_words, paths_between, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.state import State
    from casegraph.graph.graph import Graph, Query

Kind = Literal["path", "shared fact", "habit"]
KINDS: tuple[Kind, ...] = ("path", "shared fact", "habit")
PATHS_SHOWN = 3
NEIGHBOURS_SHOWN = 5
LEAST_SHOWN = 0.005  # of the score: smaller reasons are only counted in the text


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity like the one asked about: how like it, what they share, and what it answers."""

    entity: str
    similarity: float
    shared: tuple[str, ...]
    answers: tuple[str, ...] = ()

    @classmethod
    def of(cls, state: State, entity: int, other: int, relation: int | None = None) -> Neighbour:
        """How `other` is like `entity`; with a relation, also what it answers."""
        graph, profiles = state.graph, state.profiles
        own, theirs = profiles.relations(profiles.of(entity)), profiles.relations(profiles.of(other))
        shared = sorted(graph.relation_name(label) for label in np.intersect1d(own, theirs).tolist())
        answers = (
            [] if relation is None else sorted(graph.entities[tail] for tail in graph.answers(other, relation).tolist())
        )
        return cls(graph.entities[other], len(shared) / sqrt(len(own) * len(theirs)), tuple(shared), tuple(answers))


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence for an answer, and its share of the score.

    kind   "path": a path type leads there;  "shared fact": others that share a fact answer so;  "habit": everyone does
    words  the path type ("works at → located in"), the shared fact, or the relation
    worth  what the evidence says, before combination;  share: its part of the score
    count  of `of` entities that a path type reached from all that have the relation, those that were answers; or of
           `of` others, those that gave the answer
    hits   with tries, prior, precision: of a path type (equations 2 and 3), in the cluster whose counts weighed it
    paths  some of the walked paths, each a tuple of entities and relations in turn; `more` if there are others
    """

    kind: Kind
    words: str
    worth: float
    share: float
    count: int
    of: int
    hits: int = 0
    tries: int = 0
    prior: float = 0.0
    precision: float = 0.0
    paths: tuple[tuple[str, ...], ...] = ()
    more: bool = False

    def drawn(self) -> list[str]:
        """The paths with their relations as arrows, an inverse one pointing back."""
        return [
            " ".join(part if place % 2 == 0 else _arrow(part) for place, part in enumerate(path)) for path in self.paths
        ]

    def sentence(self, answer: Answer) -> str:
        """The reason as a person reads it."""
        if self.kind == "path":
            counted = (
                f"right {self.count:,} of {self.of:,} times"
                if self.of
                else f"right on {self.hits:,} of {self.tries:,} walks"
            )
            return f"{self.words}: {counted}"
        others = (
            f"the {self.of:,} others that share “{self.words}”"
            if self.kind == "shared fact"
            else f"all {self.of:,} others asked “{self.words}”"
        )
        return f"{self.count:,} of {others} have the answer {answer.entity}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an answer was given. Iterating gives the reasons, the most important first."""

    answer: Answer
    reasons: tuple[Reason, ...]
    neighbours: tuple[Neighbour, ...] = field(default=())

    def __iter__(self) -> Iterator[Reason]:
        return iter(self.reasons)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; the schema is in docs/explanations.md."""
        return asdict(self)

    def text(self) -> str:
        """The explanation for a terminal."""
        a, seen = self.answer, [reason for reason in self.reasons if reason.share >= LEAST_SHOWN * self.answer.score]
        lines = [f"{a.entity}  (score {a.score:.3f}{', known' if a.known else ''})"]
        for reason in seen:
            lines.append(f"  {reason.share / a.score:4.0%}  {reason.sentence(a)}")
            lines += [f"          {path}" for path in reason.drawn()]
        if len(seen) < len(self.reasons):
            lines.append(
                f"        and {len(self.reasons) - len(seen)} more reasons of less than {LEAST_SHOWN:.1%} each"
            )
        if self.neighbours:
            lines.append(f"  entities like {a.asked}, and what they answer:")
            lines += [f"          {n.entity} ({n.similarity:.2f}): {', '.join(n.answers)}" for n in self.neighbours]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        a = self.answer
        reasons = [(f"{r.share:.3f}", r.sentence(a), "\n".join(r.drawn())) for r in self.reasons]
        near = [(n.entity, f"{n.similarity:.2f}", ", ".join(n.answers)) for n in self.neighbours]
        return (
            f"<p><b>{escape(a.entity)}</b> {a.score:.4f}</p>"
            + html_table(("share", "reason", "paths"), reasons)
            + html_table(("like " + a.asked, "similarity", "answers"), near)
        )


def explanation(state: State, query: Query, answer: Answer, found: int) -> Explanation:
    """All reasons for `found` as an answer to `query`, and who its contextual entities are."""
    near = contextual_entities(state.profiles, state.graph, query, state.settings.neighbours or NEIGHBOURS_SHOWN)
    neighbours = tuple(
        Neighbour.of(state, query.entity, other, query.relation) for other in near.tolist()[:NEIGHBOURS_SHOWN]
    )
    return Explanation(answer, tuple(reasons(state, query, found)), neighbours)


def reasons(state: State, query: Query, found: int, left_out: int = -1) -> Iterator[Reason]:
    """The reasons for `found`, the most important first, each made when it is asked for.

    left_out  a known answer to be treated as unknown
    """
    entity = ids([query.entity])
    lists, kernel = asking(state, query.relation, entity)
    columns = kernels.evidence(kernel, entity, lists.of_query, ids([left_out]), state.workspaces, found)
    pieces = list(zip(*(column.tolist() for column in columns), strict=True))
    for (kind, label, tail, place, count, of, worth), part in _shares(state, pieces):
        if KINDS[kind] == "path":
            yield _path_reason(state, query, found, int(lists.types[lists.walked[place]]), worth=worth, part=part)
        elif KINDS[kind] == "shared fact":
            yield Reason("shared fact", _fact_words(state.graph, label, tail), worth, part, count, of)
        else:
            yield Reason("habit", state.graph.relation_name(query.relation), worth, part, count, of)


def _shares(state: State, pieces: list[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], float]]:
    """The pieces that count, each with its part of the score, in the order in which they are added up."""
    settings = state.settings
    if settings.combination == "sum":
        yield from ((piece, piece[-1]) for piece in pieces)
        return

    def order(piece: tuple[Any, ...]) -> tuple[float, int, int, str]:
        kind, label, tail, place, *_, worth = piece
        return -worth, kind, place, _fact_words(state.graph, label, tail) if label >= 0 else ""

    weight = 1.0
    for piece in sorted(pieces, key=order)[: settings.best]:
        yield piece, -weight * log1p(-piece[-1])
        weight *= settings.discount


def _path_reason(state: State, query: Query, found: int, number: int, *, worth: float, part: float) -> Reason:
    path_type = unpacked(number, state.settings.max_length)
    counts = state.statistics.everyone(query.relation)
    row = int(np.searchsorted(counts.types, number))
    cluster, hits = EVERYONE, int(counts.hits[row])
    total = int(counts.hits.sum())
    if state.settings.weight == "prior" and state.settings.neighbours is not None:
        own = int(state.clusters.entities[query.entity])
        if state.statistics.hits(own, query.relation, path_type):
            cluster, hits = own, state.statistics.hits(own, query.relation, path_type)
            clustered = state.statistics.clustered(query.relation)
            total = int(clustered.hits[clustered.of(own)].sum())
    tries = state.statistics.tries(cluster, query.relation, path_type)
    paths = list(islice(_named_paths(state, query.entity, path_type, found), PATHS_SHOWN + 1))
    return Reason(
        "path", in_words(state.graph, path_type), worth, part, int(counts.right[row]), int(counts.reached[row]),
        hits, tries, hits / total if total else 0.0, hits / tries if tries else 0.0,
        tuple(paths[:PATHS_SHOWN]), len(paths) > PATHS_SHOWN,
    )  # fmt: skip


def _named_paths(state: State, entity: int, path_type: PathType, found: int) -> Iterator[tuple[str, ...]]:
    graph = state.graph
    for path in paths_between(graph, entity, path_type, found, loop_free=state.settings.loop_free):
        names = [graph.entities[path[0]]]
        for relation, passed in zip(path_type, path[1:], strict=True):
            names += [graph.relation_name(relation), graph.entities[passed]]
        yield tuple(names)


def _fact_words(graph: Graph, relation: int, tail: int) -> str:
    return f"{graph.relation_name(relation)} {graph.entities[tail]}"


def _arrow(relation: str) -> str:
    return f"←{relation.removesuffix(INVERSE)}—" if relation.endswith(INVERSE) else f"—{relation}→"
