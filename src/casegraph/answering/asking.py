"""Asking by name: questions of one relation are answered together; scores of given facts."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, pairwise
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph.answering.belief import answer_probabilities
from casegraph.answering.notes import about_the_unknown, why_nothing, wrong_way_round
from casegraph.answering.query import ALL, UNKNOWN, answers, scores_of_targets
from casegraph.answering.questions import question_of
from casegraph.answering.results.answer import Answers, named_answers
from casegraph.answering.results.labels import labels_of
from casegraph.answering.results.text import question as question_as_text
from casegraph.errors import NotReached
from casegraph.graph.arrays import ids
from casegraph.graph.descriptions import is_iri
from casegraph.graph.directions import is_inverse, relation_of
from casegraph.graph.lookup import entity_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from casegraph.answering.query import Found
    from casegraph.answering.questions import AnswerOptions, Question
    from casegraph.answering.results.answer import Answer
    from casegraph.answering.state import State

FIRST_NEW = 10  # new answers that may be what is missing
MOST_BELIEVED = 200  # answers to a question whose probability is given


def answers_to_all(
    state: State, questions: Sequence[Question], wanted: AnswerOptions
) -> list[Answers]:
    """The answers to each question; the questions of each relation are answered together."""
    wanted = wanted._replace(is_only_one=len(questions) == 1)
    places: dict[int, list[int]] = {}
    for place, question in enumerate(questions):
        places.setdefault(question.direction, []).append(place)

    found: dict[int, Answers] = {}
    for direction in sorted(places):
        of_direction = _answers_of_relation(
            state, [questions[place] for place in places[direction]], wanted
        )
        found.update(zip(places[direction], of_direction, strict=True))
    return [found[place] for place in range(len(questions))]


def scores(state: State, facts: Sequence[tuple[str, str, str]]) -> list[float]:
    """The score of each fact while it is hidden; 0 if its tail is unknown."""
    # By relation: place, head and tail.
    rows_of: dict[int, list[tuple[int, int, int]]] = {}
    for place, (head, relation_name, tail) in enumerate(facts):
        _, entity, direction = question_of(state, head, relation_name)
        found = entity_id(state.graph, state.descriptions, tail)
        if found is not None:
            rows_of.setdefault(direction, []).append((place, entity, found))

    scores = [0.0] * len(facts)
    for relation in sorted(rows_of):
        places, heads, tails = zip(*rows_of[relation], strict=True)
        asked = ids(heads)
        targets = ids(tails)
        scored = scores_of_targets(state, relation, asked, targets, hidden=targets)
        for place, score in zip(places, scored.tolist(), strict=True):
            scores[place] = score
    return scores


def answer_to(state: State, question: Question, entity: int) -> Answer:
    """The answer to a question that is this entity; `NotReached` if nothing leads there."""
    asked, known = _entity_and_known_answers(state, question)
    (found,) = answers(state, question.direction, ids([asked]), top=ALL)
    places = np.flatnonzero(found.entities == entity)
    if not len(places):
        raise NotReached(state.graph.entities[entity], _text(state, question))
    probability = None
    if entity not in known:
        probability = answer_probabilities(
            state, question.direction, ids([asked]), ids([entity])
        )
    (answer,) = named_answers(
        state,
        (question.name, question.direction),
        [(entity, float(found.scores[places[0]]))],
        known,
        {} if probability is None else {entity: float(probability[0])},
    )
    return replace(answer, rank=int(places[0]) + 1)


def _text(state: State, question: Question) -> str:
    step = state.graph.step(question.direction)
    return question_as_text(question.name, step.relation, inverse=step.inverse)


def _answers_of_relation(
    state: State, questions: list[Question], wanted: AnswerOptions
) -> list[Answers]:
    """The answers to questions about one direction of a relation."""
    direction = questions[0].direction
    entities = []
    known_answers = []
    for question in questions:
        entity, known = _entity_and_known_answers(state, question)
        entities.append(entity)
        known_answers.append(known)

    top = ALL
    new_only = False
    if wanted.top != ALL and wanted.candidates is None:
        new_only = wanted.known == "exclude"
        most_known = 0 if new_only else max(map(len, known_answers))
        enough = max(wanted.top, FIRST_NEW) + most_known
        top = min(enough, len(state.graph.entities))
    results = answers(state, direction, ids(entities), top=top, new_only=new_only)
    kept = [
        _kept(found, known, wanted)
        for found, known in zip(results, known_answers, strict=True)
    ]
    believed = _believed(state, direction, entities, results, known_answers, kept)
    return [
        _named(state, question, found, known, some, belief, wanted)
        for question, known, found, some, belief in zip(
            questions, known_answers, results, kept, believed, strict=True
        )
    ]


class _Believed(NamedTuple):
    """How probable new answers are, and how probable it is that none is missing."""

    probability_of: dict[int, float]
    none_probability: float | None


def _kept(
    found: Found, known: set[int], wanted: AnswerOptions
) -> list[tuple[int, float]]:
    """The answers that are wanted, with their scores."""
    kept = []
    for entity, score in found.pairs():
        is_allowed = wanted.candidates is None or entity in wanted.candidates
        if is_allowed and not (wanted.known == "exclude" and entity in known):
            kept.append((entity, score))
    return kept if wanted.top == ALL else kept[: wanted.top]


def _believed(
    state: State,
    direction: int,
    entities: list[int],
    results: list[Found],
    known_answers: list[set[int]],
    kept: list[list[tuple[int, float]]],
) -> list[_Believed]:
    """What to believe of the first new answers to each question, and of those that are kept."""
    answers_of: list[list[int]] = []
    first_of: list[list[int]] = []
    for found, known, some in zip(results, known_answers, kept, strict=True):
        new = (entity for entity in found.entities.tolist() if entity not in known)
        first = list(islice(new, FIRST_NEW))
        kept_new = (entity for entity, _ in some if entity not in known)
        all_new = dict.fromkeys([*first, *islice(kept_new, MOST_BELIEVED)])
        answers_of.append(list(all_new))
        first_of.append(first)

    sizes = [len(among) for among in answers_of]
    asked = np.repeat(ids(entities), sizes)
    new_answers = ids(entity for among in answers_of for entity in among)
    probable = answer_probabilities(state, direction, asked, new_answers)
    if probable is None:
        return [_Believed({}, None)] * len(results)

    believed = []
    places = pairwise(np.cumsum([0, *sizes]).tolist())
    for (start, end), among, first in zip(places, answers_of, first_of, strict=True):
        by_entity = dict(zip(among, probable[start:end].tolist(), strict=True))
        none = prod(1 - by_entity[entity] for entity in first)
        believed.append(_Believed(by_entity, none))
    return believed


def _entity_and_known_answers(state: State, question: Question) -> tuple[int, set[int]]:
    """The id of the entity asked about, or `UNKNOWN` if it has no facts; and its known answers."""
    entity = question.entity
    if entity == UNKNOWN:
        return UNKNOWN, set()
    known = set(state.graph.answers(entity, question.direction).tolist())
    if not known and state.is_without_facts(entity):
        return UNKNOWN, known
    return entity, known


def _named(
    state: State,
    question: Question,
    found: Found,
    known: set[int],
    kept: list[tuple[int, float]],
    believed: _Believed,
    wanted: AnswerOptions,
) -> Answers:
    """The wanted answers among those found, by name; if there are none, a note says why."""
    asked = (question.name, question.direction)
    given = named_answers(state, asked, kept, known, believed.probability_of)
    given_names = [answer.entity for answer in given]
    relation = state.graph.relations[relation_of(question.direction)]
    note = ""
    if not given and wanted.top != 0:
        if known:  # they may be what was found
            entity, _ = _entity_and_known_answers(state, question)
            found = answers(state, question.direction, ids([entity]), top=ALL)[0]
        note = why_nothing(state, question, found, wanted)
    elif not known and wanted.top != 0:
        note = about_the_unknown(state, question, wanted) or wrong_way_round(
            state, question
        )
    return Answers(
        asked=question.name,
        relation=relation,
        inverse=bool(is_inverse(question.direction)),
        found=given,
        note=note,
        exact=found.exact,
        tuned=state.settings.tuning is not None,
        none_probability=believed.none_probability,
        labels=_labels(state, [relation, question.name, *given_names]),
    )


def _labels(state: State, names: list[str]) -> dict[str, str]:
    """The labels of a relation and of entities, where they have one."""
    relation = names[0]
    if not len(state.descriptions) and not is_iri(relation):
        return {}  # most graphs have no labels, and an answer may have very many names
    return labels_of(state.descriptions, names)
