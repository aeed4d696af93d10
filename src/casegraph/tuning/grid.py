"""
The alternatives that tuning chooses from: maximal path lengths, and ways to combine evidence.

The default is good everywhere. Each alternative differs from it in a direction that some kind of
graph prefers: in dense graphs that follow rules the best piece of evidence should decide, in others
everything should add up; and where entities of a type share facts by coincidence, shared facts
mislead. Facts that were held out may also be of a kind that the graph itself cannot show, such as
only facts between entities that nothing links yet.
"""

from dataclasses import replace

from casegraph.graph.graph import Graph
from casegraph.settings import Combination, KindWeights
from casegraph.statistics.path_types import has_room

USUAL_LENGTH = 3  # is counted on every graph
LONGEST = 5
# Of a length that is more than usual; counting takes some seconds then.
MOST_WALKS = 1e10

DISCOUNTS = ((0.05, 0.05), (0.5, 1.0))  # within a kind, and across kinds
KIND_WEIGHTS = (
    {"shared_fact": 0.2, "answers_fact": 2.5},
    {"shared_fact": 1.0, "near_answers": 0.8, "neighbours": 0.4},
)


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


def variants(combination: Combination, *, held_out: bool) -> list[Combination]:
    """The other ways to combine evidence; all walk as far as this one.

    held_out  whether to choose by facts that the graph does not have
    """
    others = []
    for discount, across in DISCOUNTS:
        others.append(replace(combination, discount=discount, across=across))
    for weights in KIND_WEIGHTS:
        kinds: KindWeights = replace(combination.kinds, **weights)
        others.append(replace(combination, kinds=kinds))
    if held_out:
        others.append(replace(combination, linked=False))
    return [variant for variant in others if variant != combination]


def _is_quick(graph: Graph, length: int) -> bool:
    """Whether paths of this length can be counted in some seconds, seen without counting them."""
    walks = graph.walks_from_each(length).sum(dtype=float)
    return bool(walks <= MOST_WALKS) and has_room(graph, length)
