"""
What the commands print: results on standard output in one of four formats, progress and notes on standard error.

A result is columns and rows of plain values, and the document that JSON has instead where there is more to say. Names
are opaque: what would break a line or steer a terminal is written as an escape, except in JSON, which has its own.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from casegraph.answering.explanation import Explanation
    from casegraph.answering.results import Answer, Answers
    from casegraph.casebase import CaseBase
    from casegraph.evaluation.evaluation import Evaluation
    from casegraph.running import Show

Format = Literal["table", "json", "jsonl", "tsv"]
ALL = "(all)"  # the name of a row of sums
TIES = {"mean": "realistic", "original": "original"}  # PyKEEN's names
METRICS = {"mrr": "inverse_harmonic_mean_rank", **{f"hits_at_{k}": f"hits_at_{k}" for k in (1, 3, 5, 10)}}
PATIENCE = 0.5  # seconds before a progress bar appears
EVERY = 10_000  # facts between two looks at the progress bar
ESCAPES = {code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160))}
TELLING = 0.01  # of a score: a reason with a smaller share is not worth telling


@dataclass(frozen=True, slots=True)
class Result:
    """What a command found.

    document  what JSON has instead of the rows
    text      makes what is printed instead of a table, where text reads better
    failed    whether the exit code says that something is wrong
    """

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    document: Any = None
    text: Callable[[], str] | None = None
    failed: bool = False

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows with the names of their columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def choice(name: str, choices: tuple[str, ...], text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """An option whose default is the first choice."""
    return click.option(name, type=click.Choice(choices), default=choices[0], show_default=True, help=text)


def with_format(command: Callable[..., Result]) -> Callable[..., None]:
    """Give a command the option `--format`, and print what it returns."""

    @choice("--format", get_args(Format), "How to print.")
    @wraps(command)
    def printing(format: Format, **options: object) -> None:  # noqa: A002
        result = command(**options)
        print_result(result, format)
        if result.failed:
            sys.exit(1)

    return printing


def print_result(result: Result, form: Format) -> None:
    """Write a result to standard output."""
    if lines := "\n".join(_LINES[form](result)):
        click.echo(lines)


def note(message: str) -> None:
    """Tell the user something that is no result."""
    click.echo(f"casegraph: {escaped(message)}", err=True)


def escaped(text: str, *, kept: str = "") -> str:
    """The text with control characters, other than those kept, written as escapes."""
    return text.translate({code: escape for code, escape in ESCAPES.items() if chr(code) not in kept})


@contextmanager
def progress() -> Iterator[Show]:
    """A function that shows how far the work is, as a bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _doing, _done, _total: None  # not `quiet`: work that is watched can be interrupted
        return
    from rich.console import Console
    from rich.progress import Progress

    begun, bars, tasks = monotonic(), Progress(console=Console(stderr=True), transient=True), dict[str, Any]()

    def show(doing: str, done: int, total: int) -> None:
        if monotonic() - begun < PATIENCE:
            return
        bars.start()
        if doing not in tasks:
            tasks[doing] = bars.add_task(doing)
        bars.update(tasks[doing], completed=done, total=total or None)

    try:
        yield show
    finally:
        bars.stop()


def counted(facts: Iterable[tuple[str, str, str]], show: Show) -> Iterator[tuple[str, str, str]]:
    """The same facts; how many there were is shown on the way."""
    for done, fact in enumerate(facts):
        if done % EVERY == 0:
            show("reading facts", done, 0)
        yield fact


def answered(answers: Answers) -> Result:
    """Answers, best first."""
    rows = [(one.rank, one.entity, one.score, one.known) for one in answers]
    return Result(("rank", "entity", "score", "known"), rows, answers.as_dict())


def explained(answers: Answers, explanations: Iterable[Explanation]) -> Result:
    """Answers, and why each was given."""
    why, plain = list(explanations), answered(answers)
    sentences = [[reason.sentence(one.answer) for reason in one] for one in why]
    return Result(
        (*plain.columns, "reasons"),
        [(*row, because) for row, because in zip(plain.rows, sentences, strict=True)],
        {**plain.document, "explanations": [one.as_dict() for one in why]},
        lambda: "\n\n".join(escaped(one.text(), kept="\n") for one in why),
    )


def reasons(why: Explanation) -> Result:
    """The reasons for one answer."""
    columns = ("share", "kind", "words", "count", "of", "reason")
    rows = [(one.share, one.kind, one.words, one.count, one.of, one.sentence(why.answer)) for one in why]
    return Result(columns, rows, why.as_dict(), lambda: escaped(why.text(), kept="\n"))


def evaluated(evaluation: Evaluation, ties: str, *, by_relation: bool) -> Result:
    """The metrics of an experiment by a rule for ties, on each side that was asked for."""
    sides = ("both", "head", "tail") if evaluation.sides == "both" else (evaluation.sides,)
    rows = [
        (relation, side, *(metrics[f"{side}.{TIES[ties]}.{name}"] for name in METRICS.values()))
        for relation, metrics in {ALL: evaluation.metrics, **(evaluation.by_relation if by_relation else {})}.items()
        for side in sides
    ]
    summary = {"ties": ties, **dict(zip(METRICS, rows[0][2:], strict=True))}
    document = {"summary": summary, **evaluation.as_dict(by_relation=by_relation)}
    return Result(("relation", "side", *METRICS), rows, document)


def demo_text(cases: CaseBase, rows: list[tuple[Any, ...]], told: tuple[str, ...]) -> str:
    """What `casegraph demo` tells.

    rows  for every fact that was held back its head, relation and tail, its rank, and the best answer with its score
    told  the heads whose questions are told at length
    """
    size = f"{len(cases.graph):,} facts about {len(cases.graph.entities):,} entities"
    asked, relation = told[0], next(row[1] for row in rows if row[0] == told[0])
    lines = [
        f"The bundled graph has {size}. {len(rows)} true facts were held back from it: they are asked for here.",
        "",
    ]
    lines.append(_heading(f"Most like {asked}, by the relations they have, of those that have “{relation}”"))
    near = cases.similar(asked, relation, top=5)
    width = max(len(one.entity) for one in near)
    lines += [f"  {one.similarity:.2f}  {one.entity:{width}}  {', '.join(one.shared)}" for one in near]
    for name in told:
        lines += ["", *_question(cases, next(row for row in rows if row[0] == name))]
    return "\n".join([*lines, "", _heading(f"All {len(rows)} held-back facts, known answers excluded"), *_found(rows)])


def _question(cases: CaseBase, row: tuple[Any, ...]) -> list[str]:
    """A question, its best answers with a mark at the true one, and why the best was given."""
    asked, relation, true, rank, *_ = row
    answers = cases.ask(asked, relation, top=max(3, rank or 0), known="exclude")
    width = max(len(one.entity) for one in answers)
    lines = [_heading(f"({asked}, {relation}, ?)")]
    for one in answers:
        mark = click.style("  ← true, held back", fg="green") if one.entity == true else ""
        lines.append(f"  {one.rank:2}  {one.entity:{width}}  {one.score:.3f}{mark}")
    told = [one for one in answers if one.rank == 1 or one.entity == true]
    return [*lines, *(line for one in told for line in _why(cases, one))]


def _why(cases: CaseBase, answer: Answer) -> list[str]:
    """The reasons worth telling, each path type with one of its paths."""
    lines = [f"  why {answer.entity}?"]
    for reason in cases.explain(answer):
        if reason.share >= TELLING * answer.score:
            lines.append(f"    {reason.share / answer.score:4.0%}  {reason.sentence(answer)}")
            lines += [click.style(f"          {path}", dim=True) for path in reason.drawn()[:1]]
    return lines


def _found(rows: list[tuple[Any, ...]]) -> list[str]:
    ranks = [row[3] for row in rows if row[3] is not None]
    within = {"at rank 1": 1, "in the top 3": 3, "in the top 10": 10}
    return [f"  {sum(rank <= most for rank in ranks):2} of {len(rows)} found {at}" for at, most in within.items()]


def _heading(text: str) -> str:
    return click.style(text, bold=True)


def _json(result: Result) -> list[str]:
    document = result.records if result.document is None else result.document
    return [json.dumps(document, indent=2, ensure_ascii=False)]


def _json_lines(result: Result) -> list[str]:
    return [json.dumps(record, ensure_ascii=False) for record in result.records]


def _tsv(result: Result) -> list[str]:
    return ["\t".join(map(_exact, row)) for row in (result.columns, *result.rows)]


def _table(result: Result) -> list[str]:
    if result.text is not None:
        return [result.text()]
    cells = [result.columns, *(tuple(map(_rounded, row)) for row in result.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    is_number = [bool(result.rows) and _is_number(value) for value in (result.rows or [result.columns])[0]]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_number, strict=True)
        ).rstrip()
        for row in cells
    ]
    return [click.style(lines[0], bold=True), *lines[1:]]


def _exact(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool | float) else _listed(value)


def _rounded(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else _listed(value)


def _listed(value: object) -> str:
    return (
        "" if value is None else escaped(", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value))
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_LINES: dict[Format, Callable[[Result], list[str]]] = {
    "table": _table,
    "json": _json,
    "jsonl": _json_lines,
    "tsv": _tsv,
}
