"""
The facts that the reasons for an answer rest on: those walked over, and those of the precedents.

What a path type is worth rests on many more facts, of everyone who was ever led by it. They are not
meant here: these are the facts that speak for this answer to this question.
"""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from casegraph.answering.explanation import KINDS, weighed_evidence
from casegraph.graph.directions import forward, inverse, is_inverse, relation_of
from casegraph.graph.facts import Fact
from casegraph.statistics.path_types import paths_between, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.explanation import Nearest, Piece, Weighed
    from casegraph.answering.state import State
    from casegraph.graph.arrays import Ids
    from casegraph.graph.graph import Graph, Query

Row = tuple[int, int, int]  # head, direction from head to tail, tail
MAX_PATHS = 100  # of one path type, between the query entity and the answer


def facts_behind(state: State, query: Query, found: int) -> Iterator[Fact]:
    """The facts that the reasons for the entity `found` rest on, each once.

    Those of the reason with the largest share come first. The fact that is asked for, if it is
    known, is not among them.
    """
    graph = state.graph
    asked_for = _row(query.entity, query.relation, found)
    seen = {asked_for}
    for row in _rows(state, query, found):
        if row not in seen:
            seen.add(row)
            head, direction, tail = row
            relation = graph.relations[relation_of(direction)]
            yield Fact(graph.entities[head], relation, graph.entities[tail])


def _rows(state: State, query: Query, found: int) -> Iterator[Row]:
    weighed = weighed_evidence(state, query, found)
    largest_first = sorted(weighed.shares, key=lambda piece_and_share: -piece_and_share[1])
    for piece, _ in largest_first:
        kind = KINDS[piece.kind]
        if kind == "path":
            yield from _walked(state, query, found, _path_type(state, weighed, piece))
        elif kind == "shared fact":
            yield from _of_shared_fact(state.graph, query, found, piece)
        elif kind == "fact of answers":
            yield from _of_fact_of_answers(state.graph, query, found, piece)
        elif kind == "near answers":
            yield from _of_near_answers(state.graph, query, found)
        elif kind == "neighbours":
            yield from _of_neighbours(state.graph, query, found, weighed.near)
        else:
            yield from _of_habit(state.graph, query, found)


def _row(entity: int, direction: int, other: int) -> Row:
    """The fact that an edge is, whichever way it was walked."""
    if is_inverse(direction):
        return other, inverse(direction), entity
    return entity, direction, other


def _path_type(state: State, weighed: Weighed, piece: Piece) -> tuple[int, ...]:
    number = int(weighed.lists.types[weighed.lists.walked[piece.place]])
    return tuple(unpacked(number, state.settings.max_length))


def _walked(state: State, query: Query, found: int, path_type: tuple[int, ...]) -> Iterator[Row]:
    """The facts on the paths of a type from the query entity to the answer."""
    loop_free = state.settings.loop_free
    paths = paths_between(state.graph, query.entity, path_type, found, loop_free=loop_free)
    for path in islice(paths, MAX_PATHS):
        for direction, (entity, other) in zip(path_type, pairwise(path), strict=True):
            yield _row(entity, direction, other)


def _of_shared_fact(graph: Graph, query: Query, found: int, piece: Piece) -> Iterator[Row]:
    """The shared fact itself, and of each precedent the same fact and the same answer."""
    yield _row(query.entity, piece.relation, piece.tail)
    sharers = graph.answers(piece.tail, inverse(piece.relation))
    askers = graph.answers(found, inverse(query.relation))
    for precedent in _in_name_order(graph, np.intersect1d(sharers, askers)):
        yield _row(precedent, query.relation, found)
        yield _row(precedent, piece.relation, piece.tail)


def _of_fact_of_answers(graph: Graph, query: Query, found: int, piece: Piece) -> Iterator[Row]:
    """The fact of the answer, and each known answer with the same fact."""
    yield _row(found, piece.relation, piece.tail)
    known = graph.answers(query.entity, query.relation)
    alike = np.intersect1d(graph.answers(piece.tail, inverse(piece.relation)), known)
    for answer in _in_name_order(graph, alike):
        yield _row(query.entity, query.relation, answer)
        yield _row(answer, piece.relation, piece.tail)


def _of_near_answers(graph: Graph, query: Query, found: int) -> Iterator[Row]:
    """Each known answer that is like this one, and what they share."""
    known = graph.answers(query.entity, query.relation)
    for answer in _in_name_order(graph, known):
        shared = list(_shared(graph, found, answer))
        if shared:
            yield _row(query.entity, query.relation, answer)
            yield from shared


def _of_neighbours(graph: Graph, query: Query, found: int, near: Nearest) -> Iterator[Row]:
    """The answer of each neighbour that has it, and what it shares with the query entity."""
    askers = graph.answers(found, inverse(query.relation))
    for neighbour in near.entities[np.isin(near.entities, askers)].tolist():
        yield _row(neighbour, query.relation, found)
        yield from _shared(graph, query.entity, neighbour)


def _of_habit(graph: Graph, query: Query, found: int) -> Iterator[Row]:
    """The same answer of everyone else."""
    for other in _in_name_order(graph, graph.answers(found, inverse(query.relation))):
        yield _row(other, query.relation, found)


def _shared(graph: Graph, one: int, other: int) -> Iterator[Row]:
    """The facts that two entities share: each as a fact of the one and as a fact of the other."""
    for relation in range(len(graph.relations)):
        for direction in (forward(relation), inverse(forward(relation))):
            common = np.intersect1d(graph.answers(one, direction), graph.answers(other, direction))
            for tail in _in_name_order(graph, common):
                yield _row(one, direction, tail)
                yield _row(other, direction, tail)


def _in_name_order(graph: Graph, entities: Ids) -> list[int]:
    ranks = graph.entities.ranks()
    ordered: list[int] = entities[np.argsort(ranks[entities], kind="stable")].tolist()
    return ordered
