"""
CaseBase: a graph that answers questions, explains its answers, and can be updated at any time.

It owns the state that questions are answered from. An update creates the next state and installs it
by one assignment, so a question asked meanwhile is answered from one state or the other, never from
a mixture. Every question is a function of one state.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from operator import index
from pathlib import Path
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from casegraph.answering.change_of_mind import BUDGET, MOST_FACTS, ChangeOfMind, change_of_mind
from casegraph.answering.explanation import Explanation, Neighbour, explanations
from casegraph.answering.labels import labelled
from casegraph.answering.query import UNKNOWN, Found, answers, standings
from casegraph.answering.results import Answer, Answers, named_answers
from casegraph.answering.state import State, Update
from casegraph.errors import (
    AmbiguousName,
    CasegraphError,
    InvalidSettings,
    UnknownName,
    close_names,
    quoted,
    several,
)
from casegraph.formats.python_objects import descriptions_in, facts_in
from casegraph.graph.arrays import ids
from casegraph.graph.descriptions import is_iri
from casegraph.graph.directions import (
    backward,
    directions_of,
    forward,
    inverse,
    is_inverse,
    relation_of,
)
from casegraph.graph.graph import Graph, Query
from casegraph.graph.lookup import entities_of_type, entity_named, relation_named
from casegraph.graph.search import Hit, SearchText
from casegraph.running import Show, quiet
from casegraph.settings import Settings, Tuning, check_count
from casegraph.similarity.retrieval import contextual_entities, similar_entities
from casegraph.tuning.tuning import tuned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from casegraph.answering.state import Retracted
    from casegraph.formats.python_objects import Rows
    from casegraph.graph.descriptions import Description, Descriptions

Known = Literal["mark", "exclude"]
ALL = -1  # number of answers: all of them
MAX_SUGGESTED_FROM = 10_000  # names to search for suggestions, at 4 µs each; an answer takes 1 ms


class CaseBase:
    """Facts that answer questions by precedent.

    >>> from casegraph import CaseBase
    >>> cases = CaseBase()
    >>> einstein = [("Einstein", "born in", "Ulm"), ("Einstein", "citizen of", "Germany")]
    >>> cities = [("Ulm", "city in", "Germany"), ("Bonn", "city in", "Germany")]
    >>> _ = cases.update(add=cities + einstein)
    >>> _ = cases.update(add=[("Hausdorff", "died in", "Bonn"), ("Planck", "born in", "Ulm")])
    >>> cases.ask("Planck", "citizen of")[0].entity
    'Germany'

    Any number of threads may ask while one updates:
    each answer comes from one state, the one that was current when the question was asked.
    Updates wait for each other; questions wait for no update.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self._start_with(State.of(Graph(), settings or Settings()))

    def _start_with(self, state: State) -> None:
        self._state = state
        self._turn = Lock()  # held by the running update
        self._updating: int | None = None  # the thread of this update

    def __repr__(self) -> str:
        graph = self.graph
        sizes = f"{len(graph):,} facts, {len(graph.entities):,} entities"
        return f"<{type(self).__name__}: {sizes}, {len(graph.relations):,} relations>"

    @property
    def graph(self) -> Graph:
        """The facts; change them only by `update`."""
        return self._state.graph

    @property
    def settings(self) -> Settings:
        """How questions are answered."""
        return self._state.settings

    @property
    def descriptions(self) -> Descriptions:
        """The labels and types of entities; they are given with `update`, and change no answer."""
        return self._state.descriptions

    @property
    def state(self) -> State:
        """The current state, which queries are answered from.

        An update replaces it by another, and leaves it unchanged.
        """
        return self._state

    def update(
        self,
        add: Rows = (),
        retract: Iterable[Retracted] = (),
        describe: Iterable[Description] = (),
    ) -> Update:
        """Retract facts, then add facts, and update everything that depends on them (§2.3).

        add       facts to add: rows of three names, a frame of pandas or Polars or another
                  Arrow table, a NumPy array, a PyKEEN `TriplesFactory`, or what `read_facts` reads
        retract   facts to retract; to retract an entity, name it alone: all its facts go
        describe  labels and types of entities; those that `read_facts` finds need not be given

        All or nothing: a name that is missing, not text, blank, or contains a tab or line end
        raises `MalformedFact`, and nothing changes.
        """
        added = facts_in(add)
        retracted = facts_in(retract)
        described = chain(describe, descriptions_in(added))
        self._refuse_update_in_update()
        with self._turn:
            self._updating = get_ident()
            try:
                step = self._state.updated(added, retracted, described)
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

    def tune(self, show: Show = quiet, *, keep_length: bool = False) -> Tuning | None:
        """Choose the settings that answer held-out facts of this graph best (see `tuning`).

        keep_length  whether to keep `Settings.max_length`

        This case base gets the chosen settings, and everything is counted again when next needed.
        Returns None, and changes nothing, if there are too few facts.
        """
        self._refuse_update_in_update()
        with self._turn:
            self._check_writable()
            before = self._state
            settings = tuned(before.graph, before.settings, keep_length=keep_length, show=show)
            self._keep_settings(settings)
            self._state = before.answering_by(settings)
        return settings.tuning

    def _check_writable(self) -> None:
        """Raise an error if settings cannot be stored; in memory they always can."""

    def _keep_settings(self, settings: Settings) -> None:
        """Store settings as durably as the facts; nothing to do in memory."""

    def prepare(self, relations: Iterable[str] | None = None, show: Show = quiet) -> None:
        """Count in advance what questions about these relations (by default all) need."""
        state = self._state
        if relations is None:
            chosen = list(range(len(state.graph.relations)))
        else:
            chosen = [_relation_named(state, name) for name in relations]
        state.statistics.prepare(directions_of(chosen), show)

    def entity(self, text: str) -> str:
        """The name of the entity that has this name or label; an error if none or several do.

        Case and accents are ignored, and the last part of an IRI is enough.
        """
        state = self._state
        name = entity_named(state.graph, state.descriptions, text)
        if name in state.graph.entities:
            return name
        alike = _search_text(state).called(text)
        if len(alike) > 1:
            raise AmbiguousName("entity", text, alike)
        if not alike:
            raise UnknownName("entity", text, _names_and_labels(state))
        return alike[0]

    def relation(self, text: str) -> str:
        """The name of the relation that has this name or label; an error if none or several do."""
        return relation_named(self._state.graph, self._state.descriptions, text)

    def ask(
        self,
        head: str,
        relation: str,
        top: int = 10,
        *,
        known: Known = "mark",
        candidates: Iterable[str] | None = None,
        of_type: str | None = None,
    ) -> Answers:
        """The best answers to (head, relation, ?).

        top         how many; all if it is negative
        known       "mark" answers that are already facts, or "exclude" them
        candidates  the only answers to consider
        of_type     consider only entities of this type

        Entities and relations can be given by label. An unknown relation is an error; for an
        unknown entity there are no answers, and `note` says so.
        """
        return self.ask_many(
            [(head, relation)], top, known=known, candidates=candidates, of_type=of_type
        )[0]

    def ask_head(
        self,
        relation: str,
        tail: str,
        top: int = 10,
        *,
        known: Known = "mark",
        candidates: Iterable[str] | None = None,
        of_type: str | None = None,
    ) -> Answers:
        """The best answers to (?, relation, tail)."""
        state = self._state
        direction = backward(_relation_named(state, relation))
        question = Question(entity_named(state.graph, state.descriptions, tail), direction)
        wanted = _wanted(state, top, known, candidates, of_type)
        return _answers_to_all(state, [question], wanted)[0]

    def ask_many(
        self,
        questions: Sequence[tuple[str, str]],
        top: int = 10,
        *,
        known: Known = "mark",
        candidates: Iterable[str] | None = None,
        of_type: str | None = None,
    ) -> list[Answers]:
        """Several questions (head, relation, ?) at once, answered in parallel."""
        state = self._state
        asked = []
        for head, relation in questions:
            name = entity_named(state.graph, state.descriptions, head)
            asked.append(Question(name, forward(_relation_named(state, relation))))
        wanted = _wanted(state, top, known, candidates, of_type)
        return _answers_to_all(state, asked, wanted)

    def explain(self, answer: Answer) -> Explanation:
        """Why an answer was given: reasons that add up to its score, with their precedents."""
        return self.explain_all([answer])[0]

    def explain_all(self, answers: Sequence[Answer]) -> list[Explanation]:
        """Why each of several answers was given.

        The answers to one question are explained in one pass.
        """
        state = self._state
        by_query: dict[Query, list[int]] = {}
        entities = []
        for place, answer in enumerate(answers):
            query, entity = _answered(state, answer)
            by_query.setdefault(query, []).append(place)
            entities.append(entity)

        explained: dict[int, Explanation] = {}
        for query, places in by_query.items():
            its_answers = [answers[place] for place in places]
            its_entities = ids(entities[place] for place in places)
            found = explanations(state, query, its_answers, its_entities)
            if len(state.descriptions) or is_iri(its_answers[0].relation):
                found = [_with_labels(explanation, state) for explanation in found]
            explained.update(zip(places, found, strict=True))
        return [explained[place] for place in range(len(answers))]

    def similar(self, entity: str, relation: str | None = None, top: int = 10) -> list[Neighbour]:
        """The entities most similar to this one, by the relations they have.

        With a relation, only entities that have it.
        """
        count = _checked_count("top", top)
        state = self._state
        own = state.graph.entities.find(entity_named(state.graph, state.descriptions, entity))
        if own is None:
            raise UnknownName("entity", entity, _names_and_labels(state))
        if relation is None:
            near = similar_entities(state.profiles, state.graph, own, count)
        else:
            query = Query(own, forward(_relation_named(state, relation)))
            near = contextual_entities(state.profiles, state.graph, query, count)
        return [Neighbour.of(state, own, other) for other in near.tolist()]

    def search(self, words: str, top: int = 10) -> list[Hit]:
        """The entities whose name or label contains all these words, the best first.

        Case, accents and letter variants are ignored, and a part of a word is enough.
        """
        return _search_text(self._state).find(words, _checked_count("top", top))

    def score(self, facts: Sequence[tuple[str, str, str]]) -> list[float]:
        """The score of each fact as an answer to (head, relation, ?), as if it were not known.

        The fact itself is neither walked nor a precedent, but the counts of path types include it.
        """
        return _scores(self._state, facts)

    def what_if(
        self,
        add: Rows = (),
        retract: Iterable[Retracted] = (),
        describe: Iterable[Description] = (),
    ) -> CaseBase:
        """The case base that `update` with the same arguments would give.

        This one does not change, whatever is done with the other, and neither does a store. Without
        arguments, it is a snapshot of this case base.

        >>> from casegraph import CaseBase, world
        >>> cases = CaseBase()
        >>> _ = cases.update(add=world.facts())
        >>> died_in = ("Lise Meitner", "died in", "Cambridge")
        >>> elsewhere = cases.what_if(retract=[died_in])
        >>> cases.ask("Lise Meitner", "citizen of", known="exclude")[0].entity
        'United Kingdom'
        >>> elsewhere.ask("Lise Meitner", "citizen of", known="exclude")[0].entity
        'Germany'
        """
        added = facts_in(add)
        described = chain(describe, descriptions_in(added))
        return CaseBase.of_state(self._state.imagined(added, facts_in(retract), described))

    def change_of_mind(
        self,
        answer: Answer,
        *,
        most: int = MOST_FACTS,
        budget: int = BUDGET,
        show: Show = quiet,
    ) -> ChangeOfMind:
        """The fewest facts without which an answer would lose its rank (a counterfactual).

        most    the largest number of facts to consider together, up to three
        budget  how many sets of facts are tried, each by asking again without them

        The sets are chosen from the facts that the reasons for the answer rest on. Other known
        answers are skipped.
        """
        if not 1 <= most <= MOST_FACTS:
            raise InvalidSettings("most", most, f"from 1 to {MOST_FACTS}")
        state = self._state
        query, _ = _answered(state, answer)
        tries = _checked_count("budget", budget)
        return change_of_mind(state, query, answer, most=most, budget=tries, show=show)

    def save(self, path: str | Path) -> None:
        """Write the facts, the settings and what was counted to a file."""
        from casegraph.storage.case_files import save

        save(self._state, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> CaseBase:
        """Read a case base that `save` wrote."""
        from casegraph.storage.case_files import load

        return CaseBase.of_state(load(Path(path)))

    @staticmethod
    def of_state(state: State) -> CaseBase:
        """A case base that answers from a state, such as the `state` of another one was."""
        made = CaseBase.__new__(CaseBase)
        made._start_with(state)
        return made


class Question(NamedTuple):
    """(name, direction, ?): the name of the entity asked about, and a direction of a relation."""

    name: str
    direction: int


class Wanted(NamedTuple):
    """Which answers are wanted.

    top         how many, or `ALL`
    known       whether to "mark" or to "exclude" answers that are already facts
    candidates  the only answers to consider, if any are named;
                None stands for a name that is unknown
    of_type     the type of all of these, if one was given
    is_only_one whether there is only one question
    """

    top: int
    known: Known
    candidates: set[int | None] | None
    of_type: str | None = None
    is_only_one: bool = False


def _wanted(
    state: State,
    top: int,
    known: Known,
    candidates: Iterable[str] | None,
    of_type: str | None = None,
) -> Wanted:
    count = _checked_count("top", top, all_if_negative=True)
    if known not in ("mark", "exclude"):
        raise InvalidSettings("known", known, "'mark' or 'exclude'")
    allowed = None
    if isinstance(candidates, str | bytes):
        raise InvalidSettings("candidates", candidates, "several names, such as a list of them")
    if candidates is not None:
        allowed = set(_ids_of(state, candidates))
    if of_type is not None:
        of_this_type = set(_ids_of(state, _entities_of_type(state, of_type)))
        allowed = of_this_type if allowed is None else allowed & of_this_type
    return Wanted(count, known, allowed, of_type)


def _search_text(state: State) -> SearchText:
    def text() -> SearchText:
        return SearchText(state.graph, state.descriptions)

    return state.derived("search", text)


def _ids_of(state: State, names: Iterable[str]) -> Iterator[int | None]:
    for name in names:
        yield state.graph.entities.find(entity_named(state.graph, state.descriptions, name))


def _entities_of_type(state: State, of_type: str) -> list[str]:
    def found() -> list[str]:
        return entities_of_type(state.graph, state.descriptions, of_type)

    return state.derived(("entities of type", of_type), found)


def _names_and_labels(state: State) -> list[str]:
    """All names and labels of entities."""
    labels = [description.label for description in state.descriptions if description.label]
    return [*state.graph.entities.names, *labels]


def _checked_count(name: str, value: int, *, all_if_negative: bool = False) -> int:
    """A number from the user as a Python integer.

    Raises `InvalidSettings` unless it is a whole number of up to 64 bits.
    """
    has_index = hasattr(value, "__index__")  # NumPy's integers do as well
    count: Any = index(value) if has_index else value
    if all_if_negative and isinstance(count, int) and count < 0:
        return ALL
    check_count(name, count, 0)
    return int(count)


def _answers_to_all(state: State, questions: Sequence[Question], wanted: Wanted) -> list[Answers]:
    """The answers to each question; the questions of each relation are answered together."""
    wanted = wanted._replace(is_only_one=len(questions) == 1)
    places: dict[int, list[int]] = {}
    for place, question in enumerate(questions):
        places.setdefault(question.direction, []).append(place)

    found: dict[int, Answers] = {}
    for direction in sorted(places):
        names = [questions[place].name for place in places[direction]]
        of_direction = _answers_of_relation(state, direction, names, wanted)
        found.update(zip(places[direction], of_direction, strict=True))
    return [found[place] for place in range(len(questions))]


def _answers_of_relation(
    state: State, direction: int, names: list[str], wanted: Wanted
) -> list[Answers]:
    """The answers to (name, direction, ?) for each name."""
    graph = state.graph
    entities = [_entity_with_facts(state, name) for name in names]
    known_answers: list[set[int]] = []
    for entity in entities:
        known = set() if entity == UNKNOWN else set(graph.answers(entity, direction).tolist())
        known_answers.append(known)

    top = wanted.top
    if wanted.candidates is not None:
        top = ALL
    elif wanted.known == "exclude" and top != ALL:
        top = min(top, len(graph.entities)) + max(map(len, known_answers), default=0)

    results = answers(state, direction, ids(entities), top=top)
    return [
        _named(state, Question(name, direction), found, known, wanted)
        for name, known, found in zip(names, known_answers, results, strict=True)
    ]


def _named(
    state: State, question: Question, found: Found, known: set[int], wanted: Wanted
) -> Answers:
    """The wanted answers among those found, by name; if there are none, a note says why."""
    candidates = wanted.candidates
    scored = list(zip(found.entities.tolist(), found.scores.tolist(), strict=True))
    exclude = wanted.known == "exclude"
    named = named_answers(state, question, scored, known, exclude=exclude, candidates=candidates)

    given = named if wanted.top == ALL else named[: wanted.top]
    relation = state.graph.relations[relation_of(question.direction)]
    note = ""
    if wanted.top != 0:
        note = _wrong_way_round(state, question)
        if not named:
            note = _why_nothing(state, question, found, wanted)
    return Answers(
        asked=question.name,
        relation=relation,
        inverse=bool(is_inverse(question.direction)),
        found=given,
        note=note,
        exact=found.exact,
        tuned=state.settings.tuning is not None,
        labels=_labels(state, relation, [question.name, *(answer.entity for answer in given)]),
    )


def _labels(state: State, relation: str, entities: Iterable[str]) -> dict[str, str]:
    """The labels of a relation and of entities, where they have one."""
    if not len(state.descriptions) and not is_iri(relation):
        return {}  # most graphs have no labels, and an answer may have very many names
    labels = {name: state.descriptions.label(name) for name in (relation, *entities)}
    return {name: label for name, label in labels.items() if label != name}


def _with_labels(explanation: Explanation, state: State) -> Explanation:
    return replace(explanation, labelled=labelled(explanation, state.descriptions))


def _scores(state: State, facts: Sequence[tuple[str, str, str]]) -> list[float]:
    """The score of each fact while it is hidden; 0 if one of its entities is unknown."""
    graph = state.graph
    places: dict[int, list[int]] = {}
    heads: dict[int, list[int]] = {}
    tails: dict[int, list[int]] = {}
    for place, (head_name, relation_name, tail_name) in enumerate(facts):
        head = graph.entities.find(head_name)
        tail = graph.entities.find(tail_name)
        relation = forward(_relation_named(state, relation_name))
        if head is not None and tail is not None:
            places.setdefault(relation, []).append(place)
            heads.setdefault(relation, []).append(head)
            tails.setdefault(relation, []).append(tail)

    scores = [0.0] * len(facts)
    for relation in sorted(places):
        asked = ids(heads[relation])
        targets = ids(tails[relation])
        one_target_each = (np.arange(len(targets) + 1), targets)
        nothing_known = (np.zeros(len(targets) + 1, dtype=np.int64), ids())
        standing = standings(
            state, (relation, asked), one_target_each, nothing_known, hidden=targets
        )
        for place, score in zip(places[relation], standing.score.tolist(), strict=True):
            scores[place] = score
    return scores


def _answered(state: State, answer: Answer) -> tuple[Query, int]:
    """The query that an answer was given to, and the entity that it names."""
    entity = state.graph.entities.find(answer.asked)
    found = state.graph.entities.find(answer.entity)
    relation = state.graph.relations.find(answer.relation)
    if entity is None or found is None or relation is None:
        raise CasegraphError(
            f"this case base did not give the answer {answer.entity!r}; "
            "explain it with the one that did"
        )
    direction = backward(relation) if answer.inverse else forward(relation)
    return Query(entity, direction), found


def _relation_named(state: State, name: str) -> int:
    """The number of a relation; an error if it is unknown."""
    found = state.graph.relations.find(relation_named(state.graph, state.descriptions, name))
    if found is None:
        raise UnknownName("relation", name, state.graph.relations.names)
    return found


def _entity_with_facts(state: State, name: str) -> int:
    """The id of an entity that has facts; `UNKNOWN` if it has none, or was never seen."""
    entity = state.graph.entities.find(name)
    if entity is None or state.is_without_facts(entity):
        return UNKNOWN
    return entity


def _why_nothing(state: State, question: Question, found: Found, wanted: Wanted) -> str:
    """Why there is no answer, and what to do about it."""
    name = question.name
    if name not in state.graph.entities:
        # For many questions, looking for similar names would take too long.
        has_time = wanted.is_only_one and len(state.graph.entities) <= MAX_SUGGESTED_FROM
        suggestions = close_names(name, _names_and_labels(state)) if has_time else []
        meant = f", or did you mean {' or '.join(map(quoted, suggestions))}?" if suggestions else ""
        return f"{name!r} has never been seen; add facts about it first{meant}"
    if _entity_with_facts(state, name) == UNKNOWN:
        label = state.descriptions.label(name)
        return f"nothing is known about {label!r} any more; add facts about it first"
    if not len(state.graph.edges(question.direction).heads):
        relation = state.graph.relation_name(question.direction)
        return f"no entity has {relation!r} any more, so there is no precedent"
    wrong_way = _wrong_way_round(state, question)
    if wrong_way:
        return wrong_way
    if len(found.entities):
        return _why_none_is_wanted(found, wanted)
    return "no path type and no precedent leads to an answer"


def _why_none_is_wanted(found: Found, wanted: Wanted) -> str:
    """Why there is no answer although some were found."""
    were_found = f"{several(len(found.entities), 'answer')} found"
    also_known = "ask for them, too (known='mark', --known mark)"
    candidates = wanted.candidates
    if candidates is None:
        return f"{were_found}, but only facts that are known; {also_known}"
    if not candidates.isdisjoint(found.entities.tolist()):
        return f"{were_found}, but of the candidates only facts that are known; {also_known}"
    if wanted.of_type is not None:
        return (
            f"{were_found}, but none of type {wanted.of_type!r}; ask for another type, or for all"
        )
    return (
        f"{were_found}, but none among {several(len(candidates), 'candidate')}; "
        "allow more of them, or all"
    )


def _leads_one_way(state: State, relation: int) -> bool:
    """Whether no entity is both a head and a tail of a relation."""

    def has_no_entity_in_common() -> bool:
        is_head = np.zeros(len(state.graph.entities), dtype=np.bool)
        is_head[state.graph.edges(forward(relation)).heads] = True
        tails = state.graph.edges(backward(relation)).heads
        return not is_head[tails].any()

    return state.derived(("leads one way", relation), has_no_entity_in_common)


def _wrong_way_round(state: State, question: Question) -> str:
    """A hint if a question was probably meant the other way round; else an empty string.

    That is the case if the entity has the relation only in the other direction, and no entity has
    it in both.
    """
    graph = state.graph
    entity = graph.entities.find(question.name)
    other_way = inverse(question.direction)
    if entity is None or len(graph.answers(entity, question.direction)):
        return ""
    if not len(graph.answers(entity, other_way)):
        return ""
    if not _leads_one_way(state, relation_of(question.direction)):
        return ""
    name = state.descriptions.label(question.name)
    relation = state.descriptions.label(graph.relations[relation_of(question.direction)])
    if is_inverse(question.direction):
        return f"{name!r} is never the tail of {relation!r}; ask for its tails (ask)"
    return f"{name!r} is never the head of {relation!r}; ask with --head (ask_head in Python)"
