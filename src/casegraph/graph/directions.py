"""
Relations and their directions.

Relation number k of a graph is two relations of the method: its edges walked from head to tail, and from tail to head.
These two directions are the numbers 2k and 2k + 1; no other module knows that.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from casegraph.graph.arrays import Counts, Ids

INVERSE = "⁻¹"  # after the name of a relation: walked from tail to head

Numbers = TypeVar("Numbers", int, Ids, Counts)


def forward(relation: Numbers) -> Numbers:
    """The direction from head to tail of a relation, or of each of several."""
    return 2 * relation


def backward(relation: Numbers) -> Numbers:
    """The direction from tail to head."""
    return 2 * relation + 1


def inverse(direction: Numbers) -> Numbers:
    """The same edges walked the other way."""
    return direction ^ 1


def relation_of(direction: Numbers) -> Numbers:
    """The relation that a direction belongs to."""
    return direction >> 1


def is_inverse(direction: Numbers) -> Numbers:
    """Whether a direction is from tail to head: 1 if it is, else 0."""
    return direction & 1


def directions_of(relations: Iterable[int]) -> Iterator[int]:
    """Both directions of each relation, in turn."""
    for relation in relations:
        yield forward(relation)
        yield backward(relation)
