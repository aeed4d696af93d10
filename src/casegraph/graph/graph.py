"""
Facts as arrays, both directions (§2.1).

Relation number k of the graph is two relations of the method: 2k from head to tail, 2k + 1 back. The edges of a
relation are three arrays that are never written to: a change puts new arrays in their place. So a `copy` is cheap and
shares all that stays the same, and whoever holds a graph that nobody changes keeps it as it was, names included.
"""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Ids, ids
from casegraph.graph.directions import INVERSE, inverse
from casegraph.graph.edges import (
    NO_ROWS,
    Change,
    Edges,
    changed_keys,
    edges_of,
    edges_of_each,
    found_in,
    key,
    keys_of,
    sorted_unique,
    turned,
)
from casegraph.graph.facts import Fact, columns_of
from casegraph.graph.names import Names
from casegraph.running import no_collection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

AT_ONCE = 1 << 12  # facts that become ids together: as many as the processor's cache holds
BATCHES = 1 << 10  # of these that become edges together
FEW = 1 << 8  # facts of a new relation: with fewer, making arrays takes longer than what is put in them
NO_EDGES = Edges(ids(), np.zeros(1, dtype=np.int32), ids())
NO_EDGES_INDEXED = kernels.Edges.of(*NO_EDGES)


class Query(NamedTuple):
    """(entity, relation, ?) as ids; a question about heads is a query of the inverse relation."""

    entity: int
    relation: int


class Renumbering(NamedTuple):
    """Ids after names were given up, by the ids before; -1 for one that was given up.

    kept       the entities that are still there, sorted, as they were called before
    entities   the new id of each entity
    relations  the new number of each relation, 2k and 2k + 1
    """

    kept: Ids
    entities: Ids
    relations: Ids


class Graph:
    """Names with ids, and for each relation its edges grouped by head."""

    def __init__(self, entities: Names | None = None, relations: Names | None = None) -> None:
        self.entities = Names() if entities is None else entities
        self.relations = Names() if relations is None else relations
        self._edges: list[Edges] = [NO_EDGES] * (2 * len(self.relations))
        self._indexed: list[kernels.Edges] = [NO_EDGES_INDEXED] * (2 * len(self.relations))
        self._kernel: kernels.Graph | None = None
        self._prominence: Ids | None = None
        self._walks: dict[int, Counts] = {}

    @classmethod
    def of(cls, facts: Iterable[tuple[str, str, str]]) -> Self:
        """A graph of these facts."""
        graph = cls()
        graph.add(facts)
        return graph

    @classmethod
    def of_rows(cls, entities: Names, relations: Names, rows: Ids) -> Self:
        """A graph of facts given as rows (head, relation, tail) of ids, a relation being 2k."""
        if (
            rows.ndim != 2
            or rows.shape[1] != 3
            or (rows < 0).any()
            or (rows >= [len(entities), 2 * len(relations), len(entities)]).any()
        ):
            raise ValueError("facts name entities or relations that do not exist")
        graph = cls(entities, relations)
        graph.apply(rows.astype(np.int32), add=True)
        return graph

    def __len__(self) -> int:
        return sum(len(edges.tails) for edges in self._edges[::2])

    def __contains__(self, fact: tuple[str, str, str]) -> bool:
        head, relation, tail = self.entities.find(fact[0]), self.relations.find(fact[1]), self.entities.find(fact[2])
        if head is None or relation is None or tail is None:
            return False
        return bool(np.isin(tail, self.answers(head, 2 * relation)))

    @property
    def directions(self) -> int:
        """How many relations there are, counting each direction."""
        return len(self._edges)

    @property
    def kernel(self) -> kernels.Graph:
        """The same edges as the kernels read them."""
        if self._kernel is None:
            self._kernel = kernels.Graph(len(self.entities), self._indexed)
        return self._kernel

    def edges(self, relation: int) -> Edges:
        """The edges of a relation, 2k or its inverse 2k + 1."""
        return self._edges[relation]

    def changed_since(self, earlier: Graph) -> list[int]:
        """The relations (k, for 2k and 2k + 1) whose edges are not the arrays that an earlier graph has."""
        known = len(earlier._edges)
        forward = range(0, len(self._edges), 2)
        return [
            relation >> 1
            for relation in forward
            if relation >= known or self._edges[relation] is not earlier._edges[relation]
        ]

    def answers(self, entity: int, relation: int) -> Ids:
        """The entities that `relation` leads to from `entity`, sorted by id."""
        heads, offsets, tails = self._edges[relation]
        row = int(np.searchsorted(heads, entity))
        return tails[offsets[row] : offsets[row + 1]] if row < len(heads) and heads[row] == entity else tails[:0]

    def prominence(self) -> Ids:
        """The place of each entity when those with more facts come first, and equal ones in the order of names."""
        if self._prominence is None or len(self._prominence) < len(self.entities):
            degree = np.zeros(len(self.entities), dtype=np.int64)
            for edges in self._edges:
                degree[edges.heads] += np.diff(edges.offsets)
            order = np.lexsort((self.entities.ranks(), -degree))
            self._prominence = np.empty(len(order), dtype=np.int32)
            self._prominence[order] = np.arange(len(order), dtype=np.int32)
        return self._prominence

    def walks_from_each(self, steps: int) -> Counts:
        """How many walks of up to so many steps leave each entity."""
        if steps not in self._walks:
            self._walks[steps] = kernels.walks_from_each(self.kernel, steps)
        return self._walks[steps]

    def relation_name(self, relation: int) -> str:
        """The name of a relation; that of an inverse ends in ⁻¹."""
        return self.relations[relation >> 1] + (INVERSE if relation & 1 else "")

    def facts(self) -> Iterator[Fact]:
        """Every fact by name, sorted."""
        entity_ranks, relation_ranks = self.entities.ranks(), self.relations.ranks()
        for k in np.argsort(relation_ranks[: self.directions // 2]).tolist():
            edges = self._edges[2 * k]
            heads = np.repeat(edges.heads, np.diff(edges.offsets))
            order = np.lexsort((entity_ranks[edges.tails], entity_ranks[heads]))
            for head, tail in zip(heads[order].tolist(), edges.tails[order].tolist(), strict=True):
                yield Fact(self.entities[head], self.relations[k], self.entities[tail])

    def rows(self, relation: int) -> Ids:
        """The edges of a relation as rows (head, relation, tail), sorted."""
        edges = self._edges[relation]
        heads = np.repeat(edges.heads, np.diff(edges.offsets))
        return np.stack([heads, np.full_like(heads, relation), edges.tails], axis=1)

    def add(self, facts: Iterable[tuple[str, str, str]]) -> Change:
        """Take in facts, all or none; those that are there already are counted, and change nothing."""
        later = self.copy()
        added = [NO_ROWS]
        read = 0
        with no_collection():
            for rows in later._rows_of(facts):
                added.append(later.apply(rows, add=True))
                read += len(rows)
        later._make_room()
        self._become(later)
        new = np.concatenate(added)
        return Change(added=new, repeated=read - len(new))

    def retract(self, facts: Iterable[tuple[str, str, str] | str]) -> Change:
        """Take facts away, and all facts of entities; those that are not there are counted, and change nothing."""
        given = list(facts)
        named = {name: self._around(name) for name in given if isinstance(name, str)}
        asked = [fact for fact in given if not isinstance(fact, str)]
        first = self.apply(self._found(asked), add=False)
        more = self.apply(np.concatenate([NO_ROWS, *named.values()]), add=False)
        absent = len(asked) - len(first) + sum(not len(around) for around in named.values())
        return Change(retracted=np.concatenate([first, more]), absent=absent)

    def apply(self, rows: Ids, *, add: bool) -> Ids:
        """Add or retract facts given as rows of known ids; returns the rows that changed anything, sorted."""
        if not len(rows):
            return rows
        self._make_room()
        rows = rows[np.argsort(rows[:, 1], kind="stable")]
        starts = np.flatnonzero(np.diff(rows[:, 1], prepend=-1))
        few: list[Ids] = []
        changed = [NO_ROWS]
        for start, end in pairwise([*starts.tolist(), len(rows)]):
            group = rows[start:end]
            relation = int(group[0, 1])
            if add and len(group) < FEW and self._edges[relation] is NO_EDGES:
                few.append(group)
            else:
                keys = self._put_changed(relation, key(group[:, 0], group[:, 2]), add=add)
                changed.append(_rows(np.full(len(keys), relation), keys))
        if few:
            changed.append(self._put_new(np.concatenate(few)))
        self._forget_derived()
        found = np.concatenate(changed)
        return found[np.argsort(found[:, 1], kind="stable")]

    def copy(self) -> Graph:
        """A graph of the same facts that can go its own way; arrays and names are shared."""
        other = Graph(self.entities, self.relations)
        other._edges = self._edges.copy()
        other._indexed = self._indexed.copy()
        return other

    def with_names_of(self, later: Graph) -> Graph:
        """The same facts with ids for all names of a later graph as well."""
        if len(self.entities) == len(later.entities) and len(self.relations) == len(later.relations):
            return self
        graph = self.copy()
        graph.entities = later.entities
        graph.relations = later.relations
        graph._make_room()
        return graph

    def before(self, change: Change) -> Graph:
        """The graph that a change has made this one from, under the names that this one has."""
        earlier = self.copy()
        earlier.apply(change.added, add=False)
        earlier.apply(change.retracted, add=True)
        return earlier

    def with_living_names(self, also: Change) -> tuple[Graph, Renumbering]:
        """The same facts with ids only for names that some fact has, or that a change speaks of; and the new ids."""
        is_living = np.zeros(len(self.entities), dtype=np.bool)
        is_living[also.entities] = True
        is_used = np.zeros(self.directions, dtype=np.bool)
        is_used[also.relations] = True
        for relation, edges in enumerate(self._edges):
            is_living[edges.heads] = True
            is_used[relation] |= len(edges.heads) > 0
        kept = np.flatnonzero(is_living).astype(np.int32)
        directions = np.flatnonzero(is_used).astype(np.int32)
        new = Renumbering(kept, _places(kept, len(is_living)), _places(directions, len(is_used)))
        graph = Graph(self.entities.kept(kept), self.relations.kept(directions[::2] >> 1))
        for relation, before in enumerate(directions.tolist()):
            graph._put(relation, self._edges[before].renumbered(new.entities))
        return graph, new

    def without(self, facts: Iterable[tuple[str, str, str]]) -> Graph:
        """The graph as if these facts were not known; this one stays as it is."""
        view = self.copy()
        view.retract(facts)
        return view

    def compacted(self) -> Graph:
        """The canonical form: the same facts, ids in the order of names, and no id for a name that no fact has."""
        entities = sorted({name for fact in self.facts() for name in (fact.head, fact.tail)})
        graph = Graph(Names(entities), Names(sorted({fact.relation for fact in self.facts()})))
        graph.add(self.facts())
        return graph

    def _rows_of(self, facts: Iterable[tuple[str, str, str]]) -> Iterator[Ids]:
        """Facts as rows of ids, many at a time, but not so many that repeated facts could fill the memory."""
        columns: list[Ids] = []
        read = 0
        for batch in _batches(facts):
            heads, labels, tails = columns_of(batch, first=read + 1)
            read += len(batch)
            self.entities, found = self.entities.extended(heads + tails)
            self.relations, relations = self.relations.extended(labels)
            columns.append(np.stack([found[: len(heads)], 2 * relations, found[len(heads) :]], axis=1))
            if len(columns) == BATCHES:
                yield np.concatenate(columns)
                columns = []
        if columns:
            yield np.concatenate(columns)

    def _found(self, facts: list[tuple[str, str, str]]) -> Ids:
        """Those of the facts whose names are known, as rows of ids."""
        rows = []
        for head, relation, tail in zip(*columns_of(facts), strict=True):
            row = (self.entities.find(head), self.relations.find(relation), self.entities.find(tail))
            if None not in row:
                rows.append(row)
        found = np.array(rows, dtype=np.int32).reshape(-1, 3)
        found[:, 1] *= 2
        return found

    def _around(self, name: str) -> Ids:
        """The facts of an entity, as rows."""
        entity = self.entities.find(name)
        found = [np.empty((0, 3), dtype=np.int32)]
        for relation in range(self.directions if entity is not None else 0):
            others = self.answers(entity or 0, relation)
            pair = (np.full_like(others, entity), others)[:: -1 if relation & 1 else 1]
            found.append(np.stack([pair[0], np.full_like(others, relation & ~1), pair[1]], axis=1))
        return np.concatenate(found)

    def _make_room(self) -> None:
        """Have a place for the edges of each relation that has a name."""
        missing = 2 * len(self.relations) - len(self._edges)
        if missing:
            self._edges += [NO_EDGES] * missing
            self._indexed += [NO_EDGES_INDEXED] * missing
        self._forget_derived()

    def _put_new(self, rows: Ids) -> Ids:
        """Add rows of relations that have no edges yet; returns them without repetitions, sorted."""
        rows = rows[np.lexsort(rows.T[[2, 0, 1]])]
        rows = rows[(np.diff(rows, axis=0, prepend=-1) != 0).any(axis=1)]
        keys = key(rows[:, 0], rows[:, 2])
        for relation, edges in edges_of_each(rows[:, 1], keys):
            self._put(relation, edges)
        for relation, edges in edges_of_each(inverse(rows[:, 1]), turned(keys)):
            self._put(relation, edges)
        return rows

    def _put_changed(self, relation: int, keys: Counts, *, add: bool) -> Counts:
        """Add or retract edges of a relation; returns the keys of those that changed anything, sorted."""
        before = keys_of(self._edges[relation])
        asked = sorted_unique(keys)
        is_known = found_in(asked, before)
        changed = asked[~is_known] if add else asked[is_known]
        if len(changed):
            before_back = keys_of(self._edges[inverse(relation)])
            back = np.sort(turned(changed))
            self._put(relation, edges_of(changed_keys(before, changed, add=add)))
            self._put(inverse(relation), edges_of(changed_keys(before_back, back, add=add)))
        return changed

    def _put(self, relation: int, edges: Edges) -> None:
        self._edges[relation] = edges
        self._indexed[relation] = kernels.Edges.of(*edges)

    def _become(self, other: Graph) -> None:
        self.entities = other.entities
        self.relations = other.relations
        self._edges = other._edges
        self._indexed = other._indexed
        self._kernel = other._kernel
        self._prominence = other._prominence
        self._walks = other._walks

    def _forget_derived(self) -> None:
        """Make anew, when it is next asked for, what is derived from the edges."""
        self._kernel = None
        self._prominence = None
        self._walks = {}


def _places(kept: Ids, size: int) -> Ids:
    """The place among those kept of each of so many; -1 for one that is not kept."""
    places = np.full(size, -1, dtype=np.int32)
    places[kept] = np.arange(len(kept), dtype=np.int32)
    return places


def _rows(relations: Counts, keys: Counts) -> Ids:
    return np.stack([keys >> 32, relations, keys & 0xFFFFFFFF], axis=1).astype(np.int32)


def _batches(facts: Iterable[tuple[str, str, str]]) -> Iterator[list[tuple[str, str, str]]]:
    facts = iter(facts)
    while batch := list(islice(facts, AT_ONCE)):
        yield batch
