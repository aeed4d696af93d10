"""
What a path type is worth (equations 2 and 3), from counts.

All of the counts belong to one query relation r. For each path type p, a cluster of entities and
everyone have

    hits(p)     loop-free paths of type p from these entities to their answers
    tries(p)    walks of type p from these entities, wherever they end

and everyone has

    reached(p)  distinct ends of the loop-free paths of type p, for each entity
    right(p)    how many of these ends are answers

There are two ways to weigh a path type; `c` is the cluster of the query entity:

    prior × precision = P(p | c, r) · P(e₂ | p, c, r)      the paper's, equations 2 and 3
    right(p) / (reached(p) + doubt)                        the default

By default, ends with an open slot and ends with a taken slot are weighed separately (`by_slot`).

Queries, explanations, experiments and tests all call the functions of this module.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from casegraph.graph.arrays import Counts, Floats, Ids
from casegraph.statistics.counts import ClusterCounts, PathCounts
from casegraph.statistics.statistics import PathStatistics

# Pseudo-count: the share in both slots counts like this many ends of one slot.
SLOT_TRUST = 80.0


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
    for_prior = counts.for_prior[rows]
    if not len(known_types):
        return np.zeros(len(types))
    total = int(for_prior.sum())
    weights = prior(for_prior, total) * precision(hits, tries)

    places = np.searchsorted(known_types, types)
    places = np.minimum(places, len(known_types) - 1)
    is_known = known_types[places] == types
    return np.where(is_known, weights[places], 0.0)


def right_share(right: Counts, reached: Counts, doubt: float) -> Floats:
    """The share of right ends among those reached.

        right(p) / (reached(p) + doubt)

    right, reached  (types,)  of each path type
    doubt                     pseudo-count of wrong ends, so that a path type seen only a few times
                              is worth less
    """
    return ratio(right, reached, doubt)


class SlotWeights(NamedTuple):
    """The weights of path types for ends with an open slot, and for ends with a taken slot."""

    open: Floats
    taken: Floats

    @classmethod
    def of_both(cls, weights: Floats) -> "SlotWeights":
        """The same weights for both slots."""
        return cls(weights, weights)

    @property
    def larger(self) -> Floats:
        """The larger of both, for each path type."""
        return np.maximum(self.open, self.taken)

    def at(self, places: Counts | Ids) -> "SlotWeights":
        """The weights of some of the path types."""
        return SlotWeights(self.open[places], self.taken[places])


def by_slot(counts: PathCounts, doubt: float) -> SlotWeights:
    """The share of right ends among those reached, separately for open and for taken slots.

    With z for the slot, and p for the share in both slots together:

        (right_z + SLOT_TRUST · p) / (reached_z + SLOT_TRUST + doubt)

    If entities were skipped for having too many ends, the slots of these ends are unknown. Then
    both slots get the share in both.
    """
    in_both = right_share(counts.right, counts.reached, doubt)

    def share(right: Counts, reached: Counts) -> Floats:
        return (right + SLOT_TRUST * in_both) / (reached + SLOT_TRUST + doubt)

    right_taken = counts.right - counts.right_open
    reached_taken = counts.reached - counts.reached_open
    of_open = share(counts.right_open, counts.reached_open)
    of_taken = share(right_taken, reached_taken)
    is_exact = counts.left_out == 0
    return SlotWeights(
        open=np.where(is_exact, of_open, in_both),
        taken=np.where(is_exact, of_taken, in_both),
    )


def with_one_fewer(counts: PathCounts) -> tuple[PathCounts, PathCounts]:
    """The counts if a right end that was counted were a wrong end.

    First if its slot is open, then if it is taken. That is what counting without a fact gives, for
    a path type that leads from the head of the fact to its tail, as long as the head has other
    answers.
    """
    right = np.maximum(counts.right - 1, 0)
    one_fewer_open = np.maximum(counts.right_open - 1, 0)
    all_open = np.minimum(counts.right_open, right)
    return (
        replace(counts, right=right, right_open=one_fewer_open),
        replace(counts, right=right, right_open=all_open),
    )


class Estimate(NamedTuple):
    """Equations 2 and 3 for one path type in one cluster, with the counts behind them."""

    hits: int
    tries: int
    prior: float
    precision: float


def estimate(
    statistics: PathStatistics, cluster: int, relation: int, path_type: Sequence[int]
) -> Estimate:
    """Prior and precision of one path type, as a query of the cluster estimates them."""
    _, all_for_prior = statistics.prior_hits_in(cluster, relation)
    total = int(all_for_prior.sum())
    for_prior = statistics.prior_hits(cluster, relation, path_type)
    hits = statistics.hits(cluster, relation, path_type)
    tries = statistics.tries(cluster, relation, path_type)
    return Estimate(
        hits=hits,
        tries=tries,
        prior=float(prior(np.array([for_prior]), total)[0]),
        precision=float(precision(np.array([hits]), np.array([tries]))[0]),
    )


def ratio(part: Counts, whole: Counts | int, doubt: float = 0.0) -> Floats:
    """The quotient part / (whole + doubt) for each part; 0 where the divisor is 0."""
    divisor = np.asarray(whole) + doubt
    return np.divide(part, divisor, out=np.zeros(len(part)), where=divisor > 0)
