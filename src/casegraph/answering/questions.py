"""Questions by name: which answers are wanted, and what the names mean in a state."""

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
from casegraph.errors import CasegraphError, InvalidSettings, UnknownName
from casegraph.graph.directions import backward, forward
from casegraph.graph.graph import Query
from casegraph.graph.lookup import entities_of_type, entity_named, relation_named
from casegraph.graph.search import SearchText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from casegraph.answering.results import Answer
    from casegraph.answering.state import State

Known = Literal["mark", "exclude"]


class Question(NamedTuple):
    """(name, direction, ?): the name of the entity asked about, and a direction of a relation."""

    name: str
    direction: int


class Wanted(NamedTuple):
    """Which answers are wanted.

    top         how many, or `ALL`
    known       whether to "mark" or to "exclude" answers that are already facts
    candidates  the only answers to consider, if any are named;
                None stands for a name that is unknown
    of_type     the type of all of these, if one was given
    is_only_one whether there is only one question
    """

    top: int
    known: Known
    candidates: set[int | None] | None
    of_type: str | None = None
    is_only_one: bool = False


def wanted_answers(
    state: State,
    top: int,
    known: Known,
    candidates: Iterable[str] | None,
    of_type: str | None = None,
) -> Wanted:
    """Which answers are wanted, from the arguments of a question; their names become ids."""
    count = checked_count("top", top, all_if_negative=True)
    if known not in ("mark", "exclude"):
        raise InvalidSettings("known", known, "'mark' or 'exclude'")
    allowed = None
    if candidates is not None:
        names = several_of(
            "candidates", candidates, "several names, such as a list of them"
        )
        allowed = set(_ids_of(state, names))
    if of_type is not None:
        its_name = checked_text("of_type", of_type)
        of_this_type = set(_ids_of(state, _entities_of_type(state, its_name)))
        allowed = of_this_type if allowed is None else allowed & of_this_type
    return Wanted(count, known, allowed, of_type)


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


def relation_id(state: State, name: str) -> int:
    """The number of a relation; an error if it is unknown."""
    used_name = relation_named(state.graph, state.descriptions, name)
    found = state.graph.relations.find(used_name)
    if found is None:
        raise UnknownName("relation", name, state.graph.relations.names)
    return found


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


def _ids_of(state: State, names: Iterable[str]) -> Iterator[int | None]:
    """The id of each entity, given by its name or its label; None if there is none."""
    for given in names:
        name = entity_named(state.graph, state.descriptions, given)
        yield state.graph.entities.find(name)


@PerState
def _entities_of_type(state: State, of_type: str) -> list[str]:
    return entities_of_type(state.graph, state.descriptions, of_type)
