"""
Changes of a graph: the facts that came and the facts that went, as rows of ids.

Every later stage (profiles, clusters, statistics) is brought up to date from a `Change` and nothing else.
"""

from dataclasses import dataclass, field

import numpy as np

from casegraph.graph.arrays import Ids

NO_ROWS: Ids = np.empty((0, 3), dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Change:
    """What became different: the facts that came and went, as rows (head, relation, tail) of ids.

    repeated, absent  how many were to come and were there already, or were to go and were not there
    """

    added: Ids = field(default_factory=lambda: NO_ROWS)
    retracted: Ids = field(default_factory=lambda: NO_ROWS)
    repeated: int = 0
    absent: int = 0

    def __len__(self) -> int:
        return len(self.added) + len(self.retracted)

    def then(self, other: "Change") -> "Change":
        """Both changes, this one first, fact for fact: one that came and went again is in both lists."""
        return Change(
            np.concatenate([self.added, other.added]),
            np.concatenate([self.retracted, other.retracted]),
            self.repeated + other.repeated,
            self.absent + other.absent,
        )

    @property
    def entities(self) -> Ids:
        """The entities whose edges changed, sorted."""
        return np.unique(np.concatenate([self.added[:, [0, 2]].ravel(), self.retracted[:, [0, 2]].ravel()]))

    @property
    def relations(self) -> Ids:
        """The relations whose edges changed, both directions, sorted."""
        changed = np.unique(np.concatenate([self.added[:, 1], self.retracted[:, 1]]))
        return np.concatenate([changed, changed + 1]).reshape(2, -1).T.ravel()

    def renumbered(self, entities: Ids, relations: Ids) -> "Change":
        """The same change where ids are new: those of entities, and those of relations 2k and 2k + 1."""

        def new_ids(rows: Ids) -> Ids:
            return np.stack([entities[rows[:, 0]], relations[rows[:, 1]], entities[rows[:, 2]]], axis=1)

        return Change(new_ids(self.added), new_ids(self.retracted), self.repeated, self.absent)


def net_change(changes: "list[Change]") -> Change:
    """What several changes, one after the other, took away and put there in the end."""
    parts = [rows for change in changes for rows in (change.retracted, change.added)]
    signs = np.repeat([-1, 1] * len(changes), [len(rows) for rows in parts])
    distinct, place = np.unique(np.concatenate([NO_ROWS, *parts]), axis=0, return_inverse=True)
    balance = np.bincount(place, weights=signs, minlength=len(distinct))
    return Change(distinct[balance > 0], distinct[balance < 0])
