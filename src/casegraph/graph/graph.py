"""
Facts as arrays, both directions (§2.1).

Each relation has two directions (`graph/directions.py`), and each direction has its own edges.
`Edges` are arrays that are never modified: a change replaces them by new arrays.
So a `copy` is cheap, shares everything that stays the same, and is not affected by later changes.

A *row* of an edge is three ids: head, direction from head to tail, tail. (A row of a fact, in
`graph/rows.py`, has the relation in the middle.)
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Ids, ids, is_run_start, run_bounds
from casegraph.graph.change import NO_ROWS, Change
from casegraph.graph.directions import (
    PathStep,
    backward,
    direction_count,
    forward,
    forward_directions,
    inverse,
    is_inverse,
    relation_of,
)
from casegraph.graph.edges import (
    NO_EDGES,
    Edges,
    edges_by_direction,
    edges_from_keys,
    heads_of,
    is_among,
    key,
    keys_of,
    reversed_keys,
    sorted_reversed_keys,
    tails_of,
    with_keys,
    without_keys,
)
from casegraph.graph.facts import Fact, columns_of
from casegraph.graph.names import Names
from casegraph.graph.rows import RowReader
from casegraph.running import paused_garbage_collection, threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# New relations with fewer facts than this are created together, because creating their arrays
# takes longer than filling them.
SMALL_RELATION = 1 << 8

MOST_IN_16_BITS = (1 << 16) - 1

NO_INDEXED_EDGES = kernels.Edges.of(*NO_EDGES)


class Query(NamedTuple):
    """(entity, relation, ?) as ids; a query for heads is a query of the inverse relation."""

    entity: int
    relation: int


class Graph:
    """The names of entities and relations, and the edges of each direction of each relation."""

    def __init__(
        self, entities: Names | None = None, relations: Names | None = None
    ) -> None:
        self.entities = Names() if entities is None else entities
        self.relations = Names() if relations is None else relations
        directions = direction_count(len(self.relations))
        self._edges: list[Edges] = [NO_EDGES] * directions
        self._indexed_edges: list[kernels.Edges] = [NO_INDEXED_EDGES] * directions

        # Derived from the edges when needed.
        self._kernel: kernels.Graph | None = None
        # That of a graph this one was made from: what is alike need not be derived again.
        self._earlier_kernel: kernels.Graph | None = None
        self._prominence: Ids | None = None
        self._walks: dict[int, Counts] = {}  # by the number of steps
        # Likewise, from all entities together.
        self._all_walks: dict[int, float] = {}
        self._max_walks: dict[int, float] = {}

    @classmethod
    def of(cls, facts: Iterable[tuple[str, str, str]]) -> Self:
        """A graph of these facts."""
        graph = cls()
        graph.add(facts)
        return graph

    @classmethod
    def of_rows(cls, entities: Names, relations: Names, rows: Ids) -> Self:
        """A graph of facts given as rows; a `ValueError` if an id has no name."""
        directions = direction_count(len(relations))
        limits = [len(entities), directions, len(entities)]
        is_table = rows.ndim == 2 and rows.shape[1] == 3
        if not is_table or (rows < 0).any() or (rows >= limits).any():
            raise ValueError("facts name entities or relations that do not exist")
        graph = cls(entities, relations)
        graph.apply(rows.astype(np.int32), add=True)
        return graph

    @classmethod
    def of_edges(cls, entities: Names, relations: Names, edges: list[Edges]) -> Self:
        """A graph of the edges of each direction; a `ValueError` if they are inconsistent."""
        graph = cls(entities, relations)
        if len(edges) != graph.directions:
            raise ValueError("edges are of relations that do not exist")
        for direction, its_edges in enumerate(edges):
            if its_edges is not NO_EDGES:
                graph._put(direction, its_edges)
        _ = graph.kernel  # making it checks that both directions of each relation agree
        return graph

    def __repr__(self) -> str:
        facts = f"{len(self):,} facts"
        entities = f"{len(self.entities):,} entities"
        relations = f"{len(self.relations):,} relations"
        return f"<Graph: {facts}, {entities}, {relations}>"

    def __len__(self) -> int:
        edges = [self._edges[direction] for direction in self._forward_directions()]
        return sum(len(of_relation.tails) for of_relation in edges)

    def __contains__(self, fact: tuple[str, str, str]) -> bool:
        row = self._find_row(fact[0], fact[1], fact[2])
        if row is None:
            return False
        head, direction, tail = row
        return bool(np.isin(tail, self.answers(head, direction)))

    @property
    def directions(self) -> int:
        """The number of directions: two for each relation."""
        return len(self._edges)

    @property
    def kernel(self) -> kernels.Graph:
        """The same edges, in the form that the kernels use."""
        if self._kernel is None:
            self._kernel = kernels.Graph(
                len(self.entities), self._indexed_edges, self._earlier_kernel
            )
            self._earlier_kernel = None
        return self._kernel

    def edges(self, relation: int) -> Edges:
        """The edges of one direction of a relation."""
        return self._edges[relation]

    def changed_since(self, earlier: Graph) -> list[int]:
        """The relations whose edges are not the same arrays as in an earlier graph."""
        changed = []
        for direction in self._forward_directions():
            is_new = direction >= earlier.directions
            if is_new or self._edges[direction] is not earlier._edges[direction]:
                changed.append(relation_of(direction))
        return changed

    def answers(self, entity: int, relation: int) -> Ids:
        """The entities that a direction of a relation leads to from `entity`, sorted by id."""
        heads, offsets, tails = self._edges[relation]
        # For an int, NumPy would convert all heads.
        row = heads.searchsorted(np.int32(entity))
        if row == len(heads) or heads[row] != entity:
            return tails[:0]
        return tails[offsets[row] : offsets[row + 1]]

    def prominence(self) -> Ids:
        """The rank of each entity by the number of its facts, most first, ties in name order."""
        if self._prominence is None or len(self._prominence) < len(self.entities):
            name_ranks = self.entities.ranks()
            most_prominent_first = np.lexsort((name_ranks, -self.degrees()))
            self._prominence = _places(most_prominent_first, len(self.entities))
        return self._prominence

    def degrees(self) -> Counts:
        """How many facts each entity has, as head or as tail."""
        return self.walks_from_each(1)

    def has_facts(self, entity: int) -> bool:
        """Whether an entity is the head or the tail of a fact."""
        _, relations = kernels.profiles(self.kernel, ids([entity]))
        return len(relations) > 0

    def entities_with_facts(self) -> int:
        """How many entities are the head or the tail of a fact."""
        return int(np.count_nonzero(self.degrees()))

    def gather_edges(self) -> None:
        """Put the edges of each entity in one place for the kernels, on several threads."""
        kernels.gather_edges(self.kernel, threads())

    def walks_from_each(self, steps: int) -> Counts:
        """The number of walks of up to `steps` steps from each entity."""
        if steps == 0:
            return np.zeros(len(self.entities), dtype=np.int64)
        if steps not in self._walks:
            if steps == 1:
                walks = kernels.degrees(self.kernel, threads())
            else:
                shorter = self.walks_from_each(steps - 1)
                walks = kernels.walks_one_step_longer(self.kernel, shorter, threads())
            self._walks[steps] = walks
        return self._walks[steps]

    def walks_from_all(self, steps: int) -> float:
        """The number of walks of up to `steps` steps from all entities together.

        Edges are walked both ways. So each walk of k steps is an edge to an entity, followed by a
        walk of k - 1 steps from there: with k - 1 steps known for each entity, it takes no more
        than a sum over the entities.
        """
        if steps not in self._all_walks:
            degrees = self.degrees().astype(np.float64)
            total = float(degrees.sum())
            for step in range(1, steps):
                walks_of_length = self.walks_from_each(step) - self.walks_from_each(
                    step - 1
                )
                total += float((degrees * walks_of_length).sum())
            self._all_walks[steps] = total
        return self._all_walks[steps]

    def max_walks_from_all(self, steps: int) -> float:
        """An upper bound of `walks_from_all`, from nothing but degrees.

        Edges are walked both ways. So there are at most Σ degreeᵏ walks of k steps, summed over all
        entities.
        """
        if steps <= 1:
            return float(steps * self.degrees().sum())
        if steps not in self._max_walks:
            degrees = self.degrees().astype(np.float64)
            power = np.ones_like(degrees)
            total = 0.0
            for _ in range(steps):
                power *= degrees
                total += float(power.sum())
            self._max_walks[steps] = total
        return self._max_walks[steps]

    def direction_ranks(self) -> Ids:
        """The rank of each direction by the names of relations; a relation precedes its inverse."""
        ranks = self.relations.ranks()
        pairs = np.stack([forward(ranks), backward(ranks)], axis=1)
        return pairs.ravel()

    def relation_name(self, relation: int) -> str:
        """The name of a direction: that of its relation, with ⁻¹ from tail to head."""
        return str(self.step(relation))

    def step(self, direction: int) -> PathStep:
        """A direction of a relation by name."""
        name = self.relations[relation_of(direction)]
        return PathStep(name, bool(is_inverse(direction)))

    def facts(self) -> Iterator[Fact]:
        """Every fact by name, sorted by relation, head and tail."""
        entity_ranks = self.entities.ranks()
        relations_by_name = np.argsort(self.relations.ranks())
        for relation in relations_by_name.tolist():
            name = self.relations[relation]
            edges = self._edges[forward(relation)]
            heads = edges.head_of_each()
            tails = edges.tails
            order = np.lexsort((entity_ranks[tails], entity_ranks[heads]))
            for head, tail in zip(
                heads[order].tolist(), tails[order].tolist(), strict=True
            ):
                yield Fact(self.entities[head], name, self.entities[tail])

    def facts_of(self, name: str) -> list[Fact]:
        """All facts of an entity: first those with it as head, then by relation, head and tail."""

        def order(fact: Fact) -> tuple[bool, str, str, str]:
            return fact.head != name, fact.relation, fact.head, fact.tail

        # A fact of it with itself once.
        facts = set(self.facts_in(self._rows_around(name)))
        return sorted(facts, key=order)

    def facts_in(self, rows: Ids) -> Iterator[Fact]:
        """The facts by name that rows stand for."""
        for head, direction, tail in rows.tolist():
            relation = self.relations[relation_of(direction)]
            yield Fact(self.entities[head], relation, self.entities[tail])

    def rows(self, relation: int) -> Ids:
        """The edges of a direction as rows (head, direction, tail), sorted."""
        edges = self._edges[relation]
        return _rows(edges.head_of_each(), relation, edges.tails)

    def add(self, facts: Iterable[tuple[str, str, str]]) -> Change:
        """Add facts, all or none; facts that are already there are counted and change nothing."""
        later = self.copy()
        added = [NO_ROWS]
        read = 0
        with paused_garbage_collection():
            for rows in later._rows_of(facts):
                added.append(later.apply(rows, add=True))
                read += len(rows)
        later._make_room()
        vars(self).update(vars(later))

        new_rows = np.concatenate(added)
        return Change(added=new_rows, repeated=read - len(new_rows))

    def retract(self, facts: Iterable[tuple[str, str, str] | str]) -> Change:
        """Retract facts, and all facts of each entity that is given by its name.

        Facts that are not there, and entities without facts, are counted and change nothing.
        """
        given = list(facts)
        single_facts = [fact for fact in given if not isinstance(fact, str)]
        names = dict.fromkeys(name for name in given if isinstance(name, str))
        rows_around_each = [self._rows_around(name) for name in names]

        retracted = self.apply(self._known_rows(single_facts), add=False)
        rows_around = np.concatenate([NO_ROWS, *rows_around_each])
        retracted_around = self.apply(rows_around, add=False)

        absent_facts = len(single_facts) - len(retracted)
        absent_entities = sum(len(rows) == 0 for rows in rows_around_each)
        return Change(
            retracted=np.concatenate([retracted, retracted_around]),
            absent=absent_facts + absent_entities,
        )

    def apply(self, rows: Ids, *, add: bool) -> Ids:
        """Add or retract facts whose names have ids already.

        rows  (facts, 3)  head, direction from head to tail, tail; in any order, repetitions allowed

        Returns the rows that changed anything, each once, sorted by direction, head and tail.
        Each direction that changes gets new arrays, in time linear in its edges.
        """
        if not len(rows):
            return rows
        self._make_room()

        # Each relation is changed separately, except that small new relations are created together.
        rows = _by_direction(rows)
        small_and_new: list[Ids] = []
        changed = [NO_ROWS]
        for start, end in pairwise(run_bounds(rows[:, 1])):
            group = rows[start:end]
            direction = int(group[0, 1])
            is_new = self._edges[direction] is NO_EDGES
            if add and is_new and len(group) < SMALL_RELATION:
                small_and_new.append(group)
            else:
                keys = key(group[:, 0], group[:, 2])
                changed.append(self._change_relation(direction, keys, add=add))
        if small_and_new:
            changed.append(self._add_new_relations(np.concatenate(small_and_new)))

        self._forget_derived()
        return _by_direction(np.concatenate(changed))

    def copy(self) -> Graph:
        """A graph of the same facts that can be changed independently; arrays are shared."""
        other = Graph(self.entities, self.relations)
        other._edges = self._edges.copy()
        other._indexed_edges = self._indexed_edges.copy()
        other._earlier_kernel = self._kernel or self._earlier_kernel
        return other

    def detached(self) -> Graph:
        """A copy that does not share the table of names: later changes of it add no names here."""
        other = self.copy()
        other.entities = self.entities.detached()
        other.relations = self.relations.detached()
        return other

    def with_names_of(self, later: Graph) -> Graph:
        """The same facts, with ids for the names of a later graph as well."""
        has_all_entities = len(self.entities) == len(later.entities)
        has_all_relations = len(self.relations) == len(later.relations)
        if has_all_entities and has_all_relations:
            return self
        graph = self.copy()
        graph.entities = later.entities
        graph.relations = later.relations
        graph._make_room()
        return graph

    def before(self, change: Change) -> Graph:
        """The graph as it was before a change, with the current names."""
        earlier = self.copy()
        earlier.apply(change.added, add=False)
        earlier.apply(change.retracted, add=True)
        return earlier

    def entities_in_use(self) -> Ids:
        """The entities that have facts, in the order of their names."""
        is_used = np.zeros(len(self.entities), dtype=np.bool)
        for edges in self._edges:
            is_used[edges.heads] = True
        return _in_name_order(self.entities, ids(np.flatnonzero(is_used)))

    def relations_in_use(self) -> Ids:
        """The relations that have facts, in the order of their names."""
        used = [
            relation_of(direction)
            for direction in self._forward_directions()
            if len(self._edges[direction].heads)
        ]
        return _in_name_order(self.relations, ids(used))

    def fact_rows(self) -> Ids:
        """Every fact as a row (head, direction from head to tail, tail)."""
        return np.concatenate([NO_ROWS, *map(self.rows, self._forward_directions())])

    def compacted(self) -> Graph:
        """The canonical form: the same facts, ids in name order, no unused names."""
        entities = self.entities_in_use()
        relations = self.relations_in_use()
        new_entities = _places(entities, len(self.entities))
        new_relations = _places(relations, len(self.relations))

        rows = self.fact_rows()
        rows[:, 0] = new_entities[rows[:, 0]]
        rows[:, 1] = forward(new_relations[relation_of(rows[:, 1])])
        rows[:, 2] = new_entities[rows[:, 2]]
        names = self.entities.chosen(entities)
        return Graph.of_rows(names, self.relations.chosen(relations), rows)

    def _forward_directions(self) -> range:
        return forward_directions(len(self._edges))

    def _rows_of(self, facts: Iterable[tuple[str, str, str]]) -> Iterator[Ids]:
        """Facts as rows, with ids for new names, in large batches of bounded size."""
        reader = RowReader(self.entities, self.relations)
        for rows in reader.rows(facts):
            self.entities = reader.entities
            self.relations = reader.relations
            rows[:, 1] = forward(rows[:, 1])
            yield rows

    def _known_rows(self, facts: list[tuple[str, str, str]]) -> Ids:
        """The rows of the facts whose names all have ids; others cannot be in the graph."""
        rows = []
        for head, relation, tail in zip(*columns_of(facts), strict=True):
            row = self._find_row(head, relation, tail)
            if row is not None:
                rows.append(row)
        return np.array(rows, dtype=np.int32).reshape(-1, 3)

    def _find_row(
        self, head: str, relation: str, tail: str
    ) -> tuple[int, int, int] | None:
        """The row of a fact, or None if one of its names has no id."""
        head_id = self.entities.find(head)
        relation_id = self.relations.find(relation)
        tail_id = self.entities.find(tail)
        if head_id is None or relation_id is None or tail_id is None:
            return None
        return head_id, forward(relation_id), tail_id

    def _rows_around(self, name: str) -> Ids:
        """The rows of all facts that have an entity as head or as tail."""
        entity = self.entities.find(name)
        if entity is None:
            return NO_ROWS

        found = [NO_ROWS]
        for direction in range(self.directions):
            others = self.answers(entity, direction)
            if not len(others):
                continue
            entity_repeated = np.full_like(others, entity)
            if is_inverse(direction):
                found.append(_rows(others, inverse(direction), entity_repeated))
            else:
                found.append(_rows(entity_repeated, direction, others))
        return np.concatenate(found)

    def _make_room(self) -> None:
        """Make room for the edges of each named relation."""
        missing = direction_count(len(self.relations)) - len(self._edges)
        if missing:
            self._edges += [NO_EDGES] * missing
            self._indexed_edges += [NO_INDEXED_EDGES] * missing
        self._forget_derived()

    def _add_new_relations(self, rows: Ids) -> Ids:
        """Add facts of relations that have no edges yet; returns them sorted, each once."""
        directions = rows[:, 1]
        keys = key(rows[:, 0], rows[:, 2])
        order = np.lexsort((keys, directions))
        directions = directions[order]
        keys = keys[order]

        is_first_occurrence = is_run_start(directions) | is_run_start(keys)
        directions = directions[is_first_occurrence]
        keys = keys[is_first_occurrence]

        for direction, edges in edges_by_direction(directions, keys):
            self._put(direction, edges)
        for direction, edges in edges_by_direction(
            inverse(directions), reversed_keys(keys)
        ):
            self._put(direction, edges)
        return np.stack([heads_of(keys), directions, tails_of(keys)], axis=1)

    def _change_relation(self, direction: int, keys: Counts, *, add: bool) -> Ids:
        """Add or retract edges of one relation, in both of its directions.

        direction       from head to tail
        keys  (edges,)  the edges in this direction, in any order

        Returns the rows of the edges that changed anything, sorted: when adding, those that were
        absent; when retracting, those that were present.
        """
        keys = kernels.distinct_keys(keys)
        keys_before = keys_of(self._edges[direction])
        is_known = is_among(keys, keys_before)
        changed = keys[~is_known] if add else keys[is_known]
        if len(changed):
            with_or_without = with_keys if add else without_keys
            keys_after = with_or_without(keys_before, changed)
            self._put(direction, edges_from_keys(keys_after))

            back = inverse(direction)
            changed_back = sorted_reversed_keys(changed)
            keys_before_back = keys_of(self._edges[back])
            keys_after_back = with_or_without(keys_before_back, changed_back)
            self._put(back, edges_from_keys(keys_after_back))
        return _rows(heads_of(changed), direction, tails_of(changed))

    def _put(self, direction: int, edges: Edges) -> None:
        self._edges[direction] = edges
        self._indexed_edges[direction] = kernels.Edges.of(*edges)

    def _forget_derived(self) -> None:
        """Drop what is derived from the edges; it is derived again when next needed."""
        self._earlier_kernel = self._kernel or self._earlier_kernel
        self._kernel = None
        self._prominence = None
        self._walks = {}
        self._all_walks = {}
        self._max_walks = {}


def _rows(heads: Ids, direction: int, tails: Ids) -> Ids:
    """The edges of one direction as rows: (edges, 3)."""
    directions = np.full_like(heads, direction)
    return np.stack([heads, directions, tails], axis=1)


def _by_direction(rows: Ids) -> Ids:
    """Rows sorted by direction (a stable sort)."""
    directions = rows[:, 1].copy()
    is_sorted = (directions[1:] >= directions[:-1]).all()
    if is_sorted:
        return rows
    # NumPy sorts 16-bit integers with a fast radix sort.
    if directions.max() <= MOST_IN_16_BITS:
        order = np.argsort(directions.astype(np.uint16), kind="stable")
    else:
        order = np.argsort(directions, kind="stable")
    return rows.take(order, axis=0)


def _in_name_order(names: Names, chosen: Ids) -> Ids:
    ranks = names.ranks()
    ordered: Ids = chosen[np.argsort(ranks[chosen])]
    return ordered


def _places(chosen: Ids | Counts | list[int], size: int) -> Ids:
    """The inverse of a selection: for each number below `size` its place in `chosen`, or -1."""
    places = np.full(size, -1, dtype=np.int32)
    places[chosen] = np.arange(len(chosen), dtype=np.int32)
    return places
