"""
The state that queries are answered from: a graph with its names, profiles, clusters and statistics.

A state is immutable. An update creates the next state, so code that holds a state is not affected
by updates, and moving on to the next state is one assignment.

What is derived from the graph (clusters, counts, lists of path types) is computed when first needed
and cached in the state. Several threads may request it at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Ids, ids
from casegraph.graph.descriptions import NO_DESCRIPTIONS, Description, Descriptions
from casegraph.graph.digest import digest
from casegraph.similarity.clusters.assignment import Clusters, depends_on_history
from casegraph.similarity.profiles import Profiles, reshaped_entities
from casegraph.statistics.backlog import MAX_CHANGED_FACTS
from casegraph.statistics.incremental import ChangedHits
from casegraph.statistics.path_types import has_room
from casegraph.statistics.statistics import PathStatistics

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from casegraph.graph.change import Change
    from casegraph.graph.graph import Graph
    from casegraph.settings import Settings

Retracted = tuple[str, str, str] | str  # a fact, or an entity: all its facts
MAX_UNUSED_NAMES = 64  # names without facts; dropping fewer is not worth it


@dataclass(frozen=True, slots=True)
class Update:
    """What an update did, in numbers.

    added          new facts
    retracted      removed facts
    repeated       facts to be added that were already there
    absent         facts to be retracted that were not there
    new_entities   entities never seen before
    new_relations  relations never seen before
    reshaped       entities whose set of relations changed
    moved          entities whose cluster changed, if the clusters follow every change ("grinch")
    recounted      entities on a cycle that a changed fact closes or opens: their hits change
    cycles         the number of these cycles: a measure of the work done
    described      names whose label or types changed
    rebuilt        whether counts were dropped, to be computed from scratch when needed, because too
                   many facts changed or counting takes more than half of `Settings.counting`
    """

    added: int = 0
    retracted: int = 0
    repeated: int = 0
    absent: int = 0
    new_entities: int = 0
    new_relations: int = 0
    reshaped: int = 0
    moved: int = 0
    recounted: int = 0
    cycles: int = 0
    described: int = 0
    rebuilt: bool = False


class Step(NamedTuple):
    """What an update leads to.

    state   the state after it
    change  the facts that were added and retracted
    graph   the graph after it, with the ids used in `change`; the state may have been compacted
    update  the change in numbers
    described  the descriptions that changed
    """

    state: State
    change: Change
    graph: Graph
    update: Update
    described: tuple[Description, ...] = ()


class LazyProfiles:
    """The profiles of all entities, computed when first needed.

    Most questions need none, and for a large graph they take seconds.
    """

    def __init__(self, graph: Graph, known: Profiles | None = None) -> None:
        self._graph = graph
        self._known = known
        self._earlier: Profiles | None = None
        self._changed = ids()  # entities whose edges changed since
        self._making = Lock()

    def __call__(self) -> Profiles:
        """The profiles."""
        if self._known is None:
            with self._making:
                if self._known is None:
                    self._known = self._made()
                    self._earlier = None
        return self._known

    def after(self, change: Change, graph: Graph) -> LazyProfiles:
        """The profiles of the graph after a change."""
        later = LazyProfiles(graph)
        # Read in this order, since another thread may be making the profiles.
        earlier, changed = self._earlier, self._changed
        if self._known is not None:
            later._earlier, later._changed = self._known, change.entities
        elif earlier is not None:
            later._earlier = earlier
            later._changed = np.union1d(changed, change.entities)
        return later

    def _made(self) -> Profiles:
        if self._earlier is None:
            return Profiles.of_graph(self._graph)
        profiles = self._earlier.copy()
        profiles.refresh(self._graph, self._changed)
        return profiles


class LazyClusters:
    """The cluster of each entity, computed when first needed."""

    def __init__(
        self,
        graph: Graph,
        profiles: LazyProfiles,
        settings: Settings,
        known: Clusters | None = None,
    ) -> None:
        self._graph = graph
        self._profiles = profiles
        self._settings = settings
        self._known = known
        self._making = Lock()

    def __call__(self) -> Clusters:
        """The clusters."""
        if self._known is None:
            with self._making:
                if self._known is None:
                    self._known = Clusters.of(
                        self._graph, self._profiles(), self._settings
                    )
        return self._known

    def of_each(self) -> Ids:
        """The cluster of each entity."""
        return self().entities


class State:
    """One state of a case base; created by `of`, or from an earlier one by `updated` or `after`.

    sequence      how many updates led to it
    descriptions  labels and types of entities; no answer depends on them
    cache         what functions of `answering.cache` have derived from it
    shared_cache  the same, shared by the states that follow each other
    """

    descriptions: Descriptions = NO_DESCRIPTIONS

    def __repr__(self) -> str:
        return f"<State after update {self.sequence:,}: {len(self.graph):,} facts>"

    def __init__(
        self,
        statistics: PathStatistics,
        profiles: LazyProfiles,
        clusters: LazyClusters,
        sequence: int,
    ) -> None:
        self.graph = statistics.graph
        self.settings = statistics.settings
        self.statistics = statistics
        self._profiles = profiles
        self.sequence = sequence
        self.workspaces = kernels.Workspaces()
        self._clusters = clusters
        self.cache: dict[Hashable, object] = {}
        self.shared_cache: dict[Hashable, tuple[object, object]] = {}

    @classmethod
    def of(
        cls,
        graph: Graph,
        settings: Settings,
        *,
        profiles: Profiles | None = None,
        clusters: Clusters | None = None,
        sequence: int = 0,
    ) -> State:
        """The state of a graph, with nothing counted yet."""
        lazy_profiles = LazyProfiles(graph, profiles)
        lazy_clusters = LazyClusters(graph, lazy_profiles, settings, clusters)
        statistics = PathStatistics(graph, lazy_clusters.of_each, settings)
        return cls(statistics, lazy_profiles, lazy_clusters, sequence)

    @property
    def profiles(self) -> Profiles:
        """Which relations each entity has; computed when first needed."""
        return self._profiles()

    def is_without_facts(self, entity: int) -> bool:
        """Whether an entity is neither head nor tail of a fact."""
        return not self.graph.has_facts(entity)

    @property
    def clusters(self) -> Clusters:
        """Which cluster each entity is in; computed when first needed."""
        return self._clusters()

    @cached_property
    def digest(self) -> str:
        """A digest of the facts and the settings, the same on any machine."""
        return digest(self.graph, self.settings)

    def answering_by(self, settings: Settings) -> State:
        """The state of the same graph with other settings.

        Counts are kept if the settings differ only in what tuning chose; else nothing is counted
        yet.
        """
        clusters = self.clusters if depends_on_history(settings) else None
        lazy_clusters = LazyClusters(self.graph, self._profiles, settings, clusters)
        apart_from = {"tuning": None, "missing": None}
        if settings.but(**apart_from) == self.settings.but(**apart_from):
            statistics = self.statistics.with_tuning(settings)
        else:
            statistics = PathStatistics(self.graph, lazy_clusters.of_each, settings)
        same = State(statistics, self._profiles, lazy_clusters, self.sequence)
        same.descriptions = self.descriptions
        return same

    @property
    def has_many_unused_names(self) -> bool:
        """Whether names without facts outnumber the others."""
        graph = self.graph
        return (
            len(graph.entities) > 2 * graph.entities_with_facts() + MAX_UNUSED_NAMES
            or len(graph.relations)
            > 2 * len(graph.relations_in_use()) + MAX_UNUSED_NAMES
        )

    def compacted(self) -> State:
        """The same state without the names that no fact uses; nothing is counted yet."""
        clusters = self.clusters if depends_on_history(self.settings) else None
        same = _compacted(self.graph, clusters, self.settings, self.sequence)
        same.descriptions = self.descriptions
        return same

    def numbered(self, sequence: int) -> State:
        """The same state under another number."""
        return self.described(self.descriptions, sequence)

    def described(
        self, descriptions: Descriptions, sequence: int | None = None
    ) -> State:
        """The same state with other descriptions, and perhaps under another number."""
        if sequence is None:
            sequence = self.sequence
        same = State(self.statistics, self._profiles, self._clusters, sequence)
        same.shared_cache = self.shared_cache
        same.workspaces = self.workspaces
        same.descriptions = descriptions
        return same

    def updated(
        self,
        add: Iterable[tuple[str, str, str]] = (),
        retract: Iterable[Retracted] = (),
        describe: Iterable[Description] = (),
    ) -> Step:
        """The state after some facts are retracted, others added, and entities described.

        Descriptions are read last: a source of facts may yield them while its facts are read.
        """
        return self._changed(self.graph.copy(), add, retract, describe)

    def imagined(
        self,
        add: Iterable[tuple[str, str, str]] = (),
        retract: Iterable[Retracted] = (),
        describe: Iterable[Description] = (),
    ) -> State:
        """The state that `updated` would give; it leaves no trace in this one."""
        return self._changed(self.graph.detached(), add, retract, describe).state

    def _changed(
        self,
        graph: Graph,
        add: Iterable[tuple[str, str, str]],
        retract: Iterable[Retracted],
        describe: Iterable[Description],
    ) -> Step:
        """The step for a change of `graph`, which is a copy of the graph of this state."""
        change = graph.retract(retract).then(graph.add(add))
        step = self.after(change, graph)
        described = self.descriptions.changes(describe)
        if not described:
            return step
        sequence = self.sequence + 1
        state = step.state.described(self.descriptions.updated(described), sequence)
        update = replace(step.update, described=len(described))
        return step._replace(state=state, update=update, described=tuple(described))

    def after(self, change: Change, graph: Graph, sequence: int | None = None) -> Step:
        """The state after a change (§2.3); if nothing changed, the same state.

        graph     the graph of this state after the change
        sequence  the number of the new state; by default the next

        Counts are kept and updated, unless the change is large.
        """
        if not len(change):
            unchanged = Update(repeated=change.repeated, absent=change.absent)
            return Step(self, change, self.graph, unchanged)

        # (a) representations of entities
        clusters_before = self.clusters if depends_on_history(self.settings) else None
        profiles = self._profiles.after(change, graph)
        reshaped = reshaped_entities(self.graph, graph, change.entities)

        # (b) clusters
        clusters = None
        moved = ids()
        if clusters_before is not None:
            clusters, moved = clusters_before.after(graph, profiles(), reshaped)
        lazy_clusters = LazyClusters(graph, profiles, self.settings, clusters)

        # (c) counts
        has_room_for_relations = has_room(graph, self.settings.max_length)
        statistics = None
        hits = ChangedHits.unknown(from_scratch=True)
        if len(change) <= MAX_CHANGED_FACTS and has_room_for_relations:
            statistics, hits = self.statistics.after(
                change, graph, lazy_clusters.of_each
            )

        update = Update(
            added=len(change.added),
            retracted=len(change.retracted),
            repeated=change.repeated,
            absent=change.absent,
            new_entities=len(graph.entities) - len(self.graph.entities),
            new_relations=len(graph.relations) - len(self.graph.relations),
            reshaped=len(reshaped),
            moved=len(moved),
            recounted=len(hits.entities),
            cycles=hits.cycles,
            rebuilt=hits.from_scratch,
        )

        if sequence is None:
            sequence = self.sequence + 1
        if not has_room_for_relations:
            later = _compacted(graph, clusters, self.settings, sequence)
        else:
            if statistics is None:
                statistics = PathStatistics(graph, lazy_clusters.of_each, self.settings)
            later = State(statistics, profiles, lazy_clusters, sequence)
            later.shared_cache = self.shared_cache
            later.workspaces = self.workspaces.of_another_state()
        later.descriptions = self.descriptions
        return Step(later, change, graph, update)


def _compacted(
    graph: Graph, clusters: Clusters | None, settings: Settings, sequence: int
) -> State:
    """The state of a graph without the names that no fact uses; nothing is counted yet.

    clusters  of the graph, if they depend on history
    """
    compacted = graph.compacted()
    if clusters is None:
        return State.of(compacted, settings, sequence=sequence)
    profiles = Profiles.of_graph(compacted)
    clusters = clusters.in_compacted(graph, compacted, profiles)
    return State.of(
        compacted, settings, profiles=profiles, clusters=clusters, sequence=sequence
    )
