"""
Proposals as a table: all or the best, with labels, reasons and precedents in columns.

Completion writes JSON lines in the order of the questions, so that it can be continued. This module
turns the complete file into a table; only the best lines are held in memory.
"""

import json
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from pathlib import Path
from typing import Any

from casegraph.answering.explanation import Explanation
from casegraph.answering.results import Answer
from casegraph.casebase import CaseBase
from casegraph.formats.tables import write_table
from casegraph.running import Show, quiet

PRECEDENTS = 3  # similar entities that have an answer to the same question
EXPLAINED_AT_ONCE = 64
COLUMNS = ("head", "relation", "tail", "probability", "score", "rank", "asked", "exact")
LABELS = ("head_label", "relation_label", "tail_label")
WHY = ("reason", "precedents")


def write_proposals(
    cases: CaseBase,
    lines: Path,
    out: Path,
    form: str,
    *,
    best: int | None,
    explain: bool,
    show: Show = quiet,
) -> int:
    """Write the proposals in a file of JSON lines as a table; returns how many there are.

    best  how many, the most probable first; if None, all, in the order of the lines
    """
    proposed: Iterator[dict[str, Any]] = _proposed(lines)
    total = _count(lines)
    if best is not None:
        total = min(total, best)
        proposed = iter(nsmallest(best, proposed, key=_best_first))
    has_labels = len(cases.descriptions) > 0
    columns = (*(LABELS if has_labels else ()), *COLUMNS, *(WHY if explain else ()))

    def rows() -> Iterator[Sequence[Any]]:
        done = 0
        for part in _parts(proposed):
            why = _why(cases, part) if explain else [()] * len(part)
            done += len(part)
            show("explaining" if explain else "writing", done, total)
            for record, reason in zip(part, why, strict=True):
                named = [record[column] for column in COLUMNS]
                labels = [cases.descriptions.label(name) for name in named[:3]]
                yield (*(labels if has_labels else ()), *named, *reason)

    return write_table(out, form, columns, rows())


def _proposed(lines: Path) -> Iterator[dict[str, Any]]:
    with lines.open("rb") as file:
        for line in file:
            yield json.loads(line)


def _count(lines: Path) -> int:
    with lines.open("rb") as file:
        return sum(1 for _ in file)


def _best_first(record: dict[str, Any]) -> tuple[float, float, str, str, str, str]:
    """The most probable first, then the highest score, then in the order of names.

    Different questions have different calibrations, so a higher score need not be more probable.
    """
    probability = record["probability"] or 0.0  # there are none with "sum"
    fact = (record["head"], record["relation"], record["tail"])
    return (-probability, -record["score"], *fact, record["asked"])


def _parts(records: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    part: list[dict[str, Any]] = []
    for record in records:
        part.append(record)
        if len(part) == EXPLAINED_AT_ONCE:
            yield part
            part = []
    if part:
        yield part


def _why(cases: CaseBase, records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The most important reason for each proposal, and the precedents of its question."""
    answers = []
    for record in records:
        is_about_head = record["asked"] == "head"
        asked = record["tail"] if is_about_head else record["head"]
        entity = record["head"] if is_about_head else record["tail"]
        answer = Answer(
            asked=asked,
            relation=record["relation"],
            inverse=is_about_head,
            entity=entity,
            score=record["score"],
            rank=record["rank"],
            known=False,
        )
        answers.append(answer)
    explained = cases.explain_all(answers)
    return [_in_words(explanation.for_people) for explanation in explained]


def _in_words(explanation: Explanation) -> tuple[str, str]:
    """The first reason with one of its paths, and what the most similar entities answer."""
    first = next(iter(explanation), None)
    reason = "" if first is None else first.sentence(explanation.answer)
    if first is not None and first.paths:
        reason += f": {first.drawn()[0]}"
    precedents = []
    for near in explanation.neighbours[:PRECEDENTS]:
        answers = ", ".join(near.answers[:PRECEDENTS])
        precedents.append(f"{near.entity}: {answers}")
    return reason, "; ".join(precedents)
