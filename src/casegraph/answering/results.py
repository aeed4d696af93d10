"""Answers as users see them: ranked entities by name, for a program, a notebook or a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, overload

from casegraph.answering.notebook import answers_as_html
from casegraph.answering.probability import probability
from casegraph.answering.query import calibration_of
from casegraph.answering.rendering import ShownAnswer, question, sentence
from casegraph.frames import Tabular
from casegraph.graph.directions import is_inverse, relation_of

if TYPE_CHECKING:
    from casegraph.answering.state import State


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: `entity` to the question (asked, relation, ?),
    or to (?, relation, asked) if `inverse`.

    known        whether it is already a fact of the graph
    probability  that it is right; None if it is known, or if the settings are not tuned
    """

    asked: str
    relation: str
    inverse: bool
    entity: str
    score: float
    rank: int
    known: bool
    probability: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Answers(Tabular, Sequence[Answer]):
    """The answers to one question, best first.

    note   why there are none, or what is doubtful about the question; or empty
    exact  whether no budget was exceeded, of the query or of counting; if one was, some evidence
           was left out, deterministically
    tuned  whether they come from settings that were tuned to the graph
    labels labels of the names in it, for display
    """

    asked: str
    relation: str
    inverse: bool
    found: tuple[Answer, ...]
    note: str = ""
    exact: bool = True
    tuned: bool = False
    labels: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.found)

    @overload
    def __getitem__(self, place: int) -> Answer: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Answer, ...]: ...
    def __getitem__(self, place: int | slice) -> Answer | tuple[Answer, ...]:
        return self.found[place]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.found)

    @property
    def none(self) -> float | None:
        """The probability that none of the new answers is right; None if not tuned.

        This assumes that the answers are right or wrong independently of each other.
        """
        if not self.tuned:
            return None
        return prod(1 - (answer.probability or 0) for answer in self.found)

    @property
    def question(self) -> str:
        """The question as a person writes it."""
        return question(self.asked, self.relation, inverse=self.inverse)

    def records(self) -> list[dict[str, Any]]:
        """A row for each answer, for frames."""
        return [asdict(answer) for answer in self.found]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        answers = [
            {
                "rank": answer.rank,
                "entity": answer.entity,
                "score": answer.score,
                "probability": answer.probability,
                "known": answer.known,
            }
            for answer in self.found
        ]
        return {
            "asked": self.asked,
            "relation": self.relation,
            "inverse": self.inverse,
            "note": self.note,
            "exact": self.exact,
            "tuned": self.tuned,
            "none": self.none,
            "answers": answers,
        }

    def __repr__(self) -> str:
        best = ", ".join(
            f"{answer.entity} {answer.score:.3f}" for answer in self.found[:3]
        )
        more = f" and {len(self) - 3:,} more" if len(self) > 3 else ""
        return f"<Answers to {self.question}: {best or self.note or 'none'}{more}>"

    def _repr_html_(self) -> str:
        asked = self._label(self.asked)
        asking = sentence(asked, self._label(self.relation), "…", inverse=self.inverse)
        shown_answers = [
            shown(answer)._replace(asked=asked, entity=self._label(answer.entity))
            for answer in self.found
        ]
        return answers_as_html(f"{asking}?", self.note, shown_answers)

    def _label(self, name: str) -> str:
        return self.labels.get(name, name)


def named_answers(
    state: State,
    query: tuple[str, int],
    scored: Iterable[tuple[int, float]],
    own: set[int],
    *,
    exclude: bool,
    candidates: set[int | None] | None = None,
) -> tuple[Answer, ...]:
    """Answers by name, numbered in the order given.

    query       the name of the entity asked about, and the relation
    scored      entities and their scores, best first
    own         the answers that are already known
    exclude     whether to leave these out
    candidates  if given, the only answers to keep
    """
    asked, direction = query
    names = state.graph.entities
    relation = state.graph.relations[relation_of(direction)]
    inverse = bool(is_inverse(direction))
    calibration = calibration_of(state, len(own))

    answers: list[Answer] = []
    is_first = True
    for entity, score in scored:
        is_known = entity in own
        probable = None
        if calibration is not None and not is_known:
            probable = probability(calibration, score, is_first=is_first)
            is_first = False
        is_left_out = candidates is not None and entity not in candidates
        if is_left_out or (is_known and exclude):
            continue
        name = names[entity]
        rank = len(answers) + 1
        answers.append(
            Answer(asked, relation, inverse, name, score, rank, is_known, probable)
        )
    return tuple(answers)


def shown(answer: Answer) -> ShownAnswer:
    """What text and HTML show of an answer."""
    return ShownAnswer(
        answer.asked,
        answer.entity,
        answer.score,
        answer.rank,
        answer.known,
        answer.probability,
        answer.relation,
        answer.inverse,
    )
