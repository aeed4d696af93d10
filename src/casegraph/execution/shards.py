"""
Shards of entities, what each counts, and the sum.

Every count is a sum over entities, so a shard of the entities is counted anywhere, as a pure function of (snapshot,
shard), and parts merge by addition. It takes two passes, as what is reached is counted for the path types that all
shards together have hits enough for: `count_hits`, `merged`, `with_hits`, `count_reach`, `merged`, `keep`.

In a part, relations are numbered in the order of their names: parts add up wherever they were counted, and whatever
ids the relations had there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np

from casegraph.answering.state import State
from casegraph.errors import CasegraphError, InvalidSettings
from casegraph.graph.arrays import Counts, Ids, ids, joined
from casegraph.graph.digest import relations_in_use
from casegraph.graph.graph import Graph
from casegraph.running import Show, quiet
from casegraph.statistics.counts import Counting, Hits, PathCounts, having
from casegraph.statistics.path_types import renumbered

COLUMNS = ("hits", "reached", "right", "left_out")


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number`, from 1 on, of so many parts of the entities."""

    number: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise InvalidSettings("shard", str(self), "i/n with i from 1 to n, such as 2/8")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def named(cls, text: str) -> "Shard":
        """The shard that `2/8` names."""
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal()):
            raise InvalidSettings("shard", text, "i/n with i from 1 to n, such as 2/8")
        return cls(int(number), int(of))

    @classmethod
    def all(cls, of: int) -> "list[Shard]":
        """All of so many."""
        return [cls(number, of) for number in range(1, of + 1)]

    def share(self, graph: Graph, entities: Ids) -> Ids:
        """Its part of some entities, sorted; they are dealt like cards, the largest first: each shard gets its hubs."""
        return np.sort(entities[np.argsort(graph.prominence()[entities])][self.number - 1 :: self.of])


@dataclass(frozen=True, slots=True)
class Part:
    """What a shard counted, for all relations; parallel arrays, sorted by relation and path type.

    digest     of the facts and the settings
    names      the relations, sorted: number k is two, 2k and its inverse 2k + 1
    counted    for which of these it was counted what paths reach
    extent     after the first pass, what finding the paths of each length took; after the second, the length up to
               which paths are counted, and how many cycles may come before there could be too many
    columns    hits, after the second pass also reached, right and left_out; hits are then everyone's
    """

    shard: Shard
    digest: str
    max_length: int
    names: tuple[str, ...]
    counted: Ids
    extent: Counts
    relation: Ids
    types: Counts
    columns: dict[str, Counts]


def count_hits(state: State, shard: Shard, show: Show = quiet) -> Part:
    """The first pass: what the entities of a shard contribute to hits."""
    entities = shard.share(state.graph, having(state.graph, list(range(state.graph.directions))))
    found = Counting(state.graph, state.settings, show).cycles(entities)
    rows = _Rows(found.relations, found.types, {"hits": found.hits})
    return _part(state, shard, [], found.work, rows)


def with_hits(state: State, hits: Part) -> State:
    """The same facts with everyone's hits and nothing else counted: what the second pass starts from."""
    fresh = State.of(state.graph, state.settings, profiles=state.profiles)
    rows = _rows(fresh, hits)
    fresh.statistics.restore_hits(Hits(rows.relation, rows.types, rows.columns["hits"], hits.extent))
    return fresh


def count_reach(state: State, task: tuple[Shard, list[int]], show: Show = quiet) -> Part:
    """The second pass: what paths of some relations reach from a shard's entities; `state` comes from `with_hits`."""
    (shard, relations), statistics = task, state.statistics
    found = statistics.reach_of(relations, shard.share(state.graph, having(state.graph, relations)), show)
    counts = [found.get(k) or PathCounts.of_hits(*statistics.hits_of(k)) for k in range(state.graph.directions)]
    relation = np.repeat(np.arange(len(counts), dtype=np.int32), [len(one.types) for one in counts])
    columns = {name: joined(getattr(one, name) for one in counts) for name in ("types", *COLUMNS)}
    extent = np.array([statistics.longest, statistics.headroom])
    return _part(state, shard, relations, extent, _Rows(relation, columns.pop("types"), columns))


def merged(parts: Iterable[Part]) -> Part:
    """The sum of all shards, as the one shard that there is; refused unless each shard is there exactly once."""
    seen = set[Shard]()

    def added(total: Part, part: Part) -> Part:
        _check(total, part, seen)
        seen.add(part.shard)
        return _reach_added(total, part) if "reached" in part.columns else _hits_added(total, part)

    parts = iter(parts)
    first = next(parts)
    seen.add(first.shard)
    total = reduce(added, parts, first)
    if missing := [str(shard) for shard in Shard.all(first.shard.of) if shard not in seen]:
        raise CasegraphError(f"the parts are not whole: missing {', '.join(missing)}; count them first")
    return replace(total, shard=Shard(1, 1))


def keep(state: State, counts: Part) -> None:
    """Take merged counts for those of the case base."""
    rows = _rows(state, counts)
    if "reached" not in counts.columns:
        raise CasegraphError("the counts are only of hits; count again with --given them, and merge")
    is_counted = set(_directions(relations_in_use(state.graph))[counts.counted].tolist())
    hits: dict[int, tuple[Counts, Counts]] = {}
    counted: dict[int, PathCounts] = {}
    for relation in range(state.graph.directions):
        own = slice(*np.searchsorted(rows.relation, [relation, relation + 1]).tolist())
        found = PathCounts(rows.types[own], *(rows.columns[name][own] for name in COLUMNS))
        hits[relation] = (found.types, found.hits)
        if relation in is_counted:
            counted[relation] = found
    longest, headroom = counts.extent.tolist()
    state.statistics.restore(longest, headroom, hits, counted)


class _Rows(NamedTuple):
    """Counts under the ids of a case base, sorted by relation and path type."""

    relation: Ids
    types: Counts
    columns: dict[str, Counts]


def _rows(state: State, part: Part) -> _Rows:
    """What is merged, under the ids of the case base."""
    if part.digest != state.digest:
        raise CasegraphError("the counts are of other facts or settings; count again, with these")
    if part.shard.of > 1:
        raise CasegraphError(f"the counts are only those of shard {part.shard}; merge all shards first")
    own = _directions(relations_in_use(state.graph))
    relation, types = own[part.relation], renumbered(part.types, own, part.max_length)
    order = np.lexsort((types, relation))
    return _Rows(relation[order], types[order], {name: column[order] for name, column in part.columns.items()})


def _part(state: State, shard: Shard, relations: list[int], extent: Counts, rows: _Rows) -> Part:
    graph, n = state.graph, state.settings.max_length
    own = _directions(relations_in_use(graph))
    number = np.zeros(graph.directions, dtype=np.int32)
    number[own] = np.arange(len(own), dtype=np.int32)
    relation, types = number[rows.relation], renumbered(rows.types, number, n)
    order = np.lexsort((types, relation))
    return Part(
        shard, state.digest, n, tuple(graph.relations[k >> 1] for k in own[::2].tolist()),
        np.sort(number[np.intersect1d(ids(relations), own)]), extent,
        relation[order], types[order], {name: column[order] for name, column in rows.columns.items()},
    )  # fmt: skip


def _directions(relations: Ids) -> Ids:
    """Relations k as 2k and 2k + 1, in turn."""
    return np.stack([2 * relations, 2 * relations + 1], axis=1).ravel()


def _check(total: Part, part: Part, seen: set[Shard]) -> None:
    if part.shard in seen:
        raise CasegraphError(f"shard {part.shard} is there twice; give every part once")
    if part.shard.of != total.shard.of:
        raise CasegraphError(f"shards {total.shard} and {part.shard} do not go together; give all of one number")
    same_facts = part.digest == total.digest and np.array_equal(part.counted, total.counted)
    if not same_facts or part.columns.keys() != total.columns.keys():
        raise CasegraphError(
            f"shard {part.shard} is of other facts, settings or relations, or of another pass, than {total.shard}"
        )


def _hits_added(total: Part, part: Part) -> Part:
    both = Hits.sum([Hits(one.relation, one.types, one.columns["hits"], one.extent) for one in (total, part)])
    return replace(total, relation=both.relations, types=both.types, extent=both.work, columns={"hits": both.hits})


def _reach_added(total: Part, part: Part) -> Part:
    both = (total, part)
    pairs = zip(*((one.relation, one.types, one.columns["hits"], one.extent) for one in both), strict=True)
    if not all(np.array_equal(*pair) for pair in pairs):
        raise CasegraphError(f"shard {part.shard} was counted with other hits than {total.shard}; give both the same")
    sums = {name: total.columns[name] + part.columns[name] for name in COLUMNS if name != "hits"}
    return replace(total, columns={**total.columns, **sums})
