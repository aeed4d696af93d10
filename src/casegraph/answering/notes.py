"""Notes: why a question has no answer, and what the user can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from casegraph.answering.cache import PerState
from casegraph.answering.query import UNKNOWN
from casegraph.answering.questions import names_and_labels
from casegraph.errors import close_names, quoted, several
from casegraph.graph.directions import (
    backward,
    forward,
    inverse,
    is_inverse,
    relation_of,
)

if TYPE_CHECKING:
    from casegraph.answering.query import Found
    from casegraph.answering.questions import AnswerOptions, Question
    from casegraph.answering.state import State

ADD_FACTS = "add facts about it first"
USUAL_ANSWERS = "the answers are those that most others have"
# Names to search for suggestions, at 4 µs each; an answer takes 1 ms.
MAX_SUGGESTED_FROM = 10_000


def why_nothing(
    state: State, question: Question, found: Found, wanted: AnswerOptions
) -> str:
    """Why there is no answer, and what to do about it."""
    of_unknown = about_the_unknown(state, question, wanted, to_do=ADD_FACTS)
    if of_unknown:
        return of_unknown
    if not len(state.graph.edges(question.direction).heads):
        relation = state.graph.relation_name(question.direction)
        return f"no entity has {relation!r} any more, so there is no precedent"
    wrong_way = wrong_way_round(state, question)
    if wrong_way:
        return wrong_way
    if len(found.entities):
        return _why_none_is_wanted(found, wanted)
    return "no path type and no precedent leads to an answer"


def about_the_unknown(
    state: State, question: Question, wanted: AnswerOptions, to_do: str = USUAL_ANSWERS
) -> str:
    """That nothing is known about the entity asked about; an empty string if something is."""
    name = question.name
    if question.entity == UNKNOWN:
        # For many questions, looking for similar names would take too long.
        has_time = (
            wanted.is_only_one and len(state.graph.entities) <= MAX_SUGGESTED_FROM
        )
        suggestions = close_names(name, names_and_labels(state)) if has_time else []
        meant = (
            f"; did you mean {' or '.join(map(quoted, suggestions))}?"
            if suggestions
            else ""
        )
        return f"{name!r} has never been seen; {to_do}{meant}"
    if state.is_without_facts(question.entity):
        label = state.descriptions.label(name)
        return f"nothing is known about {label!r} any more; {to_do}"
    return ""


def wrong_way_round(state: State, question: Question) -> str:
    """A hint if a question was probably meant the other way round; else an empty string.

    That is the case if the entity has the relation only in the other direction, and no entity has
    it in both.
    """
    graph = state.graph
    if question.entity == UNKNOWN:
        return ""
    if not len(graph.answers(question.entity, inverse(question.direction))):
        return ""
    if not _leads_one_way(state, relation_of(question.direction)):
        return ""
    name = state.descriptions.label(question.name)
    relation = state.descriptions.label(
        graph.relations[relation_of(question.direction)]
    )
    if is_inverse(question.direction):
        return f"{name!r} is never the tail of {relation!r}; ask for its tails (ask)"
    return f"{name!r} is never the head of {relation!r}; ask with --head (ask_head in Python)"


def _why_none_is_wanted(found: Found, wanted: AnswerOptions) -> str:
    """Why there is no answer although some were found."""
    were_found = f"{several(len(found.entities), 'answer')} found"
    also_known = "ask for them, too (known='mark', --known mark)"
    candidates = wanted.candidates
    if candidates is None:
        return f"{were_found}, but only facts that are known; {also_known}"
    if not candidates.isdisjoint(found.entities.tolist()):
        return f"{were_found}, but of the candidates only facts that are known; {also_known}"
    if wanted.of_type is not None:
        advice = "ask for another type, or for all"
        return f"{were_found}, but none of type {wanted.of_type!r}; {advice}"
    return (
        f"{were_found}, but none among {several(len(candidates), 'candidate')}; "
        "allow more of them, or all"
    )


@PerState
def _leads_one_way(state: State, relation: int) -> bool:
    """Whether no entity is both a head and a tail of a relation."""
    is_head = np.zeros(len(state.graph.entities), dtype=np.bool)
    is_head[state.graph.edges(forward(relation)).heads] = True
    tails = state.graph.edges(backward(relation)).heads
    return not is_head[tails].any()
