"""
The hits of one relation, counted from its own edges, and the rule that bounds this.

Finding the cycles of the whole graph is the least work if all relations are asked about. In a very
large graph, the first question would wait minutes for relations that nobody asks about. So in a
graph of more than `LARGE` edges each relation is counted when it is asked about, and the limit of
the work holds for each relation instead of all together. Whether a graph is large depends on its
facts only, so the same facts are always counted in the same way.

Paths of a length are counted if three conditions hold, for this length and all shorter ones. None
of them depends on ids:

- walking takes no more than `Settings.counting` steps: the first halves of paths from each end of
  an edge of the relation, and for each edge the second halves from that end that has fewer;
- no entity has more than `MOST_HALVES` first halves, which are held in memory;
- no more paths are found than `Settings.counting` allows at `STEPS_PER_PATH`, and no more than
  `MOST_TYPES` path types.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts
from casegraph.graph.directions import inverse
from casegraph.graph.graph import Graph
from casegraph.running import Show, quiet, run, threads
from casegraph.settings import Settings
from casegraph.statistics.counts import MOST_HALVES, MOST_TYPES, having
from casegraph.statistics.path_types import lengths

LARGE = 1 << 25  # edges, of both directions: some seventeen million facts
STEPS_PER_PATH = 8  # to find a path and count it
UNKNOWN_LENGTH = -1


class OwnHits(NamedTuple):
    """The path types of a relation, sorted, their hits, and the length up to which they go.

    longest  `UNKNOWN_LENGTH` for hits that were read from a file
    """

    types: Counts
    hits: Counts
    longest: int


def is_large(graph: Graph) -> bool:
    """Whether the relations of a graph are counted one by one."""
    return 2 * len(graph) > LARGE


def own_hits(graph: Graph, relation: int, settings: Settings, show: Show) -> OwnHits:
    """The hits of one relation up to the length that the rule allows."""
    graph.gather_edges()
    longest = _affordable_length(graph, relation, settings)
    rows = len(graph.edges(relation).heads) + len(graph.edges(inverse(relation)).heads)
    most = (settings.counting // STEPS_PER_PATH, MOST_TYPES)
    while True:
        weights = graph.walks_from_each(_second_half(longest))
        count = partial(
            kernels.relation_hits,
            graph.kernel,
            relation,
            weights,
            settings.max_length,
            longest,
            most,
            threads(),
        )
        types, hits, is_too_much = run(count, "counting paths to answers", rows, show)
        if not is_too_much or not longest:
            return OwnHits(types, hits, longest)
        longest -= 1


def limited_hits(
    graph: Graph, relation: int, settings: Settings, types: Counts, hits: Counts
) -> OwnHits:
    """What `own_hits` gives, from hits of all lengths that were counted otherwise."""
    length_of_type = lengths(types, settings.max_length)
    longest = _affordable_length(graph, relation, settings)
    while True:
        is_kept = length_of_type <= longest
        paths = int(hits[is_kept].sum())
        has_too_many_paths = STEPS_PER_PATH * paths > settings.counting
        has_too_many_types = int(is_kept.sum()) > MOST_TYPES
        if not (has_too_many_paths or has_too_many_types) or not longest:
            return OwnHits(types[is_kept], hits[is_kept], longest)
        longest -= 1


def with_length(
    graph: Graph, relation: int, settings: Settings, known: OwnHits
) -> OwnHits:
    """Hits that `own_hits` gave, and that were kept without the length up to which they go.

    They go as far as walking is affordable, if there is a path type of that length. Else, shorter
    paths may have been too many already, and they are counted again.
    """
    longest = _affordable_length(graph, relation, settings)
    length_of_type = lengths(known.types, settings.max_length)
    longest_known = int(length_of_type.max(initial=0))
    if longest_known == longest:
        return known._replace(longest=longest)
    return own_hits(graph, relation, settings, quiet)


def _affordable_length(graph: Graph, relation: int, settings: Settings) -> int:
    """The length up to which walking is affordable; how many paths are found is not known yet."""
    edges = graph.edges(relation)
    ends = having(graph, [relation, inverse(relation)])
    heads = edges.head_of_each()
    for length in range(1, settings.max_length + 1):
        first_halves = graph.walks_from_each(_first_half(length))[ends].astype(
            np.float64
        )
        steps = first_halves.sum() + len(heads)
        if _second_half(length):
            walks = graph.walks_from_each(_second_half(length))
            second_halves = np.minimum(walks[heads], walks[edges.tails])
            steps += second_halves.sum(dtype=np.float64)
        if steps > settings.counting or first_halves.max(initial=0) > MOST_HALVES:
            return length - 1
    return settings.max_length


def _first_half(length: int) -> int:
    return (length + 1) // 2


def _second_half(length: int) -> int:
    return length // 2
