"""Answers, reasons, neighbours and what-if results as response models."""

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from itertools import pairwise

from casegraph.answering import results
from casegraph.answering.evidence.kinds import kind_named
from casegraph.answering.explanation import Explanation, Neighbour
from casegraph.answering.labels import labelled
from casegraph.answering.support import facts_of_each, failures_of_each
from casegraph.casebase import CaseBase
from casegraph.errors import UnknownName
from casegraph.graph.directions import INVERSE, backward, forward
from casegraph.graph.facts import Fact
from casegraph.graph.graph import Query
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


def directions_asked(cases: CaseBase, questions: Iterable[models.Question]) -> set[int]:
    """The directions of relations that questions are about, as far as a quick look tells."""
    directions = set()
    relations = cases.graph.relations
    for question in questions:
        name = question.relation
        relation = relations.find(name)
        if relation is None:
            called_so = cases.descriptions.named(name)
            relation = next((relations.find(name) for name in called_so if name in relations), None)
        if relation is not None:
            is_head = question.wanted == "head"
            directions.add(backward(relation) if is_head else forward(relation))
    return directions


def all_asked(cases: CaseBase, asking: models.Questions) -> models.Batch:
    """The answers to several questions."""
    answered = list(_all_answers(cases, asking))
    return models.Batch(answered=answered, sequence=cases.state.sequence)


def _all_answers(cases: CaseBase, asking: models.Questions) -> Iterator[models.Answers]:
    """The answers to each question; those for tails are answered in parallel."""
    for_tails = [
        (question.entity, question.relation)
        for question in asking.questions
        if question.wanted == "tail"
    ]
    tails = iter(
        cases.ask_many(
            for_tails,
            asking.top,
            known=asking.known,
            of_type=asking.of_type,
            candidates=asking.candidates,
        )
    )
    for question in asking.questions:
        if question.wanted == "tail":
            found = next(tails)
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
    """Answers as they go out."""
    names = [found.asked, found.relation, *(answer.entity for answer in found)]
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
    """An answer as it goes out."""
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


def answer_named(cases: CaseBase, question: models.Question, name: str) -> results.Answer:
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
    """Why an answer was given, as it goes out."""
    explained = cases.explain(given)
    query, entity = _query(cases, given)
    facts = facts_of_each(cases.state, query, entity, FACTS_NAMED)
    failures = failures_of_each(cases.state, query, entity, NAMED)
    said = labelled(explained, cases.descriptions)
    reasons = [
        _reason(explained, said, place, failures[place], facts[place])
        for place in range(len(explained.reasons))
    ]
    neighbours = [_neighbour(near) for near in explained.neighbours]
    return models.Explanation(
        question=_question(given.asked, given.relation, inverse=given.inverse),
        answer=answer(given),
        reasons=reasons,
        neighbours=neighbours,
        sequence=cases.state.sequence,
        labels=labels_of(cases, _names_in(given, reasons, neighbours)),
    )


def _query(cases: CaseBase, given: results.Answer) -> tuple[Query, int]:
    graph = cases.graph
    entity = graph.entities.find(given.asked)
    found = graph.entities.find(given.entity)
    relation = graph.relations.find(given.relation)
    assert entity is not None
    assert found is not None
    assert relation is not None
    return Query(entity, backward(relation) if given.inverse else forward(relation)), found


def _reason(
    explained: Explanation,
    said: Explanation,
    place: int,
    failures: list[str],
    facts: list[Fact],
) -> models.Reason:
    """A reason; `said` is the same explanation with labels."""
    reason = explained.reasons[place]
    score = explained.answer.score
    return models.Reason(
        kind=reason.kind,
        words=said.reasons[place].words,
        sentence=said.reasons[place].sentence(said.answer),
        short=kind_named(reason.kind).sentence(said.reasons[place], said.answer),
        worth=reason.worth,
        share=reason.share,
        part=reason.share / score if score else 0.0,
        count=reason.count,
        of=reason.of,
        hits=reason.hits,
        tries=reason.tries,
        prior=reason.prior,
        precision=reason.precision,
        slot=reason.slot,
        paths=[_path(path) for path in reason.paths],
        more=reason.more,
        precedents=list(reason.precedents[:NAMED]),
        failures=failures,
        facts=list(facts),
    )


def _path(path: tuple[str, ...]) -> models.Path:
    """A path of entities and relations in turn."""
    entities = list(path[0::2])
    steps = []
    for relation, (here, there) in zip(path[1::2], pairwise(entities), strict=True):
        is_back = relation.endswith(INVERSE)
        name = relation.removesuffix(INVERSE) if is_back else relation
        fact = (there, name, here) if is_back else (here, name, there)
        steps.append(models.Step(fact=fact, inverse=is_back))
    return models.Path(entities=entities, steps=steps)


def _neighbour(near: Neighbour) -> models.Neighbour:
    return models.Neighbour(
        entity=near.entity,
        similarity=near.similarity,
        shared=list(near.shared[:NAMED]),
        answers=list(near.answers[:NAMED]),
    )


def _names_in(
    given: results.Answer, reasons: list[models.Reason], neighbours: list[models.Neighbour]
) -> Iterator[str]:
    yield from (given.asked, given.relation, given.entity)
    for reason in reasons:
        yield from reason.precedents
        yield from reason.failures
        for fact in reason.facts:
            yield from fact
        for path in reason.paths:
            yield from path.entities
            for step in path.steps:
                yield step.fact[1]
    for near in neighbours:
        yield near.entity
        yield from near.answers


def similar(cases: CaseBase, entity: str, relation: str | None, top: int) -> models.Similar:
    """The entities most like one."""
    name = cases.entity(entity)
    near = cases.similar(name, relation, top)
    names = [name, *(neighbour.entity for neighbour in near)]
    return models.Similar(
        entity=name,
        neighbours=[_neighbour(neighbour) for neighbour in near],
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
            before.asked, before.relation, before.inverse, (), note=str(error), tuned=before.tuned
        )
    return models.Imagined(
        before=answers(cases, before),
        after=answers(other, after).model_copy(update={"sequence": cases.state.sequence}),
        moves=list(_moves(before, after)),
        sequence=cases.state.sequence,
    )


def _moves(before: results.Answers, after: results.Answers) -> Iterator[models.Move]:
    """How the answers move that are in either list, in the order of the list after."""
    earlier = {given.entity: given for given in before}
    later = {given.entity: given for given in after}
    for entity in dict.fromkeys([*later, *earlier]):
        was = earlier.get(entity)
        is_now = later.get(entity)
        yield models.Move(
            entity=entity,
            before=None if was is None else was.rank,
            after=None if is_now is None else is_now.rank,
            score_before=None if was is None else was.score,
            score_after=None if is_now is None else is_now.score,
        )


def change_of_mind(
    cases: CaseBase, wanted: models.MindQuestion, budget: int
) -> models.ChangeOfMind:
    """The fewest facts without which an answer loses its place."""
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
        instead=change.instead,
        is_smallest=change.is_smallest,
        considered=change.considered,
        tried=change.tried,
        sequence=cases.state.sequence,
        labels=labels_of(cases, names),
    )
