"""
A state: all that queries are answered from, as a value.

A graph with its names, its profiles, clusters and statistics. An update makes the next state and leaves this one alone,
so whoever holds a state keeps it as it was, and putting the next one in its place is one assignment. What is derived
from the graph (clusters, counts, lists of path types) is made when it is first needed and belongs to the state; threads
may ask for it at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Ids, ids
from casegraph.graph.change import Change
from casegraph.graph.digest import digest
from casegraph.similarity.clusters.assignment import Clusters, depends_on_history
from casegraph.similarity.profiles import NONE, Profiles
from casegraph.statistics.backlog import MANY
from casegraph.statistics.incremental import ChangedHits
from casegraph.statistics.path_types import has_room
from casegraph.statistics.statistics import PathStatistics

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from casegraph.graph.graph import Graph
    from casegraph.settings import Settings

Retracted = tuple[str, str, str] | str  # a fact, or an entity: all its facts
T = TypeVar("T")
FEW = 64  # names without facts that are not worth giving up


@dataclass(frozen=True, slots=True)
class Update:
    """What an update did, in numbers.

    added, retracted   facts that came and went;  repeated, absent: those that were there already, or were not there
    new_entities, new_relations  names never seen before
    reshaped           entities whose set of relations changed
    moved              entities whose cluster changed, where clusters follow every change ("grinch")
    recounted          entities on a cycle that a changed fact closes or opens: those whose hits change
    cycles             how many such cycles there are: the work done
    anew               whether so much changed that counts were dropped, to be made anew when needed
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
    anew: bool = False


class Step(NamedTuple):
    """The state after an update; what changed, in the graph as it was before names were given up; that in numbers."""

    state: State
    change: Change
    graph: Graph
    update: Update


class LazyClusters:
    """Which cluster each entity is in: known already, or made when first asked for."""

    def __init__(self, graph: Graph, profiles: Profiles, settings: Settings, known: Clusters | None = None) -> None:
        self._made_of = (graph, profiles, settings)
        self._known = known
        self._making = Lock()

    def __call__(self) -> Clusters:
        """The clusters."""
        if self._known is None:
            with self._making:
                if self._known is None:
                    self._known = Clusters.of(*self._made_of)
        return self._known

    def of_each(self) -> Ids:
        """The cluster of each entity."""
        return self().entities


class State:
    """One state of a case base; made by `of`, and from another by `updated` or `after`.

    sequence  how many updates have led to it
    """

    def __init__(self, statistics: PathStatistics, profiles: Profiles, clusters: LazyClusters, sequence: int) -> None:
        self.graph = statistics.graph
        self.settings = statistics.settings
        self.statistics = statistics
        self.profiles = profiles
        self.sequence = sequence
        self.workspaces = kernels.Workspaces()
        self._clusters = clusters
        self._derived: dict[Hashable, object] = {}

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
        """The state of a graph, of which nothing is counted yet."""
        profiles = Profiles.of_graph(graph) if profiles is None else profiles
        lazy = LazyClusters(graph, profiles, settings, clusters)
        return cls(PathStatistics(graph, lazy.of_each, settings), profiles, lazy, sequence)

    @property
    def clusters(self) -> Clusters:
        """Which cluster each entity is in, made when first needed."""
        return self._clusters()

    @cached_property
    def digest(self) -> str:
        """A digest of the facts and the settings, the same on any machine."""
        return digest(self.graph, self.settings)

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` makes of this state, kept under a key; threads that ask at the same time may each make it."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]  # type: ignore[return-value]

    def numbered(self, sequence: int) -> State:
        """The same state under another number."""
        return State(self.statistics, self.profiles, self._clusters, sequence)

    def updated(self, add: Iterable[tuple[str, str, str]] = (), retract: Iterable[Retracted] = ()) -> Step:
        """The state after facts were retracted and then others taken in."""
        graph = self.graph.copy()
        change = graph.retract(retract).then(graph.add(add))
        return self.after(change, graph)

    def after(self, change: Change, graph: Graph, sequence: int | None = None) -> Step:
        """The state after a change that has made `graph` of this one's; by default, the next in sequence.

        Counts that are known are kept, unless the change is large. If nothing changed, the state is the same.
        """
        if not len(change):
            return Step(self, change, self.graph, Update(repeated=change.repeated, absent=change.absent))
        profiles = self.profiles.copy()
        reshaped = profiles.refresh(graph, change.entities)
        clusters = None
        moved = ids()
        if depends_on_history(self.settings):
            clusters, moved = self.clusters.after(graph, profiles, reshaped)
        lazy = LazyClusters(graph, profiles, self.settings, clusters)
        statistics = None
        hits = ChangedHits.none(anew=True)
        if len(change) <= MANY and has_room(graph, self.settings.max_length):
            statistics, hits = self.statistics.after(change, graph, lazy.of_each)
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
            anew=hits.anew,
        )
        sequence = self.sequence + 1 if sequence is None else sequence
        if _has_many_dead_names(graph, profiles) or not has_room(graph, self.settings.max_length):
            later = _with_living_names(graph, profiles, clusters, statistics, self.settings, sequence)
        elif statistics is None:
            later = State.of(graph, self.settings, profiles=profiles, clusters=clusters, sequence=sequence)
        else:
            later = State(statistics, profiles, lazy, sequence)
        return Step(later, change, graph, update)


def _has_many_dead_names(graph: Graph, profiles: Profiles) -> bool:
    """Whether names that no fact has any more outnumber the others."""
    living = int(np.count_nonzero(profiles.each() != NONE))
    used = sum(len(graph.edges(relation).heads) > 0 for relation in range(0, graph.directions, 2))
    return len(graph.entities) > 2 * living + FEW or len(graph.relations) > 2 * used + FEW


def _with_living_names(
    graph: Graph,
    profiles: Profiles,
    clusters: Clusters | None,
    statistics: PathStatistics | None,
    settings: Settings,
    sequence: int,
) -> State:
    """The state of a graph in which names that no fact has any more are given up, and ids are new."""
    changed = Change() if statistics is None else statistics.changed_facts()
    living, new = graph.with_living_names(changed)
    its_profiles = profiles.renumbered(new)
    its_clusters = None if clusters is None else clusters.renumbered(new, its_profiles)
    lazy = LazyClusters(living, its_profiles, settings, its_clusters)
    if statistics is None:
        counted = PathStatistics(living, lazy.of_each, settings)
    else:
        counted = statistics.renumbered(living, new, lazy.of_each)
    return State(counted, its_profiles, lazy, sequence)
