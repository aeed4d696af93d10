"""
What to count to know what the paths of some relations reach, laid side by side for one call.

The plan depends on the facts, the settings and the relations only. So a graph can be counted in
shards (`execution.shards`): every shard follows the same plan from some of the entities, and the
counts of all shards are added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph.graph.arrays import Counts, Ids, joined, rows_with
from casegraph.statistics.counts import (
    BOTH_WAYS,
    UNLIMITED,
    PathCounts,
    TypeHits,
    having,
    in_use,
)
from casegraph.statistics.path_types import steps

if TYPE_CHECKING:
    from casegraph.statistics.counts import Counting


class ReachPlan(NamedTuple):
    """What is counted, and how.

    hits        by relation, in their order: all its path types, and their hits
    labels      (pairs,)  the relation of each path type in use
    places      (pairs,)  its place among the path types of the relation
    types       (pairs,)  the path type
    max_widths  (pairs,)  how wide a step of it may be
    ways        (pairs,)  whether it is walked, or its inverse (see `Counting.ways_to_walk`)
    starts      (k,)      the entities that paths are followed from: those that have one of the
                          relations; all of them, if a path type is walked for its inverse, too
    """

    hits: dict[int, TypeHits]
    labels: Ids
    places: Counts
    types: Counts
    max_widths: Counts
    ways: Counts
    starts: Ids

    @classmethod
    def from_hits(cls, hits: dict[int, TypeHits], counting: Counting) -> ReachPlan:
        """The plan for relations whose hits are known; they must be in order."""
        places: list[Counts] = []
        types: list[Counts] = []
        limits: list[Counts] = []
        for relation, (own_types, own_hits) in hits.items():
            is_used = in_use(counting.settings, relation, own_types, own_hits)
            types_in_use = own_types[is_used]
            widths = counting.max_widths(relation, types_in_use)
            if widths is None:
                widths = np.full(len(types_in_use), UNLIMITED)
            places.append(np.flatnonzero(is_used))
            types.append(types_in_use)
            limits.append(widths)

        relations = list(hits)
        sizes = [len(own_types) for own_types in types]
        labels = np.repeat(np.array(relations, dtype=np.int32), sizes)
        all_types = joined(types)
        max_widths = joined(limits)
        ways = counting.ways_to_walk(labels, all_types, max_widths)
        first_step, *_ = steps(all_types, counting.settings.max_length)
        first_of_both_ways = np.unique(first_step[ways == BOTH_WAYS]).tolist()
        starts = having(counting.graph, [*relations, *first_of_both_ways])
        return cls(hits, labels, joined(places), all_types, max_widths, ways, starts)

    def counts(self, counting: Counting, entities: Ids) -> dict[int, PathCounts]:
        """The counts of each relation, where only paths from these entities contribute.

        entities  some of the starts; the counts are right when those of all are added
        """
        is_limited = bool((self.max_widths < UNLIMITED).any())
        reach = counting.reach(
            self.labels,
            self.types,
            entities,
            max_widths=self.max_widths if is_limited else None,
            ways=self.ways,
        )
        found: dict[int, PathCounts] = {}
        for relation, (types, hits) in self.hits.items():
            rows = rows_with(relation, self.labels)
            of_hits = PathCounts.from_hits(types, hits)
            found[relation] = of_hits.with_reach(self.places[rows], reach.of(rows))
        return found
