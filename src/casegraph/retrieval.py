"""
Contextual entities: the entities most like the query entity that have the query relation (§2.2.1).

The k most similar are often cut from many equally similar ones: the paper does not say which are taken. Here equally similar
entities are taken in the order of their names, whatever the order in which they came.
"""

import numpy as np

from casegraph.arrays import Floats, Ids, ids
from casegraph.graph import Graph, Query
from casegraph.profiles import NONE, Profiles


def contextual_entities(profiles: Profiles, graph: Graph, query: Query, k: int) -> Ids:
    """The `k` entities with the largest cosine to the query entity that have the query relation; best first, ties by name.

    The query entity itself is never among them; entities that share nothing with it come last, but they come.
    """
    return _nearest(profiles, graph, query.entity, profiles.having(query.relation), k)


def similar_entities(profiles: Profiles, graph: Graph, entity: int, k: int) -> Ids:
    """The same among all entities."""
    return _nearest(profiles, graph, entity, ids(profiles.living()), k)


def _nearest(profiles: Profiles, graph: Graph, entity: int, among: Ids, k: int) -> Ids:
    own = profiles.of(entity)
    if own == NONE or not len(among):
        return ids()
    closeness = _squared_cosines(profiles, own)[among]
    ranks, found, missing = graph.entities.ranks(), [], k
    for level in np.unique(closeness)[::-1]:
        equal = np.concatenate([profiles.members(profile) for profile in among[closeness == level].tolist()])
        equal = equal[equal != entity]
        found.append(equal[np.argsort(ranks[equal])][:missing])
        missing -= len(found[-1])
        if missing <= 0:
            break
    return np.concatenate(found)


def _squared_cosines(profiles: Profiles, own: int) -> Floats:
    """Squared cosine times the size of the own profile: one correctly rounded division, so equal fractions are equal numbers."""
    return profiles.common(own) ** 2 / profiles.sizes()
