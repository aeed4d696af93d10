"""
Relations and their directions.

Relation k of a graph can be walked both ways: from head to tail, and from tail to head.
The method treats these two directions as two relations (r and r⁻¹ in the paper).
They have the numbers 2k and 2k + 1. No other Python module computes with these numbers; the kernels
have `inverse` in `common/ids.hpp`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from casegraph.graph.arrays import Counts, Ids

INVERSE = "⁻¹"  # follows the name of a relation that is walked from tail to head

Numbers = TypeVar("Numbers", int, Ids, Counts)


@dataclass(frozen=True, slots=True)
class PathStep:
    """A relation by name, followed from head to tail, or back if `inverse`."""

    relation: str
    inverse: bool = False

    def __str__(self) -> str:
        return self.text(str)

    def text(self, label: Callable[[str], str]) -> str:
        """The step for people: the label of the relation, with ⁻¹ if it is followed back."""
        return label(self.relation) + (INVERSE if self.inverse else "")


def forward(relation: Numbers) -> Numbers:
    """The direction from head to tail of a relation, or of each relation in an array."""
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
    """1 if a direction is from tail to head, else 0."""
    return direction & 1


def directions_of(relations: Iterable[int]) -> Iterator[int]:
    """Both directions of each relation: from head to tail, then from tail to head."""
    for relation in relations:
        yield forward(relation)
        yield backward(relation)


def direction_count(relations: int) -> int:
    """The number of directions of this many relations."""
    return 2 * relations


def forward_directions(count: int) -> range:
    """The directions from head to tail, among the first `count` directions."""
    return range(0, count, 2)
