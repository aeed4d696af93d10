"""Commands that ask: ask, explain, similar."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from casegraph.cli.group import cli
from casegraph.cli.options import (
    as_of,
    head,
    missing,
    names_of,
    of_type,
    top,
    with_columns,
    with_settings,
)
from casegraph.cli.output import Result, choice, escaped, note, with_format
from casegraph.errors import CasegraphError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from casegraph.answering.arguments import AnyQuestion
    from casegraph.answering.results.answer import Answer, Answers
    from casegraph.answering.results.explanation import Explanation
    from casegraph.casebase import CaseBase
    from casegraph.cli.options import Chosen
    from casegraph.cli.reader import Read

QUESTIONS = (
    "A file of questions: entity and relation per line, or a fact with ? at one end."
)
FACT = (str, str, str)
SIMILAR_COLUMNS = ("entity", "label", "similarity", "shared")
WITHOUT = "Ask as if this fact were not there; repeatable."
WITH = "Ask as if this were a fact; repeatable."
QUESTION_HEADERS = (
    ["entity", "relation"],
    ["head", "relation"],
    ["subject", "predicate"],
    ["head", "relation", "tail"],
    ["subject", "predicate", "object"],
)
COUNTERFACTUAL = "Find the fewest facts that decide about it."


@cli.command()
@click.argument("source")
@click.argument("entity", required=False)
@click.argument("relation", required=False)
@click.option("--questions", "file", metavar="FILE", help=QUESTIONS)
@top
@head
@choice(
    "--known",
    ("mark", "exclude"),
    "Mark answers that are facts already, or exclude them.",
)
@click.option(
    "--candidates",
    type=click.File("rb"),
    help="A file of the only answers to consider, one per line.",
)
@of_type
@click.option("--explain", is_flag=True, help="Print the reasons for every answer.")
@click.option(
    "--without", type=FACT, multiple=True, metavar="HEAD RELATION TAIL", help=WITHOUT
)
@click.option(
    "--with",
    "imagined",
    type=FACT,
    multiple=True,
    metavar="HEAD RELATION TAIL",
    help=WITH,
)
@missing
@as_of
@with_columns
@with_settings
@with_format
def ask(  # noqa: PLR0913  (one for each option)
    source: str,
    entity: str | None,
    relation: str | None,
    *,
    file: str | None,
    head: bool,
    explain: bool,
    candidates: BinaryIO | None,
    without: tuple[tuple[str, str, str], ...],
    imagined: tuple[tuple[str, str, str], ...],
    missing: float | None,
    as_of: int | None,
    read: Read,
    chosen: Chosen,
    **asked: Any,  # noqa: ANN401  (what `CaseBase.ask` takes)
) -> Result:
    """Answer the question (ENTITY, RELATION, ?), or all questions in a file.

    Give entities and relations by name or by label.

    \b
    Example:
        casegraph ask world "John von Neumann" "died in" --known exclude --top 3
        casegraph ask world --questions questions.tsv --top 1
        casegraph ask world "Emmy Noether" field --without Germany capital Berlin
    """
    from casegraph.cli.loader import case_base

    asked["candidates"] = None if candidates is None else names_of(candidates)
    if file is not None:
        if entity is not None or explain or head:
            raise click.UsageError(
                "--questions goes without ENTITY, --head and --explain"
            )
        cases = case_base(source, chosen(source), as_of=as_of, read=read)
        cases = _changed(cases, imagined, without, missing)
        return _answers_to_file(cases, file, asked)
    if entity is None or relation is None:
        raise click.UsageError("give ENTITY and RELATION, or --questions FILE")

    cases = case_base(
        source, chosen(source), relation, [entity], as_of=as_of, read=read
    )
    entity = cases.entity(entity)
    cases = _changed(cases, imagined, without, missing)
    if head:
        answers = cases.ask_head(relation, entity, **asked)
    else:
        answers = cases.ask(entity, relation, **asked)
    if answers.note:
        note(answers.note)
    elif answers.none_probability is not None:
        note(_none_probability(answers))
    if explain:
        return _with_reasons(cases, answers, cases.explain_all(answers))
    return _plain(cases, answers)


@cli.command()
@click.argument("source")
@click.argument("entity")
@click.argument("relation")
@click.argument("answer")
@head
@click.option("--counterfactual", is_flag=True, help=COUNTERFACTUAL)
@as_of
@with_columns
@with_settings
@with_format
def explain(  # noqa: PLR0913  (one for each option)
    source: str,
    entity: str,
    relation: str,
    answer: str,
    *,
    head: bool,
    counterfactual: bool,
    as_of: int | None,
    read: Read,
    chosen: Chosen,
) -> Result:
    """Explain why ANSWER is an answer to (ENTITY, RELATION, ?).

    \b
    Example:
        casegraph explain world "John von Neumann" "died in" "Washington, D.C."
        casegraph explain world Kyoto "city in" Japan --counterfactual
    """
    from casegraph.cli.loader import case_base

    cases = case_base(
        source, chosen(source), relation, [entity, answer], as_of=as_of, read=read
    )
    if head:
        found = cases.answer(answer, relation, entity, wanted="head")
    else:
        found = cases.answer(entity, relation, answer)
    if counterfactual:
        return _counterfactual(cases, found)
    return _reasons(cases.explain(found))


@cli.command()
@click.argument("source")
@click.argument("entity")
@click.argument("relation", required=False)
@top
@as_of
@with_columns
@with_format
def similar(
    source: str,
    entity: str,
    relation: str | None,
    *,
    top: int,
    as_of: int | None,
    read: Read,
) -> Result:
    """List the entities most similar to ENTITY; with RELATION, only those that have it.

    \b
    Example:
        casegraph similar world "John von Neumann" "died in" --top 5
    """
    from casegraph.cli.loader import case_base

    cases = case_base(source, as_of=as_of, read=read)
    near = cases.similar(cases.entity(entity), relation, top)
    columns = list(SIMILAR_COLUMNS)
    if not len(cases.descriptions):
        columns.remove("label")
    rows = []
    for other in near:
        label = cases.descriptions.label(other.entity)
        shared = list(map(str, other.shared))
        values = (other.entity, label, other.similarity, shared)
        by_column = dict(zip(SIMILAR_COLUMNS, values, strict=True))
        rows.append(tuple(by_column[column] for column in columns))
    return Result(tuple(columns), rows)


def _changed(
    cases: CaseBase,
    added: Iterable[tuple[str, ...]],
    retracted: Iterable[tuple[str, ...]],
    missing: float | None,
) -> CaseBase:
    """The case base with some facts added and others retracted; an error if one is not there.

    missing  if given, how many facts are assumed to be missing for each that is known
    """
    if missing is not None:
        cases = cases.assuming(missing)
    from casegraph.graph.facts import Fact
    from casegraph.graph.lookup import entity_id

    def entity(text: str) -> str:
        found = entity_id(cases.graph, cases.descriptions, text)
        return text if found is None else cases.graph.entities[found]

    def named(head: str, relation: str, tail: str) -> Fact:
        return Fact(entity(head), cases.relation(relation), entity(tail))

    left_out = [named(*fact) for fact in retracted]
    for fact in left_out:
        if fact not in cases.graph:
            raise CasegraphError(
                f"({', '.join(fact)}) is no fact here, so nothing would change"
            )
    return cases.what_if(add=[named(*fact) for fact in added], retract=left_out)


def _counterfactual(cases: CaseBase, answer: Answer) -> Result:
    """The facts without which an answer would lose its rank, or half of its probability."""
    from casegraph.cli.progress import progress
    from casegraph.graph.facts import Fact

    with progress() as show:
        found = cases.counterfactual(answer, show=show)
    return Result(
        Fact._fields,
        list(found.facts),
        found.as_dict(),
        lambda: escaped(found.sentence),
    )


def _none_probability(answers: Answers) -> str:
    """How probable it is that the graph lacks no answer."""
    sentence = (
        f"with a probability of {answers.none_probability:.2f}, nothing is missing here"
    )
    if answers.tuned:
        return sentence
    return f"{sentence} (judged as in other graphs: casegraph tune fits this one)"


def _plain(cases: CaseBase, answers: Answers) -> Result:
    """Answers, best first; with labels if there are any."""
    document = answers.as_dict()
    columns = _columns(cases, labels=len(cases.descriptions) > 0)
    if "label" in columns:
        for answer in document["answers"]:
            answer["label"] = cases.descriptions.label(answer["entity"])
    rows = [_row(cases, answer, columns) for answer in answers]
    return Result(columns, rows, document, shown=_shown(columns))


def _shown(columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of a table in a terminal: scores only where there are no probabilities."""
    if "probability" not in columns:
        return columns
    return tuple(column for column in columns if column != "score")


def _columns(cases: CaseBase, *, labels: bool) -> tuple[str, ...]:
    """What is printed of an answer."""
    label = ("label",) if labels else ()
    probability = () if cases.settings.belief is None else ("probability",)
    return ("rank", "entity", *label, *probability, "score", "known")


def _row(cases: CaseBase, answer: Answer, columns: Iterable[str]) -> tuple[Any, ...]:
    values = answer.as_dict() | {"label": cases.descriptions.label(answer.entity)}
    return tuple(values[column] for column in columns)


def _answers_to_file(cases: CaseBase, file: str, asked: dict[str, Any]) -> Result:
    """The answers to all questions of a file, question by question."""
    questions = list(_questions_in(file))
    of_answer = _columns(cases, labels=True)
    rows: list[tuple[Any, ...]] = []
    for answers in cases.ask_many(questions, **asked):
        for answer in answers:
            wanted = "head" if answer.inverse else "tail"
            row = _row(cases, answer, of_answer)
            rows.append((answer.asked, answer.relation, wanted, *row))
        if answers.note or not answers:
            note(f"{answers.question}: {answers.note or 'no answer'}")
    columns = ("asked", "relation", "wanted", *of_answer)
    shown = [name for name in columns if name != "label" or len(cases.descriptions)]
    return Result(columns, rows, shown=tuple(shown))


def _questions_in(file: str) -> Iterator[AnyQuestion]:
    """The questions of a file: an entity and a relation a line, or a fact with ? at one end."""
    from casegraph.formats.columns import plain
    from casegraph.formats.delimited import rows_of
    from casegraph.formats.reading import Reading
    from casegraph.formats.table_rows import TAB

    reading = Reading(file)
    separator = None if file.lower().removesuffix(".gz").endswith(".csv") else TAB
    for number, (line, raw, fields, _) in enumerate(rows_of(file, reading, separator)):
        if number == 0 and [plain(name) for name in fields] in QUESTION_HEADERS:
            continue
        match fields:
            case [entity, relation] | [entity, relation, "?" | ""]:
                yield entity, relation, None
            case ["?" | "", relation, entity]:
                yield None, relation, entity
            case _:
                expected = "an entity and a relation, or a fact with ? at one end"
                reading.refuse(
                    line, f"expected {expected}, found {len(fields)} fields", raw
                )


def _with_reasons(
    cases: CaseBase, answers: Answers, explanations: Iterable[Explanation]
) -> Result:
    """Answers, and why each was given."""
    plain = _plain(cases, answers)
    explained = list(explanations)
    rows = []
    for row, explanation in zip(plain.rows, explained, strict=True):
        rows.append((*row, [reason.sentence for reason in explanation]))
    document = {
        **plain.document,
        "explanations": [explanation.as_dict() for explanation in explained],
    }

    def text() -> str:
        # All answers have the same question, and so the same entities like the one asked about.
        shown = [replace(explanation, neighbours=()) for explanation in explained[:-1]]
        shown += explained[-1:]
        texts = [explanation.text() for explanation in shown]
        return escaped("\n\n".join(texts), kept="\n")

    return Result((*plain.columns, "reasons"), rows, document, text)


def _reasons(explanation: Explanation) -> Result:
    """The reasons for one answer."""
    columns = ("share", "kind", "words", "count", "of", "reason")
    rows = []
    for reason in explanation:
        numbers = (reason.count, reason.of)
        rows.append(
            (reason.share, reason.kind, reason.words, *numbers, reason.sentence)
        )

    def text() -> str:
        return escaped(explanation.text(), kept="\n")

    return Result(columns, rows, explanation.as_dict(), text)
