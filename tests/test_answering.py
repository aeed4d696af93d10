from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as example_settings
from hypothesis import strategies as st
from tests import oracle
from tests.strategies import (
    Fact,
    by_name,
    fact_lists,
    facts,
    path_type_in_oracle,
    random_facts,
    relation_in_oracle,
    shuffled,
)

from casegraph.answering.query import relation_query, standings
from casegraph.answering.results import Answers
from casegraph.casebase import CaseBase
from casegraph.graph.arrays import ids
from casegraph.settings import KindWeights, Settings

PAPER = Settings.paper("WN18RR").but(max_length=3)
DEFAULTS: list[dict[str, Any]] = [
    {"path_types": 1},
    {"path_types": 2},
    {"support": 1},
    {"best": 1},
    {"discount": 1.0},
    {"doubt": 0.5},
    {"max_length": 1},
    {"max_length": 2},
    {"habit": 1.0},
    {"across": 0.1},
    {"answers_discount": 0.0},
    {"decisive": 0.1},
    {"decisive": 1.0},
    {"across": 1.0, "discount": 0.5},
    {"slots": False},
    {"linked": False},
    {"kinds": KindWeights(path=0.5, shared_fact=2, answers_fact=3)},
    {"kinds": KindWeights(path=0, answers_fact=0.5, neighbours=3)},
    {"kinds": KindWeights(near_answers=4, habit=2)},
]
LETTERS: list[dict[str, Any]] = [
    {"neighbours": 1},
    {"neighbours": 2},
    {"path_types": 1},
    {"path_types": 3},
    {"max_length": 2},
    {"threshold": 0.4},
    {"threshold": 1.0},
    {"clustering": "grinch"},
    {"clustering": "entity"},
    {"clustering": "everyone"},
    {"fallback": False},
    {"fallback": False, "threshold": 1.0},
    {"fallback": False, "clustering": "entity"},
    {"fallback": False, "clustering": "everyone"},
]
Weights = dict[oracle.PathType, float]


def case_base(added: list[Fact], settings: Settings | None = None) -> CaseBase:
    cases = CaseBase(settings)
    cases.update(add=added)
    return cases


def best_first(weights: Weights) -> list[tuple[oracle.PathType, float]]:
    """The path types that are worth anything, best first, equal ones by name."""
    return sorted(
        ((kind, weight) for kind, weight in weights.items() if weight > 0),
        key=lambda pair: (-pair[1], by_name(pair[0])),
    )


def default_scores(
    seen: oracle.Facts,
    counted: oracle.Facts,
    entity: str,
    relation: oracle.Name,
    settings: Settings,
    hidden: str | None = None,
) -> dict[str, float]:
    """What `ask` says under the default settings.

    The entity sees `seen`; path types are weighed by `counted`. A path type that leads to the
    hidden answer was right once less.
    """
    weights = oracle.default_weights(
        counted,
        relation,
        settings.max_length,
        settings.support,
        settings.doubt,
        slots=settings.slots,
    )
    reflexive = any((name, relation, name) in counted for name in oracle.entities(counted))
    pieces = oracle.precedents(
        seen,
        entity,
        relation,
        settings.support,
        settings.doubt,
        settings.habit,
        counted,
        reflexive=reflexive,
    )
    walked = 0
    larger = {path_type: max(by_slot.values()) for path_type, by_slot in weights.items()}
    for path_type, _ in best_first(larger):
        ends = oracle.ends(seen, entity, path_type)
        walked += bool(ends)
        if settings.path_types is not None and walked > settings.path_types:
            break
        worth = weights[path_type]
        if hidden in ends:
            counts = oracle.by_slot(counted, relation, path_type)
            slot = oracle.has_other_asker(seen, entity, relation, hidden)
            counts[slot] = (counts[slot][0], counts[slot][1] - 1)
            worth = oracle.slot_weights(counts, settings.doubt, slots=settings.slots)
        for end in ends:
            is_taken = oracle.has_other_asker(seen, entity, relation, end)
            said = pieces.setdefault(end, {}).setdefault("path", [])
            said.append(worth[is_taken])
    known = oracle.answers(counted, entity, relation)
    linked = {tail for _, tail in oracle.facts_of(seen, entity)} - known
    if not settings.linked:
        pieces = {answer: said for answer, said in pieces.items() if answer not in linked}
    scores = {answer: oracle.combined(said, settings) for answer, said in pieces.items()}
    return {answer: score for answer, score in scores.items() if score > 0}


def paper_scores(
    seen: oracle.Facts, entity: str, relation: oracle.Name, cluster: list[str], settings: Settings
) -> dict[str, float]:
    """Equation 1: the sum over path types of prior × precision, for every end of a walk."""
    k, n = settings.neighbours or 0, settings.max_length
    weights = oracle.paper_weights(
        seen, entity, relation, k, n, cluster, fallback=settings.fallback
    )
    scores, walked = Counter[str](), 0
    for path_type, weight in best_first(weights):
        ends = {walk[-1] for walk in oracle.walks(seen, entity, path_type)}
        walked += bool(ends)
        if settings.path_types is not None and walked > settings.path_types:
            break
        for end in ends:
            scores[end] += weight  # type: ignore[assignment]
    return dict(scores)


def assert_ranked(answers: Answers, expected: dict[str, float]) -> None:
    """The same candidates, the same scores, best first and equal ones
    by name, numbered from one.
    """
    assert {answer.entity: answer.score for answer in answers} == pytest.approx(
        expected, rel=1e-12, abs=1e-12
    )
    ranked = sorted(expected, key=lambda name: (-round(expected[name], 13), name))
    assert [answer.entity for answer in answers] == ranked
    assert [answer.rank for answer in answers] == list(range(1, len(ranked) + 1))


def asked_both_ways(cases: CaseBase, entity: str, relation: str) -> list[tuple[Any, Answers]]:
    return [
        (relation, cases.ask(entity, relation, top=-1)),
        ((relation, -1), cases.ask_head(relation, entity, top=-1)),
    ]


def assert_default_answers(
    added: list[Fact], entity: str, relation: str, settings: Settings
) -> int:
    cases, seen, found = case_base(added, settings), oracle.both_ways(added), 0
    for label, answers in asked_both_ways(cases, entity, relation):
        assert_ranked(answers, default_scores(seen, seen, entity, label, settings))
        assert all(
            answer.known == (answer.entity in oracle.answers(seen, entity, label))
            for answer in answers
        )
        found += len(answers)
    return found


def assert_paper_answers(added: list[Fact], entity: str, relation: str, settings: Settings) -> int:
    cases, seen, found = case_base(added, settings), oracle.both_ways(added), 0
    of = dict(zip(cases.graph.entities.names, cases.state.clusters.entities.tolist(), strict=True))
    cluster = [name for name, node in of.items() if node == of[entity]]
    for label, answers in asked_both_ways(cases, entity, relation):
        assert_ranked(answers, paper_scores(seen, entity, label, cluster, settings))
        found += len(answers)
    return found


def random_question(random: Random, **sizes: int) -> tuple[list[Fact], str, str]:
    added = random_facts(random, **sizes)
    fact = random.choice(added)
    return added, random.choice([fact[0], fact[2]]), random.choice(added)[1]


def test_answers_under_the_default_settings_are_those_of_the_plain_version() -> None:
    random, found = Random(21), 0
    for _ in range(150):
        found += assert_default_answers(
            *random_question(random, entities=7, relations=3, facts=14), Settings()
        )
    assert found > 600


@pytest.mark.parametrize("change", DEFAULTS, ids=str)
def test_every_setting_does_what_it_does_in_the_plain_version(change: dict[str, Any]) -> None:
    random = Random(str(change))
    for _ in range(30):
        question = random_question(random, entities=6, relations=2, facts=12)
        assert_default_answers(*question, Settings(path_types=None).but(**change))


@example_settings(max_examples=40)
@given(fact_lists(least=1, most=10), st.integers(0, 9), st.integers(0, 9))
def test_any_question_is_answered_as_in_the_plain_version(
    added: list[Fact], asked: int, about: int
) -> None:
    entity, relation = added[asked % len(added)][0], added[about % len(added)][1]
    assert_default_answers(added, entity, relation, Settings())
    assert_paper_answers(added, entity, relation, PAPER)


@example_settings(max_examples=40)
@given(fact_lists(least=1, most=10), st.booleans())
def test_about_an_entity_never_seen_only_the_habit_says_anything(
    added: list[Fact], linked: bool
) -> None:
    settings = Settings(linked=linked)
    cases = case_base(added, settings)
    assert_default_answers(added, "never seen", added[0][1], settings)
    answers = cases.ask("never seen", added[0][1])
    for answer in answers:
        (reason,) = cases.explain(answer)
        assert (reason.kind, reason.share) == ("habit", answer.score)
    assert answers.note.startswith("'never seen' has never been seen; ")
    assert list(case_base(added, PAPER).ask("never seen", added[0][1])) == []


def test_answers_under_the_papers_settings_are_those_of_equation_1() -> None:
    random, found = Random(22), 0
    for _ in range(100):
        found += assert_paper_answers(
            *random_question(random, entities=7, relations=3, facts=13), PAPER
        )
    assert found > 150


@pytest.mark.parametrize("change", LETTERS, ids=str)
def test_equation_1_holds_for_every_choice_of_the_papers_letters(change: dict[str, Any]) -> None:
    random = Random(str(change))
    for _ in range(25):
        assert_paper_answers(
            *random_question(random, entities=7, relations=2, facts=12), PAPER.but(**change)
        )


def test_a_path_type_without_a_count_in_the_cluster_is_worth_as_to_everyone_or_nothing() -> None:
    """Alone in its cluster and without the relation, the asked entity has no count of its own."""
    added = [(f"a{k}", relation, f"b{k}") for k in range(3) for relation in ("r", "s")] + [
        ("asked", "s", "here")
    ]
    alone = PAPER.but(clustering="entity")
    assert [answer.entity for answer in case_base(added, alone).ask("asked", "r")] == ["here"]
    assert list(case_base(added, alone.but(fallback=False)).ask("asked", "r")) == []
    assert assert_paper_answers(added, "asked", "r", alone) > assert_paper_answers(
        added, "asked", "r", alone.but(fallback=False)
    )


def test_only_path_types_that_lead_anywhere_count_towards_their_limit() -> None:
    """b is worth more than c, but the asked entity has no b."""
    added = [(f"{letter}{k}", letter, f"x{k}") for letter in "bc" for k in range(4)]
    added += [(f"{letter}{k}", "goal", f"x{k}") for letter in "bc" for k in range(4)]
    added += [("c9", "goal", "elsewhere"), ("c9", "c", "x9"), ("asked", "c", "here")]
    alone = Settings(path_types=1, precedents=False)
    cases = case_base(added, alone)
    walked = relation_query(
        cases.state, 2 * cases.graph.relations.names.index("goal"), ids([0])
    ).lists
    best = path_type_in_oracle(cases.graph, int(walked.types[walked.walked[0]]), 3)
    assert best == ("b",)
    assert [answer.entity for answer in cases.ask("asked", "goal")] == ["here"]


@given(fact_lists(least=1), st.integers(1, 3))
def test_the_relation_itself_is_never_walked(added: list[Fact], support: int) -> None:
    for settings in (Settings(support=support), Settings(weight="prior", combination="sum"), PAPER):
        cases = case_base(added, settings)
        everyone = ids(range(len(cases.graph.entities)))
        for relation in range(2 * len(cases.graph.relations)):
            lists = relation_query(cases.state, relation, everyone).lists
            walked = {
                path_type_in_oracle(cases.graph, int(lists.types[place]), 3)
                for place in lists.walked
            }
            assert (relation_in_oracle(cases.graph, relation),) not in walked
            for start, end in zip(lists.offsets, lists.offsets[1:], strict=False):
                best = lists.weights.larger[start:end]
                assert (np.diff(best) <= 0).all()
                assert (best > 0).all()


def assert_scored_as_unknown(added: list[Fact], fact: Fact, settings: Settings) -> None:
    """The plain version for an entity that does not see the fact, nor is it counted as right."""
    counted = oracle.both_ways(added)
    seen = oracle.left_after(counted, fact)
    head, relation, tail = fact
    hidden = tail if tail != head else None
    expected = default_scores(seen, counted, head, relation, settings, hidden).get(tail, 0.0)
    assert case_base(added, settings).score([fact]) == pytest.approx(
        [expected], rel=1e-12, abs=1e-12
    )


def test_a_fact_scores_as_if_the_entity_did_not_know_it() -> None:
    random = Random(23)
    for _ in range(150):
        added = random_facts(random, entities=6, relations=3, facts=14)
        fact = next((fact for fact in added if fact[0] != fact[2]), None)
        if fact is not None:
            assert_scored_as_unknown(added, fact, Settings())
            assert_scored_as_unknown(added, fact, Settings(linked=False))


@example_settings(max_examples=40)
@given(fact_lists(least=1, most=10), facts)
def test_a_fact_that_is_not_there_scores_as_it_is_answered(added: list[Fact], fact: Fact) -> None:
    head, relation, tail = fact
    assume(fact not in added and relation in {label for _, label, _ in added})
    for settings in (Settings(), PAPER):
        cases = case_base(added, settings)
        answers = {answer.entity: answer.score for answer in cases.ask(head, relation, top=-1)}
        assert cases.score([fact]) == [answers.get(tail, 0.0)]


def test_a_fact_from_an_entity_to_itself_scores_as_if_the_entity_did_not_know_it() -> None:
    """The fact is seen from both its ends, and both are the entity:
    others that are reached from it share it too.
    """
    added = [("e", "r", "e"), ("e", "r", "a"), ("e", "r", "b"), ("a", "r", "e"), ("b", "r", "e")]
    assert_scored_as_unknown(added, ("e", "r", "e"), Settings())


def test_a_walk_may_not_come_back_and_use_the_fact_that_is_scored() -> None:
    """Under the paper's settings asked → x → asked → b would use the very fact
    that is to be treated as unknown.
    """
    added = [
        ("o", "s", "z"),
        ("p", "s", "z"),
        ("o", "r", "t"),
        ("p", "r", "t"),
        ("asked", "s", "x"),
        ("asked", "r", "b"),
    ]
    cases = case_base(added, PAPER)
    assert cases.score([("asked", "r", "b")]) == [0.0]


@example_settings(max_examples=40)
@given(
    fact_lists(least=1, most=12),
    st.sampled_from([Settings(), PAPER, Settings.cbr().but(max_length=3)]),
)
def test_standings_count_who_is_better_and_who_is_equal(
    added: list[Fact], settings: Settings
) -> None:
    cases = case_base(added, settings)
    everyone = ids(range(len(cases.graph.entities)))
    for relation, name in enumerate(cases.graph.relations.names):
        for entity in cases.graph.entities.names:
            answers = cases.ask(entity, name, top=-1)
            scores = {answer.entity: answer.score for answer in answers}
            known = np.sort(
                cases.graph.answers(cases.graph.entities.names.index(entity), 2 * relation)
            )
            standing = standings(
                cases.state,
                (2 * relation, ids([cases.graph.entities.names.index(entity)])),
                (np.array([0, len(everyone)]), everyone),
                (np.array([0, len(known)]), known),
            )
            passed = {cases.graph.entities[other] for other in known.tolist()}
            for place, target in enumerate(cases.graph.entities.names):
                own = scores.get(target, 0.0)
                rest = [
                    scores[other] for other in scores if other != target and other not in passed
                ]
                assert standing.score[place] == own
                assert standing.better[place] == sum(score > own for score in rest)
                assert standing.equal[place] == sum(score == own for score in rest)
                assert 0 <= standing.earlier[place] <= standing.equal[place]


@example_settings(max_examples=40)
@given(fact_lists(least=1), st.integers(0, 5))
def test_the_best_few_are_the_first_of_all(added: list[Fact], top: int) -> None:
    for settings in (Settings(), PAPER):
        cases = case_base(added, settings)
        for head, relation, _ in added[:4]:
            assert (
                cases.ask(head, relation, top=top).found
                == cases.ask(head, relation, top=-1).found[:top]
            )


def test_a_sum_does_not_depend_on_the_order_in_which_facts_came() -> None:
    random = Random(5)
    for _ in range(40):
        facts = random_facts(random, entities=7, relations=3, facts=22)
        settings = Settings(combination="sum", support=1, max_length=2)
        questions = sorted({(fact[0], fact[1]) for fact in facts})
        one = case_base(facts, settings)
        other = case_base(shuffled(random, facts), settings)
        assert one.ask_many(questions, top=-1) == other.ask_many(questions, top=-1)
        answers = [answer for found in one.ask_many(questions, top=2) for answer in found]
        assert one.explain_all(answers) == other.explain_all(answers)
        for explanation in one.explain_all(answers):
            assert sum(reason.share for reason in explanation) == explanation.answer.score
