"""
Facts as arrays, both directions (§2.1).

Relation number k of the graph is two relations of the method: 2k from head to tail, 2k + 1 back. The edges of a
relation are three arrays that are never written to: a change puts new arrays in their place. So a `copy` is cheap and
shares all that stays the same, whoever holds one keeps it as it was, and a relation's version says whether anything
derived from it still holds.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from casegraph import kernels
from casegraph.arrays import Counts, Ids, Interner, ids
from casegraph.edges import Change, Edges, changed_keys, edges_of, found_in, key, keys_of, sorted_unique
from casegraph.facts import Fact
from casegraph.work import no_collection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

AT_ONCE = 1 << 12  # facts that become ids together: as many as the processor's cache holds
BATCHES = 1 << 10  # of these that become edges together
INVERSE = "⁻¹"


def inverse(relation: int) -> int:
    """The same edges walked the other way."""
    return relation ^ 1


class Query(NamedTuple):
    """(entity, relation, ?) as ids; a question about heads is a query of the inverse relation."""

    entity: int
    relation: int


class Graph:
    """Interned names, and for each relation its edges grouped by head."""

    def __init__(self) -> None:
        self.entities = Interner()
        self.relations = Interner()
        self._edges: list[Edges] = []
        self._indexed: list[kernels.Edges] = []
        self._versions: list[int] = []
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
    def of_rows(cls, entities: Interner, relations: Interner, rows: Ids) -> Self:
        """A graph of facts given as rows (head, relation, tail) of ids, a relation being 2k."""
        graph = cls()
        graph.entities, graph.relations = entities, relations
        if (
            rows.ndim != 2
            or rows.shape[1] != 3
            or (rows < 0).any()
            or (rows >= [len(entities), 2 * len(relations), len(entities)]).any()
        ):
            raise ValueError("facts name entities or relations that do not exist")
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

    def version(self, relation: int) -> int:
        """A number that grows whenever the edges of the relation change."""
        return self._versions[relation >> 1]

    def changed_since(self, earlier: Graph) -> list[int]:
        """The relations (k, for 2k and 2k + 1) whose edges are not those of an earlier state of this graph."""
        known = len(earlier._versions)
        return [k for k, version in enumerate(self._versions) if k >= known or version != earlier._versions[k]]

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
        before, names = self.copy(), (len(self.entities), len(self.relations))
        added, read = [np.empty((0, 3), dtype=np.int32)], 0
        try:
            with no_collection():
                for rows in self._interned(facts):
                    added.append(self.apply(rows, add=True))
                    read += len(rows)
            self._make_room()
        except BaseException:
            self._edges, self._indexed, self._versions = before._edges, before._indexed, before._versions
            self._kernel, self._prominence = before._kernel, before._prominence
            self.forget_after(*names)
            raise
        new = np.concatenate(added)
        return Change(new, new[:0], repeated=read - len(new), absent=0)

    def forget_after(self, entities: int, relations: int) -> None:
        """Take back all names but so many of each; only right while no fact that is kept has one of them."""
        self.entities.forget_after(entities)
        self.relations.forget_after(relations)

    def retract(self, facts: Iterable[tuple[str, str, str] | str]) -> Change:
        """Take facts away, and all facts of entities; those that are not there are counted, and change nothing."""
        given = list(facts)
        named = {name: self._around(name) for name in given if isinstance(name, str)}
        rows, asked = self._found(fact for fact in given if not isinstance(fact, str))
        first = self.apply(rows, add=False)
        more = self.apply(np.concatenate([rows[:0], *named.values()]), add=False)
        absent = asked - len(first) + sum(not len(around) for around in named.values())
        return Change(first[:0], np.concatenate([first, more]), repeated=0, absent=absent)

    def apply(self, rows: Ids, *, add: bool) -> Ids:
        """Add or retract facts given as rows of known ids; returns the rows that changed anything, sorted."""
        if add:
            self._make_room()
        changed = []
        order = np.argsort(rows[:, 1], kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(rows[order, 1])) + 1):
            if not len(group):
                continue
            relation = int(rows[group[0], 1])
            before = keys_of(self._edges[relation])
            asked = sorted_unique(key(rows[group, 0], rows[group, 2]))
            known = found_in(asked, before)
            keys = asked[~known] if add else asked[known]
            if not len(keys):
                continue
            back, before_back = np.sort((keys << 32) | (keys >> 32)), keys_of(self._edges[inverse(relation)])
            self._put(relation, changed_keys(before, keys, add=add), changed_keys(before_back, back, add=add))
            changed.append(
                np.stack([keys >> 32, np.full(len(keys), relation), keys & 0xFFFFFFFF], axis=1).astype(np.int32)
            )
        return np.concatenate(changed) if changed else rows[:0]

    def copy(self) -> Graph:
        """A graph of the same facts that can go its own way; arrays and names are shared."""
        other = Graph()
        other.entities, other.relations = self.entities, self.relations
        other._kernel, other._prominence = self._kernel, self._prominence
        other._edges, other._indexed, other._versions = self._edges.copy(), self._indexed.copy(), self._versions.copy()
        return other

    def without(self, facts: Iterable[tuple[str, str, str]]) -> Graph:
        """The graph as if these facts were not known; this one stays as it is."""
        view = self.copy()
        view.retract(facts)
        return view

    def compacted(self) -> Graph:
        """The canonical form: the same facts, ids in the order of names, and no id for a name that no fact has."""
        graph = Graph()
        used = sorted({name for fact in self.facts() for name in (fact.head, fact.tail)})
        graph.entities, graph.relations = Interner(used), Interner(sorted({fact.relation for fact in self.facts()}))
        graph.add(self.facts())
        return graph

    def _interned(self, facts: Iterable[tuple[str, str, str]]) -> Iterator[Ids]:
        """Facts as rows of ids, many at a time, but not so many that repeated facts could fill the memory."""
        columns: list[Ids] = []
        for batch in _batches(facts):
            heads, relations, tails = zip(*batch, strict=True)
            entities, labels = self.entities.intern(heads + tails), 2 * self.relations.intern(relations)
            columns.append(np.stack([entities[: len(heads)], labels, entities[len(heads) :]], axis=1))
            if len(columns) == BATCHES:
                yield np.concatenate(columns)
                columns = []
        if columns:
            yield np.concatenate(columns)

    def _found(self, facts: Iterable[tuple[str, str, str]]) -> tuple[Ids, int]:
        rows, asked = [], 0
        for head, relation, tail in facts:
            asked += 1
            row = self.entities.find(head), self.relations.find(relation), self.entities.find(tail)
            if None not in row:
                rows.append(row)
        found = np.array(rows, dtype=np.int32).reshape(-1, 3)
        found[:, 1] *= 2
        return found, asked

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
        none = Edges(ids(), np.zeros(1, dtype=np.int32), ids())
        while len(self._edges) < 2 * len(self.relations):
            self._edges.append(none)
            self._indexed.append(kernels.Edges.of(*none))
        self._versions += [0] * (len(self.relations) - len(self._versions))
        self._kernel, self._walks = None, {}

    def _put(self, relation: int, keys: Counts, back: Counts) -> None:
        for direction, sorted_keys in ((relation, keys), (inverse(relation), back)):
            edges = edges_of(sorted_keys)
            self._edges[direction], self._indexed[direction] = edges, kernels.Edges.of(*edges)
        self._versions[relation >> 1] += 1
        self._kernel, self._prominence, self._walks = None, None, {}


def _batches(facts: Iterable[tuple[str, str, str]]) -> Iterator[list[tuple[str, str, str]]]:
    facts = iter(facts)
    while batch := list(islice(facts, AT_ONCE)):
        yield batch
