"""
Proposals as a table: all or the best, with labels, reasons and precedents in columns.

Completion writes JSON lines in the order of the questions, so that it can be continued. This module
turns the complete file into a table; only the best lines are held in memory.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from pathlib import Path
from typing import Any, TypeAlias

from casegraph.answering.explanation import Explanation
from casegraph.answering.results import Answer
from casegraph.casebase import CaseBase
from casegraph.formats.tables import write_table
from casegraph.graph.batches import parts_of
from casegraph.running import Show, quiet

Record: TypeAlias = dict[str, Any]  # a proposal, as completion writes it

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
    proposed: Iterable[Record] = _proposed(lines)
    total = _count(lines)
    if best is not None:
        total = min(total, best)
        proposed = nsmallest(best, proposed, key=_best_first)
    has_labels = len(cases.descriptions) > 0
    label_columns = LABELS if has_labels else ()
    why_columns = WHY if explain else ()

    def labels(record: Record) -> list[str]:
        fact = (record["head"], record["relation"], record["tail"])
        return [cases.descriptions.label(name) for name in fact]

    def rows() -> Iterator[Sequence[Any]]:
        done = 0
        for part in parts_of(proposed, EXPLAINED_AT_ONCE):
            why = _why(cases, part) if explain else [()] * len(part)
            done += len(part)
            show("explaining" if explain else "writing", done, total)
            for record, reason in zip(part, why, strict=True):
                values = [record[column] for column in COLUMNS]
                yield (*(labels(record) if has_labels else ()), *values, *reason)

    return write_table(out, form, (*label_columns, *COLUMNS, *why_columns), rows())


def _proposed(lines: Path) -> Iterator[Record]:
    with lines.open("rb") as file:
        for line in file:
            yield json.loads(line)


def _count(lines: Path) -> int:
    with lines.open("rb") as file:
        return sum(1 for _ in file)


def _best_first(record: Record) -> tuple[float, float, str, str, str, str]:
    """The most probable first, then the highest score, then in the order of names.

    Different questions have different calibrations, so a higher score need not be more probable.
    """
    probability = record["probability"] or 0.0  # None if evidence is combined by "sum"
    fact = (record["head"], record["relation"], record["tail"])
    return (-probability, -record["score"], *fact, record["asked"])


def _why(cases: CaseBase, records: list[Record]) -> list[tuple[str, str]]:
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
