"""
Counterfactual explanations: the fewest facts without which an answer would lose its rank.

The facts that the reasons for the answer rest on (see `support`) are retracted from a copy of the
graph, and the question is asked again: first every single fact, then all pairs, then all triples.
So a set that is found is known to work, and no smaller set does. Larger sets begin with the facts
that weaken the answer most by themselves; if the budget does not allow all sets, the last one tried
is made of those facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from casegraph.answering.query import UNKNOWN, answers
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
    """The fewest facts without which an answer would lose its rank, and what would replace it.

    facts       the set that was found; empty if none was
    rank        the rank of the answer now, other known answers skipped
    rank_then   its rank without these facts; None if it would not be found at all
    instead     the first answer then; None if there would be none
    is_smallest whether every smaller set was tried; if no set was found, whether every set was
    considered  how many facts the reasons rest on; the sets are chosen from them
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
        then = (
            f"{self.instead} would come first"
            if self.instead
            else "there would be no answer"
        )
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
    """How an answer compares with those that are not skipped.

    rank   None if it is not found
    first  the first answer; None if there is none
    lead   by how much the answer outscores the best other
    """

    rank: int | None
    first: str | None
    lead: float


class _Asked(NamedTuple):
    """A question by name, the answer to examine, and the answers to skip."""

    name: str
    relation: str
    inverse: bool
    answer: str
    skipped: frozenset[str]


def change_of_mind(
    state: State,
    query: Query,
    answer: Answer,
    *,
    most: int = MOST_FACTS,
    budget: int = BUDGET,
    show: Show = quiet,
) -> ChangeOfMind:
    """Find the smallest set of up to `most` facts without which an answer loses its rank.

    budget  how many sets are tried; then one more, of the facts that weaken it most by themselves
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
        for next_set in _strongest_first(facts, size):
            is_last = tried == budget
            chosen = tuple(facts[:most]) if is_last else next_set
            tried += 1
            show("imagining", min(tried, budget), budget)
            without_chosen = state.imagined(retract=chosen)
            then = _standing(without_chosen, asked, deep=rank)
            if then.rank is None or then.rank > rank:
                return outcome(chosen, then, is_smallest=not is_last)
            if is_last:
                return outcome((), now, is_smallest=False)
            if size == 1:
                (fact,) = chosen
                leads[fact] = then.lead
        facts.sort(key=leads.__getitem__)
    return outcome((), now, is_smallest=True)


def _strongest_first(facts: list[Fact], size: int) -> Iterator[Facts]:
    """All sets of this size, those made of the first facts first."""
    for last in range(size - 1, len(facts)):
        for others in combinations(facts[:last], size - 1):
            yield (*others, facts[last])


def _asked(state: State, query: Query, answer: Answer) -> _Asked:
    """The question to repeat; answers known now are skipped even in graphs without them."""
    graph = state.graph
    known = [graph.entities[known] for known in graph.answers(*query).tolist()]
    return _Asked(
        name=answer.asked,
        relation=graph.relations[relation_of(query.relation)],
        inverse=bool(is_inverse(query.relation)),
        answer=answer.entity,
        skipped=frozenset(known) - {answer.entity},
    )


def _standing(state: State, asked: _Asked, deep: int) -> _Standing:
    """How the answer ranks in a state; only the first `deep` + 1 ranks matter."""
    graph = state.graph
    entity = graph.entities.find(asked.name)
    relation = graph.relations.find(asked.relation)
    if relation is None:
        return _Standing(None, None, 0.0)
    if entity is None or state.is_without_facts(entity):
        entity = UNKNOWN
    direction = backward(relation) if asked.inverse else forward(relation)
    top = min(len(graph.entities), deep + 1 + len(asked.skipped))
    found = answers(state, direction, ids([entity]), top=top)[0]
    names = [graph.entities[entity] for entity in found.entities.tolist()]
    scored = dict(zip(names, found.scores.tolist(), strict=True))
    return _standing_among(scored, asked)


def _standing_among(scored: dict[str, float], asked: _Asked) -> _Standing:
    """How the answer ranks among these answers and their scores, best first."""
    ranked = [name for name in scored if name not in asked.skipped]
    if not ranked:
        return _Standing(None, None, 0.0)
    if asked.answer not in ranked:
        return _Standing(None, ranked[0], 0.0)
    others = [scored[name] for name in ranked if name != asked.answer]
    lead = scored[asked.answer] - max(others, default=0.0)
    rank = ranked.index(asked.answer) + 1
    return _Standing(rank, ranked[0], lead)
