"""
The changes that the counts do not reflect yet.

The problem: an update should be quick, but bringing the counts of every relation up to date is
not, and most relations are not asked about before the next update.

The idea is lazy evaluation. An update leaves the counts as they are and appends its change to a
log, the backlog. When a relation is next asked about, its counts catch up with all that the log
holds since they were made.

One log serves the counts of all relations. It is divided into epochs: a new epoch begins with the
first change after something was counted. Counts only remember the number of the epoch that
followed them. Each epoch may hold its baseline, the graph as it was when the epoch began, since
catching up compares the graph before with the graph after.

The log stays small, however many updates come:

- Changes within an epoch are folded into their net effect.
- Only the newest epochs hold their baselines. A baseline shares its edges with the next one, except
  those of relations that changed; so where these relations are large, fewer baselines are held.
- When there are more changed facts than `MAX_CHANGED_FACTS`, the oldest epochs are dropped. Counts
  older than the log are dropped, too, and made from scratch when they are needed, which is cheaper
  than following so many changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph.graph.arrays import Ids, ids
from casegraph.graph.change import Change, net_change

if TYPE_CHECKING:
    from casegraph.graph.graph import Graph

MAX_CHANGED_FACTS = 256  # with more, counting from scratch is cheaper than catching up
# Epochs that hold their baseline; others rebuild it when it is needed.
MAX_BASELINES = 64
MIN_BASELINES = 8  # the newest epochs hold it however large it is
# Edges and clusters in the baselines of the others, of up to 20 bytes each.
MAX_HELD = 1 << 20
# Changes that an epoch stores before it folds them into their net effect.
MAX_UNFOLDED = 16


class Baseline(NamedTuple):
    """The graph when an epoch began, and its clusters, if counts of clusters were made."""

    graph: Graph
    clusters: Ids | None

    def held_alone(self, changes: tuple[Change, ...]) -> int:
        """How many edges and clusters it does not share with the graph after these changes."""
        changed = set[int]()
        for change in changes:
            changed.update(change.relations.tolist())

        held = 0 if self.clusters is None else len(self.clusters)
        for relation in changed:
            is_new = relation >= self.graph.directions
            if not is_new:
                held += len(self.graph.edges(relation).tails)
        return held


@dataclass(frozen=True, slots=True)
class Epoch:
    """Successive changes between two times when something was counted.

    changes   the changes, oldest first
    entities  the entities whose hits these changes altered, in parts
    baseline  the graph before the first change, while it is held
    size      how many changed facts it holds
    held      how much its baseline alone holds: edges and clusters
    """

    changes: tuple[Change, ...]
    entities: tuple[Ids, ...]
    baseline: Baseline | None
    size: int
    held: int

    @classmethod
    def of(
        cls,
        changes: tuple[Change, ...],
        entities: tuple[Ids, ...],
        baseline: Baseline | None,
    ) -> Epoch:
        """An epoch with its sizes."""
        size = sum(map(len, changes))
        held = 0 if baseline is None else baseline.held_alone(changes)
        return cls(changes, entities, baseline, size, held)

    def after(self, change: Change, entities: Ids) -> Epoch:
        """The same epoch with one more change."""
        changes = (*self.changes, change)
        altered = (*self.entities, entities)
        if len(changes) > MAX_UNFOLDED:
            changes = (net_change(list(changes)),)
            altered = (np.unique(np.concatenate(altered)),)
        return Epoch.of(changes, altered, self.baseline)


@dataclass(frozen=True, slots=True)
class Backlog:
    """The epochs that counts may have to follow, oldest first.

    first  the number of the oldest epoch; the others are numbered consecutively
    """

    first: int = 0
    epochs: tuple[Epoch, ...] = ()

    @property
    def newest(self) -> int:
        """The number of the newest epoch."""
        return self.first + len(self.epochs) - 1

    def after(
        self, change: Change, entities: Ids, baseline: Baseline | None
    ) -> Backlog:
        """The backlog with one more change.

        entities  the entities whose hits it altered
        baseline  the graph before it, if it begins a new epoch; none if it continues the newest
        """
        if baseline is not None:
            epochs = [*self.epochs, Epoch.of((change,), (entities,), baseline)]
        elif self.epochs:
            epochs = [*self.epochs[:-1], self.epochs[-1].after(change, entities)]
        else:
            return self  # there are no counts that could follow the change

        _drop_old_baselines(epochs)
        changed_facts = sum(epoch.size for epoch in epochs)
        dropped = 0
        while changed_facts > MAX_CHANGED_FACTS:
            changed_facts -= epochs[dropped].size
            dropped += 1
        return Backlog(self.first + dropped, tuple(epochs[dropped:]))

    def holds(self, number: int) -> bool:
        """Whether the changes since the beginning of an epoch are still known."""
        return number >= self.first

    def baseline(self, number: int) -> Baseline | None:
        """The graph when an epoch began, if it is held."""
        return self.epochs[number - self.first].baseline

    def change_since(self, number: int) -> Change:
        """The net effect of all changes since the beginning of an epoch."""
        changes: list[Change] = []
        for epoch in self.epochs[number - self.first :]:
            changes += epoch.changes
        return net_change(changes)

    def entities_since(self, number: int) -> Ids:
        """The entities whose hits were altered since the beginning of an epoch, sorted."""
        altered = [ids()]
        for epoch in self.epochs[number - self.first :]:
            altered += epoch.entities
        return np.unique(np.concatenate(altered))


def _drop_old_baselines(epochs: list[Epoch]) -> None:
    """Drop the oldest baselines, if there are too many or they hold too much."""
    held = 0
    for number, epoch in enumerate(reversed(epochs), start=1):
        if epoch.baseline is None:
            continue
        if number > MIN_BASELINES:
            held += epoch.held
        if number > MAX_BASELINES or held > MAX_HELD:
            epochs[-number] = replace(epoch, baseline=None, held=0)
