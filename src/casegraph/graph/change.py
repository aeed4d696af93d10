"""
Changes of a graph: the facts that were added and retracted, as rows of ids.

Every later stage (profiles, clusters, statistics) is brought up to date from a `Change`.
"""

from dataclasses import dataclass, field

import numpy as np

from casegraph.graph.arrays import Ids, distinct_ids
from casegraph.graph.directions import inverse

NO_ROWS: Ids = np.empty((0, 3), dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Change:
    """How a graph changed.

    added      (facts, 3)  head, direction from head to tail, and tail of each added fact
    retracted  (facts, 3)  the same for each retracted fact
    repeated               the number of facts to add that were already there
    absent                 the number of facts to retract that were not there
    """

    added: Ids = field(default_factory=lambda: NO_ROWS)
    retracted: Ids = field(default_factory=lambda: NO_ROWS)
    repeated: int = 0
    absent: int = 0

    def __len__(self) -> int:
        return len(self.added) + len(self.retracted)

    def then(self, later: "Change") -> "Change":
        """One change followed by another; a fact added and then retracted is in both lists."""
        return Change(
            added=_joined(self.added, later.added),
            retracted=_joined(self.retracted, later.retracted),
            repeated=self.repeated + later.repeated,
            absent=self.absent + later.absent,
        )

    @property
    def entities(self) -> Ids:
        """The entities whose edges changed, sorted."""
        rows = self._rows()
        return distinct_ids(rows[:, 0], rows[:, 2])

    @property
    def relations(self) -> Ids:
        """The directions whose edges changed (always both of a relation), sorted."""
        forward = np.unique(self._rows()[:, 1])
        pairs = np.stack([forward, inverse(forward)], axis=1)
        return pairs.ravel()

    def _rows(self) -> Ids:
        return _joined(self.added, self.retracted)


def net_change(changes: list[Change]) -> Change:
    """The net effect of several successive changes.

    A fact that was added and then retracted, or the reverse, is in neither list.
    """
    added = np.concatenate([NO_ROWS, *(change.added for change in changes)])
    retracted = np.concatenate([NO_ROWS, *(change.retracted for change in changes)])
    rows = np.concatenate([added, retracted])
    signs = np.repeat([1, -1], [len(added), len(retracted)])

    # How much more often each distinct row was added than retracted.
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    balance = np.bincount(place, weights=signs, minlength=len(distinct))
    return Change(added=distinct[balance > 0], retracted=distinct[balance < 0])


def _joined(rows: Ids, more_rows: Ids) -> Ids:
    """Both together; without a copy if one of them is empty."""
    if not len(rows):
        return more_rows
    if not len(more_rows):
        return rows
    return np.concatenate([rows, more_rows])
