"""
Shards: parts of the entities that are counted separately, and the sum of what they count.

Every count is a sum over entities. So a shard of the entities can be counted anywhere, as a pure
function of a state and the shard, and the counts of all shards are added. This takes two passes:
what paths reach is counted only for path types with enough hits, and how many hits a path type has
is known only when all shards are added up.

A path type and its inverse are counted by walking one of them, as in one process: all shards walk
the same ways, and together from all starts (see `PathStatistics.reach_plan`). So the sums of all
shards mean something, and those of a single shard do not. Each part says which ways it has walked,
and parts that have walked others are not added.

    first pass   count_hits(state, shard) for each shard, then merged(parts)
    second pass  with_hits(state, hits), count_reach(state, task) for each shard, merged(parts)
    at the end   keep(state, counts)

Ids of relations differ between case bases that read the same facts in another order. In a `Part`,
relations are therefore numbered in the order of their names, and parts can be added wherever they
were counted.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from casegraph.answering.cache import PerState
from casegraph.answering.state import State
from casegraph.errors import CasegraphError, InvalidArgument
from casegraph.graph.arrays import Counts, Ids, ids, joined, rows_with
from casegraph.graph.directions import directions_of
from casegraph.graph.graph import Graph
from casegraph.running import Show, quiet
from casegraph.statistics.counts import (
    BY_ITSELF,
    MAX_STEPS,
    Counting,
    Hits,
    PathCounts,
    having,
)
from casegraph.statistics.own_hits import is_large
from casegraph.statistics.path_types import renumbered
from casegraph.statistics.reach_plan import ReachPlan
from casegraph.storage.count_columns import COUNT_COLUMNS, REACH_COLUMNS, TYPES

WAYS = "ways"  # beside the columns of counts: how those of each row were found


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number`, from 1 to `of`, of the entities."""

    number: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise InvalidArgument(
                "shard", str(self), "i/n with i from 1 to n, such as 2/8"
            )

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def named(cls, text: str) -> "Shard":
        """The shard with a name such as `2/8`."""
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal()):
            raise InvalidArgument("shard", text, "i/n with i from 1 to n, such as 2/8")
        return cls(int(number), int(of))

    @classmethod
    def all(cls, of: int) -> "list[Shard]":
        """All shards of this many."""
        return [cls(number, of) for number in range(1, of + 1)]

    def share(self, graph: Graph, entities: Ids) -> Ids:
        """The entities of this shard among some, sorted.

        Entities are dealt out round robin, those with most facts first, so that every shard gets
        its share of the hubs and all shards take about the same time.
        """
        order = np.argsort(graph.prominence()[entities])
        by_prominence = entities[order]
        own = by_prominence[self.number - 1 :: self.of]
        return np.sort(own)


@dataclass(frozen=True, slots=True)
class Part:
    """The counts of a shard, for all relations.

    shard       which shard
    digest      of the facts and the settings
    max_length  the length up to which paths may be counted, of the settings
    names       the relations that have facts, sorted; their directions are numbered in this order
    counted     the directions for which the second pass has counted, sorted
    extent      after the first pass, the work of finding the paths of each length;
                after the second, the length up to which paths are counted, and how many more cycles
                may come before there could be too many
    relation    (rows,)  the direction of each row
    types       (rows,)  the path type of each row; rows are sorted by direction and path type
    columns     (rows,) each; after the first pass the hits of this shard; after the second the hits
                of all shards, and what this shard has `reached`, `right` and `left_out`
    ways        (rows,)  after the second pass, whether the path type was walked, or its inverse
                (see `Counting.ways_to_walk`); empty after the first
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
    ways: Counts

    @property
    def has_reach(self) -> bool:
        """Whether this comes from the second pass."""
        return "reached" in self.columns


def count_hits(state: State, shard: Shard, show: Show = quiet) -> Part:
    """The first pass: the hits of the entities of a shard."""
    graph = state.graph
    all_relations = list(range(graph.directions))
    entities = shard.share(graph, having(graph, all_relations))
    counting = Counting(graph, state.settings, show)
    # In a large graph, the limit of work holds for each relation and is applied at the end.
    max_work = MAX_STEPS if is_large(graph) else None
    found = counting.cycles(entities, max_work)
    rows = _Rows(found.relations, found.types, {"hits": found.hits})
    return _part(state, shard, counted=[], extent=found.work, rows=rows)


def with_hits(state: State, hits: Part) -> State:
    """The state that the second pass starts from: the same facts, and the hits of all shards."""
    fresh = State.of(state.graph, state.settings, profiles=state.profiles)
    rows = _rows_of(hits, fresh)
    merged_hits = Hits(rows.relation, rows.types, rows.columns["hits"], hits.extent)
    fresh.statistics.restore_hits(merged_hits)
    return fresh


def count_reach(
    state: State, task: tuple[Shard, list[int]], show: Show = quiet
) -> Part:
    """The second pass: what paths reach from the entities of a shard.

    state  from `with_hits`
    task   the shard, and the relations to count for
    """
    shard, relations = task
    graph = state.graph
    statistics = state.statistics
    plan = _reach_plan(state, tuple(sorted(relations)))
    entities = shard.share(graph, plan.starts)
    found = plan.counts(Counting(graph, state.settings, show), entities)

    counts = []
    for relation in range(graph.directions):
        of_relation = found.get(relation)
        if of_relation is None:
            of_relation = PathCounts.from_hits(*statistics.hits_of(relation))
        counts.append(of_relation)

    row_counts = [len(of_relation.types) for of_relation in counts]
    all_relations = np.arange(len(counts), dtype=np.int32)
    relation_of_row = np.repeat(all_relations, row_counts)
    types = _joined_column(counts, TYPES)
    columns = {name: _joined_column(counts, name) for name in COUNT_COLUMNS}
    first_rows = np.cumsum([0, *row_counts])
    columns[WAYS] = np.full_like(types, BY_ITSELF)
    columns[WAYS][first_rows[plan.labels] + plan.places] = plan.ways
    extent = np.array([statistics.longest, statistics.headroom])
    rows = _Rows(relation_of_row, types, columns)
    return _part(state, shard, counted=relations, extent=extent, rows=rows)


@PerState
def _reach_plan(state: State, relations: tuple[int, ...]) -> ReachPlan:
    """The same for all shards, of which a process counts several."""
    hits = {relation: state.statistics.hits_of(relation) for relation in relations}
    return ReachPlan.from_hits(hits, Counting(state.graph, state.settings))


def merged(parts: Iterable[Part]) -> Part:
    """The sum of all shards.

    `CasegraphError` unless every shard occurs exactly once and all fit together.
    """
    parts = iter(parts)
    total = next(parts)
    seen = {total.shard}
    for part in parts:
        _check_fits(total, part, seen)
        seen.add(part.shard)
        added = _reach_added if part.has_reach else _hits_added
        total = added(total, part)

    all_shards = Shard.all(total.shard.of)
    missing = [str(shard) for shard in all_shards if shard not in seen]
    if missing:
        names = ", ".join(missing)
        problem = f"the parts are not whole: missing {names}; count them first"
        raise CasegraphError(problem)
    return replace(total, shard=Shard(1, 1))


def keep(state: State, counts: Part) -> None:
    """Give a state the merged counts of the second pass."""
    rows = _rows_of(counts, state)
    if not counts.has_reach:
        problem = (
            "the counts are only of hits; count again with --given them, and merge"
        )
        raise CasegraphError(problem)

    directions = _directions_by_name(state.graph)
    reach_counted = set(directions[counts.counted].tolist())
    hits: dict[int, tuple[Counts, Counts]] = {}
    counted: dict[int, PathCounts] = {}
    for relation in range(state.graph.directions):
        own = rows_with(relation, rows.relation)
        own_columns = [rows.columns[name][own] for name in COUNT_COLUMNS]
        found = PathCounts(rows.types[own], *own_columns)
        hits[relation] = (found.types, found.hits)
        if relation in reach_counted:
            counted[relation] = found

    longest, headroom = counts.extent.tolist()
    state.statistics.restore(longest, headroom, hits, counted)


class _Rows(NamedTuple):
    """Counts under the ids of a state; a row for each path type of a relation."""

    relation: Ids
    types: Counts
    columns: dict[str, Counts]

    def renumbered(self, new: Ids, max_length: int) -> "_Rows":
        """The same rows with direction d replaced by `new[d]`, sorted again."""
        relation = new[self.relation]
        types = renumbered(self.types, new, max_length)
        order = np.lexsort((types, relation))
        columns = {name: column[order] for name, column in self.columns.items()}
        return _Rows(relation[order], types[order], columns)


def _rows_of(part: Part, state: State) -> _Rows:
    """The rows of a merged part, under the ids of a state; refused if it is of other facts."""
    if part.digest != state.digest:
        problem = "the counts are of other facts or settings; count again, with these"
        raise CasegraphError(problem)
    if part.shard.of > 1:
        problem = (
            f"the counts are only those of shard {part.shard}; merge all shards first"
        )
        raise CasegraphError(problem)
    rows = _Rows(part.relation, part.types, part.columns)
    return rows.renumbered(_directions_by_name(state.graph), part.max_length)


def _part(
    state: State, shard: Shard, counted: list[int], extent: Counts, rows: _Rows
) -> Part:
    """Rows under the ids of a state, as a part."""
    graph = state.graph
    by_name = _directions_by_name(graph)
    place = np.zeros(graph.directions, dtype=np.int32)
    place[by_name] = np.arange(len(by_name), dtype=np.int32)

    max_length = state.settings.max_length
    own = rows.renumbered(place, max_length)
    ways = own.columns.pop(WAYS, own.types[:0])
    counted_in_use = np.intersect1d(ids(counted), by_name)
    in_use = graph.relations_in_use().tolist()
    return Part(
        shard=shard,
        digest=state.digest,
        max_length=max_length,
        names=tuple(graph.relations[relation] for relation in in_use),
        counted=np.sort(place[counted_in_use]),
        extent=extent,
        relation=own.relation,
        types=own.types,
        columns=own.columns,
        ways=ways,
    )


def _directions_by_name(graph: Graph) -> Ids:
    """Both directions of every relation that has facts, relations in the order of their names."""
    in_use = graph.relations_in_use().tolist()
    return ids(directions_of(in_use))


def _joined_column(counts: list[PathCounts], name: str) -> Counts:
    return joined(getattr(of_relation, name) for of_relation in counts)


def _check_fits(total: Part, part: Part, seen: set[Shard]) -> None:
    """`CasegraphError` unless a part can be added to a sum of others."""
    if part.shard in seen:
        raise CasegraphError(f"shard {part.shard} is there twice; give every part once")
    if part.shard.of != total.shard.of:
        both = f"shards {total.shard} and {part.shard}"
        problem = f"{both} do not go together; give all of one number"
        raise CasegraphError(problem)
    is_same_work = (
        part.digest == total.digest
        and np.array_equal(part.counted, total.counted)
        and part.columns.keys() == total.columns.keys()
    )
    if not is_same_work:
        other = "other facts, settings or relations, or of another pass"
        raise CasegraphError(f"shard {part.shard} is of {other}, than {total.shard}")


def _hits_added(total: Part, part: Part) -> Part:
    """The sum of two parts of the first pass, which may have different rows."""
    both = Hits.sum([_hits_of(total), _hits_of(part)])
    return replace(
        total,
        relation=both.relations,
        types=both.types,
        extent=both.work,
        columns={"hits": both.hits},
    )


def _hits_of(part: Part) -> Hits:
    return Hits(part.relation, part.types, part.columns["hits"], part.extent)


def _reach_added(total: Part, part: Part) -> Part:
    """The sum of two parts of the second pass, which have the same rows and the same hits."""
    has_same_rows = (
        np.array_equal(total.relation, part.relation)
        and np.array_equal(total.types, part.types)
        and np.array_equal(total.columns["hits"], part.columns["hits"])
        and np.array_equal(total.extent, part.extent)
    )
    if not has_same_rows:
        problem = f"shard {part.shard} was counted with other hits than {total.shard}"
        raise CasegraphError(f"{problem}; give both the same")
    if not np.array_equal(total.ways, part.ways):
        problem = f"shard {part.shard} walked other path types than {total.shard}"
        raise CasegraphError(f"{problem}; count both with the same casegraph")
    columns = dict(total.columns)
    for name in REACH_COLUMNS:
        columns[name] = total.columns[name] + part.columns[name]
    return replace(total, columns=columns)
