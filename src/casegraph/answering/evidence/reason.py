"""A reason: one piece of evidence for an answer as a user sees it, with its share of the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from casegraph.answering.rendering import path_with_arrows, precedents_in_words

if TYPE_CHECKING:
    from casegraph.answering.results import Answer

KindName = Literal[
    "path", "shared fact", "fact of answers", "near answers", "neighbours", "habit"
]


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence for an answer, and its share of the score.

    kind       "path": a path type leads there
               "shared fact": others that share a fact with the entity asked about have the answer
               "fact of answers": the answer has a fact that known answers have
               "near answers": the answer shares much with the known answers
               "neighbours": the entities most like the one asked about have the answer
               "habit": many of the entities that have the relation have the answer
    words      the path type ("works at → located in"), the fact, or the relation
    worth      how much this evidence is worth by itself, before it is combined with the rest
    share      its part of the score
    count, of  of a path type: from all entities that have the relation, it reached `of` ends, of
               which `count` were answers; of a fact of answers: of `of` entities with the fact,
               `count` are known answers; of near answers: `of` answers are known; otherwise: of
               `of` other entities, `count` have the answer
    slot       of a path type: "open" if `count` and `of` cover only ends that no other entity has
               as its answer, like this answer; "taken" if only ends that another entity has; empty
               if they cover all ends
    precedents the entities it rests on, by name: those that have the answer too, or the known
               answers that it is like; of a path type, the entities most like the one asked about
               for which it was right
    hits, tries, prior, precision
               of a path type (equations 2 and 3), in the cluster whose counts weighed it
    paths      some of the paths walked, each a tuple that alternates entities and relations
    more       whether there are further paths
    """

    kind: KindName
    words: str
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

    def drawn(self) -> list[str]:
        """The paths with their relations as arrows; an inverse relation points back."""
        return [path_with_arrows(path) for path in self.paths]

    def sentence(self, answer: Answer) -> str:
        """The reason as a person reads it."""
        # Which imports this module.
        from casegraph.answering.evidence.kinds import kind_named

        return kind_named(self.kind).sentence(self, answer) + precedents_in_words(
            self.precedents
        )
