"""
Contextual entities: the entities most like the query entity that have the query relation (§2.2.1).

Often many entities are equally similar, and the paper does not say which of them are among the
K nearest. Here, entities with more facts come first, then the order of names decides. So the result
depends only on the facts, not on the order in which they arrived.
"""

import numpy as np

from casegraph.graph.arrays import Floats, Ids, ids
from casegraph.graph.graph import Graph, Query
from casegraph.similarity.profiles import NONE, Profiles


def contextual_entities(profiles: Profiles, graph: Graph, query: Query, k: int) -> Ids:
    """The `k` entities most similar to the query entity that have the query relation, best first.

    The query entity is not among them. Entities that share no relation with it come last.
    """
    having_relation = profiles.having(query.relation)
    return _nearest_others(profiles, graph, query.entity, having_relation, k)


def similar_entities(profiles: Profiles, graph: Graph, entity: int, k: int) -> Ids:
    """The `k` entities most similar to an entity, best first, without the entity itself."""
    all_profiles = ids(profiles.nonempty())
    return _nearest_others(profiles, graph, entity, all_profiles, k)


def nearest(profiles: Profiles, graph: Graph, profile: int, among: Ids, k: int) -> Ids:
    """The `k` entities whose profiles are most similar to `profile`, best first.

    among  the profiles whose entities may be chosen
    """
    closeness = _closeness(profiles, profile, among)
    closest_first = np.unique(closeness)[::-1]
    prominence = graph.prominence()

    found = [ids()]
    missing = k
    for level in closest_first:
        equally_close = among[closeness == level]
        members = [profiles.members(other) for other in equally_close.tolist()]
        entities = np.concatenate(members)
        most_prominent_first = entities[np.argsort(prominence[entities])]
        chosen = most_prominent_first[:missing]
        found.append(chosen)
        missing -= len(chosen)
        if missing <= 0:
            break
    return np.concatenate(found)


def _nearest_others(
    profiles: Profiles, graph: Graph, entity: int, among: Ids, k: int
) -> Ids:
    own_profile = profiles.of(entity)
    if own_profile == NONE:
        return ids()
    entities = nearest(profiles, graph, own_profile, among, k + 1)
    others: Ids = entities[entities != entity]
    return others[:k]


def _closeness(profiles: Profiles, own: int, among: Ids) -> Floats:
    """A number for each profile in `among` that orders them as their cosine to `own` does.

    The cosine of two sets A and B is |A ∩ B| / √(|A| |B|). For a fixed A it is ordered like
    |A ∩ B|² / |B|: this takes a single division, which is correctly rounded, so equal cosines are
    equal numbers.
    """
    common = profiles.common(own)[among]
    sizes = profiles.sizes()[among]
    return common**2 / sizes
