"""
CaseBase: a graph that answers questions, explains its answers, and can be updated at any time.

It owns the state that questions are answered from. An update creates the next state and installs it
by one assignment, so a question asked meanwhile is answered from one state or the other, never from
a mixture. Every question is a function of one state.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, overload

from casegraph.answering.arguments import (
    AnyQuestion,
    checked_answer,
    checked_count,
    checked_questions,
    checked_rows,
    checked_text,
    several_of,
)
from casegraph.answering.asking import answer_to, answers_to_all, scores
from casegraph.answering.counterfactual import (
    BUDGET,
    MOST_FACTS,
    Counterfactual,
    counterfactual,
)
from casegraph.answering.questions import (
    End,
    Known,
    entity_of_text,
    query_of,
    question_of,
    relation_of_text,
    search_text,
    wanted_answers,
)
from casegraph.answering.reasons import explanations, neighbour_by_profile
from casegraph.answering.state import State, Update
from casegraph.errors import (
    CasegraphError,
    InvalidArgument,
)
from casegraph.execution.executor import HERE, Executor
from casegraph.formats.python_objects import descriptions_in, facts_in
from casegraph.graph.arrays import ids
from casegraph.graph.directions import directions_of, forward
from casegraph.graph.graph import Graph, Query
from casegraph.running import Show, quiet
from casegraph.settings import Settings, Tuning
from casegraph.similarity.retrieval import contextual_entities, similar_entities
from casegraph.tuning.tuning import tuned

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from casegraph.answering.results.answer import Answer, Answers
    from casegraph.answering.results.explanation import Explanation, Neighbour
    from casegraph.answering.state import Retracted
    from casegraph.formats.python_objects import Rows
    from casegraph.graph.descriptions import Description, Descriptions
    from casegraph.graph.search import Hit


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
        self._turn = RLock()  # held by whoever is replacing the state

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
        self._refuse_change_in_change()
        with self._turn:
            step = self._state.updated(added, retracted, described)
            self._state = step.state
        return step.update

    def _refuse_change_in_change(self) -> None:
        """An error if this thread is already changing this case base.

        The facts given to `update` may come from a generator, and progress is shown by a function
        of the caller: both could call `update` again, and so could a signal handler.
        """
        if self._turn._is_owned():  # type: ignore[attr-defined, unused-ignore]
            raise CasegraphError(
                "a case base cannot be changed while it is changing; let the facts that you give "
                "to `update`, and what shows progress, change nothing themselves"
            )

    def tune(
        self,
        show: Show = quiet,
        *,
        held_out: Rows | None = None,
        keep_length: bool = False,
        executor: Executor = HERE,
    ) -> Tuning | None:
        """Choose the settings that answer a sample of facts best (see `tuning`).

        held_out     facts to ask for, which this case base does not have; by default, some of its
                     own facts are asked for, each as if it were missing
        keep_length  whether to keep `Settings.max_length`
        executor     where to count and to ask; the choice is the same everywhere

        This case base gets the chosen settings. Returns None, and chooses nothing, if there are too
        few facts.
        """
        given = None if held_out is None else facts_in(held_out)
        self._refuse_change_in_change()
        with self._turn:
            self._check_writable()
            before = self._state
            after = tuned(
                before,
                held_out=given,
                keep_length=keep_length,
                executor=executor,
                show=show,
            )
            self._keep_settings(after.settings)
            self._state = after
        return after.settings.tuning

    def _check_writable(self) -> None:
        """Raise an error if settings cannot be stored; in memory they always can."""

    def _keep_settings(self, settings: Settings) -> None:
        """Store settings as durably as the facts; nothing to do in memory."""

    def prepare(
        self, relations: Iterable[str] | None = None, show: Show = quiet
    ) -> None:
        """Count in advance what questions about these relations (by default all) need."""
        state = self._state
        if relations is None:
            chosen = list(range(len(state.graph.relations)))
        else:
            chosen = [relation_of_text(state, name) for name in relations]
        state.statistics.prepare(directions_of(chosen), show)

    def entity(self, text: str) -> str:
        """The name of the entity that has this name or label; an error if none or several do.

        Case and accents are ignored, and the last part of an IRI is enough.
        """
        state = self._state
        return state.graph.entities[entity_of_text(state, text)]

    def relation(self, text: str) -> str:
        """The name of the relation that has this name or label; an error if none or several do."""
        state = self._state
        return state.graph.relations[relation_of_text(state, text)]

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

        Entities and relations can be given by label. An unknown relation is an error. About an
        unknown entity only the habit of the relation says anything: the answers are those that
        most others have, and `note` says that nothing is known.
        """
        question = (head, relation, None)
        return self.ask_many(
            [question], top, known=known, candidates=candidates, of_type=of_type
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
        question = (None, relation, tail)
        return self.ask_many(
            [question], top, known=known, candidates=candidates, of_type=of_type
        )[0]

    def ask_many(
        self,
        questions: Sequence[AnyQuestion],
        top: int = 10,
        *,
        known: Known = "mark",
        candidates: Iterable[str] | None = None,
        of_type: str | None = None,
    ) -> list[Answers]:
        """Several questions at once, answered in parallel.

        questions  each (head, relation, None) or (None, relation, tail), where None stands for what
                   is asked for; or (head, relation)
        """
        state = self._state
        asked = []
        for head, relation, tail in checked_questions(questions):
            if head is None:
                asked.append(question_of(state, tail, relation, "head"))
            else:
                asked.append(question_of(state, head, relation))
        wanted = wanted_answers(state, top, known, candidates, of_type)
        return answers_to_all(state, asked, wanted)

    @overload
    def explain(
        self, answer: Answer, /, *, facts: int = 0, failures: int = 0
    ) -> Explanation: ...
    @overload
    def explain(
        self,
        head: str,
        relation: str,
        tail: str,
        /,
        *,
        wanted: End = "tail",
        facts: int = 0,
        failures: int = 0,
    ) -> Explanation: ...
    def explain(
        self,
        answer: Answer | str,
        relation: str = "",
        tail: str = "",
        /,
        *,
        wanted: End = "tail",
        facts: int = 0,
        failures: int = 0,
    ) -> Explanation:
        """Why an answer was given: reasons that add up to its score, with their precedents.

        It is an answer to a question, or the fact (head, relation, tail): why the tail is an answer
        to (head, relation, ?), or the head to (?, relation, tail) if the head is wanted.

        facts     how many of the facts that each reason rests on are listed
        failures  how many entities are listed that have the same evidence, but other answers
        """
        if isinstance(answer, str) and relation:
            answer = self.answer(answer, relation, tail, wanted=wanted)
        given = checked_answer(answer)
        return self.explain_all([given], facts=facts, failures=failures)[0]

    def answer(
        self, head: str, relation: str, tail: str, *, wanted: End = "tail"
    ) -> Answer:
        """The tail as an answer to (head, relation, ?), or the head as one to (?, relation, tail).

        `NotReached` if no evidence leads there.
        """
        state = self._state
        asked, found = (tail, head) if wanted == "head" else (head, tail)
        question = question_of(state, self.entity(asked), relation, wanted)
        return answer_to(state, question, entity_of_text(state, found))

    def explain_all(
        self, answers: Sequence[Answer], *, facts: int = 0, failures: int = 0
    ) -> list[Explanation]:
        """Why each of several answers was given.

        The answers to one question are explained in one pass.
        """
        state = self._state
        by_query: dict[Query, list[int]] = {}
        entities = []
        for place, answer in enumerate(
            several_of("answers", answers, "a list of answers")
        ):
            query, entity = query_of(state, answer)
            by_query.setdefault(query, []).append(place)
            entities.append(entity)

        explained: dict[int, Explanation] = {}
        for query, places in by_query.items():
            its_answers = [answers[place] for place in places]
            its_entities = ids(entities[place] for place in places)
            found = explanations(
                state,
                query,
                its_answers,
                its_entities,
                facts=facts,
                failures=failures,
            )
            explained.update(zip(places, found, strict=True))
        return [explained[place] for place in range(len(answers))]

    def similar(
        self, entity: str, relation: str | None = None, top: int = 10
    ) -> list[Neighbour]:
        """The entities most similar to this one, by the relations they have.

        With a relation, only entities that have it.
        """
        count = checked_count("top", top)
        state = self._state
        own = entity_of_text(state, entity)
        if relation is None:
            near = similar_entities(state.profiles, state.graph, own, count)
        else:
            query = Query(own, forward(relation_of_text(state, relation)))
            near = contextual_entities(state.profiles, state.graph, query, count)
        return [neighbour_by_profile(state, own, other) for other in near.tolist()]

    def search(self, words: str, top: int = 10) -> list[Hit]:
        """The entities whose name or label contains all these words, the best first.

        Case, accents and letter variants are ignored, and a part of a word is enough.
        """
        text = checked_text("words", words)
        count = checked_count("top", top)
        return search_text(self._state).find(text, count)

    def score(self, facts: Sequence[tuple[str, str, str]]) -> list[float]:
        """The score of each fact as an answer to (head, relation, ?), as if it were not known.

        The fact is not walked, is no precedent, and is left out of the counts of path types (by the
        settings of the paper and of CBR, these counts include it).
        """
        rows = checked_rows("facts", facts, ("head", "relation", "tail"))
        return scores(self._state, rows)

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
        retracted = facts_in(retract)
        described = chain(describe, descriptions_in(added))
        imagined = self._state.imagined(added, retracted, described)
        return CaseBase.of_state(imagined)

    def assuming(self, missing: float) -> CaseBase:
        """The same case base on the assumption that the graph lacks `missing` facts per known one.

        The odds of every new fact are proportional to missing / (1 + missing). This case base stays
        as it is.
        """
        state = self._state
        settings = state.settings.but(missing=missing)
        return CaseBase.of_state(state.answering_by(settings))

    def counterfactual(
        self,
        answer: Answer,
        *,
        most: int = MOST_FACTS,
        budget: int = BUDGET,
        show: Show = quiet,
    ) -> Counterfactual:
        """The fewest facts without which an answer would lose its rank, or half of its probability
        (a counterfactual).

        most    the largest number of facts to consider together, up to three
        budget  how many sets of facts are tried, each by asking again without them

        The sets are chosen from the facts that the reasons for the answer rest on, those about the
        entity asked about first. Other known answers are skipped.
        """
        if not 1 <= most <= MOST_FACTS:
            raise InvalidArgument("most", most, f"from 1 to {MOST_FACTS}")
        state = self._state
        query, _ = query_of(state, answer)
        tries = checked_count("budget", budget)
        return counterfactual(state, query, answer, most=most, budget=tries, show=show)

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
        """A case base that answers from a state, such as an earlier `state` of another one."""
        made = CaseBase.__new__(CaseBase)
        made._start_with(state)
        return made
