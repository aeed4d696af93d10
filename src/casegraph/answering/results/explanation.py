"""An explanation: the reasons that add up to the score of an answer, and similar entities."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from casegraph.answering.results.html import explanation_as_html
from casegraph.answering.results.text import explanation_as_text
from casegraph.frames import Tabular
from casegraph.graph.directions import PathStep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from casegraph.answering.results.answer import Answer
    from casegraph.answering.results.reason import Reason


@dataclass(frozen=True, slots=True)
class Shared(PathStep):
    """What two entities have in common: a relation, and the entity that it leads both to.

    entity  None if only the relation is compared
    """

    entity: str | None = None

    def text(self, label: Callable[[str], str]) -> str:
        """For people, with labels."""
        step = PathStep.text(self, label)
        return step if self.entity is None else f"{step} {label(self.entity)}"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity like the one asked about: how like it, what they share, and what it answers.

    similarity  its weight in the regression on the facts they share, which may be negative (see
                `Settings.ridge`); in the paper's settings, from 0 to 1: by the relations they share
    shared      these facts, the rarest first; or these relations
    """

    entity: str
    similarity: float
    shared: tuple[Shared, ...]
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation(Tabular):
    """Why an answer was given.

    Iterating gives the reasons kind by kind: path types first, the most important of them first. In
    this order their shares add up to the score, to the last bit. A negative share is that of a
    reason against the answer.

    labels  the labels of the names in it, for display
    """

    answer: Answer
    reasons: tuple[Reason, ...]
    neighbours: tuple[Neighbour, ...] = field(default=())
    labels: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __iter__(self) -> Iterator[Reason]:
        return iter(self.reasons)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; the schema is in docs/explanations.md."""
        return asdict(self)

    @property
    def main_reason(self) -> Reason | None:
        """The reason with the largest share; None if there is no reason."""
        return max(self.reasons, key=lambda reason: reason.share, default=None)

    def label(self, name: str) -> str:
        """The label of a name in this explanation; the name itself if it has none."""
        return self.labels.get(name, name)

    def names(self) -> Iterator[str]:
        """All names in it, some more than once."""
        yield from (self.answer.asked, self.answer.relation, self.answer.entity)
        for reason in self.reasons:
            yield from (step.relation for step in reason.steps)
            yield from reason.precedents
            yield from reason.failures
            for names in (*reason.paths, *reason.facts):
                yield from names
        for neighbour in self.neighbours:
            yield neighbour.entity
            yield from neighbour.answers
            for shared in neighbour.shared:
                yield from filter(None, (shared.relation, shared.entity))

    def records(self) -> list[dict[str, Any]]:
        """A row for each reason, for frames."""
        rows = []
        for reason in self.reasons:
            row = asdict(reason) | {"steps": reason.words, "paths": reason.drawn()}
            rows.append(row)
        return rows

    def text(self) -> str:
        """The explanation for a terminal."""
        return explanation_as_text(self)

    def __repr__(self) -> str:
        answer = self.answer
        main = self.main_reason
        first = "no reason" if main is None else main.sentence
        others = (
            f" and {len(self.reasons) - 1:,} more reasons"
            if len(self.reasons) > 1
            else ""
        )
        return f"<Explanation of {answer.entity} for {answer.asked}: {first}{others}>"

    def _repr_html_(self) -> str:
        return explanation_as_html(self)
