"""In a large graph, each relation is counted when a question first needs it.

Answers are the same as if everything had been counted.
"""

from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.histories import Fact
from tests.strategies import (
    Step,
    fact_lists,
    histories,
    random_facts,
    some_settings,
    surviving,
)

from casegraph.casebase import CaseBase
from casegraph.graph.directions import forward, inverse
from casegraph.settings import Settings
from casegraph.statistics import own_hits
from casegraph.statistics.counts import Counting, PathCounts, Reach

# An entity, a relation, and whether heads are asked for.
Question = tuple[str, str, bool]


@pytest.fixture
def every_graph_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_hits, "LARGE", 0)


def of_facts(settings: Settings, facts: list[Fact]) -> CaseBase:
    cases = CaseBase(settings)
    cases.update(add=facts)
    return cases


def questions_of(facts: list[Fact]) -> list[Question]:
    return sorted(
        {(fact[0], fact[1], False) for fact in facts}
        | {(fact[2], fact[1], True) for fact in facts}
    )


def told(cases: CaseBase, question: Question, top: int = -1) -> tuple[Any, ...]:
    """The answers with the bits of their scores, and whether they are exact."""
    name, relation, is_of_heads = question
    if is_of_heads:
        found = cases.ask_head(relation, name, top=top)
    else:
        found = cases.ask(name, relation, top=top)
    return found.exact, found.note, [(one.entity, one.score.hex()) for one in found]


def columns(counts: PathCounts) -> list[list[int]]:
    return [counts.types.tolist(), counts.hits.tolist()] + [
        column.tolist() for column in counts.reach_of(slice(None))
    ]


def has_same_counts(one: CaseBase, other: CaseBase) -> bool:
    return all(
        columns(one.state.statistics.everyone(relation))
        == columns(other.state.statistics.everyone(relation))
        for relation in range(one.graph.directions)
    )


@pytest.mark.usefixtures("every_graph_is_large")
@given(fact_lists(least=1, most=24), some_settings(), st.randoms(use_true_random=False))
def test_questions_in_any_order_are_answered_as_if_everything_were_counted(
    facts: list[Fact], settings: Settings, random: Random
) -> None:
    asked = of_facts(settings, facts)
    counted = of_facts(settings, facts)
    counted.prepare()
    questions = questions_of(facts)
    random.shuffle(questions)
    for question in questions:
        top = random.choice([-1, 1, 3])
        assert told(asked, question, top) == told(counted, question, top)
    assert has_same_counts(asked, counted)


@pytest.mark.usefixtures("every_graph_is_large")
@given(
    fact_lists(least=1, most=24),
    st.integers(1, 60),
    st.sampled_from([1, 4, 16, 64, 1000]),
    st.sampled_from([1, 50, 400, 1 << 30]),
)
def test_that_holds_for_any_bound_of_the_work(
    facts: list[Fact], path_types: int, budget: int, counting: int
) -> None:
    settings = Settings(
        max_length=3, support=1, path_types=path_types, budget=budget, counting=counting
    )
    asked = of_facts(settings, facts)
    counted = of_facts(settings, facts)
    counted.prepare()
    for question in questions_of(facts):
        assert told(asked, question) == told(counted, question)
    assert has_same_counts(asked, counted)


@given(fact_lists(least=1, most=24), st.integers(1, 3))
def test_a_large_graph_tells_what_any_other_does(facts: list[Fact], n: int) -> None:
    settings = Settings(max_length=n, support=1)
    usual = of_facts(settings, facts)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(own_hits, "LARGE", 0)
        large = of_facts(settings, facts)
        for question in questions_of(facts):
            assert told(large, question) == told(usual, question)
        assert has_same_counts(large, usual)


@pytest.mark.usefixtures("every_graph_is_large")
@given(histories())
def test_updates_between_questions_change_nothing_about_that(
    history: list[Step],
) -> None:
    settings = Settings(max_length=2, support=1)
    cases = CaseBase(settings)
    lived: list[Step] = []
    for doing, facts in history:
        lived.append((doing, facts))
        cases.update(
            add=facts if doing == "add" else (), retract=facts if doing != "add" else ()
        )
        counted = of_facts(settings, sorted(surviving(lived)))
        counted.prepare()
        for question in questions_of(sorted(surviving(lived)))[::2]:
            assert told(cases, question) == told(counted, question)


@pytest.mark.usefixtures("every_graph_is_large")
@given(fact_lists(least=1, most=16))
def test_explanations_show_the_counts_that_everything_counted_has(
    facts: list[Fact],
) -> None:
    settings = Settings(max_length=2, support=1)
    asked = of_facts(settings, facts)
    counted = of_facts(settings, facts)
    counted.prepare()
    for name, relation, is_of_heads in questions_of(facts):
        if is_of_heads:
            continue
        for answer in asked.ask(name, relation, top=2):
            assert asked.explain(answer).as_dict() == counted.explain(answer).as_dict()


SEVERAL = [
    *[(f"e{k}", "likes", f"e{k + 1}") for k in range(40)],
    *[(f"e{k}", "knows", f"e{k + 1}") for k in range(0, 40, 2)],
    *[(f"e{k}", "meets", f"e{k + 1}") for k in range(1, 40, 2)],
]


@pytest.mark.usefixtures("every_graph_is_large")
def test_only_relations_that_are_asked_about_are_counted() -> None:
    cases = of_facts(Settings(max_length=1, support=1), SEVERAL)
    likes = forward(cases.graph.relations.find("likes") or 0)
    assert [found.entity for found in cases.ask("e0", "likes", top=1)] == ["e1"]
    assert set(cases.state.statistics.counted) <= {likes, inverse(likes)}


@pytest.mark.usefixtures("every_graph_is_large")
def test_threads_that_ask_at_once_are_told_the_same_as_one_after_the_other() -> None:
    facts = random_facts(Random(5), entities=40, relations=4, facts=160)
    settings = Settings(max_length=2, support=1)
    questions = questions_of(facts)
    counted = of_facts(settings, facts)
    counted.prepare()
    expected = [told(counted, question) for question in questions]
    cases = of_facts(settings, facts)
    with ThreadPoolExecutor(8) as pool:
        assert (
            list(pool.map(lambda question: told(cases, question), questions))
            == expected
        )
    assert has_same_counts(cases, counted)


@pytest.mark.usefixtures("every_graph_is_large")
def test_questions_do_not_wait_for_what_is_counted_in_advance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Settings(max_length=2, support=1)
    counted = of_facts(settings, SEVERAL)
    counted.prepare()
    has_begun, may_end = Event(), Event()
    reach = Counting.reach

    def takes_long(self: Counting, *given: Any, **more: Any) -> Reach:
        if not has_begun.is_set():
            has_begun.set()
            assert may_end.wait(60)
        return reach(self, *given, **more)

    monkeypatch.setattr(Counting, "reach", takes_long)
    cases = of_facts(settings, SEVERAL)
    question = ("e0", "likes", False)
    with ThreadPoolExecutor(2) as pool:
        preparing = pool.submit(cases.prepare)
        assert has_begun.wait(60)
        try:
            asking = pool.submit(told, cases, question)
            assert asking.result(timeout=60) == told(counted, question)
            assert not preparing.done()
        finally:
            may_end.set()
        preparing.result(timeout=60)
    assert has_same_counts(cases, counted)
    assert told(cases, question) == told(counted, question)
