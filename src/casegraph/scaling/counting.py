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

import numpy as np

from casegraph.answering import Cases
from casegraph.arrays import Counts, Ids, ids
from casegraph.digest import relations_in_use
from casegraph.errors import CasegraphError, InvalidSettings
from casegraph.graph import Graph
from casegraph.paths import renumbered
from casegraph.work import Show, quiet

COLUMNS = ("hits", "reached", "right")


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
    """What a shard counted; parallel arrays, sorted by relation and path type.

    digest     of the facts and the settings
    names      the relations, sorted: number k is two, 2k and its inverse 2k + 1
    counted    which of these were counted
    columns    hits, after the second pass also reached and right; hits are then everyone's
    """

    shard: Shard
    digest: str
    max_length: int
    names: tuple[str, ...]
    counted: Ids
    relation: Ids
    types: Counts
    columns: dict[str, Counts]


def count_hits(cases: Cases, task: tuple[Shard, list[int]], show: Show = quiet) -> Part:
    """The first pass: the hits of a shard, for relations given by their ids."""
    shard, relations = task
    entities = shard.share(cases.graph, cases.statistics.having(relations))
    return _part(cases, shard, relations, *cases.statistics.count_hits(relations, entities, show))


def with_hits(cases: Cases, hits: Part) -> Cases:
    """The same facts with everyone's hits and nothing else counted: what the second pass starts from."""
    fresh = Cases(cases.graph, cases.profiles, cases.settings)
    keep(fresh, replace(hits, columns={name: hits.columns.get(name, np.zeros_like(hits.types)) for name in COLUMNS}))
    return fresh


def count_reach(cases: Cases, shard: Shard, show: Show = quiet) -> Part:
    """The second pass: what path types reach from a shard's entities; `cases` come from `with_hits`."""
    counted = cases.statistics.counted
    relations = sorted(counted)
    relation = np.repeat(ids(relations), [len(counted[label].types) for label in relations])
    types, hits = (
        np.concatenate([np.zeros(0, np.int64), *(getattr(counted[label], column) for label in relations)])
        for column in ("types", "hits")
    )
    entities = shard.share(cases.graph, cases.statistics.having(relations))
    reached = cases.statistics.count_reach(relation, types, hits, entities, show)
    return _part(cases, shard, relations, relation, types, hits, *reached)


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


def keep(cases: Cases, counts: Part) -> None:
    """Take merged counts for those of the case base."""
    if counts.digest != cases.digest:
        raise CasegraphError("the counts are of other facts or settings; count again, with these")
    if counts.shard.of > 1:
        raise CasegraphError(f"the counts are only those of shard {counts.shard}; merge all shards first")
    if "reached" not in counts.columns:
        raise CasegraphError("the counts are only of hits; count again with --given them, and merge")
    own = _directions(relations_in_use(cases.graph))
    relation, types = own[counts.relation], renumbered(counts.types, own, counts.max_length)
    order = np.lexsort((types, relation))
    columns = [counts.columns[name][order] for name in COLUMNS]
    cases.statistics.keep(own[counts.counted].tolist(), relation[order], types[order], *columns)


def _part(cases: Cases, shard: Shard, relations: list[int], relation: Ids, types: Counts, *columns: Counts) -> Part:
    graph, n = cases.graph, cases.settings.max_length
    own = _directions(relations_in_use(graph))
    number = np.zeros(graph.directions, dtype=np.int32)
    number[own] = np.arange(len(own), dtype=np.int32)
    relation, types = number[relation], renumbered(types, number, n)
    order = np.lexsort((types, relation))
    counted = np.sort(number[np.intersect1d(ids(relations), own)])
    return Part(
        shard, cases.digest, n, tuple(graph.relations[k >> 1] for k in own[::2].tolist()), counted,
        relation[order], types[order], {name: column[order] for name, column in zip(COLUMNS, columns, strict=False)},
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
    relation, types = np.concatenate([total.relation, part.relation]), np.concatenate([total.types, part.types])
    hits, order = np.concatenate([total.columns["hits"], part.columns["hits"]]), np.lexsort((types, relation))
    relation, types = relation[order], types[order]
    first = np.flatnonzero((np.diff(relation, prepend=-1) != 0) | (np.diff(types, prepend=-1) != 0))
    hits = np.add.reduceat(hits[order], first) if len(first) else hits
    return replace(total, relation=relation[first], types=types[first], columns={"hits": hits})


def _reach_added(total: Part, part: Part) -> Part:
    pairs = (total.relation, part.relation), (total.types, part.types), (total.columns["hits"], part.columns["hits"])
    if not all(np.array_equal(*pair) for pair in pairs):
        raise CasegraphError(f"shard {part.shard} was counted with other hits than {total.shard}; give both the same")
    sums = {name: total.columns[name] + part.columns[name] for name in COLUMNS if name != "hits"}
    return replace(total, columns={**total.columns, **sums})
