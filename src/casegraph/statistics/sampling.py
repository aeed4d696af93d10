"""
Sampled paths, from which the authors' published code estimates the prior.

Equation 2 counts all paths. The published code of the paper's authors samples them: a number of
loop-free random walks of full length from every entity, without duplicates; every prefix of a walk
that ends at an answer counts. So a path counts in proportion to the probability that a random walk
takes it, times the number of its continuations: compared with counting all paths, short path types
through few edges weigh more, and long ones through hubs less. Precision and everything else stay
exact.

The walks depend on the facts by name and on the seed, not on ids, so not on the order of facts.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from casegraph.graph.arrays import Counts, Ids, ids, joined, rows_with
from casegraph.graph.change import NO_ROWS
from casegraph.graph.graph import Graph
from casegraph.running import Show, quiet
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.statistics.counts import ClusterCounts
from casegraph.statistics.path_types import with_step
from casegraph.statistics.sums import columns_joined, grouped

TRIES_PER_STEP = 8  # how often a walk redraws an edge that would close a loop
WALKS_AT_ONCE = 1_000_000
ENDED = -1  # instead of an edge: the walk could not continue


class SampledPaths(NamedTuple):
    """Paths to answers that were sampled; parallel arrays sorted by (relation, entity, type).

    times  how often each was sampled
    """

    relations: Ids
    entities: Ids
    types: Counts
    times: Counts

    def of_relation(self, relation: int) -> "SampledPaths":
        """The paths to answers of one relation."""
        rows = rows_with(relation, self.relations)
        return SampledPaths(
            self.relations[rows],
            self.entities[rows],
            self.types[rows],
            self.times[rows],
        )

    def as_counts(self, entities: Ids) -> ClusterCounts:
        """Those of some entities, each of which is a cluster of its own; of one relation."""
        is_wanted = np.isin(self.entities, entities)
        times = self.times[is_wanted]
        no_tries = np.zeros_like(times)
        return ClusterCounts(
            self.entities[is_wanted], self.types[is_wanted], times, no_tries
        )


NO_PATHS = SampledPaths(ids(), ids(), joined([]), joined([]))


def sampled_paths(
    graph: Graph,
    max_length: int,
    walks: int,
    random: np.random.Generator,
    show: Show = quiet,
) -> SampledPaths:
    """The paths to answers found by a number of random walks from each entity."""
    edges = _Edges.of(graph)
    entities = len(edges.entities)
    entities_at_once = max(1, WALKS_AT_ONCE // walks)
    parts = [NO_PATHS]
    for first in range(0, entities, entities_at_once):
        show("sampling walks", first, entities)
        last = min(first + entities_at_once, entities)
        starts = np.repeat(np.arange(first, last), walks)
        walked = _distinct_walks(edges, starts, max_length, random)
        closed = list(_closed(edges, walked, max_length))
        parts.append(_counted(edges, closed))
    show("sampling walks", entities, entities)
    relations, heads, types, times = columns_joined(parts)
    order = np.lexsort((types, heads, relations))
    return SampledPaths(relations[order], heads[order], types[order], times[order])


def with_samples(
    counts: ClusterCounts, sampled: SampledPaths, cluster_of: Ids
) -> ClusterCounts:
    """Counts in clusters, with how often each path type was sampled there.

    sampled     the paths of the same relation
    cluster_of  (entities,)  the cluster of each entity

    A path that was sampled is a hit, so its path type has a row already, unless it is longer than
    the paths that are counted; then it is dropped.
    """
    clusters = cluster_of[sampled.entities]
    is_inside = clusters != EVERYONE
    everyone = np.full(len(clusters), EVERYONE, dtype=np.int32)
    rows = len(counts.types)
    nothing = np.zeros(rows, dtype=np.int64)

    all_clusters = np.concatenate([counts.clusters, everyone, clusters[is_inside]])
    all_types = np.concatenate([counts.types, sampled.types, sampled.types[is_inside]])
    times = np.concatenate([nothing, sampled.times, sampled.times[is_inside]])
    is_row = np.zeros(len(times), dtype=np.int64)
    is_row[:rows] = 1

    groups = grouped(all_clusters, all_types)
    has_row = groups.sums(is_row) > 0
    return ClusterCounts(
        counts.clusters,
        counts.types,
        counts.hits,
        counts.tries,
        groups.sums(times)[has_row],
    )


class _Edges(NamedTuple):
    """All edges, both directions, in the order of names.

    Entities are numbered by their place among those that have facts, in the order of names.

    entities   (entities,)      the id of each
    offsets    (entities + 1,)  the edges of an entity are between two offsets
    relations  (edges,)         a direction, by its id
    tails      (edges,)         a place
    pairs      (edges,)         head and tail as one number, rising
    """

    entities: Ids
    offsets: Counts
    relations: Ids
    tails: Counts
    pairs: Counts

    @classmethod
    def of(cls, graph: Graph) -> "_Edges":
        of_directions = [graph.rows(relation) for relation in range(graph.directions)]
        rows = np.concatenate([NO_ROWS, *of_directions])
        heads, relations, tails = rows.T
        entities = np.unique(heads)
        entities = entities[np.argsort(graph.entities.ranks()[entities])]
        place_of = np.zeros(len(graph.entities), dtype=np.int64)
        place_of[entities] = np.arange(len(entities))

        pairs = place_of[heads] * len(entities) + place_of[tails]
        order = np.lexsort((graph.direction_ranks()[relations], pairs))
        degrees = np.bincount(place_of[heads], minlength=len(entities))
        return cls(
            entities=entities,
            offsets=np.concatenate([[0], degrees.cumsum()]),
            relations=relations[order],
            tails=place_of[tails[order]],
            pairs=pairs[order],
        )


def _distinct_walks(
    edges: _Edges, starts: Counts, max_length: int, random: np.random.Generator
) -> Counts:
    """The edges that loop-free random walks take, a row each, without repeated rows.

    A walk that ended early is padded with `ENDED`; walks without any edge are left out.
    """
    visited = [starts]
    steps: list[Counts] = []
    for _ in range(max_length):
        step = _next_step(edges, visited, random)
        at = np.where(step == ENDED, ENDED, edges.tails[step])
        visited.append(at)
        steps.append(step)

    has_begun = steps[0] != ENDED
    columns = [step[has_begun] for step in steps]
    groups = grouped(*columns)
    return np.stack([groups.keys(column) for column in columns], axis=1)


def _next_step(
    edges: _Edges, visited: list[Counts], random: np.random.Generator
) -> Counts:
    """The edge that each walk takes next; `ENDED` if each edge drawn for it would close a loop.

    visited  (walks,) each  where the walks started, and where they were after each step
    """
    at = visited[-1]
    step = np.full(len(at), ENDED)
    for _ in range(TRIES_PER_STEP):
        waiting = np.flatnonzero((step == ENDED) & (at != ENDED))
        here = at[waiting]
        first = edges.offsets[here]
        degrees = edges.offsets[here + 1] - first
        choice = (random.random(len(waiting)) * degrees).astype(np.int64)
        drawn = first + choice
        tails = edges.tails[drawn]
        is_new = np.ones(len(waiting), dtype=np.bool)
        for passed in visited:
            is_new &= passed[waiting] != tails
        step[waiting[is_new]] = drawn[is_new]
    return step


def _closed(
    edges: _Edges, walks: Counts, max_length: int
) -> Iterator[tuple[Counts, Counts, Counts]]:
    """Entity, query relation and path type of each prefix of a walk that ends at an answer."""
    starts = np.searchsorted(edges.offsets, walks[:, 0], side="right") - 1
    types = np.zeros(len(walks), dtype=np.int64)
    for step in range(max_length):
        goes_on = walks[:, step] != ENDED
        walks = walks[goes_on]
        starts = starts[goes_on]
        edge = walks[:, step]
        types = with_step(types[goes_on], step, edges.relations[edge], max_length)

        # The edges from the start of a walk to where it is now are consecutive.
        pair = starts * len(edges.entities) + edges.tails[edge]
        first = np.searchsorted(edges.pairs, pair)
        answers = np.searchsorted(edges.pairs, pair, side="right") - first
        walk_of_answer = np.repeat(np.arange(len(walks)), answers)
        answers_before = answers.cumsum() - answers
        shift = np.repeat(first - answers_before, answers)
        edge_of_answer = np.arange(len(walk_of_answer)) + shift
        yield (
            starts[walk_of_answer],
            edges.relations[edge_of_answer],
            types[walk_of_answer],
        )


def _counted(
    edges: _Edges, closed: list[tuple[Counts, Counts, Counts]]
) -> SampledPaths:
    """Each path to an answer once, with how often it was sampled."""
    starts = joined(part[0] for part in closed)
    relations = joined(part[1] for part in closed).astype(np.int32)
    types = joined(part[2] for part in closed)
    entities = edges.entities[starts]
    groups = grouped(relations, entities, types)
    return SampledPaths(
        relations=groups.keys(relations),
        entities=groups.keys(entities),
        types=groups.keys(types),
        times=groups.sums(np.ones(len(types), dtype=np.int64)),
    )
