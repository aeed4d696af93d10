"""Answers, reasons, neighbours and what-if results as response models."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from http import HTTPStatus

from casegraph.answering.arguments import AnyQuestion
from casegraph.answering.questions import End, Known
from casegraph.answering.results import answer as results
from casegraph.answering.results.explanation import Neighbour
from casegraph.answering.results.labels import labels_of
from casegraph.answering.results.reason import Reason
from casegraph.casebase import CaseBase
from casegraph.errors import UnknownName
from casegraph.graph.directions import backward, forward
from casegraph.graph.lookup import exact_ids
from casegraph.service import models
from casegraph.service.problems import Refused

NAMED = 12  # precedents and failures of a reason
FACTS_NAMED = 24  # facts of a reason


def asked(
    cases: CaseBase,
    questions: list[models.NamedQuestion],
    *,
    top: int,
    known: Known = "mark",
    of_type: str | None = None,
    candidates: list[str] | None = None,
) -> list[results.Answers]:
    """The answers to questions."""
    return cases.ask_many(
        [_with_open_end(question) for question in questions],
        top,
        known=known,
        of_type=of_type,
        candidates=candidates,
    )


def _with_open_end(question: models.NamedQuestion) -> AnyQuestion:
    """A question with None for the end that is wanted."""
    if question.wanted == "head":
        return None, question.relation, question.entity
    return question.entity, question.relation, None


def directions_asked(
    cases: CaseBase, questions: Iterable[models.NamedQuestion]
) -> list[int]:
    """The directions that questions ask about, where a relation has the exact name or label."""
    asked = set[int]()
    for question in questions:
        names = cases.graph.relations
        for relation in exact_ids(names, cases.descriptions, question.relation)[:1]:
            is_head = question.wanted == "head"
            asked.add(backward(relation) if is_head else forward(relation))
    return sorted(asked)


def all_asked(cases: CaseBase, asking: models.QuestionsRequest) -> models.BatchResponse:
    """The answers to several questions."""
    found = asked(
        cases,
        asking.questions,
        top=asking.top,
        known=asking.known,
        of_type=asking.of_type,
        candidates=asking.candidates,
    )
    answered = [answers(cases, one) for one in found]
    return models.BatchResponse(answered=answered, sequence=cases.state.sequence)


def answers(cases: CaseBase, found: results.Answers) -> models.AnswersResponse:
    """Answers as a response."""
    return models.AnswersResponse(
        question=_question(found.asked, found.relation, inverse=found.inverse),
        answers=[answer(given) for given in found],
        note=found.note,
        exact=found.exact,
        tuned=found.tuned,
        none_probability=found.none_probability,
        sequence=cases.state.sequence,
        labels=dict(found.labels),
    )


def answer(found: results.Answer) -> models.RankedAnswer:
    """An answer as part of a response."""
    return models.RankedAnswer(
        rank=found.rank,
        entity=found.entity,
        score=found.score,
        probability=found.probability,
        known=found.known,
    )


def _question(
    asked_about: str, relation: str, *, inverse: bool
) -> models.NamedQuestion:
    wanted: End = "head" if inverse else "tail"
    return models.NamedQuestion(entity=asked_about, relation=relation, wanted=wanted)


def answer_named(
    cases: CaseBase, question: models.NamedQuestion, name: str
) -> results.Answer:
    """The answer to a question that is an entity; `NotReached` if nothing leads there."""
    if question.wanted == "head":
        return cases.answer(name, question.relation, question.entity, wanted="head")
    return cases.answer(question.entity, question.relation, name)


def explanation(cases: CaseBase, given: results.Answer) -> models.ExplanationResponse:
    """Why an answer was given, as a response."""
    explained = cases.explain(given, facts=FACTS_NAMED, failures=NAMED)
    shortened = replace(
        explained,
        reasons=tuple(map(_shortened_reason, explained.reasons)),
        neighbours=tuple(map(_shortened_neighbour, explained.neighbours)),
    )
    return models.ExplanationResponse(
        question=_question(given.asked, given.relation, inverse=given.inverse),
        answer=answer(given),
        reasons=list(shortened.reasons),
        neighbours=list(shortened.neighbours),
        sequence=cases.state.sequence,
        labels=labels_of(cases.descriptions, shortened.names()),
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
        labels=labels_of(cases.descriptions, names),
    )


def imagined(cases: CaseBase, wanted: models.WhatIfRequest) -> models.WhatIfResponse:
    """The answers before and after a change that is not made."""
    other = cases.what_if(wanted.add, wanted.retract)
    question = [wanted.question]
    (before,) = asked(cases, question, top=wanted.top, known=wanted.known)
    try:
        (after,) = asked(other, question, top=wanted.top, known=wanted.known)
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
    return models.WhatIfResponse(
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


def counterfactual(
    cases: CaseBase, wanted: models.CounterfactualRequest, budget: int
) -> models.CounterfactualResponse:
    """The fewest facts without which an answer loses its rank, or half of its probability."""
    if wanted.answer is not None:
        given = answer_named(cases, wanted.question, wanted.answer)
    else:
        (found,) = asked(cases, [wanted.question], top=1, known=wanted.known)
        if not found:
            message = f"{found.question} has no answer: {found.note}"
            raise Refused(HTTPStatus.NOT_FOUND, message)
        given = found[0]
    change = cases.counterfactual(given, most=wanted.most, budget=budget)
    names = [given.asked, given.relation, given.entity, change.instead or ""]
    for fact in change.facts:
        names += fact
    return models.CounterfactualResponse(
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
        labels=labels_of(cases.descriptions, names),
    )
