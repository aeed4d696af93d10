"""
What a path type is worth (equations 2 and 3), from counts.

All of the counts belong to one query relation r; `c` is a cluster of entities, or everyone.
For each path type p there are

    hits(p)     paths of type p from the entities of c to their answers
    tries(p)    walks of type p from the same entities, wherever they end
    reached(p)  distinct ends of these paths from each entity
    right(p)    those of the ends that are answers

and two ways to weigh it:

    prior × precision = P(p | c, r) · P(e₂ | p, c, r)      the paper's, equations 2 and 3
    right(p) / (reached(p) + doubt)                        the default

Queries, explanations, experiments and tests all call the functions of this module.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from casegraph.graph.arrays import Counts, Floats
from casegraph.statistics.counts import ClusterCounts
from casegraph.statistics.statistics import PathStatistics


def prior(hits: Counts, total: int) -> Floats:
    """Equation 2: how often a path to an answer is of type p.

        P(p | c, r) = hits(p) / Σ_p' hits(p')

    hits   (types,)  hits of each path type
    total            hits of all path types of the cluster, Σ_p' hits(p')
    """
    return ratio(hits, total)


def precision(hits: Counts, tries: Counts) -> Floats:
    """Equation 3: how often a walk of type p ends at an answer.

        P(e₂ | p, c, r) = hits(p) / tries(p)

    hits, tries  (types,)  of each path type
    """
    return ratio(hits, tries)


def prior_times_precision(counts: ClusterCounts, cluster: int, types: Counts) -> Floats:
    """The weight of path types in a cluster, the summand of equation 1.

        P(p | c, r) · P(e₂ | p, c, r)

    types  (types,)  the path types asked about

    The weight is 0 for path types that never led an entity of the cluster to an answer.
    """
    rows = counts.of(cluster)
    known_types = counts.types[rows]
    hits = counts.hits[rows]
    tries = counts.tries[rows]
    if not len(known_types):
        return np.zeros(len(types))
    total = int(hits.sum())
    weights = prior(hits, total) * precision(hits, tries)

    places = np.searchsorted(known_types, types)
    places = np.minimum(places, len(known_types) - 1)
    is_known = known_types[places] == types
    return np.where(is_known, weights[places], 0.0)


def right_share(right: Counts, reached: Counts, doubt: float) -> Floats:
    """The share of right ends among those reached.

        right(p) / (reached(p) + doubt)

    right, reached  (types,)  of each path type
    doubt                     wrong ends that every path type is assumed to have reached as well,
                              so that few lucky ends are worth less than many
    """
    return ratio(right, reached, doubt)


class Estimate(NamedTuple):
    """Equations 2 and 3 for one path type in one cluster, and the counts they are made of."""

    hits: int
    tries: int
    prior: float
    precision: float


def estimate(
    statistics: PathStatistics, cluster: int, relation: int, path_type: Sequence[int]
) -> Estimate:
    """Prior and precision of one path type, as a query of the cluster estimates them."""
    _, all_hits = statistics.hits_in(cluster, relation)
    total = int(all_hits.sum())
    hits = statistics.hits(cluster, relation, path_type)
    tries = statistics.tries(cluster, relation, path_type)
    return Estimate(
        hits=hits,
        tries=tries,
        prior=float(prior(np.array([hits]), total)[0]),
        precision=float(precision(np.array([hits]), np.array([tries]))[0]),
    )


def ratio(part: Counts, whole: Counts | int, doubt: float = 0.0) -> Floats:
    """The quotient part / (whole + doubt) for each part; 0 where the divisor is 0."""
    divisor = np.asarray(whole) + doubt
    return np.divide(part, divisor, out=np.zeros(len(part)), where=divisor > 0)
