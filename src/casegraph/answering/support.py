"""
The facts that the reasons for an answer rest on: those walked over, and those of the precedents.

What a path type is worth rests on many more facts, of everyone who was ever led by it. They are not
meant here: these are the facts that speak for this answer to this question.
"""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING, assert_never

import numpy as np

from casegraph.answering.explanation import KINDS, weighed_evidence
from casegraph.graph.directions import forward, inverse, is_inverse, relation_of
from casegraph.graph.facts import Fact
from casegraph.statistics.path_types import ends_of, paths_between, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.explanation import Nearest, Piece, Weighed
    from casegraph.answering.state import State
    from casegraph.graph.arrays import Ids
    from casegraph.graph.graph import Graph, Query

Row = tuple[int, int, int]  # head, direction from head to tail, tail
MAX_PATHS = 100  # of one path type, between the query entity and the answer
MAX_EDGES = 10_000  # to look at for a neighbour; one that needs more is not said to be misled


def facts_behind(state: State, query: Query, found: int) -> Iterator[Fact]:
    """The facts that the reasons for the entity `found` rest on, each once.

    Those of the reason with the largest share come first. The fact that is asked for, if it is
    known, is not among them.
    """
    asked_for = _row(query.entity, query.relation, found)
    seen = {asked_for}
    for row in _rows(state, query, found):
        if row not in seen:
            seen.add(row)
            yield _named(state.graph, row)


def facts_of_each(state: State, query: Query, found: int, most: int) -> list[list[Fact]]:
    """For each reason for the entity `found`, in their order, up to `most` facts it rests on."""
    weighed = weighed_evidence(state, query, found)
    asked_for = _row(query.entity, query.relation, found)
    of_each = []
    for piece, _ in weighed.shares:
        rows = dict.fromkeys(_rows_of(state, query, found, weighed, piece))
        rows.pop(asked_for, None)
        of_each.append([_named(state.graph, row) for row in islice(rows, most)])
    return of_each


def failures_of_each(state: State, query: Query, found: int, most: int) -> list[list[str]]:
    """For each reason for the entity `found`, up to `most` entities by name that it misled.

    The same evidence is there for them, and their answers are others.
    """
    weighed = weighed_evidence(state, query, found)
    graph = state.graph
    of_each = []
    for piece, _ in weighed.shares:
        kind = KINDS[piece.kind]
        misled: Iterator[int] = iter(())
        if kind == "path":
            path_type = _path_type(state, weighed, piece)
            misled = _misled_by_path(state, query, path_type, weighed.near)
        elif kind == "shared fact":
            sharers = graph.answers(piece.tail, inverse(piece.relation))
            misled = iter(_with_other_answers(graph, query, found, sharers))
        elif kind == "neighbours":
            misled = iter(_with_other_answers(graph, query, found, weighed.near.entities))
        of_each.append([graph.entities[one] for one in islice(misled, most)])
    return of_each


def _with_other_answers(graph: Graph, query: Query, found: int, entities: Ids) -> list[int]:
    """Those that have the relation, but not the answer; in the order of names."""
    has_relation = np.isin(entities, graph.edges(query.relation).heads)
    has_answer = np.isin(entities, graph.answers(found, inverse(query.relation)))
    others = entities[has_relation & ~has_answer & (entities != query.entity)]
    return _in_name_order(graph, others)


def _misled_by_path(
    state: State, query: Query, path_type: tuple[int, ...], near: Nearest
) -> Iterator[int]:
    """Those most like the query entity whom a path type led somewhere, but to no answer."""
    graph = state.graph
    for entity in near.entities.tolist():
        answers = graph.answers(entity, query.relation)
        loop_free = state.settings.loop_free
        ends = ends_of(graph, entity, path_type, loop_free=loop_free, budget=MAX_EDGES)
        if ends and ends.isdisjoint(answers.tolist()):
            yield entity


def _rows(state: State, query: Query, found: int) -> Iterator[Row]:
    weighed = weighed_evidence(state, query, found)
    largest_first = sorted(weighed.shares, key=lambda piece_and_share: -piece_and_share[1])
    for piece, _ in largest_first:
        yield from _rows_of(state, query, found, weighed, piece)


def _rows_of(
    state: State, query: Query, found: int, weighed: Weighed, piece: Piece
) -> Iterator[Row]:
    """The facts that one piece of evidence rests on."""
    graph = state.graph
    kind = KINDS[piece.kind]
    if kind == "path":
        return _walked(state, query, found, _path_type(state, weighed, piece))
    if kind == "shared fact":
        return _of_shared_fact(graph, query, found, piece)
    if kind == "fact of answers":
        return _of_fact_of_answers(graph, query, found, piece)
    if kind == "near answers":
        return _of_near_answers(graph, query, found)
    if kind == "neighbours":
        return _of_neighbours(graph, query, found, weighed.near)
    if kind == "habit":
        return _of_habit(graph, query, found)
    assert_never(kind)


def _named(graph: Graph, row: Row) -> Fact:
    head, direction, tail = row
    return Fact(graph.entities[head], graph.relations[relation_of(direction)], graph.entities[tail])


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
