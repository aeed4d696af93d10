"""
The edges of a graph as arrays, the directions of all relations concatenated, and back.

    edge_rows    (directions,)  how many entities have edges in each direction
    edge_counts  (directions,)  how many edges each direction has
    edge_heads                  the heads of each direction, sorted
    edge_offsets                where the tails of each head begin; in each direction one more
    edge_tails                  the tails of each head, sorted

So the edges of a direction are slices of these arrays. If the arrays are in a memory-mapped file,
nothing is read, sorted or copied to make a graph of them. Rows of facts, which case files have, are
half as large, but must be sorted twice.
"""

from collections.abc import Iterator

import numpy as np

from casegraph.graph.arrays import Counts, Ids, ids
from casegraph.graph.edges import NO_EDGES, Edges
from casegraph.graph.graph import Graph
from casegraph.graph.names import Names
from casegraph.storage.array_files import Arrays, row_of

ROWS = "edge_rows"
COUNTS = "edge_counts"
HEADS = "edge_heads"
OFFSETS = "edge_offsets"
TAILS = "edge_tails"

Parts = list[Ids]  # an array in pieces, which need not be joined to be written


def edge_sizes(graph: Graph) -> Arrays:
    """How many rows and edges each direction has."""
    rows = []
    counts = []
    for direction in range(graph.directions):
        edges = graph.edges(direction)
        rows.append(len(edges.heads))
        counts.append(len(edges.tails))
    return {
        ROWS: np.array(rows, dtype=np.int64),
        COUNTS: np.array(counts, dtype=np.int64),
    }


def edge_parts(graph: Graph) -> dict[str, Parts]:
    """The edges of each direction in turn."""
    every_direction = [graph.edges(direction) for direction in range(graph.directions)]
    return {
        HEADS: [ids(), *(edges.heads for edges in every_direction)],
        OFFSETS: [ids(), *(edges.offsets for edges in every_direction)],
        TAILS: [ids(), *(edges.tails for edges in every_direction)],
    }


def graph_of_edges(entities: Names, relations: Names, arrays: Arrays) -> Graph:
    """The graph with these names and edges; `ValueError` if they do not fit together."""
    return Graph.of_edges(entities, relations, list(_edges_in(arrays)))


def _edges_in(arrays: Arrays) -> Iterator[Edges]:
    """The edges of each direction."""
    rows = _sizes_of(ROWS, arrays)
    counts = _sizes_of(COUNTS, arrays)
    if len(rows) != len(counts):
        raise ValueError("edges do not belong to their directions")

    heads = _Pieces(row_of(HEADS, arrays, np.int32))
    offsets = _Pieces(row_of(OFFSETS, arrays, np.int32))
    tails = _Pieces(row_of(TAILS, arrays, np.int32))
    for row_count, edge_count in zip(rows.tolist(), counts.tolist(), strict=True):
        edges = Edges(
            heads=heads.next(row_count),
            offsets=offsets.next(row_count + 1),
            tails=tails.next(edge_count),
        )
        yield edges if edge_count else NO_EDGES
    for pieces in (heads, offsets, tails):
        pieces.check_end()


def _sizes_of(name: str, arrays: Arrays) -> Counts:
    sizes: Counts = row_of(name, arrays, np.int64)
    if (sizes < 0).any():
        raise ValueError(f"{name} are below 0")
    return sizes


class _Pieces:
    """An array that is cut into pieces, one after the other."""

    def __init__(self, array: Ids) -> None:
        self._array = array
        self._at = 0

    def next(self, length: int) -> Ids:
        """The next piece, without a copy."""
        piece = self._array[self._at : self._at + length]
        if len(piece) != length:
            raise ValueError("there are fewer edges than it says")
        self._at += length
        return piece

    def check_end(self) -> None:
        """`ValueError` if something is left."""
        if self._at != len(self._array):
            raise ValueError("there are more edges than it says")
