"""
Profiles: the distinct sets of relations that entities have, and who has which (§2.2.1).

The paper's vector of an entity says which edge types leave it. Real graphs have far fewer such sets than entities, so
everything that compares entities (retrieval, clustering) compares profiles and counts their members.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import sqrt
from typing import NamedTuple, Self

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Ids, ids
from casegraph.graph.graph import Graph, Renumbering

NONE = -1
NOBODY = ids()
NO_RELATIONS = ids()


class Profiles:
    """Every distinct set of relations with the entities that have it; an entity without edges has no profile.

    A profile that nobody has any more leaves its id to one that comes after a later change.
    """

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {}
        self._sets: list[Ids] = []
        self._members: list[Ids] = []
        self._free: list[int] = []
        self._of = ids()
        self._holders: _Holders | None = None

    @classmethod
    def of_graph(cls, graph: Graph) -> Self:
        """The profiles of all entities."""
        profiles = cls()
        profiles.refresh(graph, np.arange(len(graph.entities), dtype=np.int32))
        return profiles

    def __len__(self) -> int:
        return len(self._sets) - len(self._free)

    def copy(self) -> Self:
        """The same profiles, to go their own way; the sets themselves are shared."""
        other = type(self)()
        other._ids = self._ids.copy()
        other._sets = self._sets.copy()
        other._members = self._members.copy()
        other._free = self._free.copy()
        other._of = self._of.copy()
        return other

    def renumbered(self, new: Renumbering) -> Self:
        """The same profiles where entities and relations have new ids."""
        other = type(self)()
        other._sets = [new.relations[held] for held in self._sets]
        other._members = [new.entities[members] for members in self._members]
        other._ids = {other._sets[profile].tobytes(): profile for profile in self.living()}
        other._free = self._free.copy()
        other._of = self._of[new.kept]
        return other

    def living(self) -> Iterator[int]:
        """The profiles that some entity has."""
        return (profile for profile, members in enumerate(self._members) if len(members))

    def of(self, entity: int) -> int:
        """The profile of an entity, or `NONE`."""
        return int(self._of[entity]) if entity < len(self._of) else NONE

    def each(self) -> Ids:
        """The profile of every entity, or `NONE`; not to be changed."""
        return self._of

    def relations(self, profile: int) -> Ids:
        """The relations of a profile, sorted."""
        return self._sets[profile]

    def members(self, profile: int) -> Ids:
        """The entities that have a profile, sorted by id."""
        return self._members[profile]

    def similarity(self, profile: int, other: int) -> float:
        """The cosine of two profiles."""
        one, two = self._sets[profile], self._sets[other]
        return len(np.intersect1d(one, two)) / sqrt(len(one) * len(two))

    def common(self, profile: int) -> Counts:
        """How many relations each profile has in common with this one."""
        having = [self.having(relation) for relation in self._sets[profile].tolist()]
        return np.bincount(np.concatenate([ids(), *having]), minlength=len(self._sets))

    def sizes(self) -> Counts:
        """How many relations each profile has."""
        return np.fromiter(map(len, self._sets), dtype=np.int64, count=len(self._sets))

    def having(self, relation: int) -> Ids:
        """The profiles that hold a relation, sorted."""
        if self._holders is None:
            self._holders = _holders(self._sets)
        first, last = np.searchsorted(self._holders.relations, [relation, relation + 1])
        return self._holders.profiles[first:last]

    def refresh(self, graph: Graph, entities: Ids) -> Ids:
        """Look again at what relations these entities, sorted, have; returns those whose profile changed, sorted."""
        self._holders = None
        missing = len(graph.entities) - len(self._of)
        self._of = np.append(self._of, np.full(missing, NONE, dtype=np.int32))
        before = self._of[entities]
        after = self._found(*kernels.profiles(graph.kernel, entities))
        is_reshaped = before != after
        self._of[entities] = after
        _each(after, entities, is_reshaped & (after != NONE), self._join)
        _each(before, entities, is_reshaped & (before != NONE), self._leave)
        reshaped: Ids = entities[is_reshaped]
        return reshaped

    def _leave(self, profile: int, entities: Ids) -> None:
        members = self._members[profile]
        self._members[profile] = np.delete(members, np.searchsorted(members, entities))
        if len(entities) == len(members):
            del self._ids[self._sets[profile].tobytes()]
            self._sets[profile] = NO_RELATIONS
            self._free.append(profile)

    def _join(self, profile: int, entities: Ids) -> None:
        members = self._members[profile]
        places = np.searchsorted(members, entities)
        self._members[profile] = np.insert(members, places, entities) if len(members) else entities

    def _found(self, offsets: Counts, relations: Ids) -> Ids:
        """The profile of each row of relations, new or known."""
        found = np.full(len(offsets) - 1, NONE, dtype=np.int32)
        content = relations.tobytes()
        starts = (offsets * relations.itemsize).tolist()
        for row, (start, end) in enumerate(pairwise(starts)):
            if start < end:
                key = content[start:end]
                profile = self._ids.get(key)
                found[row] = self._new(key) if profile is None else profile
        return found

    def _new(self, key: bytes) -> int:
        held = np.frombuffer(key, dtype=np.int32)
        if self._free:
            profile = self._free.pop()
            self._sets[profile] = held
        else:
            profile = len(self._sets)
            self._sets.append(held)
            self._members.append(NOBODY)
        self._ids[key] = profile
        return profile


class _Holders(NamedTuple):
    """Which profiles hold which relation: pairs, sorted."""

    relations: Ids
    profiles: Ids


def _holders(sets: list[Ids]) -> _Holders:
    relations = np.concatenate([ids(), *sets])
    profiles = np.repeat(np.arange(len(sets), dtype=np.int32), [len(held) for held in sets])
    order = np.argsort(relations, kind="stable")
    return _Holders(relations[order], profiles[order])


def _each(
    groups: Ids, values: Ids, chosen: np.ndarray[tuple[int], np.dtype[np.bool]], use: Callable[[int, Ids], None]
) -> None:
    """Call `use(group, values of the group)` for every group among the chosen."""
    order = np.flatnonzero(chosen)
    order = order[np.argsort(groups[order], kind="stable")]
    groups, values = groups[order], values[order]
    first = np.flatnonzero(np.diff(groups, prepend=groups[:1] - 1))
    for group, (start, end) in zip(groups[first].tolist(), pairwise([*first.tolist(), len(order)]), strict=True):
        use(group, values[start:end].copy())
