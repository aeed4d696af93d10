"""
Answers and explanations for a notebook, as self-contained HTML.

Shares are bars, paths are chains, and every colour is transparent or the notebook's own, so that
they are readable on light and dark backgrounds. Every name is escaped.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from casegraph.answering.results.text import reasons_to_show, sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from casegraph.answering.results.answer import Answer, Answers
    from casegraph.answering.results.explanation import Explanation

STYLE = (
    "<style>"
    ".casegraph{max-width:60em}"
    ".casegraph table{border-collapse:collapse;margin:.3em 0}"
    ".casegraph td{padding:.15em .6em;text-align:left;vertical-align:top;border:0}"
    ".casegraph .bar{background:rgba(70,130,220,.45);height:.8em;display:inline-block}"
    ".casegraph .room{width:10em;min-width:10em}"
    ".casegraph .path{opacity:.75;font-size:.9em}"
    ".casegraph .tag{opacity:.6;font-size:.85em}"
    "</style>"
)


def answers_as_html(answers: Answers) -> str:
    """A question with its answers, each with its score as a bar.

    The number beside the bar is the probability if there is one, otherwise the score.
    """
    label = answers.label
    asked = label(answers.asked)
    question = sentence(asked, label(answers.relation), "…", inverse=answers.inverse)
    best = max((answer.score for answer in answers), default=0.0)
    rows = []
    for answer in answers:
        name = f"<b>{escape(label(answer.entity))}</b>"
        bar = _bar(answer.score, best)
        number = f'<span class="tag">{_number(answer)}</span>'
        known = '<span class="tag">known</span>' if answer.known else ""
        rows.append([str(answer.rank), name, bar, number, known])
    note = ""
    if answers.note:
        note = f' <span class="tag">{escape(answers.note)}</span>'
    return _page(f"<p><b>{escape(question)}?</b>{note}</p>" + _table(rows))


def explanation_as_html(explanation: Explanation) -> str:
    """An answer, its reasons with their shares as bars, and the precedents by name."""
    answer = explanation.answer
    label = explanation.label
    asked = escape(label(answer.asked))
    known = ", known" if answer.known else ""
    answered = sentence(
        asked,
        escape(label(answer.relation)),
        f"<b>{escape(label(answer.entity))}</b>",
        inverse=answer.inverse,
    )
    heading = f"<p>{answered} <span class='tag'>{_number(answer)}{known}</span></p>"

    rows = []
    shown, more = reasons_to_show(explanation)
    for reason in shown:
        bar = _bar(reason.share, answer.score)
        part = f"{reason.share / answer.score:.0%}" if answer.score else ""
        paths = "".join(
            f'<br><span class="path">{escape(path)}</span>'
            for path in reason.drawn(label)
        )
        rows.append([bar, part, escape(reason.sentence) + paths])
    if more:
        rows.append(["", "", f'<span class="tag">and {more} smaller reasons</span>'])

    near = []
    neighbours = explanation.neighbours
    for neighbour in neighbours:
        bar = _bar(neighbour.similarity, neighbours[0].similarity)
        similarity = f"{neighbour.similarity:.2f}"
        name = f"<b>{escape(label(neighbour.entity))}</b>"
        answers = ", ".join(map(label, neighbour.answers))
        near.append([bar, similarity, name, escape(answers)])
    precedents = ""
    if near:
        precedents = f"<p>Entities like {asked}, and what they answer:</p>"
    return _page(heading + _table(rows) + precedents + _table(near))


def _number(answer: Answer) -> str:
    """How good an answer is: its probability if it has one, else its score."""
    if answer.probability is not None:
        return f"probability {answer.probability:.2f}"
    return f"score {answer.score:.4f}"


def _bar(value: float, most: float) -> str:
    """A bar whose length is `value` relative to `most`."""
    part = 0.0 if most <= 0 else min(1.0, max(0.0, value / most))
    return f'<div class="room"><span class="bar" style="width:{part:.1%}"></span></div>'


def _table(rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that already are HTML."""
    lines = []
    for row in rows:
        cells = "".join(f"<td>{cell}</td>" for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>" if lines else ""


def _page(content: str) -> str:
    return f'<div class="casegraph">{STYLE}{content}</div>'
