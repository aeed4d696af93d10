"""
What is counted over a graph, and how a kernel is asked to count it.

    hits     loop-free paths of a type from an entity that has the relation to one of its answers
    tries    walks of the type from those entities, wherever they end
    reached  distinct ends of loop-free paths of the type from each of them; right: those ends that are answers

All are sums over entities: what parts of them count, added up, is what all of them count. Work is bounded, by rules
that look at the graph alone: paths of a length of which there are too many are left out, and all longer ones; and of a
relation whose paths reach too far, the entities from which a path type fans out most.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Ids
from casegraph.graph.graph import Graph
from casegraph.running import Show, quiet, run, threads
from casegraph.settings import Settings
from casegraph.statistics.path_types import lengths, renumbered, steps

Flags = np.ndarray[tuple[int], np.dtype[np.bool]]
KINDS = 1 << 22  # pairs of a relation and a path type of one length; more would fill the memory
ANY = np.iinfo(np.int64).max
Only = tuple[Counts, Ids]  # for each entity, by offsets, the places of the path types that count
ALL: Only = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
NO_LIMIT = np.empty(0, dtype=np.int64)
LOOK, EDGE, ENDS = (
    2,
    8,
    4,
)  # steps: looking for edges, following one; ends that one step counts (kernels/reach_cost.hpp)
VISIT = 4  # steps that a visit takes, even if there is nothing to follow
LOOKS = 4  # counting may take so many times as long as finding out what it takes
MOST = 1 << 38  # steps: nobody waits for more, and those of many path types can be added up


@dataclass(frozen=True, slots=True)
class PathCounts:
    """The path types of one relation, sorted, with what was counted for each over everyone; parallel arrays.

    reached and right are counted for the path types in use: those with enough hits, other than the relation itself.
    left_out is from how many entities that have the relation a step was too wide to be taken.
    """

    types: Counts
    hits: Counts
    reached: Counts
    right: Counts
    left_out: Counts

    @classmethod
    def of_hits(cls, types: Counts, hits: Counts) -> "PathCounts":
        """Path types of which only the hits are counted."""
        return cls(types, hits, np.zeros_like(hits), np.zeros_like(hits), np.zeros_like(hits))

    @property
    def exact(self) -> bool:
        """Whether nothing was left out, as far as these path types go."""
        return not self.left_out.any()

    def renumbered(self, relations: Ids, max_length: int) -> "PathCounts":
        """The same counts where relation i has the number `relations[i]`, in the same order."""
        return replace(self, types=renumbered(self.types, relations, max_length))


@dataclass(frozen=True, slots=True)
class Hits:
    """The hits of everyone, for all relations: parallel arrays sorted by (relation, type).

    work  steps that finding the paths of each length took; `ANY` where that was too much
    """

    relations: Ids
    types: Counts
    hits: Counts
    work: Counts

    @classmethod
    def sum(cls, parts: Sequence["Hits"]) -> "Hits":
        """What parts of the entities count, together."""
        relations, types, hits = (
            np.concatenate(column) for column in zip(*((p.relations, p.types, p.hits) for p in parts), strict=True)
        )
        order = np.lexsort((types, relations))
        relations, types, hits = relations[order], types[order], hits[order]
        starts = np.flatnonzero((np.diff(relations, prepend=-1) != 0) | (np.diff(types, prepend=-1) != 0))
        work = np.stack([part.work for part in parts])
        total = np.where((work == ANY).any(axis=0), ANY, np.where(work == ANY, 0, work).sum(axis=0))
        return cls(relations[starts], types[starts], np.add.reduceat(hits, starts) if len(starts) else hits, total)

    def within(self, most: int, max_length: int) -> tuple["Hits", int]:
        """Without lengths whose paths took too much or are too many kinds, and the length up to which all is there."""
        length = lengths(self.types, max_length)
        kinds = np.bincount(length, minlength=max_length + 1)[1:]
        too_much = np.flatnonzero((self.work > most) | (kinds > KINDS))
        longest = int(too_much[0]) if len(too_much) else max_length
        kept = length <= longest
        return Hits(self.relations[kept], self.types[kept], self.hits[kept], self.work), longest


@dataclass(frozen=True, slots=True)
class ClusterCounts:
    """Hits and tries of the path types of one relation in each cluster; parallel arrays sorted by (cluster, type)."""

    clusters: Ids
    types: Counts
    hits: Counts
    tries: Counts

    def of(self, cluster: int) -> slice:
        """The rows of a cluster."""
        first, last = np.searchsorted(self.clusters, [cluster, cluster + 1])
        return slice(int(first), int(last))


def having(graph: Graph, relations: list[int]) -> Ids:
    """The entities that have one of the relations, sorted."""
    has = np.zeros(len(graph.entities), dtype=np.bool)
    for relation in relations:
        has[graph.edges(relation).heads] = True
    return np.flatnonzero(has).astype(np.int32)


def in_use(settings: Settings, relation: Ids | int, types: Counts, hits: Counts) -> Flags:
    """Which path types of a relation are walked: those with enough hits, other than the relation itself."""
    return np.asarray((hits >= settings.support) & (types != np.asarray(relation) + 1))


class Counting:
    """Counts over one graph, as the settings want them."""

    def __init__(self, graph: Graph, settings: Settings, show: Show = quiet) -> None:
        self.graph, self.settings, self._show = graph, settings, show

    def cycles(self, entities: Ids) -> Hits:
        """What the cycles that have most edges at one of these entities contribute to the hits of everyone."""
        graph, n, limit = self.graph, self.settings.max_length, (self.settings.counting, KINDS)
        ranks = graph.entities.ranks()
        return Hits(*run(
            lambda counters: kernels.cycles(graph.kernel, entities, ranks, n, limit, threads(), counters),
            "counting paths to answers", len(entities), self._show,
        ))  # fmt: skip

    def hits(self, relations: list[int], entities: Ids, clusters: Ids, longest: int) -> tuple[Ids, Ids, Counts, Counts]:
        """The path types that lead these entities to answers: cluster, relation, type and hits, sorted in this order.

        clusters  the cluster of each entity of the graph; there may be more, of entities that came later
        longest   the length up to which paths are counted
        """
        wanted = np.zeros(self.graph.directions, dtype=np.bool)
        wanted[relations] = True
        graph, n = self.graph.kernel, self.settings.max_length
        of_graph = clusters[: graph.entities]
        return run(
            lambda counters: kernels.closed_paths(graph, entities, of_graph, wanted, n, longest, threads(), counters),
            "counting paths to answers", len(entities), self._show,
        )  # fmt: skip

    def tries(self, clusters: Ids, relations: Ids, types: Counts, of: Ids) -> Counts:
        """Walks of each type from the entities of its cluster that have its relation; `of` is everyone's cluster."""
        graph, n = self.graph.kernel, self.settings.max_length
        return run(
            lambda counters: kernels.walks(graph, clusters, relations, types, of, n, threads(), counters),
            "counting walks", len(types), self._show,
        )  # fmt: skip

    def reach(
        self, relations: Ids | int, types: Counts, entities: Ids, only: Only = ALL, widest: Counts | None = None
    ) -> tuple[Counts, Counts, Counts]:
        """Reached, right and left out of each type from those of `entities` that have its relation.

        All are 0 if no setting will ask for them.
        """
        if self.settings.weight != "right" or not len(entities) or not len(types):
            return np.zeros_like(types), np.zeros_like(types), np.zeros_like(types)
        labels = np.broadcast_to(np.int32(relations), types.shape).copy()
        graph, n, most = self.graph.kernel, self.settings.max_length, NO_LIMIT if widest is None else widest
        if (most == 0).any():
            return self._reach_of_some(most > 0, labels, types, entities, most)
        return run(
            lambda counters: kernels.reach(graph, entities, labels, types, only, most, n, threads(), counters),
            "counting what paths reach", len(entities), self._show,
        )  # fmt: skip

    def _reach_of_some(
        self, chosen: Flags, labels: Ids, types: Counts, entities: Ids, widest: Counts
    ) -> tuple[Counts, Counts, Counts]:
        """The same, all entities that have the relation being left out of the path types that are not chosen."""
        columns = np.zeros_like(types), np.zeros_like(types), np.zeros_like(types)
        some = self.reach(labels[chosen], types[chosen], entities, widest=widest[chosen])
        for column, part in zip(columns, some, strict=True):
            column[chosen] = part
        for relation in np.unique(labels[~chosen]).tolist():
            having_it = np.isin(entities, self.graph.edges(relation).heads).sum()
            columns[2][~chosen & (labels == relation)] = having_it
        return columns

    def widest(self, relation: int, types: Counts) -> Counts | None:
        """How wide a step of each path type may be, so that what they reach can be counted; none if there is no need.

        If all steps together would take too much, each gets the same share, or all it needs if that is less; and an
        entity gets the same part of that share as any other. If it would take too much even to look from every entity
        where a path type begins, the path types that are looked at from most entities get nothing.
        """
        most, heads = self.settings.counting, len(self.graph.edges(relation).heads)
        if not heads or not len(types) or self._is_surely_affordable(relation, types):
            return None
        of_step, visits, dearest, visits_of_type = self._cost(relation, types)
        if of_step.sum() <= most:
            return None
        share = _share_of(of_step, most)
        widest = np.where(dearest > share, max(1, share // (EDGE * heads)), ANY)
        if VISIT * visits.sum() > most:
            rising = np.sort(visits_of_type)
            enough = int(np.searchsorted(rising.cumsum(), most // VISIT, side="right"))
            widest[visits_of_type >= rising[min(enough, len(rising) - 1)]] = 0
        return widest

    def _is_surely_affordable(self, relation: int, types: Counts) -> bool:
        """Whether no path types could take too much, however they shared their steps; a quick look at what leaves whom.

        A walk is followed by no more steps than there are relations in use.
        """
        heads, n = self.graph.edges(relation).heads, self.settings.max_length
        shorter, all_walks = (self.graph.walks_from_each(k)[heads].sum(dtype=np.float64) for k in (n - 1, n))
        in_any = np.unique(np.concatenate([np.unique(step) for step in steps(types, n)]))
        lookups = (len(heads) + shorter) * len(in_any)
        return bool(LOOK * lookups + EDGE * shorter + all_walks / ENDS <= self.settings.counting)

    def _cost(self, relation: int, types: Counts) -> tuple[Counts, Counts, Counts, Counts]:
        """What counting takes: for each step, and its visits; for each path type, its dearest step, and all visits."""
        graph, n, most = self.graph.kernel, self.settings.max_length, self.settings.counting
        found = kernels.reach_cost(graph, relation, types, n, most // LOOKS, threads())
        if len(found[0]):
            return found
        heads = len(self.graph.edges(relation).heads)  # even that is too much: as if every step followed every edge
        cost = np.minimum(EDGE * heads * self._edges_of(types), MOST)
        return cost, np.full_like(types, heads), cost, heads * lengths(types, n)

    def _edges_of(self, types: Counts) -> Counts:
        """How many edges the relations of each path type have together."""
        sizes = np.array([len(self.graph.edges(relation).tails) for relation in range(self.graph.directions)] + [0])
        edges = np.zeros_like(types)
        for relation in steps(types, self.settings.max_length):
            edges += sizes[relation]
        return edges

    def reach_back(
        self, relation: int, types: Counts, ends: Ids, only: Only, but: tuple[Ids, Ids]
    ) -> tuple[Counts, Counts]:
        """The same as far as these ends are reached, each by some path types only.

        but  entities, sorted, with places of path types: whose paths do not count
        """
        if self.settings.weight != "right" or not len(ends) or not len(types):
            return np.zeros_like(types), np.zeros_like(types)
        graph, n = self.graph.kernel, self.settings.max_length
        return run(
            lambda counters: kernels.reach_back(graph, ends, relation, types, only, but, n, threads(), counters),
            "counting what paths reach", len(ends), self._show,
        )  # fmt: skip


def _share_of(needed: Counts, most: int) -> int:
    """The largest share such that `most` is enough if nobody gets more than it, nor than is needed."""
    rising = np.sort(needed)
    others = len(rising) - np.arange(len(rising))
    before = np.concatenate([[0], rising.cumsum()[:-1]])
    first = int(np.argmax(before + others * rising > most))
    return int((most - before[first]) // others[first])
