"""
What would change its mind: the fewest facts without which an answer would lose its place.

Among the facts that the reasons for the answer rest on (see `support`), all single facts are tried,
then all pairs, then all triples: each set is taken out of the graph, and the question is asked
again of the graph that is left. So a set that is found has been seen to work, and no smaller one
does. Facts that come nearest to it alone are tried together first; and if not all sets can be
tried, those that come nearest of all are tried last.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from casegraph.answering.query import answers
from casegraph.answering.support import facts_behind
from casegraph.graph.arrays import ids
from casegraph.graph.directions import backward, forward, is_inverse, relation_of
from casegraph.graph.facts import Fact
from casegraph.running import Show, quiet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.results import Answer
    from casegraph.answering.state import State
    from casegraph.graph.graph import Query

Facts = tuple[Fact, ...]
MOST_FACTS = 3  # in a set
BUDGET = 500  # sets that are tried


@dataclass(frozen=True, slots=True)
class ChangeOfMind:
    """The fewest facts without which an answer would lose its place, and who would take it.

    facts       the set that was found; empty if none was
    rank        the place of the answer now, other known answers passed over
    rank_then   its place without these facts; None if it would not be found at all
    instead     who would be first then; None if nobody would
    is_smallest whether every smaller set was tried; if no set was found, whether every set was
    considered  the facts that the reasons rest on, of which sets were made
    tried       how many sets were tried
    """

    answer: Answer
    facts: tuple[Fact, ...]
    rank: int
    rank_then: int | None
    instead: str | None
    is_smallest: bool
    considered: int
    tried: int

    def __repr__(self) -> str:
        return f"<ChangeOfMind: {self.sentence}>"

    @property
    def sentence(self) -> str:
        """The finding as a person reads it."""
        entity = self.answer.entity
        if not self.facts:
            surely = "no" if self.is_smallest else "as far as was tried, no"
            return f"{surely} set of up to {MOST_FACTS} of the facts behind {entity} is decisive"
        facts = " and ".join(f"({', '.join(fact)})" for fact in self.facts)
        then = f"{self.instead} would come first" if self.instead else "there would be no answer"
        return f"without {facts}, {then} instead of {entity}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "answer": self.answer.as_dict(),
            "facts": [list(fact) for fact in self.facts],
            "rank": self.rank,
            "rank_then": self.rank_then,
            "instead": self.instead,
            "is_smallest": self.is_smallest,
            "considered": self.considered,
            "tried": self.tried,
            "sentence": self.sentence,
        }


class _Standing(NamedTuple):
    """How an answer stands among those that are not passed over.

    rank   None if it is not found
    first  who comes first; None if nobody does
    lead   by how much the answer scores more than the best other
    """

    rank: int | None
    first: str | None
    lead: float


class _Asked(NamedTuple):
    """A question by name, the answer in question, and the answers to pass over."""

    name: str
    relation: str
    inverse: bool
    answer: str
    passed_over: frozenset[str]


def change_of_mind(
    state: State,
    query: Query,
    answer: Answer,
    *,
    most: int = MOST_FACTS,
    budget: int = BUDGET,
    show: Show = quiet,
) -> ChangeOfMind:
    """Find the smallest set of up to `most` facts without which an answer loses its place.

    budget  how many sets may be tried; then one more is, of the facts that come nearest alone
    """
    asked = _asked(state, query, answer)
    now = _standing(state, asked, deep=len(state.graph.entities))
    rank = now.rank or 0
    found_entity = state.graph.entities.find(answer.entity)
    behind = () if found_entity is None else facts_behind(state, query, found_entity)
    facts = list(islice(behind, budget + 1))

    def outcome(chosen: Facts, then: _Standing, *, is_smallest: bool) -> ChangeOfMind:
        considered = len(facts)
        return ChangeOfMind(
            answer, chosen, rank, then.rank, then.first, is_smallest, considered, tried
        )

    tried = 0
    leads: dict[Fact, float] = {}
    for size in range(1, most + 1):
        for chosen in _strongest_first(facts, size):
            is_last = tried == budget
            if is_last:
                chosen = tuple(facts[:most])  # noqa: PLW2901
            tried += 1
            show("imagining", min(tried, budget), budget)
            then = _standing(state.imagined(retract=chosen), asked, deep=rank)
            if then.rank is None or then.rank > rank:
                return outcome(chosen, then, is_smallest=not is_last)
            if is_last:
                return outcome((), now, is_smallest=False)
            if size == 1:
                leads[chosen[0]] = then.lead
        facts.sort(key=leads.__getitem__)
    return outcome((), now, is_smallest=True)


def _strongest_first(facts: list[Fact], size: int) -> Iterator[Facts]:
    """All sets of this size, those first that are made of the first facts alone."""
    for last in range(size - 1, len(facts)):
        for others in combinations(facts[:last], size - 1):
            yield (*others, facts[last])


def _asked(state: State, query: Query, answer: Answer) -> _Asked:
    """What is asked again and again; what is known now is passed over, also where it is not."""
    graph = state.graph
    known = [graph.entities[known] for known in graph.answers(*query).tolist()]
    return _Asked(
        name=answer.asked,
        relation=graph.relations[relation_of(query.relation)],
        inverse=bool(is_inverse(query.relation)),
        answer=answer.entity,
        passed_over=frozenset(known) - {answer.entity},
    )


def _standing(state: State, asked: _Asked, deep: int) -> _Standing:
    """How the answer stands in a state; places after the one that follows `deep` do not matter."""
    graph = state.graph
    entity = graph.entities.find(asked.name)
    relation = graph.relations.find(asked.relation)
    if entity is None or relation is None or state.is_without_facts(entity):
        return _Standing(None, None, 0.0)
    direction = backward(relation) if asked.inverse else forward(relation)
    top = min(len(graph.entities), deep + 1 + len(asked.passed_over))
    found = answers(state, direction, ids([entity]), top=top)[0]
    names = [graph.entities[one] for one in found.entities.tolist()]
    scored = dict(zip(names, found.scores.tolist(), strict=True))
    return _standing_among(scored, asked)


def _standing_among(scored: dict[str, float], asked: _Asked) -> _Standing:
    ranked = [name for name in scored if name not in asked.passed_over]
    if not ranked:
        return _Standing(None, None, 0.0)
    if asked.answer not in ranked:
        return _Standing(None, ranked[0], 0.0)
    others = [scored[name] for name in ranked if name != asked.answer]
    lead = scored[asked.answer] - max(others, default=0.0)
    return _Standing(ranked.index(asked.answer) + 1, ranked[0], lead)
