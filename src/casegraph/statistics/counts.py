"""
The counts for equations 2 and 3, and the calls of the kernels that compute them.

    hits     loop-free paths of a type from an entity that has the relation to one of its answers
    tries    walks of the type from those entities, wherever they end
    reached  distinct ends of loop-free paths of the type from each of those entities
    right    how many of these ends are answers

Reached and right are also counted separately for ends whose *slot* is open: no other entity has the
end as its answer. A synset usually has one hypernym. So for the question "what is this the hypernym
of?", an end that already has a hypernym (its slot is taken) is very unlikely to be right.

Each count is a sum over entities, so the counts of disjoint sets of entities can be added.

The work is bounded by rules that look only at the graph, never at a clock, so the same facts are
always counted in the same way. If finding the paths of one length takes too many steps, these
paths and all longer ones are not counted. If counting what the paths of a relation reach takes
too many steps, the entities from which a path type fans out most are skipped for this path type.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Flags, Ids, ids, rows_with
from casegraph.graph.directions import directions_of, inverse
from casegraph.graph.graph import Graph
from casegraph.running import Show, quiet, run, threads
from casegraph.settings import Settings
from casegraph.statistics.path_types import lengths, single_step, steps
from casegraph.statistics.sums import columns_joined, grouped

T = TypeVar("T")

# Pairs of a relation and a path type of one length; more would fill the memory.
MOST_TYPES = 1 << 22
MOST_HALVES = 1 << 25  # paths from one entity that are held in memory
# Stands for a number that exceeds its limit, or 64 bits.
TOO_MANY = np.iinfo(np.int64).max
UNLIMITED = np.iinfo(np.int64).max

# The cost of counting what paths reach, in steps of about five nanoseconds
# (kernels/counting/reach_cost.hpp):
STEPS_TO_LOOK = 2  # whether a relation leaves an entity
STEPS_TO_FOLLOW = 8  # an edge to where the paths go on
ENDS_PER_STEP = 4  # edges that end a path and are only counted
STEPS_TO_VISIT = 4  # an entity, even if there is nothing to follow
MANY_ENTITIES = 32  # from fewer entities, following paths one by one is always cheap
COST_OF_PREVIEW = 4  # estimating the cost may itself use 1/4 of the budget
# A sum of floating-point numbers, so that it is no less than its parts.
ROUNDED_UP = 1 + 1e-9
MOST_STEPS = 1 << 38  # cap of an estimate, so that sums over path types fit in 64 bits

NO_LIMITS: Counts = np.empty(0, dtype=np.int64)

# How the counts of a path type are found (kernels/counting/reach_inverses.hpp):
BY_ITSELF = 0  # it is walked
BOTH_WAYS = 1  # it is walked, and its inverse is counted along
BY_INVERSE = 2  # its inverse is walked
ALL_BY_THEMSELVES: Counts = np.empty(0, dtype=np.int64)


class Reach(NamedTuple):
    """Where the paths of some path types end; parallel arrays, with the fields of `PathCounts`."""

    reached: Counts
    right: Counts
    reached_open: Counts
    right_open: Counts
    left_out: Counts

    @classmethod
    def nowhere(cls, types: Counts) -> "Reach":
        """Nothing is reached."""
        return cls(*(np.zeros_like(types) for _ in cls._fields))

    def of(self, rows: slice) -> "Reach":
        """The rows of some of the path types."""
        return Reach(*(column[rows] for column in self))


@dataclass(frozen=True, slots=True)
class PathCounts:
    """The path types of one relation, sorted, with their counts over all entities.

    types         (types,)  path types that led to an answer, as integers
    hits          (types,)  how often
    reached       (types,)  distinct ends; counted only for path types in use, see `in_use`
    right         (types,)  how many of the ends are answers
    reached_open  (types,)  how many of the ends have an open slot
    right_open    (types,)  how many of the right ends have an open slot
    left_out      (types,)  entities that were skipped because a step from them was too wide
    """

    types: Counts
    hits: Counts
    reached: Counts
    right: Counts
    reached_open: Counts
    right_open: Counts
    left_out: Counts

    @classmethod
    def of_hits(cls, types: Counts, hits: Counts) -> "PathCounts":
        """Path types of which only the hits are counted."""
        return cls(types, hits, *(np.zeros_like(hits) for _ in Reach._fields))

    def put_reach(self, places: Counts | slice, reach: "Reach") -> None:
        """Write what path types reach into the rows of these path types."""
        for name, counts in reach._asdict().items():
            getattr(self, name)[places] = counts

    def add_reach(self, places: Counts, reach: "Reach", sign: int) -> None:
        """Add it to what is in these rows; with sign -1, subtract it."""
        for name, counts in reach._asdict().items():
            getattr(self, name)[places] += sign * counts

    def reach_of(self, places: Counts | slice) -> "Reach":
        """What the path types in these rows reach."""
        return Reach(*(getattr(self, name)[places] for name in Reach._fields))

    @property
    def exact(self) -> bool:
        """Whether no entity was skipped for any of these path types."""
        return not self.left_out.any()


@dataclass(frozen=True, slots=True)
class Hits:
    """The hits of all entities for all relations; parallel arrays sorted by (relation, type).

    work  (max_length,)  steps it took to find the paths up to each length; `TOO_MANY` if too many
    """

    relations: Ids
    types: Counts
    hits: Counts
    work: Counts

    @classmethod
    def sum(cls, parts: Sequence["Hits"]) -> "Hits":
        """The sum of the hits of disjoint sets of entities."""
        relations, types, hits = columns_joined(
            (part.relations, part.types, part.hits) for part in parts
        )
        groups = grouped(relations, types)

        work = np.stack([part.work for part in parts])  # (parts, max_length)
        is_too_many = work == TOO_MANY
        known_work = np.where(is_too_many, 0, work).sum(axis=0)
        return cls(
            relations=groups.keys(relations),
            types=groups.keys(types),
            hits=groups.sums(hits),
            work=np.where(is_too_many.any(axis=0), TOO_MANY, known_work),
        )

    def within(self, most: int, max_length: int) -> tuple["Hits", int]:
        """The hits up to the longest length that is complete, and this length.

        A length is incomplete if finding its paths took more than `most` steps, or if there are
        too many kinds of them; all longer paths are then dropped, too.
        """
        length = lengths(self.types, max_length)
        kinds = np.bincount(length, minlength=max_length + 1)[1:]
        incomplete = np.flatnonzero((self.work > most) | (kinds > MOST_TYPES))
        longest = int(incomplete[0]) if len(incomplete) else max_length
        is_kept = length <= longest
        kept = Hits(
            self.relations[is_kept], self.types[is_kept], self.hits[is_kept], self.work
        )
        return kept, longest


@dataclass(frozen=True, slots=True)
class ClusterCounts:
    """Hits and tries of one relation in each cluster; parallel arrays sorted by (cluster, type).

    sampled  how often each path type was sampled, if the settings sample the prior
    """

    clusters: Ids
    types: Counts
    hits: Counts
    tries: Counts
    sampled: Counts | None = None

    def of(self, cluster: int) -> slice:
        """The rows of a cluster."""
        return rows_with(cluster, self.clusters)

    @property
    def for_prior(self) -> Counts:
        """The counts behind the prior: hits, or sampled paths."""
        return self.hits if self.sampled is None else self.sampled


def having(graph: Graph, relations: list[int]) -> Ids:
    """The entities that have at least one of the relations, sorted."""
    has = np.zeros(len(graph.entities), dtype=np.bool)
    for relation in relations:
        has[graph.edges(relation).heads] = True
    return np.flatnonzero(has).astype(np.int32)


def in_use(settings: Settings, relation: int, types: Counts, hits: Counts) -> Flags:
    """Which path types are walked: those with enough hits, except the relation itself."""
    has_support = hits >= settings.support
    is_other = types != single_step(relation)
    return np.asarray(has_support & is_other)


class _ReachCost(NamedTuple):
    """What counting what path types reach will take, in steps.

    Path types with a common beginning take its steps together.

    of_step         (steps,)  the cost of each such step
    visits_of_step  (steps,)  how many entities it visits
    dearest_step    (types,)  the cost of the dearest step of each path type
    visits          (types,)  how many entities all steps of a path type visit
    """

    of_step: Counts
    visits_of_step: Counts
    dearest_step: Counts
    visits: Counts


class Counting:
    """Counts over one graph, with one method per count; each calls one kernel."""

    def __init__(self, graph: Graph, settings: Settings, show: Show = quiet) -> None:
        self.graph = graph
        self.settings = settings
        self._show = show

    def cycles(self, entities: Ids, most_work: int | None = None) -> Hits:
        """The hits of everyone, as far as they come from the cycles that belong to these entities.

        most_work  steps after which counting ends; by default as in the settings

        A path from an entity to its answer and the edge between the two are a cycle. A cycle gives
        hits to every entity on it, so it is found only once: it belongs to the entity on it that
        has most edges.
        """
        graph = self.graph
        ranks = graph.entities.ranks()
        limit = (self.settings.counting if most_work is None else most_work, MOST_TYPES)
        columns = self._run(
            "counting paths to answers",
            len(entities),
            lambda progress: kernels.cycles(
                graph.kernel,
                entities,
                ranks,
                self.settings.max_length,
                limit,
                threads(),
                progress,
            ),
        )
        return Hits(*columns)

    def hits(
        self, relations: list[int], entities: Ids, clusters: Ids, longest: int
    ) -> tuple[Ids, Ids, Counts, Counts]:
        """The hits of these entities, as sorted rows of cluster, relation, type and hits.

        entities  (k,)         the entities whose paths are counted
        clusters  (entities,)  the cluster of each entity; there may be more, of later entities
        longest                the length up to which paths are counted
        """
        graph = self.graph.kernel
        clusters_of_graph = clusters[: graph.entities]
        is_wanted = np.zeros(self.graph.directions, dtype=np.bool)
        is_wanted[relations] = True
        max_length = self.settings.max_length
        return self._run(
            "counting paths to answers",
            len(entities),
            lambda progress: kernels.closed_paths(
                graph,
                entities,
                clusters_of_graph,
                is_wanted,
                max_length,
                longest,
                threads(),
                progress,
            ),
        )

    def tries(
        self, clusters: Ids, relations: Ids, types: Counts, cluster_of: Ids
    ) -> Counts:
        """The walks of each type from the entities of its cluster that have its relation.

        clusters, relations, types  (rows,)      parallel arrays
        cluster_of                  (entities,)  the cluster of each entity
        """
        graph = self.graph.kernel
        max_length = self.settings.max_length
        return self._run(
            "counting walks",
            len(types),
            lambda progress: kernels.walks(
                graph,
                clusters,
                relations,
                types,
                cluster_of,
                max_length,
                threads(),
                progress,
            ),
        )

    def ways_to_walk(
        self, relations: Ids, types: Counts, max_widths: Counts | None = None
    ) -> Counts:
        """For each path type, whether it is walked, or its inverse, or each by itself.

        relations, types, max_widths  as for `reach`

        This depends on the facts and on what is given, not on ids: wherever shards are counted,
        they walk the same ways.
        """
        if self.settings.weight != "right":
            return np.full_like(types, BY_ITSELF)
        limits = NO_LIMITS if max_widths is None else max_widths
        graph = self.graph
        return kernels.ways_to_walk(
            graph.kernel,
            relations,
            types,
            limits,
            rank=graph.entities.ranks(),
            relation_rank=ids(directions_of(graph.relations.ranks().tolist())),
            max_length=self.settings.max_length,
            threads=threads(),
        )

    def reach(
        self,
        relations: Ids | int,
        types: Counts,
        entities: Ids,
        max_widths: Counts | None = None,
        ways: Counts | None = None,
    ) -> Reach:
        """What each path type reaches, over the entities that have its relation.

        relations   (types,)  the relation of each path type; or one relation for all
        entities    (k,)      the entities from which paths are followed
        max_widths  (types,)  how wide a step of each path type may be; 0: it is not followed
        ways        (types,)  from `ways_to_walk`; by default, each is walked by itself. Else the
                              counts are right only when those from all starts are added up

        All counts are 0 if the settings do not weigh path types by them.
        """
        if self.settings.weight != "right" or not len(entities) or not len(types):
            return Reach.nowhere(types)
        # One for each type.
        labels = np.broadcast_to(np.int32(relations), types.shape).copy()
        limits = NO_LIMITS if max_widths is None else max_widths
        ways = ALL_BY_THEMSELVES if ways is None else ways
        if (limits == 0).any():
            return self._reach_of_followed(labels, types, entities, limits, ways)
        graph = self.graph.kernel
        max_length = self.settings.max_length
        columns = self._run(
            "counting what paths reach",
            len(entities),
            lambda progress: kernels.reach(
                graph,
                entities,
                labels,
                types,
                ways,
                limits,
                max_length,
                threads(),
                progress,
            ),
        )
        return Reach(*columns)

    def _reach_of_followed(
        self, labels: Ids, types: Counts, entities: Ids, limits: Counts, ways: Counts
    ) -> Reach:
        """The same as `reach`; path types that are not followed leave out all with the relation."""
        is_followed = limits > 0
        reach = Reach.nowhere(types)
        followed = self.reach(
            labels[is_followed],
            types[is_followed],
            entities,
            max_widths=limits[is_followed],
            ways=ways[is_followed] if len(ways) else None,
        )
        for total, counts in zip(reach, followed, strict=True):
            total[is_followed] = counts
        for relation in np.unique(labels[~is_followed]).tolist():
            heads = self.graph.edges(relation).heads
            has_relation = np.isin(entities, heads)
            reach.left_out[~is_followed & (labels == relation)] = has_relation.sum()
        return reach

    def reach_around(
        self,
        relation: int,
        types: Counts,
        starts: tuple[Ids, Ids],
        ends: tuple[Ids, Ids],
    ) -> Reach:
        """What each path type reaches, only for paths from `starts`, and for others to `ends`.

        starts, ends  pairs of an entity, sorted, and the place of a path type
        """
        if self.settings.weight != "right":
            return Reach.nowhere(types)
        graph = self.graph.kernel
        max_length = self.settings.max_length
        columns = self._run(
            "counting what paths reach",
            len(starts[0]) + len(ends[0]),
            lambda progress: kernels.reach_around(
                graph, relation, types, starts, ends, max_length, threads(), progress
            ),
        )
        return Reach(*columns)

    def max_widths(self, relation: int, types: Counts) -> Counts | None:
        """How wide a step of each path type may be to keep `reach` within its budget.

        None if there is no need for a limit.

        Each step gets the same share of the budget, or all it needs if that is less (max-min
        fairness), and each entity the same part of a share. If even visiting the entities where
        path types begin takes too much, the path types with most visits are not followed: 0.
        """
        budget = self.settings.counting
        heads = len(self.graph.edges(relation).heads)
        if not heads or not len(types):
            return None
        if self._is_surely_affordable(relation, types):
            return None
        cost = self._cost(relation, types)
        if cost.of_step.sum() <= budget:
            return None

        share = fair_share(cost.of_step, budget)
        edges_per_entity = max(1, share // (STEPS_TO_FOLLOW * heads))
        widths = np.where(cost.dearest_step > share, edges_per_entity, UNLIMITED)

        if STEPS_TO_VISIT * cost.visits_of_step.sum() > budget:
            rising = np.sort(cost.visits)
            max_visits = budget // STEPS_TO_VISIT
            affordable = int(np.searchsorted(rising.cumsum(), max_visits, side="right"))
            first_too_many = rising[min(affordable, len(rising) - 1)]
            widths[cost.visits >= first_too_many] = 0
        return widths

    def _is_surely_affordable(self, relation: int, types: Counts) -> bool:
        """Whether `reach` is within its budget, by bounds that take less than finding its cost.

        Even if path types share no steps, no more is done than to look at every walk for each
        relation in use, and to follow it unless it has full length. The number of walks is bounded
        from above, by one bound after the other, each closer than the one before and slower to
        compute.
        """
        graph = self.graph
        heads = graph.edges(relation).heads
        max_length = self.settings.max_length

        def is_affordable(
            shorter_walks: float, relations: int, all_walks: float
        ) -> bool:
            looks = (len(heads) + shorter_walks) * relations
            to_look = STEPS_TO_LOOK * looks
            to_follow = STEPS_TO_FOLLOW * shorter_walks
            to_count_ends = all_walks / ENDS_PER_STEP
            return to_look + to_follow + to_count_ends <= self.settings.counting

        # All relations, and walks from all entities, bounded by degrees.
        shorter = graph.max_walks_from_all(max_length - 1)
        all_walks = graph.max_walks_from_all(max_length)
        if is_affordable(shorter, graph.directions, all_walks):
            return True

        # Not one after the other.
        if self._is_affordable_together(relation, types):
            return True

        # Only the relations in use, and only the shorter walks from the heads.
        relations = _count_of_relations(types, max_length)
        shorter = _total(graph.walks_from_each(max_length - 1)[heads])
        if not is_affordable(shorter, relations, all_walks=0):
            return False

        # Walks of full length: from all entities, which is quick.
        all_walks = ROUNDED_UP * graph.walks_from_all(max_length)
        if is_affordable(shorter, relations, all_walks):
            return True
        return self._is_affordable_by_steps(relation, types)

    def _is_affordable_by_steps(self, relation: int, types: Counts) -> bool:
        """Whether `reach` is within half of its budget, by the walks of each path type.

        Only of path types of up to two steps, whose walks from all entities take a sum over the
        entities in the middle. What is within half of the budget never exceeds that of a preview
        (`_cost`), which would find the same.
        """
        first, *later = steps(types, self.settings.max_length)
        is_too_long = any((step >= 0).any() for step in later[1:])
        if is_too_long:
            return False
        second = later[0] if later else np.full_like(first, -1)

        heads = len(self.graph.edges(relation).heads)
        arriving = np.zeros(len(self.graph.entities), dtype=np.int64)
        cost = 0
        for relation_out in np.unique(first).tolist():
            edges = len(self.graph.edges(relation_out).tails)
            cost += STEPS_TO_LOOK * (heads + 1) + STEPS_TO_FOLLOW * edges
            middle = self.graph.edges(inverse(relation_out))
            arriving[middle.heads] = np.diff(middle.offsets)
            for relation_on in second[(first == relation_out) & (second >= 0)].tolist():
                onward = self.graph.edges(relation_on)
                walks = int(arriving[onward.heads] @ np.diff(onward.offsets))
                cost += STEPS_TO_LOOK * (edges + 1) + walks // ENDS_PER_STEP
            arriving[middle.heads] = 0
        return 2 * cost <= self.settings.counting

    def _is_affordable_together(self, relation: int, types: Counts) -> bool:
        """Whether `reach` is within its budget if it counts from many entities at once.

        That bounds the work where relations are dense: no step takes more than a look at all edges
        of its relation for every 256 entities.
        """
        max_length = self.settings.max_length
        cost = kernels.cost_together(self.graph.kernel, relation, types, max_length)
        return cost <= self.settings.counting

    def is_dearer(self, types: Counts, entities: Ids, some: Counts) -> Flags:
        """Whether counting path types from some of the entities takes more than from all.

        entities  (k,)      all entities that have a relation
        some      (types,)  from how many of them each path type would be counted

        From some entities, paths are followed from one after the other. From all of them, many are
        counted at once.
        """
        is_dearer = np.zeros(len(types), dtype=np.bool)
        many = np.flatnonzero(some >= MANY_ENTITIES)
        if not len(many):
            return is_dearer
        max_length = self.settings.max_length
        alone, together = kernels.reach_estimates(
            self.graph.kernel, entities, types[many], max_length, threads()
        )
        is_dearer[many] = some[many] * alone > together * len(entities)
        return is_dearer

    def _cost(self, relation: int, types: Counts) -> _ReachCost:
        """What `reach` will take, in steps."""
        max_length = self.settings.max_length
        budget_of_preview = self.settings.counting // COST_OF_PREVIEW
        found = kernels.reach_cost(
            self.graph.kernel, relation, types, max_length, budget_of_preview, threads()
        )
        preview = _ReachCost(*found)
        ran_out_of_budget = not len(preview.of_step)
        if not ran_out_of_budget:
            return preview

        # Assume the worst: every step follows every edge from every entity.
        heads = len(self.graph.edges(relation).heads)
        most_steps = STEPS_TO_FOLLOW * heads * self._edges_of(types)
        cost = np.minimum(most_steps, MOST_STEPS)
        return _ReachCost(
            of_step=cost,
            visits_of_step=np.full_like(types, heads),
            dearest_step=cost,
            visits=heads * lengths(types, max_length),
        )

    def _edges_of(self, types: Counts) -> Counts:
        """How many edges the relations of each path type have together."""
        sizes = [
            len(self.graph.edges(relation).tails)
            for relation in range(self.graph.directions)
        ]
        no_step = 0  # the last entry, which is what index -1 finds
        size_of = np.array([*sizes, no_step])
        edges = np.zeros_like(types)
        for relation in steps(types, self.settings.max_length):
            edges += size_of[relation]
        return edges

    def _run(self, doing: str, total: int, kernel: Callable[[Counts], T]) -> T:
        return run(kernel, doing, total, self._show)


def fair_share(needed: Counts, budget: int) -> int:
    """The largest share for which the budget suffices.

    Everyone gets the share, or all they need if that is less.

    Max-min fairness, where all needs together exceed the budget: go through the needs from the
    smallest to the largest, and stop at the first that cannot be met for all that are left.

    needed  (k,)  what each needs
    """
    rising = np.sort(needed)
    left = len(rising) - np.arange(len(rising))
    spent_before = np.concatenate([[0], rising.cumsum()[:-1]])
    exceeds = spent_before + left * rising > budget
    first = int(np.argmax(exceeds))
    return int((budget - spent_before[first]) // left[first])


def _count_of_relations(types: Counts, max_length: int) -> int:
    """How many relations path types follow; "no such step" counts as one, if there is any."""
    of_each_step = [np.unique(step) for step in steps(types, max_length)]
    return len(np.unique(np.concatenate(of_each_step)))


def _total(walks: Counts) -> float:
    """The sum as a floating-point number, since it may exceed 64 bits."""
    return float(walks.sum(dtype=np.float64))
