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

- Many changes within an epoch are folded into their net effect.
- Only the newest epochs hold their baselines. A baseline shares its edges with the next one, except
  those of relations that changed; so where these relations are large, fewer baselines are held.
- When there are more changed facts than `MAX_CHANGED_FACTS`, the oldest epochs are dropped. Counts
  older than the log are dropped, too, and made from scratch when they are needed, which is cheaper
  than following that many changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from casegraph.graph.arrays import Ids, ids
from casegraph.graph.change import Change, net_change

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from casegraph.graph.graph import Graph

T = TypeVar("T")

MAX_CHANGED_FACTS = 256  # with more, counting from scratch is cheaper than catching up
# Epochs that hold their baseline; older ones rebuild it when it is needed.
MAX_BASELINES = 64
MIN_BASELINES = 8  # the newest epochs hold it however large it is
MAX_HELD = 1 << 20  # edges and clusters in all other baselines, of up to 20 bytes each


class Baseline(NamedTuple):
    """The graph when an epoch began, and its clusters, if counts of clusters were made."""

    graph: Graph
    clusters: Ids | None

    def held_alone(self, change: Change) -> int:
        """How many edges and clusters it does not share with the graph after a change."""
        held = 0 if self.clusters is None else len(self.clusters)
        for relation in change.relations.tolist():
            is_new = relation >= self.graph.directions
            if not is_new:
                held += len(self.graph.edges(relation).tails)
        return held


@dataclass(frozen=True, slots=True)
class Epoch:
    """Successive changes between two times when something was counted.

    change    all of them together
    entities  the entities whose hits they altered, sorted
    baseline  the graph before them, while it is held
    size      how many changed facts there are
    held      how much only the baseline holds: edges and clusters
    """

    change: Change
    entities: Ids
    baseline: Baseline | None
    size: int
    held: int

    @classmethod
    def begun(cls, change: Change, entities: Ids, baseline: Baseline | None) -> Epoch:
        """An epoch that begins with a change."""
        held = 0 if baseline is None else baseline.held_alone(change)
        return cls(change, entities, baseline, len(change), held)

    def after(self, change: Change, entities: Ids) -> Epoch:
        """The same epoch with one more change."""
        together = self.change.then(change)
        if len(together) > MAX_CHANGED_FACTS:
            together = net_change([together])
        return Epoch.begun(together, np.union1d(self.entities, entities), self.baseline)


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
        epochs = list(self.epochs)
        if baseline is not None:
            epochs.append(Epoch.begun(change, entities, baseline))
        elif epochs:
            epochs[-1] = epochs[-1].after(change, entities)
        _drop_old_baselines(epochs)
        changed_facts = sum(epoch.size for epoch in epochs)
        dropped = 0
        while changed_facts > MAX_CHANGED_FACTS:
            changed_facts -= epochs[dropped].size
            dropped += 1
        return Backlog(self.first + dropped, tuple(epochs[dropped:]))

    @property
    def numbers(self) -> range:
        """The numbers of all epochs: the changes since the beginning of each are known."""
        return range(self.first, self.first + len(self.epochs))

    @property
    def with_baseline(self) -> set[int]:
        """The numbers of the epochs that hold their baseline."""
        return {number for number in self.numbers if self.baseline(number) is not None}

    def baseline(self, number: int) -> Baseline | None:
        """The graph when an epoch began, if it is held."""
        return self.epochs[number - self.first].baseline

    def change_since(self, number: int) -> Change:
        """The net effect of all changes since the beginning of an epoch."""
        epochs = self.epochs[number - self.first :]
        return net_change([epoch.change for epoch in epochs])

    def entities_since(self, number: int) -> Ids:
        """The entities whose hits were altered since the beginning of an epoch, sorted."""
        altered = [epoch.entities for epoch in self.epochs[number - self.first :]]
        return np.unique(np.concatenate([ids(), *altered]))


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


class Outdated(NamedTuple, Generic[T]):
    """Counts of an earlier state, which have yet to catch up.

    epoch  the number of the epoch that began after they were made
    """

    counts: T
    epoch: int


class CountsByRelation(Generic[T]):
    """The counts of each relation: absent, outdated, or of this state.

    Counts never change. New counts replace absent or outdated ones by one assignment, so that
    other threads may read meanwhile.
    """

    def __init__(self, known: Mapping[int, T | Outdated[T]] | None = None) -> None:
        self._known = dict(known or {})

    def __contains__(self, relation: int) -> bool:
        return relation in self._known

    def __getitem__(self, relation: int) -> T:
        """The counts of this state; a `KeyError` if there are none."""
        found = self.get(relation)
        if found is None:
            raise KeyError(relation)
        return found

    def get(self, relation: int) -> T | None:
        """The counts of this state, if there are any."""
        found = self._known.get(relation)
        return None if isinstance(found, Outdated) else found

    def outdated(self, relation: int) -> Outdated[T] | None:
        """The counts of an earlier state, if nothing newer is known."""
        found = self._known.get(relation)
        return found if isinstance(found, Outdated) else None

    def missing(self, relations: Iterable[int]) -> list[int]:
        """The relations without counts of this state."""
        return [relation for relation in relations if self.get(relation) is None]

    @property
    def has_current(self) -> bool:
        """Whether there are any counts of this state."""
        return not all(isinstance(known, Outdated) for known in self._known.values())

    def current(self) -> dict[int, T]:
        """All counts of this state."""
        return {
            relation: counts
            for relation, counts in self._known.copy().items()
            if not isinstance(counts, Outdated)
        }

    def update(self, counts: Mapping[int, T]) -> None:
        """Take counts of this state."""
        self._known.update(counts)

    def kept(self, is_kept: Callable[[T], bool]) -> CountsByRelation[T]:
        """A copy with only those counts of this state that are to be kept."""
        return CountsByRelation(
            {
                relation: counts
                for relation, counts in self._known.copy().items()
                if isinstance(counts, Outdated) or is_kept(counts)
            }
        )

    def before(self, newest: int, epochs: Container[int]) -> CountsByRelation[T]:
        """The counts for the next state: all are outdated now.

        newest  the number of the epoch that has begun
        epochs  the epochs since which enough is known to catch up
        """
        outdated: dict[int, T | Outdated[T]] = {}
        for relation, known in self._known.items():
            if isinstance(known, Outdated):
                counts = known
            else:
                counts = Outdated(known, newest)
            if counts.epoch in epochs:
                outdated[relation] = counts
        return CountsByRelation(outdated)
