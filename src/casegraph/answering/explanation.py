"""
Explanations: the reasons that add up to the score of an answer, and the precedents they rest on.

A score is a sum of terms, one for each piece of evidence that counts (equation 1, or its
logarithmic form for noisy-or), so every reason has its share of the score. The shares are computed
as the kernel computes them, and in the same order, so they add up to the score to the last bit.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from itertools import islice, pairwise
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, assert_never, get_args

import numpy as np

from casegraph import kernels
from casegraph.answering.notebook import explanation_as_html
from casegraph.answering.query import UNKNOWN, relation_query
from casegraph.answering.rendering import (
    ShownNeighbour,
    ShownReason,
    explanation_as_text,
    fact_of_answers_sentence,
    habit_sentence,
    near_answers_sentence,
    neighbours_sentence,
    path_sentence,
    path_with_arrows,
    precedents_in_words,
    shared_fact_sentence,
)
from casegraph.answering.results import Answer, shown
from casegraph.answering.weights import estimate
from casegraph.frames import Tabular
from casegraph.graph.arrays import ids
from casegraph.graph.directions import inverse
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.similarity.retrieval import contextual_entities
from casegraph.statistics.path_types import PathType, in_words, paths_between, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from casegraph.answering.query import WalkLists
    from casegraph.answering.state import State
    from casegraph.graph.arrays import Floats, Ids
    from casegraph.graph.graph import Graph, Query
    from casegraph.statistics.counts import PathCounts

Kind = Literal["path", "shared fact", "fact of answers", "near answers", "neighbours", "habit"]
KINDS: tuple[Kind, ...] = get_args(Kind)  # in the order of the kernels
PATHS_SHOWN = 3
NEIGHBOURS_SHOWN = 5
ANSWERS_TRIED = 8  # of a neighbour, to see whether a path type leads to one of them
PRECEDENTS_OF_PATHS = 5  # neighbours for which a path type worked too, at most


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity like the one asked about: how like it, what they share, and what it answers.

    similarity  from 0 to 1: by the facts they share, or by the relations, in the paper's settings
    shared      these facts, the rarest first; or these relations
    """

    entity: str
    similarity: float
    shared: tuple[str, ...]
    answers: tuple[str, ...] = ()

    @classmethod
    def by_facts(cls, state: State, query: Query, other: int, similarity: float) -> Neighbour:
        """An entity that is like the query entity by the facts they share."""
        graph = state.graph
        return cls(
            entity=graph.entities[other],
            similarity=similarity,
            shared=tuple(_shared_facts(graph, query.entity, other)),
            answers=_names(graph, graph.answers(other, query.relation)),
        )

    @classmethod
    def of(cls, state: State, entity: int, other: int, relation: int | None = None) -> Neighbour:
        """How `other` is like `entity` by their relations; with a relation, also what it answers.

        The similarity is the cosine of two sets of relations (§2.2.1), |A ∩ B| / √(|A| |B|).
        """
        graph = state.graph
        profiles = state.profiles
        own = profiles.relations(profiles.of(entity))
        theirs = profiles.relations(profiles.of(other))
        common = np.intersect1d(own, theirs).tolist()
        answers = ids() if relation is None else graph.answers(other, relation)
        return cls(
            entity=graph.entities[other],
            similarity=len(common) / sqrt(len(own) * len(theirs)),
            shared=tuple(sorted(graph.relation_name(label) for label in common)),
            answers=_names(graph, answers),
        )


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence for an answer, and its share of the score.

    kind       "path": a path type leads there
               "shared fact": others that share a fact with the entity asked about have the answer
               "fact of answers": the answer has a fact that known answers have
               "near answers": the answer shares much with the known answers
               "neighbours": the entities most like the one asked about have the answer
               "habit": of all others, so many have the answer
    words      the path type ("works at → located in"), the fact, or the relation
    worth      what the evidence says, before it is combined with others
    share      its part of the score
    count, of  of a path type: from all entities that have the relation, it reached `of` ends, of
               which `count` were answers; of a fact of answers: of `of` entities with the fact,
               `count` are known answers; of near answers: `of` answers are known; otherwise: of
               `of` others, `count` have the answer
    slot       of a path type: "open" if `count` and `of` are of ends that no other entity has as
               its answer, like this answer; "taken" if of ends that another has; empty if of all
    precedents the entities it rests on, by name: those that have the answer too, or the known
               answers that it is like; of a path type, the entities most like the one asked about
               for which it was right
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
    slot: str = ""
    precedents: tuple[str, ...] = ()

    def drawn(self) -> list[str]:
        """The paths with their relations as arrows; an inverse relation points back."""
        return [path_with_arrows(path) for path in self.paths]

    def sentence(self, answer: Answer) -> str:
        """The reason as a person reads it."""
        count = self.count
        of = self.of
        if self.kind == "path":
            sentence = path_sentence(
                self.words,
                right=count,
                reached=of,
                hits=self.hits,
                tries=self.tries,
                slot=self.slot,
            )
        elif self.kind == "shared fact":
            sentence = shared_fact_sentence(self.words, count=count, of=of, answer=answer.entity)
        elif self.kind == "fact of answers":
            sentence = fact_of_answers_sentence(self.words, count=count, of=of)
        elif self.kind == "near answers":
            sentence = near_answers_sentence(of)
        elif self.kind == "neighbours":
            sentence = neighbours_sentence(
                count=count, of=of, asked=answer.asked, answer=answer.entity
            )
        elif self.kind == "habit":
            sentence = habit_sentence(self.words, count=count, of=of, answer=answer.entity)
        else:
            assert_never(self.kind)
        return sentence + precedents_in_words(self.precedents)


@dataclass(frozen=True, slots=True)
class Explanation(Tabular):
    """Why an answer was given.

    Iterating gives the reasons kind by kind, the strongest kind first, and within a kind the most
    important first. In this order their shares add up to the score, to the last bit.

    labelled  the same with labels in the place of names, if there are labels
    """

    answer: Answer
    reasons: tuple[Reason, ...]
    neighbours: tuple[Neighbour, ...] = field(default=())
    labelled: Explanation | None = field(default=None, compare=False, repr=False)

    def __iter__(self) -> Iterator[Reason]:
        return iter(self.reasons)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; the schema is in docs/explanations.md."""
        values = asdict(replace(self, labelled=None))
        del values["labelled"]
        return values

    @property
    def for_people(self) -> Explanation:
        """The explanation as people read it: with labels, if there are any."""
        return self.labelled or self

    def records(self) -> list[dict[str, Any]]:
        """A row for each reason, for frames."""
        rows = []
        for reason in self.reasons:
            sentence = reason.sentence(self.answer)
            paths = reason.drawn()
            rows.append(asdict(reason) | {"paths": paths, "sentence": sentence})
        return rows

    def text(self) -> str:
        """The explanation for a terminal."""
        return explanation_as_text(
            shown(self.answer), self._shown_reasons(), self._shown_neighbours()
        )

    def __repr__(self) -> str:
        answer = self.answer
        first = self.reasons[0].sentence(answer) if self.reasons else "no reason"
        others = f" and {len(self.reasons) - 1:,} more reasons" if len(self.reasons) > 1 else ""
        return f"<Explanation of {answer.entity} for {answer.asked}: {first}{others}>"

    def _repr_html_(self) -> str:
        told = self.for_people
        return explanation_as_html(
            shown(told.answer), told._shown_reasons(), told._shown_neighbours()
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
    near = _nearest(state, query)
    neighbours = _neighbours(state, query, near)
    evidence = _evidence(state, query, found)
    explained = []
    for answer, entity, pieces in zip(answers, found.tolist(), evidence.pieces, strict=True):
        precedents = Precedents(state, query, entity, near)
        reasons_given = tuple(_reasons(precedents, evidence.lists, pieces))
        explained.append(Explanation(answer, reasons_given, neighbours))
    return explained


def reasons(state: State, query: Query, found: int, hidden: int = UNKNOWN) -> Iterator[Reason]:
    """The reasons for the entity `found`, the most important first, each made when it is asked for.

    hidden  a known answer to be treated as unknown, or -1
    """
    evidence = _evidence(state, query, ids([found]), hidden)
    near = _nearest(state, query, hidden)
    precedents = Precedents(state, query, found, near)
    return _reasons(precedents, evidence.lists, evidence.pieces[0])


class Weighed(NamedTuple):
    """The evidence for one answer that counts.

    shares  the pieces with their shares of the score, in the order of adding up
    lists   the path types that were walked to find them
    near    the entities most like the query entity
    """

    shares: list[tuple[Piece, float]]
    lists: WalkLists
    near: Nearest


def weighed_evidence(state: State, query: Query, found: int) -> Weighed:
    """What the reasons for the entity `found` are made of."""
    evidence = _evidence(state, query, ids([found]))
    shares = list(_shares(state, evidence.pieces[0]))
    return Weighed(shares, evidence.lists, _nearest(state, query))


class Evidence(NamedTuple):
    """What speaks for each of several answers, and the path types that were walked to find it."""

    lists: WalkLists
    pieces: list[list[Piece]]


def _evidence(state: State, query: Query, found: Ids, hidden: int = UNKNOWN) -> Evidence:
    """The evidence for each of the entities `found`, gathered in one pass."""
    entity = ids([query.entity])
    lists, kernel = relation_query(state, query.relation, entity)
    offsets, columns = kernels.evidence(
        kernel, entity, lists.of_query, ids([hidden]), state.workspaces, found
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    pieces = [Piece(*row) for row in rows]
    of_each = [pieces[start:end] for start, end in pairwise(offsets.tolist())]
    return Evidence(lists, of_each)


class Nearest(NamedTuple):
    """The entities that answer for the query entity, most similar first.

    There are none without precedents.
    """

    entities: Ids
    similarities: Floats


def _nearest(state: State, query: Query, hidden: int = UNKNOWN) -> Nearest:
    if not state.settings.precedents:
        return Nearest(ids(), np.zeros(0))
    _, kernel = relation_query(state, query.relation, ids([query.entity]))
    found = kernels.nearest_entities(kernel, query.entity, hidden, state.workspaces)
    return Nearest(*found)


def _neighbours(state: State, query: Query, near: Nearest) -> tuple[Neighbour, ...]:
    """The neighbours to be shown."""
    if state.settings.precedents:
        shown_entities = near.entities[:NEIGHBOURS_SHOWN].tolist()
        pairs = zip(shown_entities, near.similarities.tolist(), strict=False)
        return tuple(
            Neighbour.by_facts(state, query, other, similarity) for other, similarity in pairs
        )
    k = state.settings.neighbours or NEIGHBOURS_SHOWN
    contextual = contextual_entities(state.profiles, state.graph, query, k)
    return tuple(
        Neighbour.of(state, query.entity, other, query.relation)
        for other in contextual.tolist()[:NEIGHBOURS_SHOWN]
    )


@dataclass(frozen=True, slots=True)
class Precedents:
    """By name, the entities that evidence for one answer rests on.

    found  the answer
    near   the entities most like the query entity
    """

    state: State
    query: Query
    found: int
    near: Nearest

    def of_shared_fact(self, relation: int, tail: int) -> tuple[str, ...]:
        """Those that share a fact with the query entity and have the answer."""
        graph = self.state.graph
        sharers = graph.answers(tail, inverse(relation))
        askers = graph.answers(self.found, inverse(self.query.relation))
        return self._named(np.intersect1d(sharers, askers))

    def of_fact_of_answers(self, relation: int, tail: int) -> tuple[str, ...]:
        """The known answers that have a fact."""
        graph = self.state.graph
        known = graph.answers(self.query.entity, self.query.relation)
        return self._named(np.intersect1d(graph.answers(tail, inverse(relation)), known))

    def of_near_answers(self) -> tuple[str, ...]:
        """The known answers that share a fact with the answer, those that share most first."""
        graph = self.state.graph
        known = graph.answers(self.query.entity, self.query.relation)
        shared = np.zeros(len(known), dtype=np.int64)
        for relation, tail in _facts(graph, self.found):
            is_the_question = (relation, tail) == (inverse(self.query.relation), self.query.entity)
            if not is_the_question:
                shared += np.isin(known, graph.answers(tail, inverse(relation)))
        order = np.lexsort((graph.entities.ranks()[known], -shared))
        is_like = (shared > 0) & (known != self.found)
        return tuple(graph.entities[known[place]] for place in order[is_like[order]].tolist())

    def of_neighbours(self) -> tuple[str, ...]:
        """The neighbours that have the answer, most similar first."""
        graph = self.state.graph
        askers = graph.answers(self.found, inverse(self.query.relation))
        who = self.near.entities[np.isin(self.near.entities, askers)]
        return tuple(graph.entities[entity] for entity in who.tolist())

    def of_path(self, path_type: PathType) -> tuple[str, ...]:
        """Some neighbours that a path type led to one of their answers, most similar first."""
        graph = self.state.graph
        loop_free = self.state.settings.loop_free
        found: list[str] = []
        for entity in self.near.entities.tolist():
            if len(found) == PRECEDENTS_OF_PATHS:
                break
            for answer in graph.answers(entity, self.query.relation).tolist()[:ANSWERS_TRIED]:
                paths = paths_between(graph, entity, path_type, answer, loop_free=loop_free)
                if next(paths, None) is not None:
                    found.append(graph.entities[entity])
                    break
        return tuple(found)

    def _named(self, entities: Ids) -> tuple[str, ...]:
        others = entities[(entities != self.query.entity) & (entities != self.found)]
        return _names(self.state.graph, others)


def _reasons(precedents: Precedents, lists: WalkLists, pieces: list[Piece]) -> Iterator[Reason]:
    """What pieces of evidence say, as reasons, the most important first."""
    graph = precedents.state.graph
    relation_in_words = graph.relation_name(precedents.query.relation)
    for piece, share in _shares(precedents.state, pieces):
        kind = KINDS[piece.kind]
        words = relation_in_words
        if kind == "path":
            number = int(lists.types[lists.walked[piece.place]])
            yield _path_reason(precedents, number, piece, share)
            continue
        who: tuple[str, ...] = ()
        if kind == "shared fact":
            words = _fact_in_words(graph, piece.relation, piece.tail)
            who = precedents.of_shared_fact(piece.relation, piece.tail)
        elif kind == "fact of answers":
            words = _fact_in_words(graph, piece.relation, piece.tail)
            who = precedents.of_fact_of_answers(piece.relation, piece.tail)
        elif kind == "near answers":
            who = precedents.of_near_answers()
        elif kind == "neighbours":
            who = precedents.of_neighbours()
        yield Reason(kind, words, piece.worth, share, piece.count, piece.of, precedents=who)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of evidence, as the kernels give it.

    kind            its number in `KINDS`
    relation, tail  the shared fact, or -1
    place           of a path type in the list that was walked
    count, of       as in `Reason`; of a path type, whether the slot of the answer is taken
    worth           what it says, before it is combined with others
    strength        −log(1 − worth), and more for a decisive path type
    """

    kind: int
    relation: int
    tail: int
    place: int
    count: int
    of: int
    worth: float
    strength: float


def _shares(state: State, pieces: list[Piece]) -> Iterator[tuple[Piece, float]]:
    """The pieces that count, with their shares of the score, in the order of adding up.

    For "sum" (equation 1) a share is what the piece is worth. For "noisy-or" (see
    kernels/answering/kinds.hpp) kinds are sorted by their strength, and within a kind the pieces by
    worth, c₁ ≥ c₂ ≥ …; with the discounts w within a kind and x across kinds, and the weight g of
    the kind, the share of the i-th piece of the k-th kind is xᵏ⁻¹ · g · wⁱ⁻¹ · strengthᵢ. The
    strength is −log(1 − cᵢ), and more for a decisive path type.
    """
    settings = state.settings

    def fact_of(piece: Piece) -> str:
        has_fact = piece.relation >= 0
        return _fact_in_words(state.graph, piece.relation, piece.tail) if has_fact else ""

    def as_added(piece: Piece) -> tuple[int, int, float, str]:
        return piece.kind, piece.place, -piece.worth, fact_of(piece)

    def best_first(piece: Piece) -> tuple[float, int, str]:
        return -piece.worth, piece.place, fact_of(piece)

    if settings.combination == "sum":
        for piece in sorted(pieces, key=as_added):
            yield piece, piece.worth
        return

    combination = settings.combined
    weights = combination.kinds.as_tuple()
    discounts = combination.discounts
    by_kind: list[list[Piece]] = []
    strengths = []
    for kind, weight in enumerate(weights):
        own = sorted((piece for piece in pieces if piece.kind == kind), key=best_first)
        own = own[: settings.best]
        by_kind.append(own)
        strength = 0.0
        discount = 1.0
        for piece in own:
            strength += discount * piece.strength
            discount *= discounts[kind]
        strengths.append(strength * weight)

    weight_of_kind = 1.0
    for kind in sorted(range(len(KINDS)), key=lambda kind: -strengths[kind]):
        weight = weight_of_kind * weights[kind]
        for piece in by_kind[kind]:
            yield piece, weight * piece.strength
            weight *= discounts[kind]
        weight_of_kind *= combination.across


def _path_reason(precedents: Precedents, number: int, piece: Piece, share: float) -> Reason:
    state = precedents.state
    query = precedents.query
    path_type = unpacked(number, state.settings.max_length)
    counts = state.statistics.everyone(query.relation)
    row = int(np.searchsorted(counts.types, number))
    slot, right, reached = _right_and_reached(state, counts, row, is_taken=bool(piece.count))
    cluster = _cluster_that_weighed(state, query, path_type)
    estimated = estimate(state.statistics, cluster, query.relation, path_type)
    named_paths = _named_paths(state, query.entity, path_type, precedents.found)
    paths = list(islice(named_paths, PATHS_SHOWN + 1))
    return Reason(
        kind="path",
        words=in_words(state.graph, path_type),
        worth=piece.worth,
        share=share,
        count=right,
        of=reached,
        hits=estimated.hits,
        tries=estimated.tries,
        prior=estimated.prior,
        precision=estimated.precision,
        paths=tuple(paths[:PATHS_SHOWN]),
        more=len(paths) > PATHS_SHOWN,
        slot=slot,
        precedents=precedents.of_path(path_type),
    )


def _right_and_reached(
    state: State, counts: PathCounts, row: int, *, is_taken: bool
) -> tuple[str, int, int]:
    """The counts that weighed a path type: of ends in the same slot as the answer, or of all."""
    right = int(counts.right[row])
    reached = int(counts.reached[row])
    tells_slots = state.settings.weight == "right" and state.settings.slots
    if not tells_slots or counts.left_out[row]:
        return "", right, reached
    right_open = int(counts.right_open[row])
    reached_open = int(counts.reached_open[row])
    if is_taken:
        return "taken", right - right_open, reached - reached_open
    return "open", right_open, reached_open


def _cluster_that_weighed(state: State, query: Query, path_type: PathType) -> int:
    """The query's own cluster, if the settings weigh by it and it has hits; else everyone."""
    settings = state.settings
    if settings.weight != "prior" or settings.neighbours is None:
        return EVERYONE
    own = int(state.clusters.entities[query.entity])
    is_weighed = state.statistics.prior_hits(own, query.relation, path_type) > 0
    return own if is_weighed else EVERYONE


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


def _names(graph: Graph, entities: Ids) -> tuple[str, ...]:
    """The names of entities, sorted."""
    return tuple(sorted(graph.entities[entity] for entity in entities.tolist()))


def _facts(graph: Graph, entity: int) -> Iterator[tuple[int, int]]:
    """All facts of an entity, as pairs of a relation and a tail."""
    for relation in range(graph.directions):
        for tail in graph.answers(entity, relation).tolist():
            yield relation, tail


def _shared_facts(graph: Graph, one: int, other: int) -> list[str]:
    """The facts that two entities share, in words, the rarest first."""
    found = []
    for relation in range(graph.directions):
        common = np.intersect1d(graph.answers(one, relation), graph.answers(other, relation))
        for tail in common.tolist():
            sharers = len(graph.answers(tail, inverse(relation)))
            found.append((sharers, _fact_in_words(graph, relation, tail)))
    return [words for _, words in sorted(found)]
