"""What a question is answered with: ranked entities by name, for a program, a notebook or a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from casegraph.graph.graph import Graph


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: `entity` to the question (asked, relation, ?), or to (?, relation, asked) if `inverse`."""

    asked: str
    relation: str
    inverse: bool
    entity: str
    score: float
    rank: int
    known: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Answers(Sequence[Answer]):
    """The answers to one question, best first.

    note   why there are none, or empty
    exact  whether the budgets of the query and of counting sufficed; if not, evidence was left out, always the same
    """

    asked: str
    relation: str
    inverse: bool
    found: tuple[Answer, ...]
    note: str = ""
    exact: bool = True

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
        return f"(?, {self.relation}, {self.asked})" if self.inverse else f"({self.asked}, {self.relation}, ?)"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        answers = [{"rank": a.rank, "entity": a.entity, "score": a.score, "known": a.known} for a in self.found]
        return {
            "asked": self.asked,
            "relation": self.relation,
            "inverse": self.inverse,
            "note": self.note,
            "exact": self.exact,
            "answers": answers,
        }

    def _repr_html_(self) -> str:
        rows = [(str(a.rank), a.entity, f"{a.score:.4f}", "known" if a.known else "") for a in self.found]
        return f"<p>{escape(self.question)} {escape(self.note)}</p>" + html_table(("", "answer", "score", ""), rows)


def named_answers(
    graph: Graph, query: tuple[str, int], scored: Iterable[tuple[int, float]], own: set[int], *, exclude: bool
) -> tuple[Answer, ...]:
    """Answers by name, numbered, in the order given; `own` are those known already."""
    asked, relation = query
    name, inverse = graph.relations[relation >> 1], bool(relation & 1)
    kept = [(entity, score) for entity, score in scored if not (exclude and entity in own)]
    return tuple(
        Answer(asked, name, inverse, graph.entities[entity], score, rank, entity in own)
        for rank, (entity, score) in enumerate(kept, start=1)
    )


def html_table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of plain text."""

    def cells(row: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"

    return "<table>" + cells(header, "th") + "".join(cells(row, "td") for row in rows) + "</table>"
