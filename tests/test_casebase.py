import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st
from tests import oracle
from tests.strategies import Fact, Step, fact_lists, histories, surviving

from casegraph.answering.results.answer import Answer, Answers
from casegraph.answering.state import Update
from casegraph.casebase import CaseBase
from casegraph.errors import InvalidArgument, UnknownName
from casegraph.settings import Settings
from casegraph.similarity.profiles import NONE
from casegraph.statistics.backlog import MAX_CHANGED_FACTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from casegraph.answering.questions import Known

PAPER = Settings.paper("WN18RR").but(max_length=3)
FAMILY = [
    ("ann", "parent of", "bob"),
    ("ann", "mother of", "bob"),
    ("cid", "parent of", "dan"),
    ("cid", "father of", "dan"),
    ("eve", "parent of", "fay"),
    ("eve", "mother of", "fay"),
    ("gus", "parent of", "hal"),
]


def case_base(added: list[Fact], settings: Settings | None = None) -> CaseBase:
    cases = CaseBase(settings)
    cases.update(add=added)
    return cases


def names(cases: CaseBase, head: str, relation: str) -> list[str]:
    return [answer.entity for answer in cases.ask(head, relation, top=-1)]


def scores(answers: Iterable[Answer]) -> list[tuple[str, float]]:
    return [(answer.entity, answer.score) for answer in answers]


@pytest.mark.parametrize(
    "ask", ["ask", "ask_many", "ask_head", "score", "similar", "prepare"]
)
def test_an_unknown_relation_is_an_error_that_offers_the_name_that_is_close(
    ask: str,
) -> None:
    cases = case_base(FAMILY)
    ways: dict[str, Callable[[], object]] = {
        "ask": lambda: cases.ask("ann", "mother off"),
        "ask_many": lambda: cases.ask_many(
            [("ann", "mother of"), ("ann", "mother off")]
        ),
        "ask_head": lambda: cases.ask_head("mother off", "bob"),
        "score": lambda: cases.score([("ann", "mother off", "bob")]),
        "similar": lambda: cases.similar("ann", "mother off"),
        "prepare": lambda: cases.prepare(["mother off"]),
    }
    with pytest.raises(
        UnknownName,
        match=r"no relation is named 'mother off'; did you mean 'mother of'",
    ) as raised:
        ways[ask]()
    assert raised.value.kind == "relation"
    assert raised.value.name == "mother off"


def test_similar_entities_of_an_unknown_name_are_an_error_with_a_suggestion() -> None:
    with pytest.raises(
        UnknownName, match="no entity is named 'anne'; did you mean 'ann'"
    ):
        case_base(FAMILY).similar("anne")


@pytest.mark.parametrize("settings", [Settings(), PAPER], ids=["default", "paper"])
def test_of_an_entity_never_seen_a_note_says_so_and_only_habit_answers(
    settings: Settings,
) -> None:
    cases = case_base(FAMILY, settings)
    mothers = [fact for fact in FAMILY if fact[1] == "mother of"]
    usual_heads = sorted({head for head, _, _ in mothers})
    usual_tails = sorted({tail for _, _, tail in mothers})
    for usual, answers in (
        (usual_tails, cases.ask("zoe", "mother of")),
        (usual_heads, cases.ask_head("mother of", "zoe")),
    ):
        expected = usual if settings.precedents else []
        assert sorted(answer.entity for answer in answers) == expected
        to_do = (
            "the answers are those that most others have"
            if answers
            else "add facts about it first"
        )
        assert answers.note == f"'zoe' has never been seen; {to_do}"
    assert cases.ask("ann", "parent of").note == ""
    assert "zoe" not in cases.graph.entities


@pytest.mark.parametrize("settings", [Settings(), PAPER], ids=["default", "paper"])
def test_an_entity_about_which_all_was_retracted_is_answered_like_one_never_seen(
    settings: Settings,
) -> None:
    cases = case_base(FAMILY, settings)
    cases.update(retract=[fact for fact in FAMILY if fact[0] == "ann"])
    answers = cases.ask("ann", "mother of")
    assert scores(answers) == scores(cases.ask("zoe", "mother of"))
    assert bool(answers) == settings.precedents
    assert answers.note.startswith("nothing is known about 'ann' any more; ")


def test_a_relation_that_no_entity_has_any_more_has_no_answers_but_a_note() -> None:
    cases = case_base(FAMILY)
    cases.update(retract=[fact for fact in FAMILY if fact[1] == "mother of"])
    for answers in (cases.ask("ann", "mother of"), cases.ask_head("mother of", "bob")):
        assert answers.note.startswith("no entity has 'mother of")


def test_a_question_that_nothing_speaks_to_has_a_note_that_says_so() -> None:
    answers = case_base([("a", "r", "b")]).ask("a", "r")
    assert len(answers) == 0
    assert answers.note == "no path type and no precedent leads to an answer"


def test_known_answers_are_marked_or_excluded() -> None:
    cases = case_base(FAMILY)
    marked = cases.ask("ann", "parent of", top=-1)
    assert {answer.entity for answer in marked if answer.known} == {"bob"}
    excluded = cases.ask("ann", "parent of", top=-1, known="exclude")
    unknown = [answer.entity for answer in marked if not answer.known]
    assert [answer.entity for answer in excluded] == unknown
    assert [answer.rank for answer in excluded] == list(range(1, len(excluded) + 1))


@pytest.mark.parametrize("known", ["all", "", None, True])
def test_what_to_do_with_known_answers_is_one_of_two_things(known: object) -> None:
    cases = case_base(FAMILY)
    chosen = cast("Known", known)
    for ask in (
        lambda: cases.ask("ann", "parent of", known=chosen),
        lambda: cases.ask_head("parent of", "bob", known=chosen),
        lambda: cases.ask_many([], known=chosen),
    ):
        with pytest.raises(InvalidArgument) as raised:
            ask()
        assert str(raised.value) == f"known is {known!r}; expected 'mark' or 'exclude'"


@example_settings(max_examples=50)
@given(
    fact_lists(least=1),
    st.integers(1, 4),
    st.lists(st.sampled_from(["e0", "e1", "e2", "e3", "never seen"])),
)
def test_few_answers_without_the_known_or_among_candidates_are_the_first_of_all_such(
    added: list[Fact], top: int, candidates: list[str]
) -> None:
    cases = case_base(added)
    for head, relation, _ in added[:3]:
        every = cases.ask(head, relation, top=-1)

        unknown = [answer for answer in every if not answer.known]
        found = cases.ask(head, relation, top=top, known="exclude")
        assert scores(found) == scores(unknown[:top])

        among = [answer for answer in every if answer.entity in candidates]
        found = cases.ask(head, relation, top=top, candidates=iter(candidates))
        assert scores(found) == scores(among[:top])
        assert [answer.rank for answer in found] == list(range(1, len(found) + 1))

        both = [answer for answer in unknown if answer.entity in candidates]
        found = cases.ask(
            head, relation, top=top, candidates=candidates, known="exclude"
        )
        assert scores(found) == scores(both[:top])


@example_settings(max_examples=50)
@given(
    fact_lists(least=1),
    st.sampled_from([Settings(), PAPER]),
    st.sampled_from(["mark", "exclude"]),
)
def test_many_questions_at_once_are_answered_as_one_by_one(
    added: list[Fact], settings: Settings, known: Literal["mark", "exclude"]
) -> None:
    cases = case_base(added, settings)
    questions = [(tail, relation) for _, relation, tail in added]
    questions += [("never seen", added[0][1])]
    questions += [added[0][:2]] * 2
    at_once = cases.ask_many(questions, top=3, known=known)
    one_by_one = [cases.ask(*question, top=3, known=known) for question in questions]
    assert at_once == one_by_one
    assert cases.ask_many([]) == []


@example_settings(max_examples=50)
@given(fact_lists(least=1))
def test_a_question_about_heads_is_the_question_about_tails_of_the_reversed_facts(
    added: list[Fact],
) -> None:
    cases = case_base(added)
    turned = case_base([(tail, relation, head) for head, relation, tail in added])
    for _, relation, tail in added[:5]:
        heads = cases.ask_head(relation, tail, top=-1)
        tails = turned.ask(tail, relation, top=-1)
        assert [replace(answer, inverse=False) for answer in heads] == list(tails)
        assert heads.inverse
        assert not tails.inverse
        assert heads.question == f"(?, {relation}, {tail})"
        assert tails.question == f"({tail}, {relation}, ?)"


@given(histories())
def test_an_update_tells_what_it_did(history: list[Step]) -> None:
    cases = CaseBase()
    known = set[Fact]()
    entities = set[str]()
    relations = set[str]()
    for doing, named in history:
        new = set(named) - known if doing == "add" else set()
        gone = set(named) & known if doing == "retract" else set()
        after = (known | new) - gone
        new_entities = oracle.entities(new)
        new_relations = {relation for _, relation, _ in new}

        update = cases.update(**{doing: named})  # type: ignore[arg-type]
        assert update == Update(
            added=len(new),
            retracted=len(gone),
            repeated=len(named) - len(new) if doing == "add" else 0,
            absent=len(named) - len(gone) if doing == "retract" else 0,
            new_entities=len(new_entities - entities),
            new_relations=len(new_relations - relations),
            reshaped=len(reshaped(known, after)),
            recounted=0,  # nothing was asked, so nothing was counted that could change
            cycles=0,
        )
        known = after
        entities |= new_entities
        relations |= new_relations


def reshaped(before: set[Fact], after: set[Fact]) -> list[str]:
    """The entities whose profile is another."""
    facts_before = oracle.both_ways(before)
    facts_after = oracle.both_ways(after)
    changed = []
    for name in oracle.entities(before | after):
        if oracle.profile(facts_before, name) != oracle.profile(facts_after, name):
            changed.append(name)
    return changed


@example_settings(max_examples=50)
@given(histories())
def test_an_update_tells_how_many_cycles_its_facts_close_or_open_and_how_many_entities_are_on_them(
    history: list[Step],
) -> None:
    cases = CaseBase(Settings(max_length=2))
    # Apart from all others, so that there is something to count.
    cases.update(add=[("one", "next to", "another")])
    known = set[Fact]()
    for doing, named in history:
        cases.prepare()
        if doing == "add":
            changed = sorted(set(named) - known)
            update = cases.update(add=named)
            found = cycles_through(known, changed, longest=2)
            known |= set(changed)
        else:
            changed = sorted(set(named) & known)
            update = cases.update(retract=named)
            known -= set(changed)
            found = cycles_through(known, changed, longest=2)
        on_cycles = {entity for path in found for entity in path}
        assert update.cycles == len(found)
        assert update.recounted == len(on_cycles)
        assert not update.rebuilt


def cycles_through(
    others: set[Fact], changed: list[Fact], longest: int
) -> list[tuple[str, ...]]:
    """The cycles that each fact closes when it joins those before it:
    paths from its head to its tail.
    """
    present = set(others)
    found = []
    for head, relation, tail in changed:
        present.add((head, relation, tail))
        facts = oracle.both_ways(present)
        for path_type in oracle.walks_by_type(facts, head, longest):
            paths = oracle.paths(facts, head, path_type)
            found += [path for path in paths if path[-1] == tail]
    return found


def test_an_update_of_many_facts_says_that_counts_are_made_anew() -> None:
    many = [(f"a{k}", "parent of", f"b{k}") for k in range(MAX_CHANGED_FACTS + 1)]
    cases = case_base(FAMILY)
    assert cases.update(add=many).rebuilt
    assert not cases.update(retract=many[1:]).rebuilt
    rebuilt = case_base([*FAMILY, many[0]])
    assert names(cases, "gus", "mother of") == names(rebuilt, "gus", "mother of")


def test_an_update_retracts_before_it_adds() -> None:
    cases = case_base(FAMILY)
    come = [FAMILY[0], ("ann", "parent of", "ida")]
    update = cases.update(add=come, retract=FAMILY[:2])
    assert update == Update(added=2, retracted=2, new_entities=1, reshaped=3)
    assert FAMILY[0] in cases.graph
    assert FAMILY[1] not in cases.graph


@example_settings(max_examples=50)
@given(histories(), st.sampled_from([Settings(), PAPER]))
def test_after_any_history_the_answers_are_those_of_the_facts_that_survive(
    history: list[Step], settings: Settings
) -> None:
    cases = CaseBase(settings)
    left = sorted(surviving(history))
    for doing, named in history:
        cases.update(**{doing: named})  # type: ignore[arg-type]
        if doing == "add" and named:
            # What this counts must not be what a later question is answered from.
            head, relation, _ = named[0]
            cases.ask(head, relation)
    fresh = case_base(left, settings)
    for head, relation, tail in left:
        assert cases.ask(head, relation, top=-1) == fresh.ask(head, relation, top=-1)
        assert cases.ask_head(relation, tail, top=-1) == fresh.ask_head(
            relation, tail, top=-1
        )
    assert cases.score(left) == fresh.score(left)


def test_an_update_that_fails_changes_nothing() -> None:
    cases = case_base(FAMILY)
    failing = (("ann", "knows", str(1 // left)) for left in (2, 1, 0))
    with pytest.raises(ZeroDivisionError):
        cases.update(add=failing, retract=FAMILY[:2])
    assert sorted(cases.graph.facts()) == sorted(FAMILY)
    ann = cases.graph.entities.names.index("ann")
    assert cases.state.profiles.of(ann) != NONE


def test_reading_changes_nothing() -> None:
    cases = case_base(FAMILY)
    before = names(cases, "ann", "mother of")
    cases.ask("zoe", "mother of")
    cases.score(
        [
            ("zoe", "mother of", "yan"),
            ("ann", "mother of", "bob"),
            ("ann", "parent of", "fay"),
        ]
    )
    cases.explain(cases.ask("gus", "mother of")[0])
    cases.similar("ann", "mother of")
    assert names(cases, "ann", "mother of") == before
    assert sorted(cases.graph.facts()) == sorted(FAMILY)
    assert sorted(cases.graph.entities.names) == sorted(oracle.entities(set(FAMILY)))


def test_facts_are_scored_in_the_order_given_unknown_entities_with_zero() -> None:
    cases = case_base(FAMILY)
    facts = [
        ("gus", "mother of", "hal"),
        ("zoe", "mother of", "hal"),
        ("ann", "parent of", "bob"),
        ("gus", "mother of", "zoe"),
    ]
    found = cases.score(facts)
    assert found == [cases.score([fact])[0] for fact in facts]
    assert found[1::2] == [0.0, 0.0]
    assert found[0] > 0
    assert found[2] > 0


def processor_seconds_of(relations: int) -> float:
    """To build, change and ask a graph in which each relation has one fact."""
    facts = [(f"e{k % 1000}", f"r{k}", f"e{k * 7 % 1013}") for k in range(relations)]
    begun = time.process_time()
    cases = case_base(facts)
    cases.update(add=[("new", "r1", "e1")], retract=facts[:1])
    cases.ask("e1", "r1")
    return time.process_time() - begun


def test_what_many_relations_take_grows_no_faster_than_their_number() -> None:
    """Ten times the relations take about ten times as long; a loop over pairs, a hundred times."""
    assert processor_seconds_of(100_000) < 30 * processor_seconds_of(10_000)


def test_a_relation_is_learnt_from_precedent() -> None:
    assert names(case_base(FAMILY), "gus", "mother of")[0] == "hal"


def test_similar_entities_say_what_they_share() -> None:
    nearest = case_base(FAMILY).similar("ann", top=1)[0]
    assert nearest.entity == "eve"
    assert list(map(str, nearest.shared)) == ["mother of", "parent of"]
    assert nearest.similarity == pytest.approx(1.0)


def test_an_empty_case_base_can_be_asked_for_nothing() -> None:
    cases = CaseBase()
    assert cases.update() == Update()
    cases.prepare()
    assert cases.score([]) == []
    assert cases.ask_many([]) == []
    with pytest.raises(UnknownName):
        cases.ask("a", "r")


def test_a_query_stays_within_its_budget_and_says_what_it_cost() -> None:
    whole = answers_about_twelve(ABOUT_TWELVE)
    assert all(answers.exact for answers in whole)
    exact = []
    for budget in (1, 10, 40, 1000):
        found = answers_about_twelve(ABOUT_TWELVE, budget=budget)
        in_another_order = answers_about_twelve(ABOUT_TWELVE[::-1], budget=budget)
        assert found == in_another_order, (
            "what is left out depends on the order of facts"
        )
        exact.append(sum(answers.exact for answers in found))
    assert exact[0] == 0
    assert exact[-1] == 12
    assert answers_about_twelve(ABOUT_TWELVE, budget=1000) == whole


def test_walking_path_types_costs_budget_too() -> None:
    little = answers_about_twelve(ABOUT_TWELVE, budget=1, precedents=False)
    enough = answers_about_twelve(ABOUT_TWELVE, budget=1000, precedents=False)
    assert all(answers.exact for answers in enough)
    assert sum(answers.exact for answers in little) < 12
    assert sum(map(len, little)) < sum(map(len, enough))


ABOUT_TWELVE = [
    (f"e{i}", relation, f"e{(i * k + k) % 12}")
    for i in range(12)
    for k, relation in enumerate("rst", start=1)
]


def answers_about_twelve(facts: list[Fact], **changes: Any) -> list[Answers]:
    """What is answered about each of twelve entities, under some settings."""
    cases = case_base(facts, Settings(max_length=2, **changes))
    return [cases.ask(f"e{i}", "r", top=-1) for i in range(12)]


@pytest.mark.parametrize("top", [2.5, "3", None, 2**63, 10**30])
@pytest.mark.parametrize("ask", ["ask", "ask_head", "ask_many", "similar"])
def test_a_number_of_answers_that_is_no_whole_number_or_does_not_fit_is_refused(
    ask: str,
    top: Any,
) -> None:
    cases = CaseBase()
    cases.update(add=[("a", "r", "b"), ("c", "r", "b")])
    asked: dict[str, Callable[[], object]] = {
        "ask": lambda: cases.ask("a", "r", top),
        "ask_head": lambda: cases.ask_head("r", "b", top),
        "ask_many": lambda: cases.ask_many([("a", "r")], top),
        "similar": lambda: cases.similar("a", top=top),
    }
    with pytest.raises(InvalidArgument, match="top is"):
        asked[ask]()


def test_an_argument_of_a_wrong_type_is_named() -> None:
    cases = case_base(FAMILY)
    answers = cases.ask("ann", "parent of")
    wrong: Any = [
        (cases.ask_many, ["ab", None, [5], ["ab"], [("ann", "parent of", "bob")]]),
        (cases.score, ["abc", None, [5], ["abc"], [("ann", "parent of")]]),
        (cases.search, [5, None, b"ann"]),
        (cases.explain, ["ann", None, answers]),
        (cases.explain_all, ["ann", None, answers[0]]),
        (cases.counterfactual, ["ann", None, answers]),
        (lambda of: cases.ask("ann", "parent of", candidates=of), ["bob", 5, [5]]),
        (lambda of: cases.ask("ann", "parent of", of_type=of), [5, b"city"]),
    ]
    for call, arguments in wrong:
        for argument in arguments:
            with pytest.raises(InvalidArgument, match=r"^[a-z_ ]+ is .+; expected .+$"):
                call(argument)


def test_any_number_of_answers_that_fits_is_given() -> None:
    cases = CaseBase(Settings(support=1))
    cases.update(
        add=[("a", "r", "b"), ("c", "r", "b"), ("c", "r", "d"), ("a", "s", "c")]
    )
    everything = list(cases.ask("a", "r", top=-1))
    assert everything
    more_than_enough: list[Any] = [-5, -(2**70), 2**63 - 1, np.int64(100)]
    for known in ("mark", "exclude"):
        found = list(cases.ask("a", "r", top=-1, known=known))
        for top in more_than_enough:
            assert list(cases.ask("a", "r", top=top, known=known)) == found
    assert list(cases.ask("a", "r", top=cast("int", np.int32(1)))) == everything[:1]
    assert len(cases.similar("a", top=2**63 - 1)) == 3


def test_a_negative_number_of_similar_entities_is_refused() -> None:
    cases = CaseBase()
    cases.update(add=[(f"a{k}", "r", "b") for k in range(9)])
    with pytest.raises(InvalidArgument, match="top is -3; expected at least 0"):
        cases.similar("a0", top=-3)


def test_relations_that_come_and_go_leave_room_for_others() -> None:
    cases = CaseBase(
        Settings(max_length=5)
    )  # whose path types can name 2,047 relations
    cases.update(add=[("a", "r", "b"), ("c", "r", "b"), ("a", "s", "d")])
    for number in range(3):
        passing = [
            ("a", f"passing {number} {relation}", "b") for relation in range(900)
        ]
        cases.update(add=passing)
        cases.update(retract=passing)
    assert len(cases.graph.relations) < 2_048
    assert [answer.entity for answer in cases.ask("c", "s")] == ["d"]
