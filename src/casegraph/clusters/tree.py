"""The hierarchy of profiles as arrays, and the flat clusters cut from it (appendix A.2, Algorithm 1)."""

from dataclasses import dataclass

import numpy as np

from casegraph.arrays import Floats, Ids, ids


@dataclass(frozen=True, slots=True)
class ClusterTree:
    """A binary tree of profiles.

    Node i below `len(profiles)` is the leaf of `profiles[i]`; node `len(profiles) + j` joins `left[j]` and `right[j]`.

    linkage  mean similarity over all pairs of an entity of `left` and an entity of `right`
    """

    profiles: Ids
    left: Ids
    right: Ids
    linkage: Floats

    @property
    def root(self) -> int:
        """The node that holds everything; -1 in an empty tree."""
        return len(self.profiles) + len(self.left) - 1

    def cut(self, threshold: float) -> Ids:
        """The node that is the cluster of each leaf: from the root down, the first with a linkage above `threshold`."""
        cluster = np.full(len(self.profiles), -1, dtype=np.int32)
        frontier = [self.root] if len(self.profiles) else []
        while frontier:
            node = frontier.pop()
            joined = node - len(self.profiles)
            if joined < 0 or self.linkage[joined] > threshold:
                cluster[self.leaves(node)] = node
            else:
                frontier += [int(self.left[joined]), int(self.right[joined])]
        return cluster

    def leaves(self, node: int) -> Ids:
        """The leaves below a node."""
        found, stack = [], [node]
        while stack:
            node = stack.pop()
            if node < len(self.profiles):
                found.append(node)
            else:
                stack += [int(self.left[node - len(self.profiles)]), int(self.right[node - len(self.profiles)])]
        return ids(found)
