"""
What changed since counts were made that wait to be brought up to date.

Counts follow a change when they are next asked for. Until then the change is kept here, once for all counts that wait,
as a row of stretches: a new stretch begins with the first change after something was counted, and counts remember with
which stretch their waiting began. Changes of one stretch are folded into their net effect, so however many updates
come, nothing here grows beyond `MANY` rows: what has waited for longer is counted anew, which is then cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph.graph.arrays import Ids, ids
from casegraph.graph.change import Change, net_change

if TYPE_CHECKING:
    from casegraph.graph.graph import Graph, Renumbering

MANY = 256  # changed facts: with more, counting anew is cheaper than keeping up
HELD = 8  # stretches that hold the graph they began with; of earlier ones it is made again when it is needed
FOLDED = 16  # changes of a stretch that are kept apart before they are folded into one


class Moment(NamedTuple):
    """A graph, and the cluster of each entity; none where clusters play no part."""

    graph: Graph
    clusters: Ids | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Changes one after the other, and the entities whose hits they altered.

    began  the moment before the first of them, while it is held
    """

    changes: tuple[Change, ...]
    entities: tuple[Ids, ...]
    began: Moment | None

    @property
    def rows(self) -> int:
        """How many changed facts are kept."""
        return sum(map(len, self.changes))

    def after(self, change: Change, entities: Ids) -> Stretch:
        """With one more change."""
        changes = (*self.changes, change)
        whose = (*self.entities, entities)
        if len(changes) > FOLDED:
            changes = (net_change(list(changes)),)
            whose = (np.unique(np.concatenate(whose)),)
        return Stretch(changes, whose, self.began)

    def renumbered(self, new: Renumbering) -> Stretch:
        """The same where ids are new; of the moment before it, and of clusters, nothing is held any more."""
        changes = tuple(change.renumbered(new.entities, new.relations) for change in self.changes)
        return Stretch(changes, (), None)


@dataclass(frozen=True, slots=True)
class Backlog:
    """The stretches that counts may have to follow, oldest first; `first` is the number of the oldest."""

    first: int = 0
    stretches: tuple[Stretch, ...] = ()

    @property
    def end(self) -> int:
        """The number that the next stretch gets."""
        return self.first + len(self.stretches)

    def after(self, change: Change, entities: Ids, began: Moment | None) -> Backlog:
        """With one more change, which begins a new stretch if the moment before it is given."""
        if began is not None:
            stretches = [*self.stretches, Stretch((change,), (entities,), began)]
        elif self.stretches:
            stretches = [*self.stretches[:-1], self.stretches[-1].after(change, entities)]
        else:
            return self
        if len(stretches) > HELD:
            stretches[-HELD - 1] = replace(stretches[-HELD - 1], began=None)
        first = self.first
        while sum(stretch.rows for stretch in stretches) > MANY:
            del stretches[0]
            first += 1
        return Backlog(first, tuple(stretches))

    def change_since(self, number: int) -> Change:
        """What came and went in the end, from the beginning of a stretch on."""
        changes = [change for stretch in self.stretches[number - self.first :] for change in stretch.changes]
        return net_change(changes)

    def began(self, number: int) -> Moment | None:
        """The moment when a stretch began, if it is held."""
        return self.stretches[number - self.first].began

    def entities_since(self, number: int) -> Ids:
        """The entities whose hits were altered, sorted, from the beginning of a stretch on."""
        parts = [part for stretch in self.stretches[number - self.first :] for part in stretch.entities]
        return np.unique(np.concatenate([ids(), *parts]))

    def everything(self) -> Change:
        """All changed facts that are kept, each as often as it changed."""
        total = Change()
        for stretch in self.stretches:
            for change in stretch.changes:
                total = total.then(change)
        return total

    def renumbered(self, new: Renumbering) -> Backlog:
        """The same where ids are new."""
        return Backlog(self.first, tuple(stretch.renumbered(new) for stretch in self.stretches))
