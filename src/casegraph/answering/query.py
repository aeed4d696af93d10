"""
Answering (§2.2.1, equation 1): gather path types, weigh them, walk them from the query entity, combine what they say.

Whatever the settings, a query walks a list of path types in the order of their weight. By default the list is every
path type known for the relation, the same for all queries; in the paper's setting it is gathered from the query's
contextual entities and weighed by the counts of the query's cluster. The kernel walks, adds the precedents and
combines.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.answering.state import State
from casegraph.graph.arrays import Counts, Floats, Ids, ids
from casegraph.running import threads
from casegraph.settings import Settings
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.similarity.profiles import NONE
from casegraph.similarity.retrieval import nearest
from casegraph.statistics.counts import ClusterCounts
from casegraph.statistics.path_types import name_order
from casegraph.statistics.statistics import share

ALMOST_SURE = 1 - 1e-9  # no path type is worth more: nothing is so certain that nothing else can add to it


@dataclass(frozen=True, slots=True)
class WalkLists:
    """The path types that queries of one relation walk.

    List i is `walked[offsets[i] : offsets[i + 1]]`, places in `types`; `of_query` says which list each query walks.
    """

    types: Counts
    offsets: Counts
    walked: Ids
    weights: Floats
    of_query: Ids

    @property
    def arrays(self) -> tuple[Counts, Counts, Ids, Floats]:
        """As the kernels take them."""
        return self.types, self.offsets, self.walked, self.weights


class Asking(NamedTuple):
    """What queries of one relation walk, and what the kernels have made of it."""

    lists: WalkLists
    kernel: kernels.Asking


def asking(state: State, relation: int, entities: Ids) -> Asking:
    """What to walk for the queries (entity, relation), best first; equal weights in the order of `name_order`.

    If all entities walk the same it is made once: it takes less room than the graph and the counts it is made from.
    """
    if state.settings.neighbours is not None:
        return _asking(state, relation, _known_to_neighbours(state, relation, entities))
    lists, kernel = state.derived(
        ("asking", relation), lambda: _asking(state, relation, _known_for_everyone(state, relation))
    )
    return Asking(replace(lists, of_query=np.zeros(len(entities), dtype=np.int32)), kernel)


class Found(NamedTuple):
    """The answers of a query with their scores, best first, and whether the budgets sufficed to find them all."""

    entities: Ids
    scores: Floats
    exact: bool


def answers(state: State, relation: int, entities: Ids, *, top: int, left_out: Ids | None = None) -> list[Found]:
    """The best `top` answers of each query (entity, relation); all of them if `top` is -1.

    left_out  for each query a known answer to be treated as unknown, or -1
    """
    lists, kernel = asking(state, relation, entities)
    offsets, found, scores, exact, _ = kernels.answers(
        kernel, entities, lists.of_query, _left_out(entities, left_out), state.workspaces, top, threads()
    )
    parts, counted = zip(pairwise(offsets), exact.tolist(), strict=True), state.statistics.exact(relation)
    return [Found(found[start:end], scores[start:end], bool(whole) and counted) for (start, end), whole in parts]


@dataclass(frozen=True, slots=True)
class Standings:
    """How each target stands among the candidates that were reached and are not known; parallel arrays over targets.

    score    0 where the target was not reached
    better   candidates that score more;  equal: as much;  earlier: those of the equal that were found before it
    """

    score: Floats
    better: Counts
    equal: Counts
    earlier: Counts


def standings(
    state: State,
    query: tuple[int, Ids],
    targets: tuple[Counts, Ids],
    known: tuple[Counts, Ids],
    left_out: Ids | None = None,
) -> Standings:
    """Rank targets without listing all candidates.

    query    the relation, and the entity of each query
    targets  offsets and entities: which answers of each query to rank, sorted
    known    offsets and entities: which answers of each query to pass over when another is ranked, sorted
    """
    relation, entities = query
    lists, kernel = asking(state, relation, entities)
    score, better, equal, earlier = kernels.standings(
        kernel, entities, lists.of_query, _left_out(entities, left_out), state.workspaces, *targets, *known, threads()
    )
    return Standings(score, better, equal, earlier)


def manner(settings: Settings) -> kernels.Manner:
    """The part of the settings that the kernels know."""
    chosen = kernels.Manner()
    chosen.max_length, chosen.loop_free = settings.max_length, settings.loop_free
    chosen.walked = settings.path_types or 0
    chosen.precedents, chosen.doubt = settings.precedents, settings.doubt
    chosen.support, chosen.habit = settings.support, settings.habit
    chosen.sum = settings.combination == "sum"
    chosen.discount, chosen.best, chosen.budget = settings.discount, settings.best, settings.budget
    return chosen


def _left_out(entities: Ids, left_out: Ids | None) -> Ids:
    return np.full(len(entities), -1, dtype=np.int32) if left_out is None else left_out


def _asking(state: State, relation: int, lists: WalkLists) -> Asking:
    ranks = state.graph.entities.ranks()
    return Asking(lists, kernels.Asking(state.graph.kernel, relation, lists.arrays, manner(state.settings), ranks))


def _known_for_everyone(state: State, relation: int) -> WalkLists:
    counts, settings = state.statistics.everyone(relation), state.settings
    if settings.weight == "right":
        weights = share(counts.right, counts.reached, settings.doubt)
    else:
        weights = _prior_times_precision(state.statistics.clustered(relation), EVERYONE, counts.types)
    order = _best_first(state, counts.types, weights)
    order = order[(weights[order] > 0) & (counts.types[order] != relation + 1)].astype(np.int32)
    return WalkLists(counts.types, np.array([0, len(order)]), order, weights[order], ids([0]))


def _known_to_neighbours(state: State, relation: int, entities: Ids) -> WalkLists:
    neighbours = _neighbours(state, relation, entities)
    counts = state.statistics.closed_path_types(relation, np.unique(np.concatenate([ids(), *neighbours])))
    types = np.unique(counts.types)
    types = types[types != relation + 1]
    places = name_order(state.graph, types, state.settings.max_length)
    lists: dict[tuple[bytes, int], int] = {}
    walked, weights, of_query = [], [], []
    for entity, near in zip(entities.tolist(), neighbours, strict=True):
        cluster = int(state.clusters.entities[entity]) if entity >= 0 else EVERYONE
        key = near.tobytes(), cluster
        if key not in lists:
            lists[key] = len(lists)
            gathered, frequency = _gathered(counts, near, types)
            weight = np.minimum(_weights(state, relation, cluster, types[gathered], frequency), ALMOST_SURE)
            order = np.lexsort((places[gathered], -weight))
            order = order[weight[order] > 0]
            walked.append(gathered[order].astype(np.int32))
            weights.append(weight[order])
        of_query.append(lists[key])
    offsets = np.cumsum([0, *map(len, walked)], dtype=np.int64)
    return WalkLists(
        types, offsets, np.concatenate([ids(), *walked]), np.concatenate([np.zeros(0), *weights]), ids(of_query)
    )


def _neighbours(state: State, relation: int, entities: Ids) -> list[Ids]:
    """The contextual entities of each query. Those of one profile have the same, but for themselves."""
    k = state.settings.neighbours or 0
    found: dict[int, Ids] = {NONE: ids()}
    lists = []
    for entity in entities.tolist():
        profile = state.profiles.of(entity) if entity >= 0 else NONE
        if profile not in found:
            found[profile] = nearest(state.profiles, state.graph, profile, state.profiles.having(relation), k + 1)
        near = found[profile]
        lists.append(near[near != entity][:k])
    return lists


def _gathered(counts: ClusterCounts, near: Ids, types: Counts) -> tuple[Counts, Counts]:
    """Which of `types` lead a neighbour to its answers, as places, and how often."""
    rows = np.concatenate(
        [np.arange(0), *(np.arange(len(counts.types))[counts.of(entity)] for entity in near.tolist())]
    )
    rows = rows[np.isin(counts.types[rows], types)]
    places, which = np.unique(np.searchsorted(types, counts.types[rows]), return_inverse=True)
    return places, np.bincount(which, weights=counts.hits[rows], minlength=len(places)).astype(np.int64)


def _weights(state: State, relation: int, cluster: int, types: Counts, frequency: Counts) -> Floats:
    if state.settings.weight == "frequency":
        return share(frequency, int(frequency.sum()))
    if state.settings.weight == "right":
        counts = state.statistics.everyone(relation)
        rows = np.searchsorted(counts.types, types)
        return share(counts.right[rows], counts.reached[rows], state.settings.doubt)
    counted = state.statistics.clustered(relation)
    own = _prior_times_precision(counted, cluster, types)
    return np.where(own > 0, own, _prior_times_precision(counted, EVERYONE, types)) if state.settings.fallback else own


def _prior_times_precision(counts: ClusterCounts, cluster: int, types: Counts) -> Floats:
    """The weight of each path type in a cluster (equations 2 and 3); 0 where it never led to an answer there."""
    rows = counts.of(cluster)
    known = counts.types[rows]
    if not len(known):
        return np.zeros(len(types))
    places = np.minimum(np.searchsorted(known, types), len(known) - 1)
    hits, tries = counts.hits[rows], counts.tries[rows]
    weights = share(hits, int(hits.sum())) * share(hits, tries)
    return np.where(known[places] == types, weights[places], 0.0)


def _best_first(state: State, types: Counts, weights: Floats) -> Counts:
    return np.lexsort((name_order(state.graph, types, state.settings.max_length), -weights))
