"""
Answering: gather path types, weigh them, walk them
from the query entity, combine what they say (equation 1).

    P(e₂ | e, r)  =  Σ_p P(p | e, r) · P(e₂ | p, e, r)

Here e is the query entity, r the query relation, p a path type,
and e₂ an entity that p reaches from e.

In every setting a query walks a list of path types, best first. By default the list holds every
path type known for the relation and is the same for all queries. In the paper's setting it comes
from the contextual entities of the query and is weighed by the counts of the query's cluster. The
module `weights` computes the weights; the kernels walk the paths, add the other kinds of evidence,
and combine everything.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.answering.cache import PerSource, PerState
from casegraph.answering.state import State
from casegraph.answering.weights import (
    SlotWeights,
    by_slot,
    prior_times_precision,
    ratio,
    right_share,
    with_one_fewer,
)
from casegraph.graph.arrays import Counts, Floats, Ids, ids, joined
from casegraph.running import threads
from casegraph.settings import Combination, Settings
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.similarity.profiles import NONE
from casegraph.similarity.retrieval import nearest
from casegraph.statistics.counts import ClusterCounts, PathCounts
from casegraph.statistics.path_types import lengths, name_order, single_step
from casegraph.statistics.sums import grouped

# Largest weight of a path type, so that others can still add to it.
ALMOST_SURE = 1 - 1e-9
UNKNOWN = -1  # an entity that was never seen, or no entity
ALL = -1  # number of answers: all of them


class Found(NamedTuple):
    """The answers of a query with their scores, best first; exact if no budget was exceeded."""

    entities: Ids
    scores: Floats
    exact: bool

    def pairs(self) -> Iterator[tuple[int, float]]:
        """Each answer and its score."""
        return zip(self.entities.tolist(), self.scores.tolist(), strict=True)


def answers(
    state: State,
    relation: int,
    entities: Ids,
    *,
    top: int,
    new_only: bool = False,
    hidden: Ids | None = None,
    combination: Combination | None = None,
) -> list[Found]:
    """The best `top` answers of each query (entity, relation, ?); all of them if `top` is -1.

    entities       (queries,)  the entity of each query; -1 if nothing is known of it, and only the
                   habit answers
    new_only       whether to leave out answers that are known and not hidden
    hidden         (queries,)  for each query a known answer to be treated as unknown, or -1: see
                   `relation_query`
    combination    how to combine evidence; by default, as the settings say
    """
    query = relation_query(
        state, relation, entities, combination, hides=hidden is not None
    )
    results = _walked(state, query, entities, hidden, top=top, new_only=new_only)
    counts_are_exact = _counts_are_exact(state, relation)
    return [found._replace(exact=found.exact and counts_are_exact) for found in results]


@PerState
def _counts_are_exact(state: State, relation: int) -> bool:
    return state.statistics.exact(relation)


def _walked(
    state: State,
    query: "RelationQuery",
    entities: Ids,
    hidden: Ids | None = None,
    *,
    top: int,
    new_only: bool = False,
) -> list[Found]:
    """The answers of each query; exact if the walks are, whatever the counts are."""
    is_only_one = len(entities) == 1  # it is answered by one thread
    offsets, found, scores, exact, _ = kernels.answers(
        query.kernel,
        entities,
        query.list_of_each,
        _hidden_or_none(hidden, entities),
        state.workspaces,
        top,
        new_only,
        1 if is_only_one else threads(),
    )
    return [
        Found(found[start:end], scores[start:end], bool(is_exact))
        for (start, end), is_exact in zip(
            pairwise(offsets.tolist()), exact.tolist(), strict=True
        )
    ]


@dataclass(frozen=True, slots=True)
class Standings:
    """How each target compares with the candidates that were reached and are not known.

    score    (targets,)  0 where the target was not reached
    better   (targets,)  candidates that score more
    equal    (targets,)  candidates that score as much
    earlier  (targets,)  equal candidates that were found before the target
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
    *,
    hidden: Ids | None = None,
    combination: Combination | None = None,
) -> Standings:
    """Rank targets without listing all candidates.

    query          the relation, and the entity of each query
    targets        offsets and entities: which answers of each query to rank, sorted
    known          offsets and entities: which answers to skip when another is ranked, sorted
    hidden, combination  as in `answers`
    """
    relation, entities = query
    prepared = relation_query(
        state, relation, entities, combination, hides=hidden is not None
    )
    score, better, equal, earlier = kernels.standings(
        prepared.kernel,
        entities,
        prepared.list_of_each,
        _hidden_or_none(hidden, entities),
        state.workspaces,
        *targets,
        *known,
        threads(),
    )
    return Standings(score, better, equal, earlier)


def scores_of_targets(
    state: State,
    relation: int,
    entities: Ids,
    targets: Ids,
    *,
    hidden: Ids | None = None,
) -> Floats:
    """The score of each target as an answer to (entity, relation, ?); 0 if it is not reached.

    hidden  as in `answers`

    Targets of the same entity are scored by one query, unless something is hidden. What is hidden
    need not be the same for all of them.
    """
    if hidden is not None:
        one_each = (np.arange(len(targets) + 1), targets)
        nothing = (np.zeros(len(targets) + 1, dtype=np.int64), ids())
        query = (relation, entities)
        return standings(state, query, one_each, nothing, hidden=hidden).score

    if not len(targets):
        return np.empty(0)
    asked, query_of_target = np.unique(entities, return_inverse=True)
    order = np.lexsort((targets, query_of_target))
    offsets = np.searchsorted(query_of_target[order], np.arange(len(asked) + 1))
    nothing = (np.zeros(len(asked) + 1, dtype=np.int64), ids())
    query = (relation, asked)
    found = standings(state, query, (offsets, targets[order]), nothing)
    scores = np.empty(len(targets))
    scores[order] = found.score
    return scores


@dataclass(frozen=True, slots=True)
class WalkLists:
    """The path types that queries of one relation walk, as lists that several queries may share.

    types     (types,)      all path types that are in a list
    offsets   (lists + 1,)  list i is `walked[offsets[i] : offsets[i + 1]]`, best first
    walked    (rows,)       places in `types`
    weights   (rows,)       what each path type is worth in its list, by slot
    fewer     the weights if one right end fewer had been counted, whose slot was open, and if its
              slot was taken; for leave-one-out only
    """

    types: Counts
    offsets: Counts
    walked: Ids
    weights: SlotWeights
    fewer: tuple[SlotWeights, SlotWeights] | None = None

    @property
    def arrays(self) -> tuple[Counts, Counts, Ids, Floats, Floats]:
        """In the form that the kernels take."""
        return self.types, self.offsets, self.walked, *self.weights


# Lists, and their form in the kernels.
PreparedLists = tuple[WalkLists, kernels.RelationQuery]


class RelationQuery(NamedTuple):
    """What queries of one relation walk, and its prepared form in the kernels.

    list_of_each  (queries,)  which list each query walks
    """

    lists: WalkLists
    kernel: kernels.RelationQuery
    list_of_each: Ids

    @classmethod
    def of_one_list(cls, prepared: PreparedLists, queries: int) -> "RelationQuery":
        """All queries walk the only list."""
        lists, kernel = prepared
        return cls(lists, kernel, list_of_each=np.zeros(queries, dtype=np.int32))


def relation_query(
    state: State,
    relation: int,
    entities: Ids,
    combination: Combination | None = None,
    *,
    hides: bool = False,
) -> RelationQuery:
    """What to walk for the queries (entity, relation, ?), best first.

    combination  how to combine evidence; by default, as the settings say
    hides        whether the queries hide a known answer

    Path types of equal weight are in the order of `name_order`.

    A hidden answer is not walked and is no precedent. If `leaves_one_out`, it is left out of the
    counts of path types, too.

    If all entities walk the same list, it is cached for each state and relation, because it is
    smaller than the graph and the counts it comes from. Combinations that tuning tries are not
    cached.
    """
    if state.settings.neighbours is not None:
        lists, list_of_each = _lists_of_neighbours(state, relation, entities)
        kernel = _prepared(
            state, relation, lists, combination or state.settings.combined
        )
        return RelationQuery(lists, kernel, list_of_each)

    leave_one_out = hides and leaves_one_out(state.settings)
    if combination is None:
        shared = _shared_lists(state, relation, leave_one_out)
    else:
        shared = _combined_lists(state, relation, leave_one_out, combination)
    return RelationQuery.of_one_list(shared, len(entities))


@PerState
def _shared_lists(state: State, relation: int, leave_one_out: bool) -> PreparedLists:
    """The list that all queries walk."""
    return _combined_lists(state, relation, leave_one_out, state.settings.combined)


def _combined_lists(
    state: State, relation: int, leave_one_out: bool, combination: Combination
) -> PreparedLists:
    list_for = list_for_leave_one_out if leave_one_out else _list_of_everyone
    lists = list_for(state, relation, combination.longest)
    return lists, _prepared(state, relation, lists, combination)


def leaves_one_out(settings: Settings) -> bool:
    """Whether a hidden answer is left out of the counts of path types, as if it were no fact.

    Only if all entities walk the same list, weighed by its right ends, is it known what the hidden
    answer adds to the counts of a path type: one right end, if the path type leads to it.
    """
    return settings.neighbours is None and settings.weight == "right"


def prepare(state: State, relation: int) -> None:
    """Make in advance what all questions about a relation need."""
    relation_query(state, relation, ids())


def is_prepared(state: State, relation: int) -> bool:
    """Whether everything is made that questions about a relation need."""
    return _shared_lists.is_cached(state, relation, False)


def query_options(settings: Settings, combination: Combination) -> kernels.QueryOptions:
    """The settings that the kernels use."""
    options = kernels.QueryOptions()
    options.max_length = settings.max_length
    options.loop_free = settings.loop_free
    options.walked = settings.path_types or 0
    options.precedents = settings.precedents
    options.slots = settings.slots
    options.linked = combination.linked
    options.doubt = settings.doubt
    options.habit = settings.habit
    options.sum = settings.combination == "sum"
    options.discount = combination.discount
    options.decisive = settings.decisive
    options.ridge = combination.ridge
    options.precedent_weight = combination.precedent_weight
    options.nearest = settings.nearest
    options.best = settings.best
    options.budget = settings.budget
    return options


def _prepared(
    state: State,
    relation: int,
    lists: WalkLists,
    combination: Combination,
) -> kernels.RelationQuery:
    """The form of lists in the kernels."""
    ranks = state.graph.entities.ranks()
    options = query_options(state.settings, combination)
    return kernels.RelationQuery(
        state.graph.kernel, relation, lists.arrays, options, ranks, lists.fewer
    )


def _list_of_everyone(state: State, relation: int, longest: int) -> WalkLists:
    """One list for all queries: every path type of the relation, with everyone's counts.

    longest  the largest number of steps of a path type
    """
    if state.settings.weight == "right":
        counts = state.statistics.everyone(relation)
        return _list_by_right_ends(state, counts, relation, longest)
    cluster_counts = state.statistics.clustered(relation)
    return _list_by_prior(state, cluster_counts, relation, longest)


@PerState
def list_for_leave_one_out(state: State, relation: int, longest: int) -> WalkLists:
    """The list of everyone, with the weights that leave-one-out needs."""
    lists = _list_of_everyone(state, relation, longest)
    open_end, taken_end = with_one_fewer(state.statistics.everyone(relation))
    if_open = _right_weights(open_end, state.settings).at(lists.walked)
    if_taken = _right_weights(taken_end, state.settings).at(lists.walked)
    return replace(lists, fewer=(if_open, if_taken))


@PerSource
def _list_by_right_ends(
    state: State, counts: PathCounts, relation: int, longest: int
) -> WalkLists:
    weights = _right_weights(counts, state.settings)
    return _best_of_all(state, relation, longest, counts.types, weights)


@PerSource
def _list_by_prior(
    state: State, counts: ClusterCounts, relation: int, longest: int
) -> WalkLists:
    types = counts.types[counts.of(EVERYONE)]
    weights = SlotWeights.of_both(prior_times_precision(counts, EVERYONE, types))
    return _best_of_all(state, relation, longest, types, weights)


def _best_of_all(
    state: State, relation: int, longest: int, types: Counts, weights: SlotWeights
) -> WalkLists:
    """The path types that are worth anything, best first, as a single list.

    longest  the largest number of steps of a path type
    weights  (types,) each  what the path types are worth
    """
    max_length = state.settings.max_length
    places_by_name = name_order(state.graph, types, max_length)
    best = weights.larger
    order = np.lexsort((places_by_name, -best))
    is_walked = (best > 0) & (types != single_step(relation))
    if longest < max_length:
        is_walked &= lengths(types, max_length) <= longest
    walked = order[is_walked[order]].astype(np.int32)
    offsets = np.array([0, len(walked)])
    return WalkLists(types, offsets, walked, weights.at(walked))


def _right_weights(counts: PathCounts, settings: Settings) -> SlotWeights:
    """The share of right ends of each path type, by slot if the settings distinguish slots."""
    if settings.slots:
        return by_slot(counts, settings.doubt)
    in_both = right_share(counts.right, counts.reached, settings.doubt)
    return SlotWeights.of_both(in_both)


def _lists_of_neighbours(
    state: State, relation: int, entities: Ids
) -> tuple[WalkLists, Ids]:
    """Lists P_n(E_{c,q}, r) (§2.2.1), and which of them each query walks.

    A list holds the path types that lead the contextual entities of a query to their answers.

    Queries with the same contextual entities and the same cluster share a list.
    """
    neighbours = _neighbours(state, relation, entities)
    all_neighbours = np.unique(np.concatenate([ids(), *neighbours]))
    counts = state.statistics.closed_path_types(relation, all_neighbours)
    types = np.unique(counts.types)
    types = types[types != single_step(relation)]
    places_by_name = name_order(state.graph, types, state.settings.max_length)

    number_of: dict[tuple[bytes, int], int] = {}
    lists: list[_WalkList] = []
    list_of_each = []
    for entity, near in zip(entities.tolist(), neighbours, strict=True):
        cluster = (
            EVERYONE if entity == UNKNOWN else int(state.clusters.entities[entity])
        )
        key = (near.tobytes(), cluster)
        if key not in number_of:
            number_of[key] = len(lists)
            gathered, frequencies = _gathered(counts, near, types)
            weights = _weights(state, relation, cluster, types[gathered], frequencies)
            lists.append(_best_first(gathered, weights, places_by_name[gathered]))
        list_of_each.append(number_of[key])
    return _joined(types, lists), ids(list_of_each)


class _WalkList(NamedTuple):
    """The path types of one list, best first: places in `types`, and what each is worth."""

    walked: Ids
    weights: SlotWeights


def _best_first(
    gathered: Counts, weights: SlotWeights, places_by_name: Counts
) -> _WalkList:
    """The path types that are worth anything, best first, ties by name."""
    best = weights.larger
    order = np.lexsort((places_by_name, -best))
    order = order[best[order] > 0]
    return _WalkList(gathered[order].astype(np.int32), weights.at(order))


def _joined(types: Counts, lists: list[_WalkList]) -> WalkLists:
    sizes = [len(one_list.walked) for one_list in lists]
    walked = [one_list.walked for one_list in lists]
    open_weights = [one_list.weights.open for one_list in lists]
    taken_weights = [one_list.weights.taken for one_list in lists]
    return WalkLists(
        types,
        offsets=np.cumsum([0, *sizes], dtype=np.int64),
        walked=np.concatenate([ids(), *walked]),
        weights=SlotWeights(
            open=np.concatenate([np.zeros(0), *open_weights]),
            taken=np.concatenate([np.zeros(0), *taken_weights]),
        ),
    )


def _neighbours(state: State, relation: int, entities: Ids) -> list[Ids]:
    """The contextual entities E_{c,q} of each query (§2.2.1).

    Entities with the same profile have the same neighbours, except that an entity is not its own
    neighbour. So k + 1 neighbours are found once for each profile.
    """
    k = state.settings.neighbours or 0
    profiles = state.profiles
    of_profile: dict[int, Ids] = {NONE: ids()}
    neighbours = []
    for entity in entities.tolist():
        profile = NONE if entity == UNKNOWN else profiles.of(entity)
        if profile not in of_profile:
            among = profiles.having(relation)
            of_profile[profile] = nearest(profiles, state.graph, profile, among, k + 1)
        near = of_profile[profile]
        neighbours.append(near[near != entity][:k])
    return neighbours


def _gathered(counts: ClusterCounts, near: Ids, types: Counts) -> tuple[Counts, Counts]:
    """The path types that lead these neighbours to answers, as places in `types`, and how often.

    counts  what leads each entity to its answers, each as a cluster of its own
    near    (k,)            the neighbours
    types   (types,) sorted the path types asked about
    """
    rows_of_each = [counts.of(entity) for entity in near.tolist()]
    all_types = joined(counts.types[rows] for rows in rows_of_each)
    all_hits = joined(counts.hits[rows] for rows in rows_of_each)

    is_asked = np.isin(all_types, types)
    places = np.searchsorted(types, all_types[is_asked])
    groups = grouped(places)
    return groups.keys(places), groups.sums(all_hits[is_asked])


def _weights(
    state: State, relation: int, cluster: int, types: Counts, frequencies: Counts
) -> SlotWeights:
    """What the gathered path types are worth, by the settings.

    frequencies  (types,)  how often each led a contextual entity to an answer
    """
    settings = state.settings
    if settings.weight == "right":
        counts = state.statistics.everyone(relation)
        rows = np.searchsorted(counts.types, types)
        return _right_weights(counts, settings).at(rows)
    if settings.weight == "frequency":
        weights = ratio(frequencies, int(frequencies.sum()))
    else:
        weights = _weights_in_cluster(state, relation, cluster, types)
    return SlotWeights.of_both(np.minimum(weights, ALMOST_SURE))


def _weights_in_cluster(
    state: State, relation: int, cluster: int, types: Counts
) -> Floats:
    cluster_counts = state.statistics.clustered(relation)
    own = prior_times_precision(cluster_counts, cluster, types)
    if not state.settings.fallback:
        return own
    everyones = prior_times_precision(cluster_counts, EVERYONE, types)
    return np.where(own > 0, own, everyones)


def _hidden_or_none(hidden: Ids | None, entities: Ids) -> Ids:
    """The hidden answer of each query; -1 (none) if not given."""
    if hidden is not None:
        return hidden
    return np.full(len(entities), UNKNOWN, dtype=np.int32)
