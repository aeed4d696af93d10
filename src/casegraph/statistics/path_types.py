"""
Paths and path types (§2.1).

A *path* visits entities; its *type* is the sequence of relations
that it follows, without the entities.

A path type is stored as one integer. Each step has a group of bits: step i is in the i-th lowest
group, which holds the relation plus one, and 0 stands for "no such step". The width of a group
depends only on the longest path type allowed, so a path type keeps its number when relations are
added to the graph.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from casegraph.errors import InvalidArgument
from casegraph.graph.arrays import Counts, Flags, Ids
from casegraph.graph.directions import Numbers, inverse, relation_of
from casegraph.graph.graph import Graph

Path = tuple[int, ...]  # the entities that a path visits, in order
PathType = tuple[int, ...]  # the relations that a path follows, in order


def packed(path_type: Sequence[int], max_length: int) -> int:
    """A path type as one integer."""
    bits = _bits_per_step(max_length)
    number = 0
    for step, relation in enumerate(path_type):
        number |= (relation + 1) << (bits * step)
    return number


def unpacked(number: int, max_length: int) -> PathType:
    """The relations of a path type, first step first."""
    bits = _bits_per_step(max_length)
    mask = (1 << bits) - 1
    relations = []
    while number:
        relations.append((number & mask) - 1)
        number >>= bits
    return tuple(relations)


def single_step(relation: Numbers) -> Numbers:
    """The path type, as an integer, that follows only this relation; or each, for an array."""
    return relation + 1


def with_step(types: Counts, step: int, relations: Ids, max_length: int) -> Counts:
    """Path types of `step` steps, each with one more; `relations` has the last step of each."""
    shift = _bits_per_step(max_length) * step
    last_step = single_step(relations.astype(np.int64)) << shift
    return types | last_step


def steps(types: Counts, max_length: int) -> Iterator[Counts]:
    """For each step in turn, the relation of each path type; -1 where it has no such step."""
    for groups in _groups_of_bits(types, max_length):
        yield groups - 1


def lengths(types: Counts, max_length: int) -> Counts:
    """How many steps each path type has."""
    length = np.zeros_like(types)
    for relation in steps(types, max_length):
        length += relation >= 0
    return length


def follows(types: Counts, relations: Sequence[int], max_length: int) -> Flags:
    """Which path types follow one of these relations, in either direction."""
    found = np.zeros(len(types), dtype=np.bool)
    for direction in steps(types, max_length):
        has_step = direction >= 0
        found |= has_step & np.isin(relation_of(direction), relations)
    return found


def renumbered(types: Counts, relations: Ids, max_length: int) -> Counts:
    """The same path types where relation i has the number `relations[i]`."""
    bits = _bits_per_step(max_length)
    no_step = -1  # the last entry, which is what index -1 finds
    new_numbers = np.append(relations, no_step).astype(np.int64)
    result = np.zeros_like(types, dtype=np.int64)
    for step, relation in enumerate(steps(types, max_length)):
        result += (new_numbers[relation] + 1) << (bits * step)
    return result


def name_order(graph: Graph, types: Counts, max_length: int) -> Counts:
    """The place of each path type, sorted by length and then by the names of relations.

    Ids depend on the order in which facts arrived; this order does not. In the sort key, each
    relation is replaced by the rank of its name, and the first step has the highest bits.
    """
    bits = _bits_per_step(max_length)
    ranks = graph.direction_ranks().astype(np.int64)
    rank_of_group = np.concatenate([[0], ranks + 1])  # group 0 is "no such step"
    key = np.zeros_like(types)
    for groups in _groups_of_bits(types, max_length):
        key = (key << bits) | rank_of_group[groups]
    order = np.lexsort((key, lengths(types, max_length)))
    return order.argsort()


def are_path_types(types: Counts, directions: int, max_length: int) -> bool:
    """Whether each number is a path type of relations below `directions`."""
    bits = _bits_per_step(max_length)
    groups = list(_groups_of_bits(types, max_length))
    if (types >> (bits * max_length)).any():
        return False  # there are bits above the last step, or the number is negative
    if any((group > directions).any() for group in groups):
        return False
    for earlier, later in pairwise(groups):
        has_gap = (earlier == 0) & (later > 0)
        if has_gap.any():
            return False
    has_first_step = groups[0] > 0
    return bool(has_first_step.all())


def has_room(graph: Graph, max_length: int) -> bool:
    """Whether path types of this length can name all relations of a graph."""
    return len(graph.relations) <= _max_relations(max_length)


def check_room(graph: Graph, max_length: int) -> None:
    """Refuse a graph with more relations than path types of this length can name."""
    if has_room(graph, max_length):
        return
    most = _max_relations(max_length)
    expected = (
        f"smaller for {len(graph.relations):,} relations (up to {most:,} go with it)"
    )
    raise InvalidArgument("max_length", max_length, expected)


def in_words(graph: Graph, path_type: Sequence[int]) -> str:
    """A path type as a person reads it."""
    return " → ".join(graph.relation_name(relation) for relation in path_type)


def paths_between(
    graph: Graph, entity: int, path_type: Sequence[int], goal: int, *, loop_free: bool
) -> Iterator[Path]:
    """The paths of a type from `entity` to `goal`, in the order of the names of their entities.

    A depth-first search. To avoid dead ends, it visits only entities from which the rest of the
    path type leads to the goal; these are found first, by walking back from the goal.
    """
    leads_to_goal = _entities_that_lead_to(graph, path_type, goal)
    ranks = graph.entities.ranks()

    def extended(path: Path) -> Iterator[Path]:
        done = len(path) - 1
        if done == len(path_type):
            yield path
            return
        tails = graph.answers(path[-1], path_type[done]).tolist()
        for tail in sorted(tails, key=ranks.__getitem__):
            closes_loop = loop_free and tail in path
            if tail in leads_to_goal[done] and not closes_loop:
                yield from extended((*path, tail))

    return extended((entity,))


def ends_of(
    graph: Graph, entity: int, path_type: Sequence[int], *, loop_free: bool, budget: int
) -> set[int] | None:
    """Where the paths of a type from `entity` end; None if it takes more than `budget` edges."""
    ends = set[int]()
    unfinished: list[Path] = [(entity,)]
    while unfinished:
        path = unfinished.pop()
        done = len(path) - 1
        if done == len(path_type):
            ends.add(path[-1])
            continue
        tails = graph.answers(path[-1], path_type[done]).tolist()
        budget -= len(tails)
        if budget < 0:
            return None
        unfinished += [
            (*path, tail) for tail in tails if not (loop_free and tail in path)
        ]
    return ends


def _entities_that_lead_to(
    graph: Graph, path_type: Sequence[int], goal: int
) -> list[set[int]]:
    """For each step, the entities at its end from which the steps after it lead to the goal."""
    from_last_to_first = [{goal}]
    for relation in reversed(path_type[1:]):
        back = inverse(relation)
        heads = set[int]()
        for tail in from_last_to_first[-1]:
            heads.update(graph.answers(tail, back).tolist())
        from_last_to_first.append(heads)
    return from_last_to_first[::-1]


def _groups_of_bits(types: Counts, max_length: int) -> Iterator[Counts]:
    """For each step in turn, its group of bits: the relation plus one, or 0 for no step."""
    bits = _bits_per_step(max_length)
    mask = (1 << bits) - 1
    for step in range(max_length):
        yield (types >> (bits * step)) & mask


def _bits_per_step(max_length: int) -> int:
    """Relations have 31 bits, and all steps together must leave the sign of 64 bits free."""
    return min(31, 62 // max_length)


def _max_relations(max_length: int) -> int:
    """How many relations, with their inverses and "no such step", fit into a group of bits."""
    return (1 << _bits_per_step(max_length)) // 2 - 1
