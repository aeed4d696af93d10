"""
Counts of a relation that grow with the questions asked about it.

The problem: counting what all path types of a relation reach, from all entities that have it, takes
seconds in a very large graph, and a question needs few of these counts. The idea is to count only
what can matter, and that exactly: a path type that leads nowhere from the entity asked about says
nothing about any answer, so its counts can wait until another question needs them.

Counts do not depend on the order of questions: each path type is counted over all entities, as if
all path types were counted at once. That holds as long as nothing is left out to bound the work, so
it is done only for relations of which everything is affordable (`Counting.max_widths`).
"""

from typing import NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Flags, Ids, ids
from casegraph.graph.graph import Graph
from casegraph.statistics.counts import PathCounts, Reach
from casegraph.statistics.path_types import steps

FEW_ENTITIES = 16  # asked about at once; most path types lead somewhere from one of many
MAX_NEIGHBOURS = 10_000  # looked at, to see which steps lead on from them


class PartialCounts(NamedTuple):
    """The counts of a relation, with what path types reach counted for some of them.

    counts      over everyone; what a path type reaches is 0 where it is not counted
    is_missing  (types,)  whether a path type is in use, but not counted yet
    """

    counts: PathCounts
    is_missing: Flags

    @classmethod
    def of_hits(cls, types: Counts, hits: Counts, is_used: Flags) -> "PartialCounts":
        """Nothing is counted yet but hits."""
        return cls(PathCounts.of_hits(types, hits), is_used)

    def with_reach(self, places: Counts, reach: Reach) -> "PartialCounts":
        """The same counts, and what the path types at these places reach."""
        counts = PathCounts.of_hits(self.counts.types, self.counts.hits)
        counts.put_reach(slice(None), self.counts.reach_of(slice(None)))
        counts.put_reach(places, reach)
        is_missing = self.is_missing.copy()
        is_missing[places] = False
        return PartialCounts(counts, is_missing)


def may_lead_somewhere(graph: Graph, entities: Ids, types: Counts, max_length: int) -> Flags:
    """Which path types may lead anywhere from one of the entities, by their first two steps.

    Whether later steps lead on would often take longer to find out than it saves.
    """
    found = np.zeros(len(types), dtype=np.bool)
    each_step = list(steps(types, max_length))
    first = each_step[0]
    second = each_step[1] if max_length > 1 else np.full_like(first, -1)
    ends_after_first = second < 0
    for entity in entities[entities >= 0].tolist():
        for relation in _relations_of(graph, ids([entity])).tolist():
            begins_so = (first == relation) & ~found
            if not begins_so.any():
                continue
            neighbours = graph.answers(entity, relation)
            leads_on = np.ones(len(types), dtype=np.bool)
            if len(neighbours) <= MAX_NEIGHBOURS:
                leads_on = np.isin(second, _relations_of(graph, neighbours))
            found |= begins_so & (ends_after_first | leads_on)
    return found


def _relations_of(graph: Graph, entities: Ids) -> Ids:
    """The relations that at least one of the entities has."""
    _, relations = kernels.profiles(graph.kernel, entities)
    return np.unique(relations)
