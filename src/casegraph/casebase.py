"""
CaseBase: a graph that answers questions, says why, and takes in new facts between them.

It is the owner of the state that questions are answered from. An update makes the next state from it and puts that in
its place by one assignment, so whoever asks meanwhile gets the answer of one state or of the other.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Literal

import numpy as np

from casegraph.answering.explanation import Explanation, Neighbour, explanation
from casegraph.answering.query import answers, standings
from casegraph.answering.results import Answer, Answers, named_answers
from casegraph.answering.state import State, Update
from casegraph.errors import CasegraphError, InvalidSettings, UnknownName
from casegraph.graph.arrays import ids
from casegraph.graph.directions import inverse
from casegraph.graph.graph import Graph, Query
from casegraph.running import Show, quiet
from casegraph.settings import Settings
from casegraph.similarity.profiles import NONE
from casegraph.similarity.retrieval import contextual_entities, similar_entities

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from casegraph.answering.state import Retracted

Known = Literal["mark", "exclude"]


class CaseBase:
    """Facts that answer questions by precedent.

    >>> from casegraph import CaseBase
    >>> cases = CaseBase()
    >>> einstein = [("Einstein", "born in", "Ulm"), ("Einstein", "citizen of", "Germany")]
    >>> _ = cases.update(add=[("Ulm", "city in", "Germany"), ("Bonn", "city in", "Germany"), *einstein])
    >>> _ = cases.update(add=[("Hausdorff", "died in", "Bonn"), ("Planck", "born in", "Ulm")])
    >>> cases.ask("Planck", "citizen of")[0].entity
    'Germany'

    Any number of threads may ask while one updates: an answer is that of one state, the one that was there when the
    question was asked. Updates wait for each other; asking waits for none.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self._start_with(State.of(Graph(), settings or Settings()))

    def _start_with(self, state: State) -> None:
        self._state = state
        self._turn = Lock()  # of the update under way
        self._updating: int | None = None  # the thread whose turn it is

    @property
    def graph(self) -> Graph:
        """The facts; not to be changed but by `update`."""
        return self._state.graph

    @property
    def settings(self) -> Settings:
        """How questions are answered."""
        return self._state.settings

    @property
    def state(self) -> State:
        """What queries are answered from now; an update puts another in its place, and leaves this one as it is."""
        return self._state

    def update(self, add: Iterable[tuple[str, str, str]] = (), retract: Iterable[Retracted] = ()) -> Update:
        """Retract facts, then take in facts, and bring everything up to date with them (§2.3); all or nothing.

        To retract an entity, name it alone: all its facts go.
        """
        self._refuse_update_in_update()
        with self._turn:
            self._updating = get_ident()
            try:
                step = self._state.updated(add, retract)
                self._state = step.state
            finally:
                self._updating = None
        return step.update

    def _refuse_update_in_update(self) -> None:
        if self._turn.locked() and self._updating == get_ident():
            raise CasegraphError(
                "an update cannot begin while another of the same case base is taking in facts; "
                "let the facts that you give to `update` change nothing themselves"
            )

    def prepare(self, relations: Iterable[str] | None = None, show: Show = quiet) -> None:
        """Count now what questions about these relations (all, if none are named) would count when first asked."""
        state = self._state
        names = state.graph.relations
        chosen = range(len(names)) if relations is None else [_relation(state, name) for name in relations]
        state.statistics.prepare([direction for k in chosen for direction in (2 * k, 2 * k + 1)], show)

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
        state = self._state
        question = tail, inverse(2 * _relation(state, relation))
        return _ask(state, [question], top, known, candidates)[0]

    def ask_many(
        self,
        questions: Sequence[tuple[str, str]],
        top: int = 10,
        *,
        known: Known = "mark",
        candidates: Iterable[str] | None = None,
    ) -> list[Answers]:
        """Several questions (head, relation, ?) at once, answered in parallel."""
        state = self._state
        asked = [(head, 2 * _relation(state, relation)) for head, relation in questions]
        return _ask(state, asked, top, known, candidates)

    def explain(self, answer: Answer) -> Explanation:
        """Why an answer was given: the reasons that add up to its score, and the precedents they rest on."""
        state = self._state
        entity = state.graph.entities.find(answer.asked)
        found = state.graph.entities.find(answer.entity)
        relation = state.graph.relations.find(answer.relation)
        if entity is None or found is None or relation is None:
            raise CasegraphError(
                f"this case base did not give the answer {answer.entity!r}; explain it with the one that did"
            )
        return explanation(state, Query(entity, 2 * relation + answer.inverse), answer, found)

    def similar(self, entity: str, relation: str | None = None, top: int = 10) -> list[Neighbour]:
        """The entities most like this one, by the relations they have; with a relation, those that have it."""
        state = self._state
        own = state.graph.entities.find(entity)
        if own is None:
            raise UnknownName("entity", entity, state.graph.entities.names)
        if relation is None:
            near = similar_entities(state.profiles, state.graph, own, top)
        else:
            query = Query(own, 2 * _relation(state, relation))
            near = contextual_entities(state.profiles, state.graph, query, top)
        return [Neighbour.of(state, own, other) for other in near.tolist()]

    def score(self, facts: Sequence[tuple[str, str, str]]) -> list[float]:
        """What each fact would score as an answer to (head, relation, ?), as if it were not known.

        The fact is not walked and is no precedent; the counts that weigh path types include it.
        """
        state = self._state
        scores = [0.0] * len(facts)
        rows = [_found(state, fact) for fact in facts]
        for relation in sorted({row[1] for row in rows if row is not None}):
            of_relation = [(place, row) for place, row in enumerate(rows) if row is not None and row[1] == relation]
            heads = ids(row[0] for _, row in of_relation)
            tails = ids(row[2] for _, row in of_relation)
            one_each = np.arange(len(of_relation) + 1), tails
            none_known = np.zeros(len(of_relation) + 1, dtype=np.int64), ids()
            standing = standings(state, (relation, heads), one_each, none_known, left_out=tails)
            for (place, _), score in zip(of_relation, standing.score.tolist(), strict=True):
                scores[place] = score
        return scores

    def save(self, path: str | Path) -> None:
        """Write the facts, the settings and what was counted to a file."""
        from casegraph.storage.case_files import save

        save(self._state, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> CaseBase:
        """Read a case base that `save` wrote."""
        from casegraph.storage.case_files import load

        loaded = CaseBase()
        loaded._start_with(load(Path(path)))
        return loaded


def _relation(state: State, name: str) -> int:
    relation = state.graph.relations.find(name)
    if relation is None:
        raise UnknownName("relation", name, state.graph.relations.names)
    return relation


def _found(state: State, fact: tuple[str, str, str]) -> tuple[int, int, int] | None:
    head = state.graph.entities.find(fact[0])
    tail = state.graph.entities.find(fact[2])
    relation = 2 * _relation(state, fact[1])
    return None if head is None or tail is None else (head, relation, tail)


def _ask(
    state: State, questions: Sequence[tuple[str, int]], top: int, known: Known, candidates: Iterable[str] | None
) -> list[Answers]:
    if known not in ("mark", "exclude"):
        raise InvalidSettings("known", known, "'mark' or 'exclude'")
    only = None if candidates is None else {state.graph.entities.find(name) for name in candidates}
    found: dict[int, Answers] = {}
    for relation in sorted({relation for _, relation in questions}):
        places = [place for place, question in enumerate(questions) if question[1] == relation]
        names = [questions[place][0] for place in places]
        found.update(zip(places, _answers(state, relation, names, top, known, only), strict=True))
    return [found[place] for place in range(len(questions))]


def _answers(
    state: State, relation: int, names: list[str], top: int, known: Known, only: set[int | None] | None
) -> list[Answers]:
    graph = state.graph
    entities = [_seen(state, name) for name in names]
    own = [set(graph.answers(entity, relation).tolist()) if entity >= 0 else set() for entity in entities]
    room = max(map(len, own), default=0) if known == "exclude" else 0
    best = answers(state, relation, ids(entities), top=-1 if only is not None or top < 0 else top + room)
    result = []
    for name, mine, found in zip(names, own, best, strict=True):
        pairs = zip(found.entities.tolist(), found.scores.tolist(), strict=True)
        scored = [pair for pair in pairs if only is None or pair[0] in only]
        kept = named_answers(graph, (name, relation), scored, mine, exclude=known == "exclude")
        note = "" if kept or (only is not None and len(found.entities)) else _note(state, name, relation)
        kept = kept[: top if top >= 0 else None]
        result.append(Answers(name, graph.relations[relation >> 1], bool(relation & 1), kept, note, found.exact))
    return result


def _seen(state: State, name: str) -> int:
    """The id of an entity that has facts, or -1."""
    entity = state.graph.entities.find(name)
    return -1 if entity is None or state.profiles.of(entity) == NONE else entity


def _note(state: State, name: str, relation: int) -> str:
    """Why there is no answer."""
    if name not in state.graph.entities:
        return f"{name!r} has never been seen; add facts about it first"
    if _seen(state, name) < 0:
        return f"nothing is known about {name!r} any more; add facts about it first"
    if not len(state.graph.edges(relation).heads):
        return f"no entity has {state.graph.relation_name(relation)!r} any more, so there is no precedent"
    return "no path type and no precedent leads to an answer"
