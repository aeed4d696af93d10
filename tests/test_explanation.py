import json
import re
from collections.abc import Iterable
from functools import reduce
from itertools import groupby, pairwise, product
from operator import add
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st
from tests import oracle
from tests.strategies import (
    ARROWED,
    Fact,
    arrowed_facts,
    crowded_facts,
    random_facts,
    some_settings,
)

from casegraph import Description, Neighbour, world
from casegraph.answering.evidence.kinds import KINDS
from casegraph.answering.evidence.paths import PATHS_SHOWN
from casegraph.answering.results.answer import Answer
from casegraph.answering.results.explanation import Explanation
from casegraph.answering.results.reason import KindName, Reason
from casegraph.answering.results.text import LEAST_SHOWN
from casegraph.casebase import CaseBase
from casegraph.errors import CasegraphError
from casegraph.graph.directions import PathStep
from casegraph.settings import Settings

# Kinds with one piece of evidence at most.
SINGLE = ("precedents", "answers", "habit")
NEAR = 2e-4  # how near the plain version
SOLVED = 1e-3  # how exactly a regression is solved
PAPER = Settings.paper("WN18RR").but(max_length=3)


def case_base(added: list[Fact], settings: Settings | None = None) -> CaseBase:
    cases = CaseBase(settings)
    cases.update(add=added)
    return cases


def explained(cases: CaseBase, entities: int = 100) -> list[Explanation]:
    """Every answer to every question about so many entities,
    as head or as tail, with its explanation.
    """
    answers: list[Answer] = []
    names = cases.graph.entities.names[:entities]
    for name, relation in product(names, cases.graph.relations.names):
        answers += cases.ask(name, relation, top=-1)
        answers += cases.ask_head(relation, name, top=-1)
    return [cases.explain(answer) for answer in answers]


def reasons_of(explanation: Explanation, kind: KindName) -> list[Reason]:
    return [reason for reason in explanation if reason.kind == kind]


def query_relation(answer: Answer) -> oracle.Name:
    """The relation that was asked, as the oracle names it."""
    return (answer.relation, -1) if answer.inverse else answer.relation


def in_oracle(step: PathStep) -> oracle.Name:
    """A relation as the oracle names it, from a step of an explanation."""
    return (step.relation, -1) if step.inverse else step.relation


def path_type(reason: Reason) -> tuple[Any, ...]:
    return tuple(map(in_oracle, reason.steps))


def added_up(explanation: Explanation) -> float:
    """One after the other, without the compensation that `sum` has."""
    return reduce(add, (reason.share for reason in explanation), 0.0)


@example_settings(max_examples=40)
@given(crowded_facts(), some_settings())
def test_the_shares_of_the_reasons_add_up_to_the_score_to_the_last_bit(
    added: list[Fact], settings: Settings
) -> None:
    for explanation in explained(case_base(added, settings), entities=2):
        assert added_up(explanation) == explanation.answer.score
        assert explanation.reasons


@pytest.mark.parametrize(
    "settings",
    [Settings(), PAPER, Settings.cbr().but(max_length=3)],
    ids=["default", "paper", "cbr"],
)
def test_the_shares_add_up_on_larger_graphs(settings: Settings) -> None:
    for seed in range(2):
        added = random_facts(Random(seed), entities=12, relations=3, facts=30)
        explanations = explained(case_base(added, settings), entities=5)
        assert len(explanations) > 25
        for explanation in explanations:
            assert added_up(explanation) == explanation.answer.score


NEVER_IN_DOUBT = [
    Settings(support=1, doubt=0.001, habit=1.0),
    Settings(support=1, weight="prior"),
    Settings(support=1, weight="frequency", neighbours=1, max_length=1),
]


@pytest.mark.parametrize(
    "settings", NEVER_IN_DOUBT, ids=["right", "prior", "frequency"]
)
def test_evidence_that_was_never_wrong_still_gives_a_score_that_can_be_added_up(
    settings: Settings,
) -> None:
    added = [("a", "r", "b"), ("a", "s", "b"), ("c", "r", "d"), ("c", "s", "d")]
    explanations = explained(case_base(added, settings))
    assert explanations
    for explanation in explanations:
        json.dumps(explanation.as_dict(), allow_nan=False)
        assert added_up(explanation) == explanation.answer.score


@example_settings(max_examples=50)
@given(crowded_facts(), some_settings())
def test_no_more_reasons_count_than_the_settings_allow_the_most_important_first(
    added: list[Fact], settings: Settings
) -> None:
    # A sum counts all of them.
    combined = settings.but(weight="right", combination="noisy-or")
    for explanation in explained(case_base(added, combined), entities=2):
        for kind in KINDS:
            worths = [reason.worth for reason in reasons_of(explanation, kind.name)]
            assert worths == sorted(worths, reverse=True)
            assert len(worths) <= (1 if kind.name in SINGLE else settings.best)
        kinds = [reason.kind for reason in explanation]
        # Those of a kind stand together.
        assert len(list(groupby(kinds))) == len(set(kinds))


def test_the_text_has_the_reason_with_the_largest_share_first() -> None:
    cases = CaseBase()
    cases.update(add=world.facts())
    for answer in cases.ask("Albert Einstein", "citizen of", top=3, known="exclude"):
        text = cases.explain(answer).text()
        percents = [
            int(percent) for percent in re.findall(r"^ +(\d+)%  ", text, re.MULTILINE)
        ]
        assert percents
        assert percents == sorted(percents, reverse=True)


@example_settings(max_examples=40)
@given(crowded_facts(), some_settings())
def test_every_path_shown_is_in_the_graph_edge_by_edge_and_of_the_type_named(
    added: list[Fact], settings: Settings
) -> None:
    facts = oracle.both_ways(added)
    for explanation in explained(case_base(added, settings), entities=2):
        for reason in reasons_of(explanation, "path"):
            assert reason.paths
            for path in reason.paths:
                relations = path_type(reason)
                assert len(path) == len(relations) + 1
                assert path[0] == explanation.answer.asked
                assert path[-1] == explanation.answer.entity
                assert set(zip(path, relations, path[1:], strict=False)) <= facts
                assert len(set(path)) == len(path) or not settings.loop_free


@pytest.mark.parametrize(
    "settings", [Settings(support=1), PAPER], ids=["paths", "walks"]
)
def test_the_first_paths_by_name_are_shown_and_whether_there_are_more(
    settings: Settings,
) -> None:
    paths_or_walks = oracle.paths if settings.loop_free else oracle.walks
    random = Random(31)
    more = 0
    for _ in range(12):
        added = random_facts(random, entities=8, relations=2, facts=26)
        facts = oracle.both_ways(added)
        for explanation in explained(case_base(added, settings), entities=2):
            answer = explanation.answer
            for reason in reasons_of(explanation, "path"):
                found = paths_or_walks(facts, answer.asked, path_type(reason))
                leading = sorted(path for path in found if path[-1] == answer.entity)
                assert list(reason.paths) == leading[:PATHS_SHOWN]
                assert reason.more == (len(leading) > PATHS_SHOWN)
                more += reason.more
    assert more


@example_settings(max_examples=30)
@given(crowded_facts(), st.integers(1, 2))
def test_the_numbers_of_a_reason_are_those_of_the_oracle(
    added: list[Fact], support: int
) -> None:
    facts = oracle.both_ways(added)
    everyone = sorted(oracle.entities(facts))
    for explanation in explained(
        case_base(added, Settings(support=support)), entities=2
    ):
        answer = explanation.answer
        relation = query_relation(answer)
        for reason in reasons_of(explanation, "path"):
            kind = path_type(reason)
            assert reason.hits == oracle.hits(facts, everyone, relation, 3)[kind]
            assert reason.tries == oracle.tries(facts, everyone, relation, kind)
            assert reason.prior == oracle.prior(facts, everyone, relation, kind, 3)
            assert reason.precision == oracle.precision(
                facts, everyone, relation, kind, 3
            )
            is_taken = oracle.has_other_asker(
                facts, answer.asked, relation, answer.entity
            )
            reached, right = oracle.by_slot(facts, relation, kind)[is_taken]
            assert (reason.count, reason.of) == (right, reached)
            assert reason.slot == ("taken" if is_taken else "open")
        settings = Settings()
        asked = facts, answer.asked, relation, settings.ridge, settings.nearest
        for reason in reasons_of(explanation, "precedents"):
            found = oracle.precedents(*asked)
            assert reason.count == found.having[answer.entity]
            assert reason.of == len(found.weights)
            assert reason.worth == pytest.approx(found.scores[answer.entity], abs=NEAR)
            assert reason.share == settings.precedent_weight * reason.worth
        for reason in reasons_of(explanation, "answers"):
            like = oracle.like_known_answers(*asked)
            known = oracle.answers(facts, answer.asked, relation)
            assert (reason.count, reason.of) == (len(known), 0)
            assert reason.worth == pytest.approx(like[answer.entity], abs=NEAR)
            assert reason.share == settings.precedent_weight * reason.worth
        for reason in reasons_of(explanation, "habit"):
            counts, others = oracle.habit(facts, answer.asked, relation)
            assert (reason.count, reason.of) == (counts[answer.entity], others)


@example_settings(max_examples=30)
@given(crowded_facts(), st.integers(1, 2))
def test_evidence_names_those_it_rests_on(added: list[Fact], support: int) -> None:
    facts = oracle.both_ways(added)
    for explanation in explained(
        case_base(added, Settings(support=support)), entities=2
    ):
        answer = explanation.answer
        relation = query_relation(answer)
        known = oracle.answers(facts, answer.asked, relation) - {answer.entity}
        askers = oracle.answers(facts, answer.entity, oracle.inverse(relation)) - {
            answer.asked
        }
        like_asked = oracle.precedents(facts, answer.asked, relation, 60.0, 512).weights
        for reason in reasons_of(explanation, "precedents"):
            assert set(reason.precedents) == askers & like_asked.keys()
            assert_weighed(reason)
        for reason in reasons_of(explanation, "answers"):
            assert set(reason.precedents) <= known
            assert_weighed(reason)
        for reason in reasons_of(explanation, "path"):
            for name in reason.precedents:
                ends = oracle.ends(facts, name, path_type(reason))
                assert ends & oracle.answers(facts, name, relation)


def assert_weighed(reason: Reason) -> None:
    """The precedents of a reason have weights, the largest first, that add up to its worth."""
    assert reason.precedents
    assert len(reason.weights) == len(reason.precedents)
    assert list(reason.weights) == sorted(reason.weights, reverse=True)
    assert sum(reason.weights) == pytest.approx(reason.worth, abs=SOLVED)


@example_settings(max_examples=20)
@given(crowded_facts())
def test_the_numbers_of_a_cluster_are_those_that_weighed_the_path_type(
    added: list[Fact],
) -> None:
    cases = case_base(added, PAPER)
    facts = oracle.both_ways(added)
    everyone = cases.graph.entities.names
    cluster_of = dict(
        zip(everyone, cases.state.clusters.entities.tolist(), strict=True)
    )
    for explanation in explained(cases, entities=1):
        relation = query_relation(explanation.answer)
        asked = explanation.answer.asked
        own = [name for name in everyone if cluster_of[name] == cluster_of[asked]]
        for reason in explanation:
            kind = path_type(reason)
            counted = own if oracle.hits(facts, own, relation, 3)[kind] else everyone
            assert reason.hits == oracle.hits(facts, counted, relation, 3)[kind]
            assert reason.tries == oracle.tries(facts, counted, relation, kind)
            assert reason.worth == reason.prior * reason.precision == reason.share


@example_settings(max_examples=50)
@given(crowded_facts(), some_settings())
def test_neighbours_have_the_relation_and_their_answers_are_facts(
    added: list[Fact], settings: Settings
) -> None:
    facts = oracle.both_ways(added)
    for explanation in explained(case_base(added, settings), entities=1):
        asked = explanation.answer.asked
        relation = query_relation(explanation.answer)
        for neighbour in explanation.neighbours:
            answers = oracle.answers(facts, neighbour.entity, relation)
            assert answers
            assert list(neighbour.answers) == sorted(answers)
        if settings.precedents:
            assert_near_by_facts(
                explanation.neighbours, facts, asked, relation, settings
            )
        else:
            k = settings.neighbours or 5
            near = oracle.contextual_entities(facts, asked, relation, k)[:5]
            assert [neighbour.entity for neighbour in explanation.neighbours] == near
            assert_alike_by_profile(explanation.neighbours, facts, asked)


def assert_near_by_facts(
    neighbours: Iterable[Neighbour],
    facts: oracle.Facts,
    asked: str,
    relation: oracle.Name,
    settings: Settings,
) -> None:
    """The neighbours weigh most, and say which facts they share."""
    weights = oracle.precedents(
        facts, asked, relation, settings.ridge, settings.nearest
    ).weights
    heaviest = sorted(weights.values(), reverse=True)
    found = [neighbour.similarity for neighbour in neighbours]
    assert found == sorted(found, reverse=True)
    assert found == pytest.approx(heaviest[: len(found)], abs=NEAR)
    assert len(found) == min(len(heaviest), 5)
    for neighbour in neighbours:
        assert neighbour.similarity == pytest.approx(
            weights[neighbour.entity], abs=NEAR
        )
        both = oracle.facts_of(facts, asked) & oracle.facts_of(facts, neighbour.entity)
        assert {(in_oracle(one), one.entity) for one in neighbour.shared} == both


def assert_alike_by_profile(
    neighbours: Iterable[Neighbour], facts: oracle.Facts, asked: str
) -> None:
    """The neighbours say which relations they have in common with the entity."""
    for neighbour in neighbours:
        assert neighbour.similarity == oracle.similarity(facts, asked, neighbour.entity)
        shared = oracle.profile(facts, asked) & oracle.profile(facts, neighbour.entity)
        assert {in_oracle(one) for one in neighbour.shared} == shared


@example_settings(max_examples=50)
@given(crowded_facts(), some_settings())
def test_an_explanation_is_json_and_text_that_names_the_answer(
    added: list[Fact], settings: Settings
) -> None:
    for explanation in explained(case_base(added, settings), entities=1):
        answer = explanation.answer
        plain = json.loads(json.dumps(explanation.as_dict(), allow_nan=False))
        assert plain["answer"]["entity"] == answer.entity
        shares = [reason["share"] for reason in plain["reasons"]]
        assert shares == [reason.share for reason in explanation]
        text = explanation.text()
        assert answer.entity in text.splitlines()[0]
        shown = [
            reason
            for reason in explanation
            if reason.share >= LEAST_SHOWN * answer.score
        ]
        assert shown
        for reason in shown:
            assert reason.sentence in text


def test_the_arrows_of_a_drawn_path_point_the_way_of_the_facts() -> None:
    added = [
        ("a", "r", "m"),
        ("b", "s", "m"),
        ("a", "t", "b"),
        ("c", "r", "n"),
        ("d", "s", "n"),
        ("c", "t", "d"),
    ]
    added += [("e", "r", "o"), ("f", "s", "o")]
    best = case_base(added).ask("e", "t")[0]
    reason = case_base(added).explain(best).reasons[0]
    assert reason.steps == (PathStep("r"), PathStep("s", inverse=True))
    assert reason.paths == (("e", "o", "f"),)
    assert reason.drawn() == ["e —r→ o ←s— f"]


@example_settings(max_examples=30)
@given(crowded_facts(), some_settings())
def test_every_path_is_drawn_and_every_drawing_is_in_the_text(
    added: list[Fact], settings: Settings
) -> None:
    for explanation in explained(case_base(added, settings), entities=1):
        text = explanation.text()
        for reason in explanation:
            is_shown = reason.share >= LEAST_SHOWN * explanation.answer.score
            for drawing, path in zip(reason.drawn(), reason.paths, strict=True):
                assert drawing.split(" ")[::2] == list(path)
                assert drawing in text or not is_shown


def test_every_kind_of_evidence_has_a_name() -> None:
    assert tuple(kind.name for kind in KINDS) == get_args(KindName)
    assert get_args(KindName) == ("path", "precedents", "answers", "habit")


def test_names_are_escaped_in_html() -> None:
    bad = "<script>alert('&\"')</script>"
    added = [
        (f"{bad}{who}", f"{bad}{how}", f"{bad}{what}")
        for what, who, how in product("012", "abc", "rs")
        if who + how + what != "ar2"  # is an answer like those that a has
    ]
    cases = case_base(added, Settings(best=8, path_types=1))
    pages = [cases.ask(entity, f"{bad}r")._repr_html_() for entity in (f"{bad}a", bad)]
    kinds = set()
    for explanation in explained(cases):
        pages.append(explanation._repr_html_())
        kinds |= {reason.kind for reason in explanation}
    assert kinds == {kind.name for kind in KINDS}
    for page in pages:
        assert "&lt;script&gt;" in page
        assert "<script" not in page
        assert "</script" not in page


def test_an_answer_of_another_case_base_is_refused() -> None:
    cases = case_base([("a", "r", "b")])
    for foreign in (("a", "x", "b"), ("a", "r", "x")):
        with pytest.raises(CasegraphError, match="did not give the answer"):
            cases.explain(
                Answer(foreign[0], foreign[1], False, foreign[2], 1.0, 1, False)
            )


def test_explaining_several_answers_at_once_is_explaining_each() -> None:
    cases = CaseBase()
    cases.update(add=world.facts())
    first = cases.ask("Albert Einstein", "citizen of", top=4)
    second = cases.ask_head("born in", "Ulm", top=3)
    answers = [*first, *second, first[0]]
    assert cases.explain_all(answers) == [cases.explain(answer) for answer in answers]
    assert cases.explain_all([]) == []


def test_relations_whose_names_look_like_arrows_are_told_from_steps() -> None:
    added = arrowed_facts()
    cases = case_base(added)
    cases.update(
        describe=[Description(name, f"label {name} → ⁻¹") for name in ARROWED[:2]]
    )
    for explanation in explained(cases, entities=4):
        document = json.loads(json.dumps(explanation.as_dict()))
        for reason, plain in zip(explanation, document["reasons"], strict=True):
            assert {step.relation for step in reason.steps} <= set(ARROWED)
            assert plain["steps"] == [
                {"relation": step.relation, "inverse": step.inverse}
                for step in reason.steps
            ]
            for path in reason.paths:
                walked = []
                for step, ends in zip(reason.steps, pairwise(path), strict=True):
                    head, tail = reversed(ends) if step.inverse else ends
                    walked.append((head, step.relation, tail))
                assert set(walked) <= set(added)
        for neighbour in explanation.neighbours:
            for shared in neighbour.shared:
                ends = (neighbour.entity, str(shared.entity))
                head, tail = reversed(ends) if shared.inverse else ends
                assert (head, shared.relation, tail) in added
        for reason in reasons_of(explanation, "path"):
            words = [step.text(explanation.label) for step in reason.steps]
            assert reason.sentence.startswith(f"{' → '.join(words)}: right")
