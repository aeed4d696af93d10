"""Answers as users see them: ranked entities by name, for a program, a notebook or a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, overload

from casegraph.answering.results.html import answers_as_html
from casegraph.answering.results.text import question
from casegraph.frames import Tabular
from casegraph.graph.directions import is_inverse, relation_of

if TYPE_CHECKING:
    from casegraph.answering.state import State


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: `entity` to the question (asked, relation, ?),
    or to (?, relation, asked) if `inverse`.

    known        whether it is already a fact of the graph
    probability  that it is a fact, though the graph does not have it (see `belief`): the same
                 whichever way one asks; None if it is known, far down a long list, or if the
                 settings have no belief
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

    note              why there are none, or what is doubtful about the question; or empty
    exact             whether no budget was exceeded, of the query or of counting; if one was, some
                      evidence was left out, deterministically
    tuned             whether they come from settings that were tuned to the graph
    none_probability  the probability that the graph lacks no answer to this question, if answers
                      are facts independently of each other; it does not depend on how many were
                      asked for
    labels            labels of the names in it, for display
    """

    asked: str
    relation: str
    inverse: bool
    found: tuple[Answer, ...]
    note: str = ""
    exact: bool = True
    tuned: bool = False
    none_probability: float | None = None
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
            "none_probability": self.none_probability,
            "answers": answers,
        }

    def __repr__(self) -> str:
        best = ", ".join(
            f"{answer.entity} {answer.score:.3f}" for answer in self.found[:3]
        )
        more = f" and {len(self) - 3:,} more" if len(self) > 3 else ""
        return f"<Answers to {self.question}: {best or self.note or 'none'}{more}>"

    def _repr_html_(self) -> str:
        return answers_as_html(self)

    def label(self, name: str) -> str:
        """The label of a name in these answers; the name itself if it has none."""
        return self.labels.get(name, name)


def named_answers(
    state: State,
    query: tuple[str, int],
    found: Iterable[tuple[int, float]],
    known: set[int],
    probability_of: Mapping[int, float],
) -> tuple[Answer, ...]:
    """Answers by name, numbered in the order given.

    query           the name of the entity asked about, and the relation
    found           entities and their scores, best first
    known           the answers that are facts already
    probability_of  some of the others: how probable it is that they are facts
    """
    asked, direction = query
    names = state.graph.entities
    relation = state.graph.relations[relation_of(direction)]
    inverse = bool(is_inverse(direction))
    return tuple(
        Answer(
            asked=asked,
            relation=relation,
            inverse=inverse,
            entity=names[entity],
            score=score,
            rank=rank,
            known=entity in known,
            probability=probability_of.get(entity),
        )
        for rank, (entity, score) in enumerate(found, start=1)
    )
