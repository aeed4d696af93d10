"""
Counts of a relation that grow with the questions asked about it.

The problem: counting what all path types of a relation reach, from all entities that have it, takes
seconds in a very large graph, and a question needs few of these counts.

The idea is to count only the path types that can matter. A path type that leads nowhere from the
entity asked about says nothing about any answer, so its counts can wait until another question
needs them.

The counts do not depend on the order of questions: a path type is counted over all entities that
have the relation, whichever question needs it first. But where the work has to be bounded, what to
leave out is chosen by looking at all path types together. So path types are counted one by one only
if all of them are affordable (`Counting.max_widths`).
"""

from itertools import islice
from typing import NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Flags, Ids, ids
from casegraph.graph.graph import Graph
from casegraph.statistics.counts import PathCounts, Reach
from casegraph.statistics.path_types import steps

# Asked about at once; from one of many, most path types lead somewhere.
FEW_ENTITIES = 16
# Looked at to see which steps lead on; from more, all are assumed to.
MAX_NEIGHBOURS = 10_000
NO_STEP = -1  # instead of a relation: the path type is shorter


class PartialCounts(NamedTuple):
    """The counts of a relation over everyone, while what path types reach is counted for some.

    counts      those that are not counted yet are 0
    is_missing  (types,)  whether a path type is in use, but what it reaches is not counted yet
    """

    counts: PathCounts
    is_missing: Flags

    @classmethod
    def of_hits(cls, types: Counts, hits: Counts, is_used: Flags) -> "PartialCounts":
        """Nothing but hits is counted yet."""
        return cls(PathCounts.of_hits(types, hits), is_used)

    def with_reach(self, places: Counts, reach: Reach) -> "PartialCounts":
        """The same counts, and what the path types at these places reach."""
        counts = PathCounts.of_hits(self.counts.types, self.counts.hits)
        everywhere = slice(None)
        counts.put_reach(everywhere, self.counts.reach_of(everywhere))
        counts.put_reach(places, reach)
        is_missing = self.is_missing.copy()
        is_missing[places] = False
        return PartialCounts(counts, is_missing)


def may_lead_somewhere(
    graph: Graph, entities: Ids, types: Counts, max_length: int
) -> Flags:
    """Which path types may lead anywhere from one of the entities, by their first two steps.

    Whether later steps lead on would often take longer to find out than it saves.

    entities  (k,)      ids; -1 for an entity that was never seen, from which nothing leads anywhere
    types     (types,)  path types, as integers
    """
    first, *later = islice(steps(types, max_length), 2)
    second = later[0] if later else np.full_like(first, NO_STEP)
    is_found = np.zeros(len(types), dtype=np.bool)
    for entity in entities[entities >= 0].tolist():
        for relation in _relations_of(graph, ids([entity])).tolist():
            is_asked = (first == relation) & ~is_found
            if is_asked.any():
                neighbours = graph.answers(entity, relation)
                is_found |= is_asked & _may_go_on(graph, neighbours, second)
    return is_found


def _may_go_on(graph: Graph, entities: Ids, next_step: Counts) -> Flags:
    """Which path types end at these entities, or may go on from one of them.

    next_step  (types,)  the relation that each path type follows next, or `NO_STEP`
    """
    if len(entities) > MAX_NEIGHBOURS:
        return np.ones(len(next_step), dtype=np.bool)
    has_ended = next_step == NO_STEP
    leads_on = np.isin(next_step, _relations_of(graph, entities))
    return np.asarray(has_ended | leads_on)


def _relations_of(graph: Graph, entities: Ids) -> Ids:
    """The relations that at least one of the entities has."""
    _, relations = kernels.profiles(graph.kernel, entities)
    return np.unique(relations)
