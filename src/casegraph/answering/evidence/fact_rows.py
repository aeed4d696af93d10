"""Facts as rows of ids, each in its forward direction, however an edge was walked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from casegraph.graph.directions import inverse, is_inverse, relation_of
from casegraph.graph.facts import Fact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.graph.arrays import Ids
    from casegraph.graph.graph import Graph

FactRow = tuple[int, int, int]  # head, forward direction, tail


def fact_row(entity: int, direction: int, other: int) -> FactRow:
    """The fact behind the edge from `entity` to `other`."""
    if is_inverse(direction):
        return other, inverse(direction), entity
    return entity, direction, other


def named_fact(graph: Graph, row: FactRow) -> Fact:
    """A fact by name."""
    head, direction, tail = row
    relation = graph.relations[relation_of(direction)]
    return Fact(graph.entities[head], relation, graph.entities[tail])


def shared_fact_rows(graph: Graph, first: int, second: int) -> Iterator[FactRow]:
    """The facts that two entities share; each gives two rows, one for each of the entities."""
    for direction in range(graph.directions):
        of_first = graph.answers(first, direction)
        if not len(of_first):
            continue
        of_second = graph.answers(second, direction)
        common = np.intersect1d(of_first, of_second)
        for tail in in_name_order(graph, common):
            yield fact_row(first, direction, tail)
            yield fact_row(second, direction, tail)


def in_name_order(graph: Graph, entities: Ids) -> list[int]:
    """The entities sorted by name."""
    ranks = graph.entities.ranks()[entities]
    order = np.argsort(ranks, kind="stable")
    ordered: list[int] = entities[order].tolist()
    return ordered
