"""A reason: one piece of evidence for an answer as a user sees it, with its share of the score."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from casegraph.answering.results.text import path_type_as_text, path_with_arrows
from casegraph.graph.directions import PathStep
from casegraph.graph.facts import Fact

KindName = Literal["path", "precedents", "answers", "habit"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence for an answer, and its share of the score.

    kind       "path": a path type leads there
               "precedents": entities that resemble the one asked about have the answer
               "answers": the answer resembles known answers
               "habit": many of the entities that have the relation have the answer
    steps      the path type; of other kinds, the relation that was asked about
    worth      how much this evidence is worth by itself, before it is combined with the rest; it is
               negative if resemblance speaks against the answer
    share      its part of the score
    count, of  of a path type: from all entities that have the relation, it reached `of` ends, of
               which `count` were answers; of precedents: of the `of` entities most like the one
               asked about, `count` have the answer; of answers: `count` are known, and `of` is 0;
               of habit: of `of` other entities, `count` have the answer
    slot       of a path type: "open" if `count` and `of` cover only ends that no other entity has
               as its answer, like this answer; "taken" if only ends that another entity has; empty
               if they cover all ends
    precedents the entities it rests on, by name: those that resemble the one asked about and have
               the answer, or the known answers; of a path type, the entities most like the one
               asked about for which it was right
    weights    of precedents and answers: how much each of these speaks for the answer, largest
               first; those with a negative weight speak against it. They add up to `worth`
    hits, tries, prior, precision
               of a path type (equations 2 and 3), in the cluster whose counts weighed it
    paths      some of the paths walked: the entities that each visits, one more than steps
    more       whether there are further paths
    facts      some of the facts it rests on, and
    failures   entities that have the same evidence but other answers: as many as were asked for
    statement  what it says, without its path type and its precedents
    sentence   all it says, as a person reads it: like `statement`, with labels instead of names
    """

    kind: KindName
    steps: tuple[PathStep, ...]
    worth: float
    share: float
    count: int
    of: int
    hits: int = 0
    tries: int = 0
    prior: float = 0.0
    precision: float = 0.0
    paths: tuple[tuple[str, ...], ...] = ()
    more: bool = False
    slot: str = ""
    precedents: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    facts: tuple[Fact, ...] = ()
    failures: tuple[str, ...] = ()
    statement: str = ""
    sentence: str = ""

    @property
    def words(self) -> str:
        """The path type, or the relation, as a text: "works at → located in"."""
        return path_type_as_text(self.steps)

    def drawn(self, label: Callable[[str], str] = str) -> list[str]:
        """The paths with their relations as arrows; an inverse relation points back."""
        return [path_with_arrows(path, self.steps, label) for path in self.paths]
