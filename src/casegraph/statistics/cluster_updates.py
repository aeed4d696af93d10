"""
What a change does to the counts of clusters (§2.3 (b) and (c)); the result is what a recount gives.

Hits are counted again for entities that moved to another cluster, or whose hits changed; tries for
path types that follow a changed relation, and in clusters that changed. A caller compares this work
(`ClusterChanges.work`) with that of counting from scratch.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from casegraph.graph.arrays import Counts, Flags, Ids, ids
from casegraph.graph.directions import relation_of
from casegraph.graph.graph import Graph
from casegraph.similarity.clusters.assignment import EVERYONE, with_new_entities
from casegraph.statistics.counts import ClusterCounts, Counting, PathCounts
from casegraph.statistics.path_types import follows
from casegraph.statistics.sums import columns_joined, grouped


class ClusterChanges(NamedTuple):
    """What has changed for clusters since an earlier graph.

    graph      the earlier graph
    clusters   (entities,)  the cluster of each entity then; `EVERYONE` if it came later
    moved      entities that are in another cluster now, sorted
    recounted  entities that moved, or whose hits changed, sorted
    """

    graph: Graph
    clusters: Ids
    moved: Ids
    recounted: Ids

    @classmethod
    def between(
        cls, graph: Graph, clusters_then: Ids, clusters_now: Ids, with_other_hits: Ids
    ) -> "ClusterChanges":
        """What has changed, by the clusters then and now, and by whose hits changed."""
        clusters = with_new_entities(clusters_then, len(clusters_now))
        moved = np.flatnonzero(clusters != clusters_now).astype(np.int32)
        return cls(graph, clusters, moved, np.union1d(with_other_hits, moved))

    def work(self, relation: int, now: Graph) -> int:
        """From how many entities `updated_cluster_counts` counts paths: then, and again now."""
        recounted_then = self.recounted_of(relation, self.graph)
        recounted_now = self.recounted_of(relation, now)
        return len(recounted_then) + len(recounted_now)

    def recounted_of(self, relation: int, graph: Graph) -> Ids:
        """The entities whose paths to answers of a relation are counted again on a graph."""
        heads = graph.edges(relation).heads
        return np.intersect1d(self.recounted, heads, assume_unique=True)


class OutdatedClusterCounts(NamedTuple):
    """The counts of a relation in clusters on an earlier graph, and what has changed since."""

    counts: ClusterCounts
    changes: ClusterChanges


def updated_cluster_counts(
    outdated: Mapping[int, OutdatedClusterCounts],
    now: Counting,
    clusters: Ids,
    everyone: Mapping[int, PathCounts],
) -> dict[int, ClusterCounts]:
    """The counts of some relations in each cluster now, from those before.

    outdated  by relation, the counts before
    clusters  (entities,)  the cluster of each entity now
    everyone  by relation, the counts over all entities, which are up to date already

    Tries are counted for all relations in one call, since their path types share endings.
    """
    known: dict[int, tuple[ClusterCounts, Counts]] = {}
    questions: list[tuple[Ids, Ids, Counts]] = [
        (ids(), ids(), np.empty(0, dtype=np.int64))
    ]
    for relation, before in outdated.items():
        counts, is_again = _with_known_tries(
            before, relation, now, clusters, everyone[relation]
        )
        again = np.flatnonzero(is_again)
        known[relation] = (counts, again)
        labels = np.full(len(again), relation, dtype=np.int32)
        questions.append((counts.clusters[again], labels, counts.types[again]))

    asked_clusters, asked_relations, asked_types = columns_joined(questions)
    counted = now.tries(asked_clusters, asked_relations, asked_types, clusters)
    found: dict[int, ClusterCounts] = {}
    start = 0
    for relation, (counts, again) in known.items():
        tries = counts.tries.copy()
        tries[again] = counted[start : start + len(again)]
        found[relation] = replace(counts, tries=tries)
        start += len(again)
    return found


def _with_known_tries(
    outdated: OutdatedClusterCounts,
    relation: int,
    now: Counting,
    clusters: Ids,
    everyone: PathCounts,
) -> tuple[ClusterCounts, Flags]:
    """The counts of a relation now, with the tries of before, and whether each must be recounted.

    Tries change with the relations that a path type follows, with the entities of a cluster, and
    with those that have the relation.
    """
    labels, types, hits = _cluster_hits_now(outdated, relation, now, clusters)
    labels = np.concatenate(
        [np.full(len(everyone.types), EVERYONE, dtype=np.int32), labels]
    )
    types = np.concatenate([everyone.types, types])
    hits = np.concatenate([everyone.hits, hits])

    tries, is_known = _tries_before(outdated.counts, labels, types)
    changes = outdated.changes
    changed_relations = now.graph.changed_since(changes.graph)
    changed_clusters = np.append(
        changes.clusters[changes.moved], clusters[changes.moved]
    )
    follows_change = follows(types, changed_relations, now.settings.max_length)
    is_in_changed_cluster = np.isin(labels, changed_clusters) & (labels != EVERYONE)
    answers_changed = relation_of(relation) in changed_relations
    is_again = ~is_known | follows_change | is_in_changed_cluster | answers_changed
    return ClusterCounts(labels, types, hits, tries), is_again


def _cluster_hits_now(
    outdated: OutdatedClusterCounts, relation: int, now: Counting, clusters: Ids
) -> tuple[Ids, Counts, Counts]:
    """Cluster, path type and hits, sorted, without `EVERYONE`.

    Those before, corrected for the entities that moved or whose hits changed.
    """
    counts, changes = outdated
    inside = slice(counts.of(EVERYONE).stop, None)
    parts = [(counts.clusters[inside], counts.types[inside], counts.hits[inside])]

    then = Counting(changes.graph, now.settings)
    for counting, cluster_of, sign in (
        (then, changes.clusters, -1),
        (now, clusters, 1),
    ):
        entities = changes.recounted_of(relation, counting.graph)
        labels, _, types, hits = counting.hits(
            [relation], entities, cluster_of, longest=now.settings.max_length
        )
        is_inside = labels != EVERYONE
        parts.append((labels[is_inside], types[is_inside], sign * hits[is_inside]))

    labels, types, hits = columns_joined(parts)
    groups = grouped(labels, types)
    total = groups.sums(hits)
    has_hits = total > 0
    return groups.keys(labels)[has_hits], groups.keys(types)[has_hits], total[has_hits]


def _tries_before(
    counts: ClusterCounts, clusters: Ids, types: Counts
) -> tuple[Counts, Flags]:
    """What tries were for each pair of cluster and path type, and whether they were known.

    A merge join: both lists of pairs are sorted as one, stably, so a known pair comes right before
    the same pair asked for.
    """
    both_clusters = np.concatenate([counts.clusters, clusters])
    both_types = np.concatenate([counts.types, types])
    order = np.lexsort((both_types, both_clusters))
    same_cluster = np.diff(both_clusters[order]) == 0
    same_type = np.diff(both_types[order]) == 0
    is_match = same_cluster & same_type
    known_rows = order[:-1][is_match]
    asked_rows = order[1:][is_match] - len(counts.types)

    tries = np.zeros(len(types), dtype=np.int64)
    is_known = np.zeros(len(types), dtype=np.bool)
    tries[asked_rows] = counts.tries[known_rows]
    is_known[asked_rows] = True
    return tries, is_known
