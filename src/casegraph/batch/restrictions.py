"""
Restrictions: which pairs of entities may be proposed, as ids; and the files that name them.

A pair is written as one number, `asked * entities + found`, so that sets of pairs are sorted
arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from casegraph.answering.questions import entity_of_text
from casegraph.errors import (
    CasegraphError,
    MalformedFact,
    UnknownName,
    UnreadableFile,
    quoted,
    several,
)
from casegraph.formats.delimited import rows_of
from casegraph.formats.reading import Reading
from casegraph.formats.registry import format_of, read_facts
from casegraph.formats.table_rows import TAB
from casegraph.graph.arrays import Counts, Flags, Ids, ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from casegraph.answering.state import State
    from casegraph.casebase import CaseBase

ANY_RELATION = ""  # in the place of a relation, in a row of a pair
UNKNOWN_RELATION = -1
MAX_LISTED = 3  # unknown names in a message

Row = tuple[str, str, str]  # head, relation or `ANY_RELATION`, tail
Named = TypeVar("Named", str, Row)


class PairSet(NamedTuple):
    """Pairs, as ids; of one relation each, or of any (`UNKNOWN_RELATION`)."""

    heads: Ids
    relations: Ids
    tails: Ids

    def of(self, relation: int) -> tuple[Ids, Ids]:
        """The heads and tails of the pairs that may be meant of a relation."""
        is_meant = np.isin(self.relations, (relation, UNKNOWN_RELATION))
        return self.heads[is_meant], self.tails[is_meant]


class AllowedAnswers(NamedTuple):
    """Which answers to the questions of one direction of a relation may be proposed.

    answers   the only answers, sorted; None for all
    either    entities, sorted, of which each pair must have one; None for any
    pairs     the only pairs, as sorted numbers; None for all
    excluded  pairs that may not be proposed, as sorted numbers
    loops     whether an entity may be an answer to a question about itself
    """

    answers: Ids | None
    either: Ids | None
    pairs: Counts | None
    excluded: Counts
    loops: bool

    @property
    def are_selective(self) -> bool:
        """Whether most answers may be excluded, so that all of them must be looked at."""
        limiting = (self.answers, self.either, self.pairs)
        return any(limit is not None for limit in limiting)

    def about(self, entities: Ids, count: int) -> AllowedAnswers:
        """The part that matters for questions about these entities.

        count  the number of all entities
        """
        pairs = None if self.pairs is None else _about(self.pairs, entities, count)
        return self._replace(
            pairs=pairs, excluded=_about(self.excluded, entities, count)
        )

    def most_excluded(self, count: int) -> int:
        """The largest number of answers to one question that may not be proposed.

        Answers that `are_selective` limits exclude are not counted.
        """
        _, excluded_of_each = np.unique(self.excluded // count, return_counts=True)
        return int(excluded_of_each.max(initial=0)) + (not self.loops)

    def allow(self, asked: Ids, found: Ids, count: int) -> Flags:
        """Whether each answer to a question about the entity asked may be proposed."""
        numbers = pair_numbers(asked, found, count)
        allowed: Flags = ~_is_in(numbers, self.excluded)
        if self.answers is not None:
            allowed &= _is_in(found, self.answers)
        if self.either is not None:
            allowed &= _is_in(asked, self.either) | _is_in(found, self.either)
        if self.pairs is not None:
            allowed &= _is_in(numbers, self.pairs)
        if not self.loops:
            allowed &= asked != found
        return allowed


def pair_numbers(asked: Ids, found: Ids, count: int) -> Counts:
    """Each pair as one number; `count` is the number of all entities."""
    numbers: Counts = asked.astype(np.int64) * count + found
    return numbers


def pair_set(state: State, rows: Iterable[Row]) -> PairSet:
    """Rows of names as ids; the names must be known."""
    entities = state.graph.entities
    relations = state.graph.relations
    numbered = []
    for head, relation, tail in rows:
        number = UNKNOWN_RELATION
        if relation != ANY_RELATION:
            number = _known(relations.find(relation), "relation", relation, state)
        numbered.append(
            (
                _known(entities.find(head), "entity", head, state),
                number,
                _known(entities.find(tail), "entity", tail, state),
            )
        )
    heads, relation_ids, tails = np.array(numbered, dtype=np.int32).reshape(-1, 3).T
    return PairSet(heads, relation_ids, tails)


def entity_ids(state: State, names: Iterable[str]) -> Ids:
    """The ids of entities, sorted; `UnknownName` at one that is unknown."""
    find = state.graph.entities.find
    return np.unique(ids(_known(find(name), "entity", name, state) for name in names))


def names_in(file: str) -> list[str]:
    """The names in a file, one a line."""
    names = []
    for record in rows_of(file, Reading(file), TAB):
        if len(record.fields) != 1:
            found = f"found {len(record.fields)} fields"
            raise MalformedFact(file, record.line, f"expected one name a line, {found}")
        names.append(record.fields[0])
    return _not_empty(file, names)


def pairs_in(file: str) -> list[Row]:
    """The pairs in a file of two columns, head and tail; or in a file of facts."""
    if format_of(file) == "tsv":
        pairs = []
        for record in rows_of(file, Reading(file), TAB):
            if len(record.fields) != 2:
                break
            head, tail = record.fields
            pairs.append((head, ANY_RELATION, tail))
        else:
            return _not_empty(file, pairs)
        if pairs:
            expected = (
                f"expected 'head<TAB>tail' as before, found {len(record.fields)} fields"
            )
            raise MalformedFact(file, record.line, expected)
    facts = [(fact.head, fact.relation, fact.tail) for fact in read_facts(file)]
    return _not_empty(file, facts)


def known_names(
    cases: CaseBase, file: str, names: Sequence[str], note: Callable[[str], None]
) -> tuple[str, ...]:
    """What the graph calls the entities in a file; a note says which are unknown."""
    named = _NameFinder(cases)
    found = [named.entity(name) for name in names]
    _report_unknown(file, named, note, is_any_known=any(found))
    return tuple(name for name in found if name is not None)


def known_pairs(
    cases: CaseBase, file: str, rows: Sequence[Row], note: Callable[[str], None]
) -> tuple[Row, ...]:
    """What the graph calls the pairs in a file; a note says which names are unknown."""
    named = _NameFinder(cases)
    known = []
    for head, relation, tail in rows:
        found = (named.entity(head), named.relation(relation), named.entity(tail))
        if None not in found:
            known.append(found)
    _report_unknown(file, named, note, is_any_known=bool(known))
    return tuple(known)  # type: ignore[arg-type]


class _NameFinder:
    """Finds what the graph calls names and labels; remembers those that it does not have."""

    def __init__(self, cases: CaseBase) -> None:
        self._cases = cases
        self._found: dict[tuple[Callable[[str], str], str], str | None] = {}
        self.unknown: list[str] = []

    def entity(self, text: str) -> str | None:
        return self._name(self._entity, text)

    def relation(self, text: str) -> str | None:
        if text == ANY_RELATION:
            return text
        return self._name(self._cases.relation, text)

    def _entity(self, text: str) -> str:
        state = self._cases.state
        # There may be thousands of unknown names: no suggestions are looked for.
        return state.graph.entities[entity_of_text(state, text, suggest=False)]

    def _name(self, find: Callable[[str], str], text: str) -> str | None:
        key = (find, text)
        if key not in self._found:
            try:
                self._found[key] = find(text)
            except UnknownName:
                self._found[key] = None
                self.unknown.append(text)
        return self._found[key]


def _report_unknown(
    file: str,
    named: _NameFinder,
    note: Callable[[str], None],
    *,
    is_any_known: bool,
) -> None:
    """Say which names of a file are unknown; an error if that leaves nothing."""
    if not named.unknown:
        return
    shown = ", ".join(map(quoted, named.unknown[:MAX_LISTED]))
    if named.unknown[MAX_LISTED:]:
        shown += f" and {len(named.unknown) - MAX_LISTED:,} more"
    if not is_any_known:
        raise CasegraphError(f"{file}: the graph has nothing of this: {shown}")
    note(
        f"{file}: the graph does not have {several(len(named.unknown), 'name')}: {shown}"
    )


def _not_empty(file: str, found: list[Named]) -> list[Named]:
    if not found:
        raise UnreadableFile(file, "is empty; leave the option out to allow everything")
    return found


def _known(number: int | None, kind: str, name: str, state: State) -> int:
    if number is None:
        graph = state.graph
        known = graph.entities if kind == "entity" else graph.relations
        raise UnknownName(kind, name, known.names)
    return number


def _about(numbers: Counts, entities: Ids, count: int) -> Counts:
    """The pairs whose first entity is one of these."""
    return numbers[_is_in(numbers // count, np.sort(entities))]


def _is_in(values: Ids | Counts, among: Ids | Counts) -> Flags:
    """Whether each value is in a sorted array."""
    if not len(among):
        return np.zeros(len(values), dtype=np.bool)
    places = np.minimum(np.searchsorted(among, values), len(among) - 1)
    found: Flags = among[places] == values
    return found
