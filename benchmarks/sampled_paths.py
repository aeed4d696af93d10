"""
What the paper's sampling does to its prior: an experiment, not a part of casegraph.

Equation 2 counts paths. The published code counts what it has sampled: from every entity a number
of loop-free random walks of full length, repeated ones dropped, and for each of them every
beginning that ends at an answer. So a path is counted in proportion to the chance that a random
walk takes it, times the ways it goes on: short path types through few edges weigh more, long ones
through hubs less, than by counting paths. `SampledStatistics` weighs path types by such samples
and is otherwise the same machine: precision stays exact, and so does everything after it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property

import numpy as np

from casegraph.answering import state as state_module
from casegraph.graph.arrays import Counts, Floats, Ids
from casegraph.graph.graph import Graph
from casegraph.settings import Settings
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.statistics.counts import ClusterCounts
from casegraph.statistics.path_types import packed
from casegraph.statistics.statistics import PathStatistics

TRIES_PER_STEP = 8  # how often a walk draws another edge when the first leads back
AT_ONCE = 2_000_000  # walks


class SampledStatistics(PathStatistics):
    """Path statistics whose prior is sampled, as the published code samples it."""

    walks = 1000
    seed = 0

    def __init__(self, graph: Graph, clusters: Callable[[], Ids], settings: Settings) -> None:
        super().__init__(graph, clusters, settings)
        self._weighed: dict[int, ClusterCounts] = {}

    @cached_property
    def _sampled(self) -> tuple[Counts, Counts, Counts]:
        random = np.random.default_rng(self.seed)
        return sampled_closed_paths(self.graph, self.settings.max_length, self.walks, random)

    def clustered(self, relation: int) -> ClusterCounts:
        """Sampled hits, and tries such that hits / tries is the exact precision."""
        if relation not in self._weighed:
            exact = super().clustered(relation)
            entities, types = self._of(relation)
            everyone = np.full(len(entities), EVERYONE)
            own_clusters = self._clusters()[entities]
            clusters = np.concatenate([everyone, own_clusters])
            rows, hits = _counted(clusters, np.tile(types, 2))
            precision = _looked_up(exact, rows)
            tries = np.full(len(hits), np.inf)
            np.divide(hits, precision, out=tries, where=precision > 0)
            self._weighed[relation] = _counts(rows, hits.astype(np.float64), tries)
        return self._weighed[relation]

    def closed_path_types(self, relation: int, entities: Ids) -> ClusterCounts:
        """The path types that were sampled for each of these entities."""
        whose, types = self._of(relation)
        chosen = np.isin(whose, entities)
        rows, hits = _counted(whose[chosen], types[chosen])
        return _counts(rows, hits, np.zeros_like(hits))

    def _of(self, relation: int) -> tuple[Counts, Counts]:
        entities, relations, types = self._sampled
        chosen = relations == relation
        return entities[chosen], types[chosen]


@contextmanager
def sampling(walks: int, seed: int = 0) -> Iterator[None]:
    """Within this, case bases use sampled statistics."""
    SampledStatistics.walks = walks
    SampledStatistics.seed = seed
    _use(SampledStatistics)
    try:
        yield
    finally:
        _use(PathStatistics)


def _use(statistics: type[PathStatistics]) -> None:
    # By name, since the module of states imports the class for itself
    # and does not offer it to others.
    setattr(state_module, "PathStatistics", statistics)  # noqa: B010


def sampled_closed_paths(
    graph: Graph, n: int, walks: int, random: np.random.Generator
) -> tuple[Counts, Counts, Counts]:
    """Entity, query relation and path type of every beginning
    of a sampled walk that ends at an answer.
    """
    of_relations = [graph.rows(relation) for relation in range(graph.directions)]
    rows = np.concatenate(of_relations).astype(np.int64)
    rows = rows[np.lexsort((rows[:, 2], rows[:, 0]))]
    pairs = (rows[:, 0] << 32) | rows[:, 2]

    everyone = np.arange(len(graph.entities))
    at_once = max(1, AT_ONCE // walks)
    found = []
    for first in range(0, len(everyone), at_once):
        starts = np.repeat(everyone[first : first + at_once], walks)
        edges = _walk(rows, starts, n, random)
        walked = np.concatenate([starts[:, None], edges], axis=1)
        found += list(_closed(rows, pairs, np.unique(walked, axis=0), n))
    return tuple(np.concatenate(column) for column in zip(*found, strict=True))  # type: ignore[return-value]


def _walk(rows: Counts, starts: Counts, n: int, random: np.random.Generator) -> Counts:
    """The edges (places in `rows`) that each walk takes; -1 after it has ended."""
    largest = rows[:, [0, 2]].max()
    offsets = np.searchsorted(rows[:, 0], np.arange(largest + 2))
    at = starts
    visited = [starts]
    edges = []
    for _ in range(n):
        edge = np.full(len(at), -1)
        for _ in range(TRIES_PER_STEP):
            open_ = np.flatnonzero((edge < 0) & (at >= 0))
            first_edge = offsets[at[open_]]
            degree = offsets[at[open_] + 1] - first_edge
            chance = random.random(len(open_))
            drawn = first_edge + (chance * degree).astype(np.int64)
            new = degree > 0
            for passed in visited:
                new[new] = passed[open_][new] != rows[drawn[new], 2]
            edge[open_[new]] = drawn[new]
        at = np.where(edge >= 0, rows[edge, 2], -1)
        visited.append(at)
        edges.append(edge)
    return np.stack(edges, axis=1)


def _closed(
    rows: Counts, pairs: Counts, walks: Counts, n: int
) -> Iterator[tuple[Counts, Counts, Counts]]:
    """For every beginning of the walks that ends at an answer:
    entity, query relation, path type.
    """
    number = np.zeros(len(walks), dtype=np.int64)
    shift = int(np.log2(packed((0, 0), n) - 1)) if n > 1 else 0
    for step in range(n):
        alive = walks[:, step + 1] >= 0
        walks = walks[alive]
        number = number[alive]
        edge = walks[:, step + 1]
        number = number | ((rows[edge, 1] + 1) << (shift * step))
        key = (walks[:, 0] << 32) | rows[edge, 2]
        first = np.searchsorted(pairs, key)
        last = np.searchsorted(pairs, key, side="right")
        size = last - first
        which = np.repeat(np.arange(len(walks)), size)
        size_before = size.cumsum() - size
        answers = np.repeat(first - size_before, size) + np.arange(size.sum())
        yield walks[which, 0], rows[answers, 1], number[which]


def _looked_up(exact: ClusterCounts, rows: Counts) -> Floats:
    """hits / tries of each (cluster, type)."""
    known = np.stack([exact.clusters.astype(np.int64), exact.types], axis=1)
    both, place = np.unique(np.concatenate([known, rows]), axis=0, return_inverse=True)
    precision = np.zeros(len(both))
    precision[place[: len(known)]] = exact.hits / np.maximum(exact.tries, 1)
    return precision[place[len(known) :]]


def _counted(owners: Ids | Counts, types: Counts) -> tuple[Counts, Counts]:
    """The distinct pairs of an owner (cluster or entity) and a path type, and how often each."""
    rows = np.stack([owners, types], axis=1)
    distinct, times = np.unique(rows, axis=0, return_counts=True)
    return distinct, times


def _counts(rows: Counts, hits: Counts | Floats, tries: Counts | Floats) -> ClusterCounts:
    return ClusterCounts(rows[:, 0].astype(np.int32), rows[:, 1], hits, tries)  # type: ignore[arg-type]
