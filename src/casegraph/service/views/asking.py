"""Answers, reasons, neighbours and what-if results as response models."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from http import HTTPStatus

from casegraph.answering import results
from casegraph.answering.evidence.reason import Reason
from casegraph.answering.explanation import Neighbour
from casegraph.answering.query import UNKNOWN
from casegraph.casebase import CaseBase
from casegraph.errors import UnknownName
from casegraph.graph.arrays import Ids, ids
from casegraph.graph.directions import backward, forward
from casegraph.graph.names import Names
from casegraph.service import models
from casegraph.service.problems import Refused
from casegraph.service.views.labels import labels_of

NAMED = 12  # precedents and failures of a reason
FACTS_NAMED = 24  # facts of a reason


def asked(
    cases: CaseBase,
    question: models.Question,
    *,
    top: int,
    known: models.Known = "mark",
    of_type: str | None = None,
    candidates: list[str] | None = None,
) -> results.Answers:
    """The answers to a question."""
    if question.wanted == "head":
        return cases.ask_head(
            question.relation,
            question.entity,
            top,
            known=known,
            of_type=of_type,
            candidates=candidates,
        )
    return cases.ask(
        question.entity,
        question.relation,
        top,
        known=known,
        of_type=of_type,
        candidates=candidates,
    )


def entities_asked(
    cases: CaseBase, questions: Iterable[models.Question]
) -> dict[int, Ids]:
    """The entity that each question is about, or `UNKNOWN`, by the direction of its relation.

    Entities and relations are found by exact name or label only.
    """
    asked = dict[int, list[int]]()
    graph = cases.graph
    for question in questions:
        relation = _found(cases, graph.relations, question.relation)
        if relation is not None:
            is_head = question.wanted == "head"
            direction = backward(relation) if is_head else forward(relation)
            entity = _found(cases, graph.entities, question.entity)
            about = asked.setdefault(direction, [])
            about.append(UNKNOWN if entity is None else entity)
    return {direction: ids(about) for direction, about in asked.items()}


def _found(cases: CaseBase, names: Names, text: str) -> int | None:
    """The id of the only or first name that a text is, or is the label of."""
    found = names.find(text)
    if found is not None:
        return found
    labelled_so = cases.descriptions.named(text)
    known = [name for name in labelled_so if name in names]
    return names.find(known[0]) if known else None


def all_asked(cases: CaseBase, asking: models.Questions) -> models.Batch:
    """The answers to several questions."""
    answered = list(_all_answers(cases, asking))
    return models.Batch(answered=answered, sequence=cases.state.sequence)


def _all_answers(cases: CaseBase, asking: models.Questions) -> Iterator[models.Answers]:
    """The answers to each question; those for tails are answered in parallel."""
    for_tails = [question for question in asking.questions if question.wanted == "tail"]
    found_tails = cases.ask_many(
        [(question.entity, question.relation) for question in for_tails],
        asking.top,
        known=asking.known,
        of_type=asking.of_type,
        candidates=asking.candidates,
    )
    remaining_tails = iter(found_tails)
    for question in asking.questions:
        if question.wanted == "tail":
            found = next(remaining_tails)
        else:
            found = asked(
                cases,
                question,
                top=asking.top,
                known=asking.known,
                of_type=asking.of_type,
                candidates=asking.candidates,
            )
        yield answers(cases, found)


def answers(cases: CaseBase, found: results.Answers) -> models.Answers:
    """Answers as a response."""
    answer_names = [answer.entity for answer in found]
    names = [found.asked, found.relation, *answer_names]
    return models.Answers(
        question=_question(found.asked, found.relation, inverse=found.inverse),
        answers=[answer(given) for given in found],
        note=found.note,
        exact=found.exact,
        tuned=found.tuned,
        none=found.none,
        sequence=cases.state.sequence,
        labels=labels_of(cases, names),
    )


def answer(found: results.Answer) -> models.Answer:
    """An answer as part of a response."""
    return models.Answer(
        rank=found.rank,
        entity=found.entity,
        score=found.score,
        probability=found.probability,
        known=found.known,
    )


def _question(asked_about: str, relation: str, *, inverse: bool) -> models.Question:
    wanted: models.Wanted = "head" if inverse else "tail"
    return models.Question(entity=asked_about, relation=relation, wanted=wanted)


def answer_named(
    cases: CaseBase, question: models.Question, name: str
) -> results.Answer:
    """The answer to a question that is an entity; an error if it was not reached."""
    cases.entity(question.entity)
    wanted = cases.entity(name)
    found = asked(cases, question, top=-1)
    for given in found:
        if given.entity == wanted:
            return given
    message = f"{name!r} was not reached by {found.question}: no path type or precedent leads there"
    raise Refused(HTTPStatus.NOT_FOUND, message)


def explanation(cases: CaseBase, given: results.Answer) -> models.Explanation:
    """Why an answer was given, as a response."""
    explained = cases.explain(given, facts=FACTS_NAMED, failures=NAMED)
    shortened = replace(
        explained,
        reasons=tuple(map(_shortened_reason, explained.reasons)),
        neighbours=tuple(map(_shortened_neighbour, explained.neighbours)),
    )
    return models.Explanation(
        question=_question(given.asked, given.relation, inverse=given.inverse),
        answer=answer(given),
        reasons=list(shortened.reasons),
        neighbours=list(shortened.neighbours),
        sequence=cases.state.sequence,
        labels=labels_of(cases, shortened.names()),
    )


def _shortened_reason(reason: Reason) -> Reason:
    precedents = reason.precedents[:NAMED]
    return replace(reason, precedents=precedents, weights=reason.weights[:NAMED])


def _shortened_neighbour(near: Neighbour) -> Neighbour:
    return replace(near, shared=near.shared[:NAMED], answers=near.answers[:NAMED])


def similar(
    cases: CaseBase, entity: str, relation: str | None, top: int
) -> models.Similar:
    """The entities most like an entity."""
    name = cases.entity(entity)
    near = [_shortened_neighbour(other) for other in cases.similar(name, relation, top)]
    names = [name]
    for neighbour in near:
        names.append(neighbour.entity)
        names += [shared.relation for shared in neighbour.shared]
    return models.Similar(
        entity=name,
        neighbours=near,
        sequence=cases.state.sequence,
        labels=labels_of(cases, names),
    )


def imagined(cases: CaseBase, wanted: models.WhatIf) -> models.Imagined:
    """The answers before and after a change that is not made."""
    other = cases.what_if(wanted.add, wanted.retract)
    before = asked(cases, wanted.question, top=wanted.top, known=wanted.known)
    try:
        after = asked(other, wanted.question, top=wanted.top, known=wanted.known)
    except UnknownName as error:
        after = results.Answers(
            before.asked,
            before.relation,
            before.inverse,
            (),
            note=str(error),
            tuned=before.tuned,
        )
    sequence = cases.state.sequence
    imagined_answers = answers(other, after)
    return models.Imagined(
        before=answers(cases, before),
        after=imagined_answers.model_copy(update={"sequence": sequence}),
        moves=list(_moves(before, after)),
        sequence=sequence,
    )


def _moves(before: results.Answers, after: results.Answers) -> Iterator[models.Move]:
    """How each answer of either list moves; first those of the list after, in its order."""
    answers_before = {given.entity: given for given in before}
    answers_after = {given.entity: given for given in after}
    for entity in dict.fromkeys([*answers_after, *answers_before]):
        earlier = answers_before.get(entity)
        later = answers_after.get(entity)
        yield models.Move(
            entity=entity,
            before=None if earlier is None else earlier.rank,
            after=None if later is None else later.rank,
            score_before=None if earlier is None else earlier.score,
            score_after=None if later is None else later.score,
        )


def change_of_mind(
    cases: CaseBase, wanted: models.MindQuestion, budget: int
) -> models.ChangeOfMind:
    """The fewest facts without which an answer loses its rank, or half of its probability."""
    if wanted.answer is not None:
        given = answer_named(cases, wanted.question, wanted.answer)
    else:
        found = asked(cases, wanted.question, top=1, known=wanted.known)
        if not found:
            message = f"{found.question} has no answer: {found.note}"
            raise Refused(HTTPStatus.NOT_FOUND, message)
        given = found[0]
    change = cases.change_of_mind(given, most=wanted.most, budget=budget)
    names = [given.asked, given.relation, given.entity, change.instead or ""]
    for fact in change.facts:
        names += fact
    return models.ChangeOfMind(
        question=_question(given.asked, given.relation, inverse=given.inverse),
        answer=answer(given),
        facts=list(change.facts),
        sentence=change.sentence,
        rank=change.rank,
        rank_then=change.rank_then,
        probability=change.probability,
        probability_then=change.probability_then,
        instead=change.instead,
        is_smallest=change.is_smallest,
        considered=change.considered,
        tried=change.tried,
        sequence=cases.state.sequence,
        labels=labels_of(cases, names),
    )
