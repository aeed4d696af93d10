"""Routes that ask: answers, reasons, similar entities, what-if questions."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from casegraph.answering.questions import End
from casegraph.casebase import CaseBase
from casegraph.service import models
from casegraph.service.models import MAX_NAME, MAX_ROWS
from casegraph.service.requests import (
    AsOf,
    Reader,
    Reading,
    query_of,
    query_parameters,
    tag_of,
)
from casegraph.service.views import results

router = APIRouter(prefix="/v1", tags=["asking"])

FEW = 50  # answers

NameQuery = Annotated[str, Query(min_length=1, max_length=MAX_NAME)]
OptionalName = Annotated[str | None, Query(min_length=1, max_length=MAX_NAME)]
TopQuery = Annotated[int, Query(ge=1, le=MAX_ROWS, description="How many.")]


@router.get(
    "/ask",
    response_model=models.AnswersResponse,
    openapi_extra=query_parameters(models.AskQuery),
)
async def ask(request: Request) -> Response:
    """The best answers to (entity, relation, ?), or to (?, relation, entity) for wanted=head."""
    asked = query_of(request, models.AskQuery)
    question = models.NamedQuestion(
        entity=asked.entity, relation=asked.relation, wanted=asked.wanted
    )

    def answers(cases: CaseBase) -> models.AnswersResponse:
        (found,) = results.asked(
            cases, [question], top=asked.top, known=asked.known, of_type=asked.of_type
        )
        return results.answers(cases, found)

    reader = Reader(request)
    if asked.top <= FEW and asked.of_type is None:
        found = await reader.answer(asked.as_of, question, answers)
    else:
        found = await reader(asked.as_of, answers, about=[question])
    headers = {"ETag": tag_of(found.sequence)}
    return Response(
        found.model_dump_json(), headers=headers, media_type="application/json"
    )


@router.post("/ask")
async def ask_many(
    reading: Reading, questions: models.QuestionsRequest
) -> models.BatchResponse:
    """The answers to several questions at once, all from the same state."""
    rows = len(questions.questions) * questions.top
    slow = rows > MAX_ROWS
    return await reading(
        questions.as_of,
        lambda cases: results.all_asked(cases, questions),
        slow=slow,
        about=questions.questions,
    )


@router.get("/explain")
async def explain(
    reading: Reading,
    entity: NameQuery,
    relation: NameQuery,
    answer: NameQuery,
    wanted: End = "tail",
    as_of: AsOf = None,
) -> models.ExplanationResponse:
    """Why an entity is an answer: the reasons that add up to its score, and their precedents."""
    question = models.NamedQuestion(entity=entity, relation=relation, wanted=wanted)
    return await reading(
        as_of,
        lambda cases: results.explanation(
            cases, results.answer_named(cases, question, answer)
        ),
        about=[question],
    )


@router.get("/similar")
async def similar(
    reading: Reading,
    entity: NameQuery,
    relation: OptionalName = None,
    top: TopQuery = 10,
    as_of: AsOf = None,
) -> models.Similar:
    """The entities most like one; with a relation, of those that have it."""
    return await reading(
        as_of, lambda cases: results.similar(cases, entity, relation, top)
    )


@router.post("/what-if")
async def what_if(
    reading: Reading, wanted: models.WhatIfRequest
) -> models.WhatIfResponse:
    """Ask a world with some facts more and others less; nothing is written."""
    return await reading(
        wanted.as_of,
        lambda cases: results.imagined(cases, wanted),
        slow=True,
        about=[wanted.question],
    )


@router.post("/counterfactual")
async def counterfactual(
    reading: Reading, wanted: models.CounterfactualRequest
) -> models.CounterfactualResponse:
    """A counterfactual: the fewest facts without which an answer loses its place."""
    budget = reading.service.limits.worlds
    return await reading(
        wanted.as_of,
        lambda cases: results.counterfactual(cases, wanted, budget),
        slow=True,
        about=[wanted.question],
    )
