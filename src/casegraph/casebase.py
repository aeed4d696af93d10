"""
CaseBase: a graph that answers questions, says why, and takes in new facts between them.

It is the only owner of state, and the only place that knows the order of the stages. An update leaves a new `Cases`:
profiles are refreshed where entities changed, and what is derived from the graph is made anew when it is next asked
for.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from casegraph.answering import Cases, answers, standings
from casegraph.answers import Answer, Answers, named_answers
from casegraph.arrays import ids
from casegraph.errors import CasegraphError, InvalidSettings, UnknownName
from casegraph.explanation import Explanation, Neighbour, explanation
from casegraph.graph import Graph, Query, inverse
from casegraph.profiles import NONE, Profiles
from casegraph.retrieval import contextual_entities, similar_entities
from casegraph.settings import Settings
from casegraph.work import Show, quiet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from casegraph.edges import Change

Known = Literal["mark", "exclude"]


Retracted = tuple[str, str, str] | str  # a fact, or an entity: all its facts


@dataclass(frozen=True, slots=True)
class Update:
    """What an update did, in numbers.

    added, retracted   facts that came and went;  repeated, absent: those that were there already, or were not there
    new_entities, new_relations  names never seen before
    reshaped           entities whose set of relations changed
    moved              entities whose cluster changed, where clusters follow every change ("grinch")
    recounted          entities on a cycle that a changed fact closes or opens: those whose hits change
    cycles             how many such cycles there are: the work done
    anew               whether so much changed that counts were dropped, to be made anew when needed
    """

    added: int = 0
    retracted: int = 0
    repeated: int = 0
    absent: int = 0
    new_entities: int = 0
    new_relations: int = 0
    reshaped: int = 0
    moved: int = 0
    recounted: int = 0
    cycles: int = 0
    anew: bool = False


class CaseBase:
    """Facts that answer questions by precedent.

    >>> from casegraph import CaseBase
    >>> cases = CaseBase()
    >>> einstein = [("Einstein", "born in", "Ulm"), ("Einstein", "citizen of", "Germany")]
    >>> _ = cases.update(add=[("Ulm", "city in", "Germany"), ("Bonn", "city in", "Germany"), *einstein])
    >>> _ = cases.update(add=[("Hausdorff", "died in", "Bonn"), ("Planck", "born in", "Ulm")])
    >>> cases.ask("Planck", "citizen of")[0].entity
    'Germany'
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self._cases = Cases(Graph(), Profiles(), settings or Settings())

    @property
    def graph(self) -> Graph:
        """The facts."""
        return self._cases.graph

    @property
    def settings(self) -> Settings:
        """How questions are answered."""
        return self._cases.settings

    @property
    def cases(self) -> Cases:
        """What queries are answered from now; the next update puts another in its place."""
        return self._cases

    def update(self, add: Iterable[tuple[str, str, str]] = (), retract: Iterable[Retracted] = ()) -> Update:
        """Retract facts, then take in facts, and bring everything up to date with them (§2.3); all or nothing.

        To retract an entity, name it alone: all its facts go.
        """
        graph, profiles = self.graph.copy(), self._cases.profiles.copy()
        entities, relations = len(graph.entities), len(graph.relations)
        change = graph.retract(retract).then(graph.add(add))
        try:
            reshaped = profiles.refresh(graph, change.entities)
            later, consequence = self._cases.after(change, graph, profiles, reshaped)
            self._keep(later, change)
        except BaseException:
            graph.forget_after(entities, relations)
            raise
        return Update(
            len(change.added), len(change.retracted), change.repeated, change.absent,
            len(graph.entities) - entities, len(graph.relations) - relations, len(reshaped), *consequence,
        )  # fmt: skip

    def _keep(self, later: Cases, change: Change) -> None:  # noqa: ARG002  (a store writes the change down first)
        """Answer from `later` from now on."""
        self._cases = later

    def prepare(self, relations: Iterable[str] | None = None, show: Show = quiet) -> None:
        """Count now what questions about these relations (all, if none are named) would count when first asked."""
        chosen = range(self.graph.directions // 2) if relations is None else map(self._relation, relations)
        self._cases.statistics.prepare([direction for k in chosen for direction in (2 * k, 2 * k + 1)], show)

    def ask(
        self, head: str, relation: str, top: int = 10, *, known: Known = "mark", candidates: Iterable[str] | None = None
    ) -> Answers:
        """The best answers to (head, relation, ?).

        known       "mark" facts that are in the graph already, or "exclude" them
        candidates  the only answers to consider

        An unknown relation is an error; an entity never seen gets an empty answer whose `note` says so.
        """
        return self.ask_many([(head, relation)], top, known=known, candidates=candidates)[0]

    def ask_head(
        self, relation: str, tail: str, top: int = 10, *, known: Known = "mark", candidates: Iterable[str] | None = None
    ) -> Answers:
        """The best answers to (?, relation, tail)."""
        return self._ask([(tail, inverse(2 * self._relation(relation)))], top, known, candidates)[0]

    def ask_many(
        self,
        questions: Sequence[tuple[str, str]],
        top: int = 10,
        *,
        known: Known = "mark",
        candidates: Iterable[str] | None = None,
    ) -> list[Answers]:
        """Several questions (head, relation, ?) at once, answered in parallel."""
        return self._ask([(head, 2 * self._relation(relation)) for head, relation in questions], top, known, candidates)

    def explain(self, answer: Answer) -> Explanation:
        """Why an answer was given: the reasons that add up to its score, and the precedents they rest on."""
        entity, found = self.graph.entities.find(answer.asked), self.graph.entities.find(answer.entity)
        relation = self.graph.relations.find(answer.relation)
        if entity is None or found is None or relation is None:
            raise CasegraphError(
                f"this case base did not give the answer {answer.entity!r}; explain it with the one that did"
            )
        return explanation(self._cases, Query(entity, 2 * relation + answer.inverse), answer, found)

    def similar(self, entity: str, relation: str | None = None, top: int = 10) -> list[Neighbour]:
        """The entities most like this one, by the relations they have; with a relation, those that have it."""
        own = self.graph.entities.find(entity)
        if own is None:
            raise UnknownName("entity", entity, self.graph.entities.names)
        if relation is None:
            near = similar_entities(self._cases.profiles, self.graph, own, top)
        else:
            query = Query(own, 2 * self._relation(relation))
            near = contextual_entities(self._cases.profiles, self.graph, query, top)
        return [Neighbour.of(self._cases, own, other) for other in near.tolist()]

    def score(self, facts: Sequence[tuple[str, str, str]]) -> list[float]:
        """What each fact would score as an answer to (head, relation, ?), as if it were not known.

        The fact is not walked and is no precedent; the counts that weigh path types include it.
        """
        scores = [0.0] * len(facts)
        rows = [self._found(fact) for fact in facts]
        for relation in sorted({row[1] for row in rows if row is not None}):
            places = [place for place, row in enumerate(rows) if row is not None and row[1] == relation]
            heads, tails = (ids(rows[place][column] for place in places) for column in (0, 2))  # type: ignore[index]
            one_each = np.arange(len(places) + 1), tails
            none_known = np.zeros(len(places) + 1, dtype=np.int64), ids()
            standing = standings(self._cases, (relation, heads), one_each, none_known, left_out=tails)
            for place, score in zip(places, standing.score.tolist(), strict=True):
                scores[place] = score
        return scores

    def save(self, path: str | Path) -> None:
        """Write the facts, the settings and what was counted to a file."""
        from casegraph.saving import save

        save(self._cases, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> CaseBase:
        """Read a case base that `save` wrote."""
        from casegraph.saving import load

        loaded = CaseBase()
        loaded._cases = load(Path(path))
        return loaded

    def _relation(self, name: str) -> int:
        relation = self.graph.relations.find(name)
        if relation is None:
            raise UnknownName("relation", name, self.graph.relations.names)
        return relation

    def _found(self, fact: tuple[str, str, str]) -> tuple[int, int, int] | None:
        head, tail = self.graph.entities.find(fact[0]), self.graph.entities.find(fact[2])
        relation = 2 * self._relation(fact[1])
        return None if head is None or tail is None else (head, relation, tail)

    def _ask(
        self, questions: Sequence[tuple[str, int]], top: int, known: Known, candidates: Iterable[str] | None
    ) -> list[Answers]:
        if known not in ("mark", "exclude"):
            raise InvalidSettings("known", known, "'mark' or 'exclude'")
        only = None if candidates is None else {self.graph.entities.find(name) for name in candidates}
        found: dict[int, Answers] = {}
        for relation in sorted({relation for _, relation in questions}):
            places = [place for place, question in enumerate(questions) if question[1] == relation]
            names = [questions[place][0] for place in places]
            found.update(zip(places, self._answers(relation, names, top, known, only), strict=True))
        return [found[place] for place in range(len(questions))]

    def _answers(
        self, relation: int, names: list[str], top: int, known: Known, only: set[int | None] | None
    ) -> list[Answers]:
        graph = self.graph
        entities = [self._seen(name) for name in names]
        own = [set(graph.answers(entity, relation).tolist()) if entity >= 0 else set() for entity in entities]
        room = max(map(len, own), default=0) if known == "exclude" else 0
        best = answers(self._cases, relation, ids(entities), top=-1 if only is not None or top < 0 else top + room)
        result = []
        for name, mine, found in zip(names, own, best, strict=True):
            pairs = zip(found.entities.tolist(), found.scores.tolist(), strict=True)
            scored = [pair for pair in pairs if only is None or pair[0] in only]
            kept = named_answers(graph, (name, relation), scored, mine, exclude=known == "exclude")
            note = "" if kept or (only is not None and len(found.entities)) else self._note(name, relation)
            kept = kept[: top if top >= 0 else None]
            result.append(Answers(name, graph.relations[relation >> 1], bool(relation & 1), kept, note, found.exact))
        return result

    def _seen(self, name: str) -> int:
        """The id of an entity that has facts, or -1."""
        entity = self.graph.entities.find(name)
        return -1 if entity is None or self._cases.profiles.of(entity) == NONE else entity

    def _note(self, name: str, relation: int) -> str:
        """Why there is no answer."""
        if name not in self.graph.entities:
            return f"{name!r} has never been seen; add facts about it first"
        if self._seen(name) < 0:
            return f"nothing is known about {name!r} any more; add facts about it first"
        if not len(self.graph.edges(relation).heads):
            return f"no entity has {self.graph.relation_name(relation)!r} any more, so there is no precedent"
        return "no path type and no precedent leads to an answer"
