"""Questions: which answers are wanted, and what the names in them mean in a state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from casegraph.answering.arguments import (
    checked_answer,
    checked_count,
    checked_text,
    several_of,
)
from casegraph.answering.cache import PerState
from casegraph.answering.query import UNKNOWN
from casegraph.errors import (
    AmbiguousName,
    CasegraphError,
    InvalidArgument,
    UnknownName,
)
from casegraph.graph import lookup
from casegraph.graph.directions import backward, forward
from casegraph.graph.graph import Query
from casegraph.graph.search import SearchText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from casegraph.answering.results.answer import Answer
    from casegraph.answering.state import State
    from casegraph.graph.arrays import Ids

Known = Literal["mark", "exclude"]
End = Literal["tail", "head"]


class Question(NamedTuple):
    """(entity, direction, ?).

    name       of the entity asked about; as it was given if there is no such entity
    entity     its id, or `UNKNOWN`
    direction  of a relation
    """

    name: str
    entity: int
    direction: int


class AnswerOptions(NamedTuple):
    """Which answers are wanted.

    top         how many, or `ALL`
    known       whether to "mark" or to "exclude" answers that are already facts
    candidates  the only answers to consider, if any are named
    of_type     the type of all of these, if one was given
    is_only_one whether there is only one question
    """

    top: int
    known: Known
    candidates: set[int] | None
    of_type: str | None = None
    is_only_one: bool = False


def wanted_answers(
    state: State,
    top: int,
    known: Known,
    candidates: Iterable[str] | None,
    of_type: str | None = None,
) -> AnswerOptions:
    """Which answers are wanted, from the arguments of a question; their names become ids."""
    count = checked_count("top", top, all_if_negative=True)
    if known not in ("mark", "exclude"):
        raise InvalidArgument("known", known, "'mark' or 'exclude'")
    allowed = None
    if candidates is not None:
        names = several_of(
            "candidates", candidates, "several names, such as a list of them"
        )
        found = (_entity(state, name) for name in names)
        allowed = {entity for entity in found if entity is not None}
    if of_type is not None:
        of_this_type = set(entities_of_type(state, of_type).tolist())
        allowed = of_this_type if allowed is None else allowed & of_this_type
    return AnswerOptions(count, known, allowed, of_type)


def question_of(
    state: State, entity: str, relation: str, wanted: End = "tail"
) -> Question:
    """The question (entity, relation, ?), or (?, relation, entity) if the head is wanted.

    Entity and relation are given by name or label; an unknown relation is an error.
    """
    found = _entity(state, entity)
    number = relation_of_text(state, relation)
    direction = backward(number) if wanted == "head" else forward(number)
    if found is None:
        return Question(entity, UNKNOWN, direction)
    return Question(state.graph.entities[found], found, direction)


def query_of(state: State, answer: Answer) -> tuple[Query, int]:
    """The query that an answer was given to, and the entity that it names."""
    checked_answer(answer)
    entity = state.graph.entities.find(answer.asked)
    found = state.graph.entities.find(answer.entity)
    relation = state.graph.relations.find(answer.relation)
    if found is None or relation is None:
        raise CasegraphError(
            f"this case base did not give the answer {answer.entity!r}; "
            "explain it with the one that did"
        )
    direction = backward(relation) if answer.inverse else forward(relation)
    asked = UNKNOWN if entity is None else entity
    return Query(asked, direction), found


def relation_of_text(state: State, text: str) -> int:
    """The relation that has this name or label; an error if none or several do."""
    return lookup.relation_id(state.graph, state.descriptions, text)


def entity_of_text(state: State, text: str, *, suggest: bool = True) -> int:
    """The entity that has this name or label; an error if none or several do.

    Case and accents are ignored, and the last part of an IRI is enough.

    suggest  whether the error names similar entities, which takes time
    """
    found = _entity(state, text)
    if found is not None:
        return found
    alike = search_text(state).called(text)
    if len(alike) > 1:
        names = [state.graph.entities[entity] for entity in alike]
        raise AmbiguousName("entity", text, names)
    if not alike:
        raise UnknownName("entity", text, names_and_labels(state) if suggest else ())
    return alike[0]


def _entity(state: State, text: str) -> int | None:
    return lookup.entity_id(state.graph, state.descriptions, text)


def names_and_labels(state: State) -> list[str]:
    """All names and labels of entities."""
    labels = [
        description.label for description in state.descriptions if description.label
    ]
    return [*state.graph.entities.names, *labels]


@PerState
def search_text(state: State) -> SearchText:
    """The searchable names and labels of a state, made once."""
    return SearchText(state.graph, state.descriptions)


def entities_of_type(state: State, of_type: str) -> Ids:
    """The entities of a type, found once; `UnknownName` if there are none."""
    return _entities_of_type(state, checked_text("of_type", of_type))


@PerState
def _entities_of_type(state: State, of_type: str) -> Ids:
    return lookup.entities_of_type(state.graph, state.descriptions, of_type)
