"""
Explanations: the reasons that add up to the score of an answer, and the precedents they rest on.

A score is a sum of terms, one for each piece of evidence that counts (equation 1, or its
logarithmic form for noisy-or), so every reason has its share of the score. The shares are computed
as the kernel computes them, and in the same order, so they add up to the score to the last bit.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import islice, pairwise
from math import log1p, sqrt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.answering.query import UNKNOWN, relation_query
from casegraph.answering.rendering import (
    ShownNeighbour,
    ShownReason,
    explanation_as_html,
    explanation_as_text,
    habit_sentence,
    path_sentence,
    path_with_arrows,
    shared_fact_sentence,
)
from casegraph.answering.results import Answer, shown
from casegraph.answering.weights import estimate
from casegraph.graph.arrays import ids
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.similarity.retrieval import contextual_entities
from casegraph.statistics.path_types import PathType, in_words, paths_between, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from casegraph.answering.query import WalkLists
    from casegraph.answering.state import State
    from casegraph.graph.arrays import Ids
    from casegraph.graph.graph import Graph, Query

Kind = Literal["path", "shared fact", "habit"]
KINDS: tuple[Kind, ...] = ("path", "shared fact", "habit")  # in the numbers of the kernels
PATHS_SHOWN = 3
NEIGHBOURS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity like the one asked about: how like it, what they share, and what it answers."""

    entity: str
    similarity: float
    shared: tuple[str, ...]
    answers: tuple[str, ...] = ()

    @classmethod
    def of(cls, state: State, entity: int, other: int, relation: int | None = None) -> Neighbour:
        """How `other` is like `entity`; with a relation, also what it answers.

        The similarity is the cosine of two sets of relations (§2.2.1), |A ∩ B| / √(|A| |B|).
        """
        graph = state.graph
        profiles = state.profiles
        own = profiles.relations(profiles.of(entity))
        theirs = profiles.relations(profiles.of(other))
        common = np.intersect1d(own, theirs).tolist()
        similarity = len(common) / sqrt(len(own) * len(theirs))
        answers = [] if relation is None else graph.answers(other, relation).tolist()
        return cls(
            entity=graph.entities[other],
            similarity=similarity,
            shared=tuple(sorted(graph.relation_name(label) for label in common)),
            answers=tuple(sorted(graph.entities[tail] for tail in answers)),
        )


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence for an answer, and its share of the score.

    kind       "path": a path type leads there
               "shared fact": others that share a fact have the answer
               "habit": of all others, so many have the answer
    words      the path type ("works at → located in"), the shared fact, or the relation
    worth      what the evidence says, before it is combined with others
    share      its part of the score
    count, of  of a path type: from all entities that have the relation, it reached `of` ends, of
               which `count` were answers; otherwise: of `of` others, `count` have the answer
    hits, tries, prior, precision
               of a path type (equations 2 and 3), in the cluster whose counts weighed it
    paths      some of the paths walked, each a tuple of entities and relations in turn
    more       whether there are other paths
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
        """The paths with their relations as arrows; an inverse relation points back."""
        return [path_with_arrows(path) for path in self.paths]

    def sentence(self, answer: Answer) -> str:
        """The reason as a person reads it."""
        if self.kind == "path":
            return path_sentence(
                self.words, right=self.count, reached=self.of, hits=self.hits, tries=self.tries
            )
        if self.kind == "shared fact":
            return shared_fact_sentence(
                self.words, count=self.count, of=self.of, answer=answer.entity
            )
        return habit_sentence(self.words, count=self.count, of=self.of, answer=answer.entity)


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
        return explanation_as_text(
            shown(self.answer), self._shown_reasons(), self._shown_neighbours()
        )

    def _repr_html_(self) -> str:
        return explanation_as_html(
            shown(self.answer), self._shown_reasons(), self._shown_neighbours()
        )

    def _shown_reasons(self) -> list[ShownReason]:
        return [
            ShownReason(reason.share, reason.sentence(self.answer), reason.drawn())
            for reason in self.reasons
        ]

    def _shown_neighbours(self) -> list[ShownNeighbour]:
        return [
            ShownNeighbour(neighbour.entity, neighbour.similarity, neighbour.answers)
            for neighbour in self.neighbours
        ]


def explanations(
    state: State, query: Query, answers: Sequence[Answer], found: Ids
) -> list[Explanation]:
    """The reasons for each of several answers to one query, and its contextual entities.

    found  (answers,)  the entity of each answer

    The query is walked once: the evidence of all answers is gathered in one pass.
    """
    k = state.settings.neighbours or NEIGHBOURS_SHOWN
    near = contextual_entities(state.profiles, state.graph, query, k)
    neighbours = tuple(
        Neighbour.of(state, query.entity, other, query.relation)
        for other in near.tolist()[:NEIGHBOURS_SHOWN]
    )
    evidence = _evidence(state, query, found)
    explained = []
    for answer, entity, pieces in zip(answers, found.tolist(), evidence.pieces, strict=True):
        reasons_given = tuple(_reasons(state, query, entity, evidence.lists, pieces))
        explained.append(Explanation(answer, reasons_given, neighbours))
    return explained


def reasons(state: State, query: Query, found: int, hidden: int = UNKNOWN) -> Iterator[Reason]:
    """The reasons for the entity `found`, the most important first, each made when it is asked for.

    hidden  a known answer to be treated as unknown, or -1
    """
    evidence = _evidence(state, query, ids([found]), hidden)
    return _reasons(state, query, found, evidence.lists, evidence.pieces[0])


class Evidence(NamedTuple):
    """What speaks for each of several answers, and the path types that were walked to find it."""

    lists: WalkLists
    pieces: list[list[Piece]]


def _evidence(state: State, query: Query, found: Ids, hidden: int = UNKNOWN) -> Evidence:
    """The evidence for each of the entities `found`, gathered in one pass."""
    entity = ids([query.entity])
    lists, kernel = relation_query(state, query.relation, entity)
    offsets, columns = kernels.evidence_of_each(
        kernel, entity, lists.of_query, ids([hidden]), state.workspaces, found
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    pieces = [Piece(*row) for row in rows]
    of_each = [pieces[start:end] for start, end in pairwise(offsets.tolist())]
    return Evidence(lists, of_each)


def _reasons(
    state: State, query: Query, found: int, lists: WalkLists, pieces: list[Piece]
) -> Iterator[Reason]:
    """What pieces of evidence say, as reasons, the most important first."""
    graph = state.graph
    for piece, share in _shares(state, pieces):
        kind = KINDS[piece.kind]
        if kind == "path":
            number = int(lists.types[lists.walked[piece.place]])
            yield _path_reason(state, query, found, number, worth=piece.worth, share=share)
        else:
            if kind == "shared fact":
                words = _fact_in_words(graph, piece.relation, piece.tail)
            else:
                words = graph.relation_name(query.relation)
            yield Reason(kind, words, piece.worth, share, piece.count, piece.of)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of evidence, as the kernels give it.

    kind            its number in `KINDS`
    relation, tail  the shared fact, or -1
    place           of a path type in the list that was walked
    count, of       as in `Reason`
    worth           what it says, before it is combined with others
    """

    kind: int
    relation: int
    tail: int
    place: int
    count: int
    of: int
    worth: float


def _shares(state: State, pieces: list[Piece]) -> Iterator[tuple[Piece, float]]:
    """The pieces that count, with their shares of the score, in the order of adding up.

    For "sum" (equation 1) a share is what the piece is worth. For "noisy-or" the pieces are
    sorted by worth, c₁ ≥ c₂ ≥ …, and with the discount w, the share of the i-th is
    wⁱ⁻¹ · −log(1 − cᵢ).
    """
    settings = state.settings

    def fact_of(piece: Piece) -> str:
        has_fact = piece.relation >= 0
        return _fact_in_words(state.graph, piece.relation, piece.tail) if has_fact else ""

    def as_added(piece: Piece) -> tuple[int, int, float, str]:
        return piece.kind, piece.place, -piece.worth, fact_of(piece)

    def best_first(piece: Piece) -> tuple[float, int, int, str]:
        return -piece.worth, piece.kind, piece.place, fact_of(piece)

    if settings.combination == "sum":
        for piece in sorted(pieces, key=as_added):
            yield piece, piece.worth
        return

    weight = 1.0
    for piece in sorted(pieces, key=best_first)[: settings.best]:
        yield piece, -weight * log1p(-piece.worth)
        weight *= settings.discount


def _path_reason(
    state: State, query: Query, found: int, number: int, *, worth: float, share: float
) -> Reason:
    path_type = unpacked(number, state.settings.max_length)
    counts = state.statistics.everyone(query.relation)
    row = int(np.searchsorted(counts.types, number))
    cluster = _cluster_that_weighed(state, query, path_type)
    estimated = estimate(state.statistics, cluster, query.relation, path_type)
    named_paths = _named_paths(state, query.entity, path_type, found)
    paths = list(islice(named_paths, PATHS_SHOWN + 1))
    return Reason(
        kind="path",
        words=in_words(state.graph, path_type),
        worth=worth,
        share=share,
        count=int(counts.right[row]),
        of=int(counts.reached[row]),
        hits=estimated.hits,
        tries=estimated.tries,
        prior=estimated.prior,
        precision=estimated.precision,
        paths=tuple(paths[:PATHS_SHOWN]),
        more=len(paths) > PATHS_SHOWN,
    )


def _cluster_that_weighed(state: State, query: Query, path_type: PathType) -> int:
    """The query's own cluster, if the settings weigh by it and it has hits; else everyone."""
    settings = state.settings
    if settings.weight != "prior" or settings.neighbours is None:
        return EVERYONE
    own = int(state.clusters.entities[query.entity])
    has_hits = state.statistics.hits(own, query.relation, path_type) > 0
    return own if has_hits else EVERYONE


def _named_paths(
    state: State, entity: int, path_type: PathType, found: int
) -> Iterator[tuple[str, ...]]:
    """The paths of a type between two entities, each as names of entities and relations in turn."""
    graph = state.graph
    loop_free = state.settings.loop_free
    relations = [graph.relation_name(relation) for relation in path_type]
    for path in paths_between(graph, entity, path_type, found, loop_free=loop_free):
        names = [graph.entities[path[0]]]
        for relation, visited in zip(relations, path[1:], strict=True):
            names.append(relation)
            names.append(graph.entities[visited])
        yield tuple(names)


def _fact_in_words(graph: Graph, relation: int, tail: int) -> str:
    return f"{graph.relation_name(relation)} {graph.entities[tail]}"
