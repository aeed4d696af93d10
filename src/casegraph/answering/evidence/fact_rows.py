"""Facts as rows of ids, each in its forward direction, however an edge was walked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from casegraph.graph.directions import forward, inverse, is_inverse, relation_of
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
    return Fact(graph.entities[head], graph.relations[relation_of(direction)], graph.entities[tail])


def shared_fact_rows(graph: Graph, first: int, second: int) -> Iterator[FactRow]:
    """The facts that two entities share; each gives two rows, one for each of the entities."""
    for relation in range(len(graph.relations)):
        for direction in (forward(relation), inverse(forward(relation))):
            common = np.intersect1d(
                graph.answers(first, direction), graph.answers(second, direction)
            )
            for tail in in_name_order(graph, common):
                yield fact_row(first, direction, tail)
                yield fact_row(second, direction, tail)


def in_name_order(graph: Graph, entities: Ids) -> list[int]:
    """The entities sorted by name."""
    ranks = graph.entities.ranks()
    ordered: list[int] = entities[np.argsort(ranks[entities], kind="stable")].tolist()
    return ordered
