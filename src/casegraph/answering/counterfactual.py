"""
Counterfactual explanations: the fewest facts without which an answer would lose its rank, or half
of its probability.

The facts that the reasons for the answer rest on (see `support`) are retracted from a copy of the
graph, and the question is asked again: first every single fact, then all pairs, then all triples.
So a set that is found is known to work, and no smaller set does. Among sets of the same size, those
of facts about the entity asked about come first, and larger sets begin with the facts that weaken
the answer most by themselves. If the budget does not allow all sets, the last one tried is made of
the facts that weaken it most.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from casegraph.answering.belief import probabilities
from casegraph.answering.pair_strengths import Pairs
from casegraph.answering.query import UNKNOWN, answers
from casegraph.answering.support import facts_behind
from casegraph.graph.arrays import ids
from casegraph.graph.directions import backward, forward, is_inverse, relation_of
from casegraph.graph.facts import Fact
from casegraph.running import Show, quiet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.results.answer import Answer
    from casegraph.answering.state import State
    from casegraph.graph.graph import Query

Facts = tuple[Fact, ...]
MOST_FACTS = 3  # in a set
BUDGET = 500  # sets that are tried
MAX_BEHIND = 10_000  # facts that are looked at; most of them are too many to try


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The fewest facts without which an answer would lose its rank, or half of its probability.

    facts             the set that was found; empty if none was
    rank              the rank of the answer now, other known answers skipped
    rank_then         its rank without these facts; None if it would not be found at all
    probability       of the answer now, as if the graph did not have it; None without belief
    probability_then  the same without these facts
    instead           the first answer then; None if there would be none
    is_smallest       whether every smaller set was tried; if no set was found, whether every set
                      was
    considered        how many facts the reasons rest on; the sets are chosen from them
    tried             how many sets were tried
    """

    answer: Answer
    facts: tuple[Fact, ...]
    rank: int
    rank_then: int | None
    probability: float | None
    probability_then: float | None
    instead: str | None
    is_smallest: bool
    considered: int
    tried: int

    def __repr__(self) -> str:
        return f"<Counterfactual: {self.sentence}>"

    @property
    def is_outranked(self) -> bool:
        """Whether the answer would lose its rank without these facts."""
        return _is_outranked(self.rank, self.rank_then)

    @property
    def sentence(self) -> str:
        """The finding as a person reads it."""
        entity = self.answer.entity
        if not self.facts:
            surely = "no" if self.is_smallest else "as far as was tried, no"
            effect = "changes its rank"
            if self.probability is not None:
                effect += " or halves its probability"
            return f"{surely} set of up to {MOST_FACTS} of the facts behind {entity} {effect}"
        facts = " and ".join(f"({', '.join(fact)})" for fact in self.facts)
        effects = [self._rank_in_words()] if self.is_outranked else []
        effects += self._fall_in_words()
        return f"without {facts}, {', and '.join(effects)}"

    def _rank_in_words(self) -> str:
        """How the rank would change."""
        entity = self.answer.entity
        if self.instead is None:
            return f"there would be no answer instead of {entity}"
        if self.rank == 1:
            return f"{self.instead} would come first instead of {entity}"
        if self.rank_then is None:
            return f"{entity} would not be found"
        return f"{entity} would fall from rank {self.rank} to {self.rank_then}"

    def _fall_in_words(self) -> list[str]:
        """How the probability would fall, if it would."""
        now = self.probability
        then = self.probability_then
        if now is None or then is None or then >= now:
            return []
        before = _in_words(now)
        after = _in_words(then)
        entity = self.answer.entity
        if before != after:
            return [f"the probability of {entity} falls from {before} to {after}"]
        is_halved = 2 * then <= now
        return [f"the probability of {entity} is halved"] if is_halved else []

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "answer": self.answer.as_dict(),
            "facts": [list(fact) for fact in self.facts],
            "rank": self.rank,
            "rank_then": self.rank_then,
            "probability": self.probability,
            "probability_then": self.probability_then,
            "instead": self.instead,
            "is_smallest": self.is_smallest,
            "considered": self.considered,
            "tried": self.tried,
            "sentence": self.sentence,
        }


class _Standing(NamedTuple):
    """How an answer compares with those that are not skipped.

    rank         None if it is not found
    first        the first answer; None if there is none
    lead         by how much the answer outscores the best other
    probability  None if the settings have no belief
    """

    rank: int | None
    first: str | None
    lead: float
    probability: float | None

    @property
    def strength(self) -> tuple[float, float]:
        """How strong the answer is: by its probability, then by its lead."""
        return self.probability or 0.0, self.lead


class _Asked(NamedTuple):
    """A question by name, the answer to examine, and the answers to skip."""

    name: str
    relation: str
    inverse: bool
    answer: str
    is_known: bool
    skipped: frozenset[str]


def counterfactual(
    state: State,
    query: Query,
    answer: Answer,
    *,
    most: int = MOST_FACTS,
    budget: int = BUDGET,
    show: Show = quiet,
) -> Counterfactual:
    """Find the smallest set of up to `most` facts without which an answer loses its rank, or half
    of its probability.

    budget  how many sets are tried; then one more, of the facts that weaken it most by themselves
    """
    asked = _asked(state, query, answer)
    now = _standing(state, asked, deep=len(state.graph.entities))
    rank = now.rank or 0
    facts = _facts_to_try(state, query, answer, budget + 1)

    def outcome(chosen: Facts, then: _Standing, *, is_smallest: bool) -> Counterfactual:
        return Counterfactual(
            answer=answer,
            facts=chosen,
            rank=rank,
            rank_then=then.rank,
            probability=now.probability,
            probability_then=then.probability,
            instead=then.first,
            is_smallest=is_smallest,
            considered=len(facts),
            tried=tried,
        )

    tried = 0
    strengths: dict[Fact, tuple[float, float]] = {}
    for size in range(1, most + 1):
        for next_set in _first_facts_first(facts, size):
            is_last = tried == budget
            chosen = _weakening(facts, strengths, most) if is_last else next_set
            tried += 1
            show("imagining", min(tried, budget), budget)
            without = state.imagined(retract=chosen)
            then = _standing(without, asked, deep=rank)
            if _is_outranked(rank, then.rank) or _is_halved(now, then):
                # It may rank further down than it takes to know that it is outranked.
                then = _standing(without, asked, deep=len(without.graph.entities))
                return outcome(chosen, then, is_smallest=not is_last)
            if is_last:
                return outcome((), now, is_smallest=False)
            if size == 1:
                (fact,) = chosen
                strengths[fact] = then.strength
        facts.sort(
            key=lambda fact: (not _is_about(fact, answer.asked), strengths[fact])
        )
    return outcome((), now, is_smallest=True)


def _facts_to_try(state: State, query: Query, answer: Answer, most: int) -> list[Fact]:
    """The facts behind an answer, those about the entity asked about first."""
    found = state.graph.entities.find(answer.entity)
    if found is None:
        return []
    behind = list(islice(facts_behind(state, query, found), MAX_BEHIND))
    behind.sort(key=lambda fact: not _is_about(fact, answer.asked))
    return behind[:most]


def _is_about(fact: Fact, entity: str) -> bool:
    return entity in (fact.head, fact.tail)


def _is_outranked(rank: int, then: int | None) -> bool:
    return then is None or then > rank


def _is_halved(now: _Standing, then: _Standing) -> bool:
    """Whether the answer lost half of its probability, or more."""
    if not now.probability or then.probability is None:
        return False
    return 2 * then.probability <= now.probability


def _weakening(
    facts: list[Fact], strengths: dict[Fact, tuple[float, float]], most: int
) -> Facts:
    """The facts that weaken the answer most by themselves; those that were not tried come last."""
    in_order = sorted(facts, key=lambda fact: strengths.get(fact, (inf, inf)))
    return tuple(in_order[:most])


def _first_facts_first(facts: list[Fact], size: int) -> Iterator[Facts]:
    """All sets of this size, those made of the first facts first."""
    for last in range(size - 1, len(facts)):
        for others in combinations(facts[:last], size - 1):
            yield (*others, facts[last])


def _in_words(probability: float) -> str:
    """A probability with two digits that matter, if it is large enough to matter itself."""
    if probability < 0.001:
        return "less than 0.001"
    return f"{probability:.2f}" if probability >= 0.1 else f"{probability:.2g}"


def _asked(state: State, query: Query, answer: Answer) -> _Asked:
    """The question to repeat; answers known now are skipped even in graphs without them."""
    graph = state.graph
    known = [graph.entities[known] for known in graph.answers(*query).tolist()]
    return _Asked(
        name=answer.asked,
        relation=graph.relations[relation_of(query.relation)],
        inverse=bool(is_inverse(query.relation)),
        answer=answer.entity,
        is_known=answer.entity in known,
        skipped=frozenset(known) - {answer.entity},
    )


def _standing(state: State, asked: _Asked, deep: int) -> _Standing:
    """How the answer ranks in a state; only the first `deep` + 1 ranks matter."""
    graph = state.graph
    entity = graph.entities.find(asked.name)
    relation = graph.relations.find(asked.relation)
    if relation is None:
        return _Standing(None, None, 0.0, _nothing(state))
    if entity is None or state.is_without_facts(entity):
        entity = UNKNOWN
    direction = backward(relation) if asked.inverse else forward(relation)
    top = min(len(graph.entities), deep + 1 + len(asked.skipped))
    found = answers(state, direction, ids([entity]), top=top)[0]
    names = [graph.entities[entity] for entity in found.entities.tolist()]
    scored = dict(zip(names, found.scores.tolist(), strict=True))
    return _standing_among(scored, asked, _probability(state, relation, entity, asked))


def _probability(
    state: State, relation: int, entity: int, asked: _Asked
) -> float | None:
    """How probable the answer is, as if it were not known.

    entity  the one asked about, or `UNKNOWN`
    """
    found = state.graph.entities.find(asked.answer)
    if found is None or state.is_without_facts(found):
        return _nothing(state)
    head, tail = (found, entity) if asked.inverse else (entity, found)
    pair = Pairs(forward(relation), ids([head]), ids([tail]), asked.is_known)
    probable = probabilities(state, pair)
    return None if probable is None else float(probable[0])


def _nothing(state: State) -> float | None:
    """How probable an answer is that can no longer come up."""
    return None if state.settings.belief is None else 0.0


def _standing_among(
    scored: dict[str, float], asked: _Asked, probability: float | None
) -> _Standing:
    """How the answer ranks among these answers and their scores, best first."""
    ranked = [name for name in scored if name not in asked.skipped]
    if not ranked:
        return _Standing(None, None, 0.0, probability)
    if asked.answer not in ranked:
        return _Standing(None, ranked[0], 0.0, probability)
    others = [scored[name] for name in ranked if name != asked.answer]
    lead = scored[asked.answer] - max(others, default=0.0)
    rank = ranked.index(asked.answer) + 1
    return _Standing(rank, ranked[0], lead, probability)
