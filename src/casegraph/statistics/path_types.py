"""
Paths and path types (§2.1).

A *path* visits entities; its *type* is only the relations it follows. Inside, a path type is one integer: the relation
of step i, plus one, in the i-th group of bits. The groups are as wide as the longest path type allows, so a path type
keeps its number while relations are added.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from casegraph.errors import InvalidSettings
from casegraph.graph.arrays import Counts, Ids
from casegraph.graph.graph import Graph

PathType = tuple[int, ...]


def _bits(max_length: int) -> int:
    return min(31, 62 // max_length)


def packed(path_type: Sequence[int], max_length: int) -> int:
    """A path type as one integer."""
    bits = _bits(max_length)
    return sum((relation + 1) << (bits * step) for step, relation in enumerate(path_type))


def unpacked(number: int, max_length: int) -> PathType:
    """The relations of a path type, first step first."""
    bits, relations = _bits(max_length), []
    while number:
        relations.append((number & ((1 << bits) - 1)) - 1)
        number >>= bits
    return tuple(relations)


def are_path_types(types: Counts, directions: int, max_length: int) -> bool:
    """Whether each number is a path type, of relations below `directions`."""
    bits = _bits(max_length)
    steps = [(types >> (bits * step)) & ((1 << bits) - 1) for step in range(max_length)]
    has_gaps = any(((earlier == 0) & (later > 0)).any() for earlier, later in pairwise(steps))
    is_known = all((step <= directions).all() for step in steps) and not (types >> (bits * max_length)).any()
    return bool((steps[0] > 0).all()) and is_known and not has_gaps


def has_room(graph: Graph, max_length: int) -> bool:
    """Whether path types of this length can name all relations of a graph."""
    return graph.directions <= 2 * _most_relations(max_length)


def check_room(graph: Graph, max_length: int) -> None:
    """Refuse a graph with more relations than path types of this length can name."""
    if not has_room(graph, max_length):
        most = _most_relations(max_length)
        raise InvalidSettings(
            "max_length", max_length, f"smaller for {len(graph.relations):,} relations (up to {most:,} go with it)"
        )


def _most_relations(max_length: int) -> int:
    return (1 << _bits(max_length)) // 2 - 1


def in_words(graph: Graph, path_type: Sequence[int]) -> str:
    """A path type as a person reads it."""
    return " → ".join(graph.relation_name(relation) for relation in path_type)


def name_order(graph: Graph, types: Counts, max_length: int) -> Counts:
    """A key for each path type that sorts shorter ones first and equally long ones by the names of their relations.

    Ids depend on the order of arrival; this order does not. Relations are replaced by their rank, first step highest.
    """
    bits, ranks = _bits(max_length), graph.relations.ranks().astype(np.int64)
    mask, key, length = (1 << bits) - 1, np.zeros_like(types), np.zeros_like(types)
    rank_of = np.concatenate([[0], np.repeat(2 * ranks, 2) + np.tile([1, 2], len(ranks))])
    for step in range(max_length):
        relation = (types >> (bits * step)) & mask
        key = (key << bits) | rank_of[relation]
        length += relation > 0
    return np.lexsort((key, length)).argsort()


def lengths(types: Counts, max_length: int) -> Counts:
    """How many steps each path type has."""
    found = np.zeros_like(types)
    for relation in steps(types, max_length):
        found += relation >= 0
    return found


def steps(types: Counts, max_length: int) -> Iterator[Counts]:
    """The relation of each path type at each step; -1 where it has no such step."""
    bits = _bits(max_length)
    return (((types >> (bits * step)) & ((1 << bits) - 1)) - 1 for step in range(max_length))


def renumbered(types: Counts, relations: Ids, max_length: int) -> Counts:
    """The same path types where relation i has the number `relations[i]`."""
    bits, new = _bits(max_length), np.append(relations, -1).astype(np.int64) + 1
    parts = [new[relation] << (bits * step) for step, relation in enumerate(steps(types, max_length))]
    return np.asarray(np.sum(parts, axis=0, dtype=np.int64))


def follows(types: Counts, changed: Sequence[int], max_length: int) -> np.ndarray[tuple[int], np.dtype[np.bool]]:
    """Which path types follow one of these relations, number k standing for 2k and 2k + 1."""
    found = np.zeros(len(types), dtype=np.bool)
    for relation in steps(types, max_length):
        found |= (relation >= 0) & np.isin(relation >> 1, changed)
    return found


def paths_between(
    graph: Graph, entity: int, path_type: Sequence[int], goal: int, *, loop_free: bool
) -> Iterator[tuple[int, ...]]:
    """The paths of a type from `entity` to `goal`, entity by entity, in the order of their names.

    Ends that can still be met are found first, walking back from the goal, so that no step is taken in vain.
    """
    allowed = [{goal}]
    for relation in reversed(path_type[1:]):
        allowed.insert(0, {int(head) for tail in allowed[0] for head in graph.answers(tail, relation ^ 1)})
    ranks = graph.entities.ranks()

    def go_on(path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(path) > len(path_type):
            yield path
            return
        for tail in sorted(graph.answers(path[-1], path_type[len(path) - 1]).tolist(), key=ranks.__getitem__):
            if tail in allowed[len(path) - 1] and not (loop_free and tail in path):
                yield from go_on((*path, tail))

    return go_on((entity,))
