"""
Contextual entities: the entities most like the query entity that have the query relation (§2.2.1).

The k most similar are often cut from many equally similar ones: the paper does not say which are taken. Here, of
equally similar entities, the better known (with more facts) come first, and then the order of names decides, whatever
the order in which they came.
"""

import numpy as np

from casegraph.graph.arrays import Floats, Ids, ids
from casegraph.graph.graph import Graph, Query
from casegraph.similarity.profiles import NONE, Profiles


def contextual_entities(profiles: Profiles, graph: Graph, query: Query, k: int) -> Ids:
    """The `k` entities with the largest cosine to the query entity that have the query relation, best first.

    The query entity itself is never among them; entities that share nothing with it come last, but they come.
    """
    return _others(profiles, graph, query.entity, profiles.having(query.relation), k)


def similar_entities(profiles: Profiles, graph: Graph, entity: int, k: int) -> Ids:
    """The same among all entities."""
    return _others(profiles, graph, entity, ids(profiles.living()), k)


def nearest(profiles: Profiles, graph: Graph, profile: int, among: Ids, k: int) -> Ids:
    """The `k` entities whose profiles, of those in `among`, are most like `profile`, best first."""
    closeness = _squared_cosines(profiles, profile, among)
    places, found, missing = graph.prominence(), [ids()], k
    for level in np.unique(closeness)[::-1]:
        equal = np.concatenate([profiles.members(other) for other in among[closeness == level].tolist()])
        found.append(equal[np.argsort(places[equal])][:missing])
        missing -= len(found[-1])
        if missing <= 0:
            break
    return np.concatenate(found)


def _others(profiles: Profiles, graph: Graph, entity: int, among: Ids, k: int) -> Ids:
    own = profiles.of(entity)
    if own == NONE:
        return ids()
    near = nearest(profiles, graph, own, among, k + 1)
    others: Ids = near[near != entity][:k]
    return others


def _squared_cosines(profiles: Profiles, own: int, among: Ids) -> Floats:
    """Squared cosine of `own` and each of `among`, times the size of the own profile.

    One correctly rounded division, so equal fractions are equal numbers.
    """
    return profiles.common(own)[among] ** 2 / profiles.sizes()[among]
