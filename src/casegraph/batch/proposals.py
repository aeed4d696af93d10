"""
Proposals as a table: all or the best, with labels, reasons and precedents in columns.

Completion writes JSON lines, relation by relation, so that it can be continued. This module turns
the complete file into a table. Of each line, only its probability and its place in the file are
held in memory.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from casegraph.answering.results.explanation import Explanation
from casegraph.batch.completion import better_explained
from casegraph.casebase import CaseBase
from casegraph.errors import several
from casegraph.formats.tables import write_table
from casegraph.graph.batches import parts_of
from casegraph.running import Show, quiet

Record: TypeAlias = dict[str, Any]  # a proposal, as completion writes it

PRECEDENTS = 3  # similar entities that have an answer to the same question
EXPLAINED_AT_ONCE = 64
SCORES = ("tail_score", "head_score")
COLUMNS = ("head", "relation", "tail", "probability", *SCORES, "exact")
LABELS = ("head_label", "relation_label", "tail_label")
WHY = ("reason", "precedents")


@dataclass(frozen=True, slots=True)
class Concentration:
    """How often each head and each tail is in a list of proposals."""

    heads: Counter[str] = field(default_factory=Counter)
    tails: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Concentration":
        """The concentration of a list."""
        concentration = cls()
        for record in records:
            concentration.add(record)
        return concentration

    def add(self, record: Record) -> None:
        """Count a proposal."""
        self.heads[record["head"]] += 1
        self.tails[record["tail"]] += 1

    @property
    def proposed(self) -> int:
        """How many proposals there are."""
        return self.heads.total()

    @property
    def effective_heads(self) -> float:
        """As many heads, if each were in equally many proposals, would be as evenly spread."""
        return effective_number(self.heads.values())

    @property
    def effective_tails(self) -> float:
        """The same of tails."""
        return effective_number(self.tails.values())

    def __str__(self) -> str:
        heads = several(len(self.heads), "head")
        tails = several(len(self.tails), "tail")
        if self.proposed:
            heads += f" (effectively {self.effective_heads:,.1f})"
            tails += f" (effectively {self.effective_tails:,.1f})"
        return f"{several(self.proposed, 'proposal')}: {heads}, {tails}"


def effective_number(counts: Iterable[int]) -> float:
    """The exponential of the entropy of counts: n, if n are equal."""
    counted = [count for count in counts if count]
    total = sum(counted)
    entropy = -sum(count / total * log(count / total) for count in counted)
    return exp(entropy) if counted else 0.0


class ProposalTable:
    """The proposals in a file of JSON lines.

    best      how many, the most believed first; if None, all, in the order of the lines
    at_most   in how many of the best an entity may be; in any number if None
    explain   whether to add reasons and precedents
    """

    def __init__(
        self,
        cases: CaseBase,
        lines: Path,
        *,
        best: int | None = None,
        at_most: int | None = None,
        explain: bool = False,
        show: Show = quiet,
    ) -> None:
        self._cases = cases
        self._lines = lines
        self._best = best
        self._at_most = at_most
        self._explain = explain
        self._show = show
        self.concentration = Concentration()  # of the rows so far
        self.has_labels = len(cases.descriptions) > 0
        labels = LABELS if self.has_labels else ()
        why = WHY if explain else ()
        self.columns = (*labels, *COLUMNS, *why)

    def rows(self) -> Iterator[Sequence[Any]]:
        """A row for each proposal."""
        records = (
            proposed(self._lines)
            if self._best is None
            else _best(self._lines, self._best, self._at_most)
        )
        doing = "explaining" if self._explain else "writing"
        total = _count(self._lines)
        if self._best is not None:
            total = min(total, self._best)
        for part in parts_of(records, EXPLAINED_AT_ONCE):
            why = _why(self._cases, part) if self._explain else [()] * len(part)
            for record, reason in zip(part, why, strict=True):
                self.concentration.add(record)
                values = [record[column] for column in COLUMNS]
                yield (*self._labels(record), *values, *reason)
            self._show(doing, self.concentration.proposed, total)

    def _labels(self, record: Record) -> list[str]:
        if not self.has_labels:
            return []
        fact = (record["head"], record["relation"], record["tail"])
        return [self._cases.descriptions.label(name) for name in fact]


def write_proposals(table: ProposalTable, out: Path, form: str) -> int:
    """Write a table of proposals to a file; returns how many there are."""
    return write_table(out, form, table.columns, table.rows())


def proposed(lines: Path) -> Iterator[Record]:
    """The proposals in a file of JSON lines."""
    with lines.open("rb") as file:
        for line in file:
            yield json.loads(line)


def _count(lines: Path) -> int:
    with lines.open("rb") as file:
        return sum(1 for _ in file)


def _best(lines: Path, best: int, at_most: int | None) -> Iterator[Record]:
    """The most believed proposals; ties in the order of the lines, which is that of names.

    Without belief, those with the highest score in either direction come first.
    """
    worth = []
    starts = []
    start = 0
    with lines.open("rb") as file:
        for line in file:
            record = json.loads(line)
            scores = (record[score] for score in SCORES)
            probability = record["probability"]
            worth.append(max(scores) if probability is None else probability)
            starts.append(start)
            start += len(line)
        order = np.argsort(-np.array(worth), kind="stable")

        used = Counter[str]()
        given = 0
        for place in order.tolist():
            if given == best:
                return
            file.seek(starts[place])
            record = json.loads(file.readline())
            entities = {record["head"], record["tail"]}
            if at_most is None or all(used[entity] < at_most for entity in entities):
                used.update(entities)
                given += 1
                yield record


def _why(cases: CaseBase, records: list[Record]) -> list[tuple[str, str]]:
    """The most important reason for each proposal, and the precedents of its question."""
    explained = cases.explain_all([better_explained(record) for record in records])
    return [_in_words(explanation) for explanation in explained]


def _in_words(explanation: Explanation) -> tuple[str, str]:
    """The main reason with one of its paths, and what the most similar entities answer."""
    main = explanation.main_reason
    label = explanation.label
    reason = "" if main is None else main.sentence
    if main is not None and main.paths:
        reason += f": {main.drawn(label)[0]}"
    precedents = []
    for near in explanation.neighbours[:PRECEDENTS]:
        answers = ", ".join(map(label, near.answers[:PRECEDENTS]))
        precedents.append(f"{label(near.entity)}: {answers}")
    return reason, "; ".join(precedents)
