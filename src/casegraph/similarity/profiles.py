"""
Profiles: the distinct sets of relations that entities have, and the entities of each (§2.2.1).

The paper describes an entity by a vector that says which edge types leave it. Real graphs have far
fewer such vectors than entities, so everything that compares entities (retrieval, clustering)
compares profiles and counts their members.

The relations of a profile are directions: the tail of a fact has the inverse relation.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import sqrt
from typing import NamedTuple, Self

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Ids, ids, rows_with, run_bounds
from casegraph.graph.graph import Graph
from casegraph.running import paused_garbage_collection

NONE = -1  # the profile of an entity without edges
NO_MEMBERS = ids()
NO_RELATIONS = b""
ID_BYTES = 4


class Profiles:
    """Every distinct set of relations, and the entities that have it.

    An entity without edges has no profile. When the last member of a profile leaves, the profile
    is removed, and a later change may reuse its id.
    """

    def __init__(self) -> None:
        # There may be as many profiles as entities, so the relations of a profile are kept as
        # bytes (from `tobytes`): an array would take a hundred bytes more.
        self._ids: dict[bytes, int] = {}  # the id of each profile, by its relations
        self._relations: list[bytes] = []  # by the id of a profile; sorted
        self._members: list[Ids] = []  # by the id of a profile; sorted
        self._free_ids: list[int] = []
        self._profile_of = ids()  # by the id of an entity; `NONE` without edges
        self._index: _RelationIndex | None = None

    @classmethod
    def of_graph(cls, graph: Graph) -> Self:
        """The profiles of all entities."""
        profiles = cls()
        profiles.refresh(graph, np.arange(len(graph.entities), dtype=np.int32))
        return profiles

    def __len__(self) -> int:
        return len(self._relations) - len(self._free_ids)

    def copy(self) -> Self:
        """A copy that can be changed independently; arrays of ids are shared."""
        other = type(self)()
        other._ids = self._ids.copy()
        other._relations = self._relations.copy()
        other._members = self._members.copy()
        other._free_ids = self._free_ids.copy()
        other._profile_of = self._profile_of.copy()
        return other

    def living(self) -> Iterator[int]:
        """The profiles that have members, in the order of their ids."""
        return (
            profile for profile, members in enumerate(self._members) if len(members)
        )

    def of(self, entity: int) -> int:
        """The profile of an entity, or `NONE`."""
        if entity >= len(self._profile_of):
            return NONE
        return int(self._profile_of[entity])

    def each(self) -> Ids:
        """The profile of every entity, or `NONE`; the array must not be changed."""
        return self._profile_of

    def relations(self, profile: int) -> Ids:
        """The relations of a profile, sorted."""
        return np.frombuffer(self._relations[profile], dtype=np.int32)

    def worth_asking(self, relation: int) -> Ids:
        """The entities that share some relation with an entity that has this one.

        For others, no path type and no precedent can support an answer.
        """
        having_it = self.having(relation).tolist()
        their_relations = _union([self.relations(profile) for profile in having_it])
        similar = _union([self.having(other) for other in their_relations.tolist()])
        members = [self.members(profile) for profile in similar.tolist()]
        return np.concatenate([ids(), *members])

    def members(self, profile: int) -> Ids:
        """The entities that have a profile, sorted by id."""
        return self._members[profile]

    def similarity(self, profile: int, other: int) -> float:
        """The cosine of two profiles A and B: |A ∩ B| / √(|A| |B|)."""
        relations = self.relations(profile)
        other_relations = self.relations(other)
        common = np.intersect1d(relations, other_relations)
        return len(common) / sqrt(len(relations) * len(other_relations))

    def common(self, profile: int) -> Counts:
        """How many relations each profile has in common with this profile."""
        # Each profile occurs in `having` once for each relation that both have.
        having = [ids()]
        for relation in self.relations(profile).tolist():
            having.append(self.having(relation))
        return np.bincount(np.concatenate(having), minlength=len(self._relations))

    def sizes(self) -> Counts:
        """How many relations each profile has; the array must not be changed."""
        return self._relation_index().sizes

    def having(self, relation: int) -> Ids:
        """The profiles that have a relation, sorted."""
        return self._relation_index().profiles_having(relation)

    def _relation_index(self) -> "_RelationIndex":
        if self._index is None:
            self._index = _RelationIndex.of(self._relations)
        return self._index

    def refresh(self, graph: Graph, entities: Ids) -> Ids:
        """Bring the profiles of entities up to date with the graph.

        entities  (k,)  entities whose edges may have changed, sorted

        Returns the entities whose profile changed, sorted.
        """
        with paused_garbage_collection():  # there may be as many profiles as entities
            return self._refresh(graph, entities)

    def _refresh(self, graph: Graph, entities: Ids) -> Ids:
        self._index = None
        new_entities = len(graph.entities) - len(self._profile_of)
        no_profiles = np.full(new_entities, NONE, dtype=np.int32)
        self._profile_of = np.append(self._profile_of, no_profiles)

        before = self._profile_of[entities]
        offsets, relations = kernels.profiles(graph.kernel, entities)
        after = self._find_or_create(offsets, relations)
        self._profile_of[entities] = after

        is_reshaped = before != after
        is_joining = is_reshaped & (after != NONE)
        is_leaving = is_reshaped & (before != NONE)
        for profile, joining in _grouped(entities[is_joining], after[is_joining]):
            self._join(profile, joining)
        for profile, leaving in _grouped(entities[is_leaving], before[is_leaving]):
            self._leave(profile, leaving)
        reshaped: Ids = entities[is_reshaped]
        return reshaped

    def _leave(self, profile: int, entities: Ids) -> None:
        members = self._members[profile]
        places = np.searchsorted(members, entities)
        self._members[profile] = np.delete(members, places)
        if len(entities) == len(members):
            del self._ids[self._relations[profile]]
            self._relations[profile] = NO_RELATIONS
            self._free_ids.append(profile)

    def _join(self, profile: int, entities: Ids) -> None:
        members = self._members[profile]
        if len(members):
            places = np.searchsorted(members, entities)
            self._members[profile] = np.insert(members, places, entities)
        else:
            self._members[profile] = entities

    def _find_or_create(self, offsets: Counts, relations: Ids) -> Ids:
        """The profile of each row of relations; an empty row has `NONE`.

        offsets    (rows + 1,)  where the relations of each row begin
        relations               the relations of each row, sorted
        """
        found: list[int] = []
        content = relations.tobytes()
        byte_offsets = offsets * ID_BYTES
        for start, end in pairwise(byte_offsets.tolist()):
            key = content[start:end]
            profile = self._ids.get(key) if key else NONE
            if profile is None:
                profile = self._create(key)
            found.append(profile)
        return np.array(found, dtype=np.int32)

    def _create(self, key: bytes) -> int:
        if self._free_ids:
            profile = self._free_ids.pop()
            self._relations[profile] = key
        else:
            profile = len(self._relations)
            self._relations.append(key)
            self._members.append(NO_MEMBERS)
        self._ids[key] = profile
        return profile


class _RelationIndex(NamedTuple):
    """Which profiles have which relation: all such pairs, sorted by relation, then by profile.

    relations  (pairs,)     the relation of each pair
    profiles   (pairs,)     the profile of each pair
    sizes      (profiles,)  how many relations each profile has
    """

    relations: Ids
    profiles: Ids
    sizes: Counts

    @classmethod
    def of(cls, relations_of_each: list[bytes]) -> Self:
        bytes_of_each = map(len, relations_of_each)
        sizes = np.fromiter(bytes_of_each, dtype=np.int64) // ID_BYTES
        relations = np.frombuffer(b"".join(relations_of_each), dtype=np.int32)
        profiles = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        order = np.argsort(relations, kind="stable")
        return cls(relations[order], profiles[order], sizes)

    def profiles_having(self, relation: int) -> Ids:
        return self.profiles[rows_with(relation, self.relations)]


def _grouped(entities: Ids, profiles: Ids) -> Iterator[tuple[int, Ids]]:
    """Each profile, with the entities that have it in their given order.

    entities  (k,)
    profiles  (k,)  the profile of each of these entities
    """
    order = np.argsort(profiles, kind="stable")
    profiles = profiles[order]
    entities = entities[order]
    for start, end in pairwise(run_bounds(profiles)):
        yield int(profiles[start]), entities[start:end].copy()


def _union(parts: list[Ids]) -> Ids:
    return np.unique(np.concatenate([ids(), *parts]))
