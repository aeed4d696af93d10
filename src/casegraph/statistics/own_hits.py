"""
The hits of a large graph: counted for one relation at a time, from its own edges.

Finding the cycles of the whole graph is the least work if all relations are asked about. In a very
large graph, the first question would wait minutes for relations that nobody asks about. So in a
graph of more than `LARGE` edges each relation is counted when it is asked about, and the limit of
the work holds for each relation instead of all together. Whether a graph is large depends on its
facts only, so the same facts are always counted in the same way.

Paths of a length are counted if three conditions hold, for this length and all shorter ones. None
of them depends on ids:

- walking takes no more than `Settings.counting` steps: the first halves of paths from each end of
  an edge of the relation, and for each edge the second halves from the end that has fewer;
- no entity has more than `MAX_HALVES` first halves, which are held in memory;
- no more paths are found than `Settings.counting` allows at `STEPS_PER_PATH`, and no more than
  `MAX_TYPES` path types.

After an update, everything is counted from scratch.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from threading import Lock
from typing import NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.errors import CasegraphError
from casegraph.graph.arrays import Counts, rows_with
from casegraph.graph.directions import inverse
from casegraph.graph.graph import Graph
from casegraph.running import Show, quiet, run, threads
from casegraph.settings import Settings
from casegraph.statistics.counts import (
    MAX_HALVES,
    MAX_TYPES,
    TOO_MANY,
    Hits,
    TypeHits,
    having,
)
from casegraph.statistics.path_types import lengths

LARGE = 1 << 25  # edges, of both directions: some seventeen million facts
STEPS_PER_PATH = 8  # to find a path and count it
UNKNOWN_LENGTH = -1
NO_HITS: TypeHits = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


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


class HitsApart:
    """The hits of each relation of a large graph, counted when first needed."""

    headroom = 0

    def __init__(self, graph: Graph, settings: Settings) -> None:
        self.graph = graph
        self.settings = settings
        self._known: dict[int, OwnHits] = {}
        self._counting = Lock()

    @property
    def is_begun(self) -> bool:
        """Whether anything is counted."""
        return bool(self._known)

    @property
    def longest(self) -> int | None:
        """The most that the length of counted paths can be; None until every relation is counted.

        Each relation has its own.
        """
        is_counted = len(self._known) == self.graph.directions > 0
        return self.settings.max_length if is_counted else None

    def of_relation(self, relation: int) -> TypeHits:
        """The path types that lead to answers of a relation, sorted, and how often they do."""
        own = self._counted(relation)
        return own.types, own.hits

    def longest_of(self, relation: int) -> int:
        """The length up to which paths are counted for a relation."""
        own = self._counted(relation)
        if own.longest == UNKNOWN_LENGTH:
            with self._counting:
                own = with_length(self.graph, relation, self.settings, own)
                self._known[relation] = own
        return own.longest

    def count(self, relations: Iterable[int], show: Show) -> None:
        """Count the hits of some relations.

        That may take long, so other threads do not wait for it: they may count some again.
        """
        for relation in relations:
            if relation not in self._known:
                counted = own_hits(self.graph, relation, self.settings, show)
                self._known.setdefault(relation, counted)

    def restore(
        self,
        longest: int,  # noqa: ARG002  (of a graph that is not large)
        headroom: int,  # noqa: ARG002
        hits: Mapping[int, TypeHits],
    ) -> None:
        """Take hits that were counted before."""
        for relation in range(self.graph.directions):
            types, own = hits.get(relation, NO_HITS)
            self._known[relation] = OwnHits(types, own, UNKNOWN_LENGTH)

    def restore_cycles(self, counted: Hits) -> None:
        """Take the hits that come from the cycles of all entities.

        They must be complete, however much work that was (see `execution.shards`).
        """
        if (counted.work == TOO_MANY).any():
            raise CasegraphError(
                "the graph takes too much work to be counted as a whole; "
                "ask it instead, which counts one relation after the other"
            )
        for relation in range(self.graph.directions):
            rows = rows_with(relation, counted.relations)
            own = limited_hits(
                self.graph,
                relation,
                self.settings,
                counted.types[rows],
                counted.hits[rows],
            )
            self._known[relation] = own

    def _counted(self, relation: int) -> OwnHits:
        found = self._known.get(relation)
        if found is not None:
            return found
        with self._counting:
            self.count([relation], quiet)
            return self._known[relation]


def own_hits(graph: Graph, relation: int, settings: Settings, show: Show) -> OwnHits:
    """The hits of one relation up to the length that the rule allows."""
    graph.gather_edges()
    longest = _affordable_length(graph, relation, settings)
    rows = len(graph.edges(relation).heads) + len(graph.edges(inverse(relation)).heads)
    most = (settings.counting // STEPS_PER_PATH, MAX_TYPES)
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
        has_too_many_types = int(is_kept.sum()) > MAX_TYPES
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
        if steps > settings.counting or first_halves.max(initial=0) > MAX_HALVES:
            return length - 1
    return settings.max_length


def _first_half(length: int) -> int:
    return (length + 1) // 2


def _second_half(length: int) -> int:
    return length // 2
