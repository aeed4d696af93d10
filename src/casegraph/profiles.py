"""
Profiles: the distinct sets of relations that entities have, and who has which (§2.2.1).

The paper's vector of an entity says which edge types leave it. Real graphs have far fewer such sets than entities, so
everything that compares entities (retrieval, clustering) compares profiles and counts their members.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import sqrt
from typing import Self

import numpy as np

from casegraph import kernels
from casegraph.arrays import Counts, Ids, ids
from casegraph.graph import Graph

NONE = -1
NOBODY = ids()


class Profiles:
    """Every distinct set of relations with the entities that have it; an entity without edges has no profile."""

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {}
        self._sets: list[Ids] = []
        self._members: list[Ids] = []
        self._having: dict[int, list[int]] = {}
        self._of = ids()

    def __len__(self) -> int:
        return sum(1 for _ in self.living())

    def copy(self) -> Self:
        """The same profiles, to go their own way; the sets themselves are shared."""
        other = type(self)()
        other._ids, other._sets, other._members = self._ids.copy(), self._sets.copy(), self._members.copy()
        other._having, other._of = {label: having.copy() for label, having in self._having.items()}, self._of.copy()
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
        having = [np.array(self._having[relation]) for relation in self._sets[profile].tolist()]
        return np.bincount(np.concatenate(having), minlength=len(self._sets))

    def sizes(self) -> Counts:
        """How many relations each profile has."""
        return np.fromiter(map(len, self._sets), dtype=np.int64, count=len(self._sets))

    def having(self, relation: int) -> Ids:
        """The profiles that hold a relation."""
        return ids(self._having.get(relation, ()))

    def refresh(self, graph: Graph, entities: Ids) -> Ids:
        """Look again at what relations these entities, sorted, have; returns those whose profile changed, sorted."""
        self._of = np.append(self._of, np.full(len(graph.entities) - len(self._of), NONE, dtype=np.int32))
        before = self._of[entities]
        after = self._found(*kernels.profiles(graph.kernel, entities))
        reshaped = before != after
        self._of[entities] = after
        for profile in np.unique(before[reshaped & (before != NONE)]).tolist():
            members, gone = self._members[profile], entities[reshaped & (before == profile)]
            self._members[profile] = np.delete(members, np.searchsorted(members, gone))
        _each(after, entities, reshaped & (after != NONE), self._join)
        changed: Ids = entities[reshaped]
        return changed

    def _join(self, profile: int, entities: Ids) -> None:
        members = self._members[profile]
        places = np.searchsorted(members, entities) if len(members) else None
        self._members[profile] = entities if places is None else np.insert(members, places, entities)

    def _found(self, offsets: Counts, relations: Ids) -> Ids:
        """The profile of each row of relations, new or known."""
        found, known = np.full(len(offsets) - 1, NONE, dtype=np.int32), len(self._sets)
        content, width = relations.tobytes(), relations.itemsize
        starts = (offsets * width).tolist()
        for row, (start, end) in enumerate(pairwise(starts)):
            if start < end:
                key = content[start:end]
                profile = self._ids.get(key)
                found[row] = self._new(key) if profile is None else profile
        self._index(known)
        return found

    def _new(self, key: bytes) -> int:
        profile = self._ids[key] = len(self._sets)
        self._sets.append(np.frombuffer(key, dtype=np.int32))
        self._members.append(NOBODY)
        return profile

    def _index(self, known: int) -> None:
        """Note which relations the profiles hold that are not among the first `known`."""
        relations = np.concatenate([ids(), *self._sets[known:]])
        profiles = np.repeat(
            np.arange(known, len(self._sets), dtype=np.int32), [len(held) for held in self._sets[known:]]
        )
        _each(relations, profiles, np.ones(len(relations), dtype=np.bool), self._hold)

    def _hold(self, relation: int, profiles: Ids) -> None:
        self._having.setdefault(relation, []).extend(profiles.tolist())


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
