"""
What tuning chooses from: maximal path lengths, how strongly to regularise, which answers to allow.

λ of the regression that weighs resemblance follows from how many facts an entity has (`scaled`).
Facts that were held out may be of a kind that the graph itself cannot show, such as only facts
between entities that nothing links yet.
"""

from dataclasses import replace

import numpy as np

from casegraph.graph.graph import Graph
from casegraph.settings import Combination
from casegraph.statistics.path_types import has_room

USUAL_LENGTH = 3  # is counted on every graph
LONGEST = 5
# Of a length that is more than usual; counting takes some seconds then.
MOST_WALKS = 1e10

# λ for each fact of a mean entity, and its limits; the weight of precedents as a power of λ. They
# follow the best λ and weight of a coarse grid on the validation facts of ten graphs
# (docs/accuracy.md).
RIDGE_PER_FACT = 2.5
MIN_RIDGE = 10.0
MAX_RIDGE = 100.0
WEIGHT = 0.42
POWER = 0.63


def lengths(graph: Graph) -> list[int]:
    """The longest paths to choose from: the usual, and more where it is counted in some seconds.

    Shorter ones are no choice. What rules imply is often missing in a graph, not held out of it, so
    that the sample has too little need of long paths: on FB122 it prefers two steps to three, which
    answer validation facts better.
    """
    longest = USUAL_LENGTH
    while longest < LONGEST and _is_quick(graph, longest + 1):
        longest += 1
    return list(range(USUAL_LENGTH, longest + 1))


def scaled(combination: Combination, graph: Graph) -> Combination:
    """The same with a regression that suits the graph.

    Where entities have many facts, two of them share some by chance: it takes a larger λ to see
    past that. Scores fall as λ rises, so their weight rises with it.
    """
    degrees = graph.degrees()
    mean = float(degrees.sum()) / max(int(np.count_nonzero(degrees)), 1)
    ridge = round(min(max(RIDGE_PER_FACT * mean, MIN_RIDGE), MAX_RIDGE), 1)
    weight = round(WEIGHT * ridge**POWER, 2)
    return replace(combination, ridge=ridge, precedent_weight=weight)


def variants(combination: Combination, *, held_out: bool) -> list[Combination]:
    """The other ways to combine evidence; all walk as far as this one.

    held_out  whether to choose by facts that the graph does not have
    """
    only_one_link = replace(combination, linked=False)
    return [only_one_link] if held_out and combination.linked else []


def _is_quick(graph: Graph, length: int) -> bool:
    """Whether paths of this length can be counted in some seconds, seen without counting them."""
    walks = graph.walks_from_each(length).sum(dtype=float)
    return bool(walks <= MOST_WALKS) and has_room(graph, length)
