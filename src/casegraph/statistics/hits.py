"""
The hits of a graph that is not large: counted for all relations at once, and kept up to date.

Finding every cycle of the graph once gives the hits of all relations. An update then adds or
subtracts the cycles through the edges it changes (`incremental.changed_hits`). Each change is
stored as one more part of the hits of a relation; parts are added up when the relation is next
asked about.

Counting from scratch stops at a limit of steps. So an update also estimates how many steps it adds;
when the estimate comes near the limit, hits are dropped and counted from scratch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from casegraph.running import Show, quiet
from casegraph.statistics.counts import MAX_TYPES, Counting, Hits, TypeHits
from casegraph.statistics.incremental import ChangedHits, changed_hits, hits_added_up
from casegraph.statistics.own_hits import NO_HITS, HitsApart, is_large

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from casegraph.graph.change import Change
    from casegraph.graph.graph import Graph
    from casegraph.settings import Settings

STEPS_PER_CYCLE = 16  # an estimate of the steps to find one more cycle
# Estimates are replaced by counting from scratch once that takes at most this many steps (some ten
# microseconds) for each edge that has changed. So a small graph is counted after every change.
STEPS_PER_CHANGED_EDGE = 1 << 11
# Counts that use more than 1/2 of a limit are not updated incrementally.
KEPT_FOR_UPDATES = 2
MAX_PARTS = 16  # parts of the hits of a relation, before they are added up


def hits_of_graph(graph: Graph, settings: Settings) -> HitsTogether | HitsApart:
    """The hits of a graph, not counted yet: together, or one relation after the other."""
    if is_large(graph):
        return HitsApart(graph, settings)
    return HitsTogether(graph, settings)


def hits_after(
    hits: HitsTogether | HitsApart, change: Change, graph: Graph
) -> tuple[HitsTogether | HitsApart, ChangedHits]:
    """The hits after a change, and what it did to them (§2.3 (c)).

    They are counted from scratch in a large graph, and if some lengths were skipped, or might have
    to be.
    """
    later = hits_of_graph(graph, hits.settings)
    if isinstance(hits, HitsApart) or isinstance(later, HitsApart):
        return later, ChangedHits.unknown(from_scratch=hits.is_begun)
    known = hits.known
    if known is None:
        return later, ChangedHits.unknown(from_scratch=False)
    max_length = hits.settings.max_length
    if known.longest < max_length:
        return later, ChangedHits.unknown(from_scratch=True)

    changed = changed_hits(hits.graph, graph, change, max_length)
    if changed.from_scratch:
        return later, changed
    known = known.after(changed, edges=len(change))
    if known.is_room_left and known.are_estimates_old(hits.settings):
        known = known.with_room_of(later.from_scratch(quiet))
    if not known.is_room_left or known.longest < max_length:
        return later, replace(changed, from_scratch=True)
    later.known = known
    return later, changed


class HitParts:
    """The hits of one relation: parts that are added up when first read.

    count  how many parts were given
    rows   path types in all of them together
    """

    def __init__(self, parts: tuple[TypeHits, ...], count: int, rows: int) -> None:
        self.count = count
        self.rows = rows
        self._parts = parts

    @classmethod
    def from_one(cls, part: TypeHits) -> HitParts:
        """Hits in one part."""
        types, _ = part
        return cls((part,), count=1, rows=len(types))

    def total(self) -> TypeHits:
        """The path types, sorted, and their hits."""
        if len(self._parts) > 1:
            self._parts = (hits_added_up(self._parts),)
        return self._parts[0]

    def with_part(self, part: TypeHits) -> HitParts:
        """The hits with one more part."""
        types, _ = part
        rows = self.rows + len(types)
        return HitParts((*self._parts, part), self.count + 1, rows)

    def added_up(self) -> HitParts:
        """The same hits in one part."""
        return HitParts.from_one(self.total())


NO_PARTS = HitParts.from_one(NO_HITS)


@dataclass(frozen=True, slots=True)
class KnownHits:
    """The hits of all relations, as counted or as updates have left them.

    parts     by relation
    longest   the length up to which paths are counted
    headroom  steps that may still come before there could be too many to count
    rows      pairs of a relation and a path type, in all parts together
    changed   how many edges have changed since everything was counted
    """

    parts: Mapping[int, HitParts]
    longest: int
    headroom: int
    rows: int
    changed: int = 0

    @classmethod
    def from_cycles(cls, counted: Hits, settings: Settings) -> KnownHits:
        """The hits of all entities, without the lengths that take too much to count."""
        kept, longest = counted.within(settings.counting, settings.max_length)
        work = int(kept.work.max(initial=0))
        headroom = settings.counting // KEPT_FOR_UPDATES - work
        starts = np.flatnonzero(np.diff(kept.relations, prepend=-1))
        hits: dict[int, TypeHits] = {}
        for start, end in pairwise([*starts.tolist(), len(kept.types)]):
            relation = int(kept.relations[start])
            hits[relation] = (kept.types[start:end], kept.hits[start:end])
        return cls.from_relations(hits, longest, headroom)

    @classmethod
    def from_relations(
        cls, hits: Mapping[int, TypeHits], longest: int, headroom: int
    ) -> KnownHits:
        """Hits that are given by relation."""
        parts = {relation: HitParts.from_one(own) for relation, own in hits.items()}
        rows = sum(own.rows for own in parts.values())
        return cls(parts, longest, headroom, rows)

    def after(self, changed: ChangedHits, edges: int) -> KnownHits:
        """The hits after a change of this many edges.

        A change appends a part to each relation that it concerns, which is quick. When a relation
        has `MAX_PARTS` parts they are added up; the relations do so after different changes.
        """
        parts = dict(self.parts)
        rows = self.rows
        for relation, part in changed.by_relation.items():
            before = parts.get(relation, NO_PARTS)
            own = before.with_part(part)
            is_its_turn = (own.count + relation) % MAX_PARTS == 0
            if is_its_turn:
                own = own.added_up()
            rows += own.rows - before.rows
            parts[relation] = own
        headroom = self.headroom - STEPS_PER_CYCLE * changed.more_cycles
        return KnownHits(parts, self.longest, headroom, rows, self.changed + edges)

    @property
    def is_room_left(self) -> bool:
        """Whether all lengths can still be counted, as far as is known."""
        return self.headroom >= 0 and self.rows <= MAX_TYPES // KEPT_FOR_UPDATES

    def are_estimates_old(self, settings: Settings) -> bool:
        """Whether it is time to count from scratch how many steps that takes.

        A change can add more steps than its cycles suggest: it also decides which entity of a cycle
        has the most edges, from which the cycle is found.
        """
        work = settings.counting // KEPT_FOR_UPDATES - self.headroom
        return STEPS_PER_CHANGED_EDGE * self.changed >= work

    def with_room_of(self, counted: KnownHits) -> KnownHits:
        """These hits, with the estimates replaced by what counting from scratch has found."""
        return replace(
            self, longest=counted.longest, headroom=counted.headroom, changed=0
        )


class HitsTogether:
    """The hits of a graph, counted for all relations when first needed.

    One thread counts while others wait for it.

    known  None until they are counted
    """

    def __init__(self, graph: Graph, settings: Settings) -> None:
        self.graph = graph
        self.settings = settings
        self.known: KnownHits | None = None
        self._counting = Lock()

    @property
    def is_begun(self) -> bool:
        """Whether they are counted."""
        return self.known is not None

    @property
    def longest(self) -> int | None:
        """The length up to which paths are counted; None while nothing is counted."""
        return None if self.known is None else self.known.longest

    @property
    def headroom(self) -> int:
        """Steps that may still come before there could be too many to count."""
        return 0 if self.known is None else self.known.headroom

    def of_relation(self, relation: int) -> TypeHits:
        """The path types that lead to answers of a relation, sorted, and how often they do."""
        return self._counted().parts.get(relation, NO_PARTS).total()

    def longest_of(self, relation: int) -> int:  # noqa: ARG002  (of all relations)
        """The length up to which paths are counted for a relation."""
        return self._counted().longest

    def count(self, relations: Iterable[int], show: Show) -> None:  # noqa: ARG002
        """Count the hits of some relations: of all, at once."""
        self._counted(show)

    def restore(
        self, longest: int, headroom: int, hits: Mapping[int, TypeHits]
    ) -> None:
        """Take hits that were counted before."""
        self.known = KnownHits.from_relations(hits, longest, headroom)

    def restore_cycles(self, counted: Hits) -> None:
        """Take the hits that come from the cycles of all entities."""
        self.known = KnownHits.from_cycles(counted, self.settings)

    def from_scratch(self, show: Show) -> KnownHits:
        """Count the hits of all relations."""
        everyone = np.arange(len(self.graph.entities), dtype=np.int32)
        counted = Counting(self.graph, self.settings, show).cycles(everyone)
        return KnownHits.from_cycles(counted, self.settings)

    def _counted(self, show: Show = quiet) -> KnownHits:
        if self.known is None:
            with self._counting:
                if self.known is None:
                    self.known = self.from_scratch(show)
        return self.known
