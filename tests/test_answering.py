from collections import Counter
from collections.abc import Callable
from functools import reduce
from itertools import chain, pairwise, product
from operator import add
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
    crowded_facts,
    fact_lists,
    path_type_in_oracle,
    random_facts,
    shuffled,
)

from casegraph.answering.query import relation_query, standings
from casegraph.answering.results.answer import Answers
from casegraph.casebase import CaseBase
from casegraph.graph.arrays import ids
from casegraph.graph.directions import forward
from casegraph.settings import Settings
from casegraph.statistics.path_types import packed

PAPER = Settings.paper("WN18RR").but(max_length=3)
# Changes to the default settings: the first of each is tried,
# and the others let it matter more often.
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
    {"ridge": 5.0},
    {"precedent_weight": 0.0},
    {"precedent_weight": 40.0, "ridge": 5.0},
    {"nearest": 1},
    {"nearest": 2, "ridge": 5.0},
    {"decisive": 0.1},
    {"decisive": 1.0, "doubt": 0.1},
    {"discount": 0.5, "support": 1},
    {"slots": False},
    {"linked": False},
]
ALL_PATH_TYPES = Settings(path_types=None)
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
EXACT = 1e-12  # but for the rounding of sums
NEAR = 2e-4  # how near the plain version


def case_base(added: list[Fact], settings: Settings | None = None) -> CaseBase:
    cases = CaseBase(settings)
    cases.update(add=added)
    return cases


def best_first(weights: Weights) -> list[tuple[oracle.PathType, float]]:
    """The path types that are worth anything, best first, equal ones by name."""
    worth_something = [pair for pair in weights.items() if pair[1] > 0]
    return sorted(worth_something, key=lambda pair: (-pair[1], by_name(pair[0])))


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
    reflexive = any(
        (name, relation, name) in counted for name in oracle.entities(counted)
    )
    pieces: dict[str, dict[str, list[float]]] = {}
    if settings.precedents:
        pieces = oracle.evidence_beside_paths(
            seen, entity, relation, settings, reflexive=reflexive
        )
    larger = {
        path_type: max(by_slot.values()) for path_type, by_slot in weights.items()
    }
    walked = 0
    for path_type, _ in best_first(larger):
        ends = oracle.ends(seen, entity, path_type)
        walked += bool(ends)
        if settings.path_types is not None and walked > settings.path_types:
            break
        worth = weights[path_type]
        if hidden in ends:
            counts = oracle.by_slot(counted, relation, path_type)
            slot = oracle.has_other_asker(seen, entity, relation, hidden)
            reached, right = counts[slot]
            counts[slot] = (reached, right - 1)
            worth = oracle.slot_weights(counts, settings.doubt, slots=settings.slots)
        for end in ends:
            is_taken = oracle.has_other_asker(seen, entity, relation, end)
            said = pieces.setdefault(end, {}).setdefault("path", [])
            said.append(worth[is_taken])
    known = oracle.answers(counted, entity, relation)
    linked = {tail for _, tail in oracle.facts_of(seen, entity)} - known
    if not settings.linked:
        pieces = {
            answer: said for answer, said in pieces.items() if answer not in linked
        }
    scores = {
        answer: oracle.combined(said, settings) for answer, said in pieces.items()
    }
    return {answer: score for answer, score in scores.items() if score > 0}


def paper_scores(
    seen: oracle.Facts,
    entity: str,
    relation: oracle.Name,
    cluster: list[str],
    settings: Settings,
) -> dict[str, float]:
    """Equation 1: the sum over path types of prior × precision, for every end of a walk."""
    k = settings.neighbours or 0
    n = settings.max_length
    weights = oracle.paper_weights(
        seen, entity, relation, k, n, cluster, fallback=settings.fallback
    )
    scores = Counter[str]()
    walked = 0
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
    scores = {answer.entity: answer.score for answer in answers}
    assert scores == pytest.approx(expected, rel=EXACT, abs=EXACT)
    ranked = sorted(expected, key=lambda name: (-round(expected[name], 13), name))
    assert [answer.entity for answer in answers] == ranked
    assert [answer.rank for answer in answers] == list(range(1, len(ranked) + 1))


def tolerance(settings: Settings) -> float:
    """How far a score may be from that of the plain version, by the two regressions."""
    return EXACT + 2 * NEAR * settings.precedent_weight


def assert_nearly_ranked(
    answers: Answers, expected: dict[str, float], settings: Settings
) -> None:
    """The same, if scores are nearly those expected: who scores next to nothing may be missing."""
    scores = {answer.entity: answer.score for answer in answers}
    for name in scores.keys() | expected.keys():
        assert scores.get(name, 0.0) == pytest.approx(
            expected.get(name, 0.0), abs=tolerance(settings)
        ), name
    assert all(score > 0 for score in scores.values())
    ranked = sorted(scores, key=lambda name: (-scores[name], name))
    assert [answer.entity for answer in answers] == ranked
    assert [answer.rank for answer in answers] == list(range(1, len(ranked) + 1))


def asked_both_ways(
    cases: CaseBase, entity: str, relation: str
) -> list[tuple[Any, Answers]]:
    return [
        (relation, cases.ask(entity, relation, top=-1)),
        ((relation, -1), cases.ask_head(relation, entity, top=-1)),
    ]


def assert_default_answers(
    added: list[Fact], entity: str, relation: str, settings: Settings
) -> int:
    """The answers are those of the plain version; returns how many there are."""
    cases = case_base(added, settings)
    seen = oracle.both_ways(added)
    found = 0
    for label, answers in asked_both_ways(cases, entity, relation):
        expected = default_scores(seen, seen, entity, label, settings)
        if settings.precedents and settings.precedent_weight > 0:
            assert_nearly_ranked(answers, expected, settings)
        else:
            assert_ranked(answers, expected)
        known = {answer.entity for answer in answers if answer.known}
        reached = {answer.entity for answer in answers}
        assert known == oracle.answers(seen, entity, label) & reached
        found += len(answers)
    return found


def assert_paper_answers(
    added: list[Fact], entity: str, relation: str, settings: Settings
) -> int:
    """The answers are those of equation 1; returns how many there are."""
    cases = case_base(added, settings)
    seen = oracle.both_ways(added)
    names = cases.graph.entities.names
    cluster_of = dict(zip(names, cases.state.clusters.entities.tolist(), strict=True))
    cluster = [name for name in names if cluster_of[name] == cluster_of[entity]]
    found = 0
    for label, answers in asked_both_ways(cases, entity, relation):
        assert_ranked(answers, paper_scores(seen, entity, label, cluster, settings))
        found += len(answers)
    return found


def random_question(random: Random, **sizes: int) -> tuple[list[Fact], str, str]:
    """The facts of a graph, and an entity and a relation of it."""
    added = random_facts(random, **sizes)
    head, _, tail = random.choice(added)
    entity = random.choice([head, tail])
    _, relation, _ = random.choice(added)
    return added, entity, relation


def compared_on_random_graphs(
    assert_answers: Callable[[list[Fact], str, str, Settings], int],
    settings: Settings,
    random: Random,
    graphs: int,
    **sizes: int,
) -> int:
    """Ask about each of so many random graphs; returns how many answers were compared."""
    compared = 0
    for _ in range(graphs):
        added, entity, relation = random_question(random, **sizes)
        compared += assert_answers(added, entity, relation, settings)
    return compared


def test_answers_under_the_default_settings_are_those_of_the_plain_version() -> None:
    compared = compared_on_random_graphs(
        assert_default_answers,
        Settings(),
        Random(21),
        150,
        entities=7,
        relations=3,
        facts=14,
    )
    assert compared > 600


@pytest.mark.parametrize("change", DEFAULTS, ids=str)
def test_every_setting_does_what_it_does_in_the_plain_version(
    change: dict[str, Any],
) -> None:
    settings = ALL_PATH_TYPES.but(**change)
    # Without a regression, scores are exact.
    for chosen in (settings, settings.but(precedent_weight=0.0)):
        compared = compared_on_random_graphs(
            assert_default_answers,
            chosen,
            Random(str(change)),
            30,
            entities=6,
            relations=2,
            facts=12,
        )
        assert compared > 100


def test_answers_by_paths_alone_are_those_of_the_plain_version() -> None:
    compared = compared_on_random_graphs(
        assert_default_answers,
        Settings(precedents=False),
        Random(24),
        60,
        entities=6,
        relations=2,
        facts=14,
    )
    assert compared > 60


@pytest.mark.parametrize("change", DEFAULTS, ids=str)
def test_every_setting_matters_on_these_graphs(change: dict[str, Any]) -> None:
    tried = next(iter(change))
    settings = ALL_PATH_TYPES.but(**change)
    without = settings.but(**{tried: getattr(ALL_PATH_TYPES, tried)})
    random = Random(str(change))
    differing = 0
    for _ in range(30):
        added, entity, relation = random_question(
            random, entities=6, relations=2, facts=12
        )
        answers = asked_both_ways(case_base(added, settings), entity, relation)
        differing += answers != asked_both_ways(
            case_base(added, without), entity, relation
        )
    assert differing > 0


def test_answers_under_the_papers_settings_are_those_of_equation_1() -> None:
    compared = compared_on_random_graphs(
        assert_paper_answers, PAPER, Random(22), 100, entities=7, relations=3, facts=13
    )
    assert compared > 150


@pytest.mark.parametrize("change", LETTERS, ids=str)
def test_equation_1_holds_for_every_choice_of_the_papers_letters(
    change: dict[str, Any],
) -> None:
    settings = PAPER.but(**change)
    # Without it, fewer path types are worth anything.
    facts = 12 if settings.fallback else 16
    random = Random(str(change))
    compared = compared_on_random_graphs(
        assert_paper_answers, settings, random, 25, entities=7, relations=2, facts=facts
    )
    assert compared > 15


@example_settings(max_examples=40)
@given(fact_lists(least=1, most=10), st.integers(0, 9), st.integers(0, 9))
def test_any_question_is_answered_as_in_the_plain_version(
    added: list[Fact], asked: int, about: int
) -> None:
    entity = added[asked % len(added)][0]
    relation = added[about % len(added)][1]
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
    assert answers
    for answer in answers:
        (reason,) = cases.explain(answer)
        assert reason.kind == "habit"
        assert reason.share == answer.score
    assert answers.note.startswith("'never seen' has never been seen; ")
    assert list(case_base(added, PAPER).ask("never seen", added[0][1])) == []


def test_without_a_count_in_its_cluster_a_path_type_falls_back_or_is_worthless() -> (
    None
):
    """Alone in its cluster and without the relation, the asked entity has no count of its own."""
    added = [("asked", "s", "here")]
    for k in range(3):
        added += [(f"a{k}", "r", f"b{k}"), (f"a{k}", "s", f"b{k}")]
    as_to_everyone = PAPER.but(clustering="entity")
    nothing = as_to_everyone.but(fallback=False)
    answers = case_base(added, as_to_everyone).ask("asked", "r")
    assert [answer.entity for answer in answers] == ["here"]
    assert list(case_base(added, nothing).ask("asked", "r")) == []
    with_fallback = assert_paper_answers(added, "asked", "r", as_to_everyone)
    without = assert_paper_answers(added, "asked", "r", nothing)
    assert with_fallback > without


def test_only_path_types_that_lead_anywhere_count_towards_their_limit() -> None:
    """b is worth more than c, but the asked entity has no b."""
    added = [("c9", "goal", "elsewhere"), ("c9", "c", "x9"), ("asked", "c", "here")]
    for letter, k in product("bc", range(4)):
        added += [(f"{letter}{k}", letter, f"x{k}"), (f"{letter}{k}", "goal", f"x{k}")]
    cases = case_base(added, Settings(path_types=1, precedents=False))
    goal = forward(cases.graph.relations.names.index("goal"))
    lists = relation_query(cases.state, goal, ids([0])).lists
    best = lists.types[lists.walked[0]]
    assert path_type_in_oracle(cases.graph, int(best), 3) == ("b",)
    assert [answer.entity for answer in cases.ask("asked", "goal")] == ["here"]


@given(fact_lists(least=1), st.integers(1, 3))
def test_the_relation_itself_is_never_walked(added: list[Fact], support: int) -> None:
    for settings in (
        Settings(support=support),
        Settings(weight="prior", combination="sum"),
        PAPER,
    ):
        cases = case_base(added, settings)
        everyone = ids(range(len(cases.graph.entities)))
        for relation in range(2 * len(cases.graph.relations)):
            lists = relation_query(cases.state, relation, everyone).lists
            itself = packed([relation], settings.max_length)
            assert itself not in lists.types[lists.walked].tolist()
            for start, end in pairwise(lists.offsets):
                best = lists.weights.larger[start:end]
                assert (np.diff(best) <= 0).all()
                assert (best > 0).all()


def assert_scored_as_unknown(
    added: list[Fact], fact: Fact, settings: Settings
) -> float:
    """The plain version for an entity that does not see the fact, nor is it counted as right.

    Returns the score.
    """
    counted = oracle.both_ways(added)
    seen = oracle.left_after(counted, fact)
    head, relation, tail = fact
    hidden = tail if tail != head else None
    expected = default_scores(seen, counted, head, relation, settings, hidden).get(
        tail, 0.0
    )
    (score,) = case_base(added, settings).score([fact])
    assert score == pytest.approx(expected, rel=EXACT, abs=tolerance(settings))
    return score


@pytest.mark.parametrize(
    "settings",
    [Settings(), Settings(linked=False), Settings(precedent_weight=0.0)],
    ids=["default", "not linked", "without a regression"],
)
def test_a_fact_scores_as_if_the_entity_did_not_know_it(settings: Settings) -> None:
    random = Random(23)
    scores = []
    for _ in range(150):
        added = random_facts(random, entities=6, relations=3, facts=14)
        others = [fact for fact in added if fact[0] != fact[2]]
        if others:
            scores.append(assert_scored_as_unknown(added, others[0], settings))
    assert sum(score > 0 for score in scores) > 50


@example_settings(max_examples=40)
@given(crowded_facts(), st.data())
def test_a_fact_that_is_not_there_scores_as_it_is_answered(
    added: list[Fact], data: st.DataObject
) -> None:
    names = st.sampled_from(sorted(oracle.entities(added)))
    fact = (data.draw(names), added[0][1], data.draw(names))
    assume(fact not in added)
    for settings in (Settings(slots=False), PAPER):
        assert_scored_as_answered(added, fact, settings)


def test_a_fact_that_is_not_there_scores_as_it_is_answered_by_slots() -> None:
    added = [
        ("e0", "r1", "e2"),
        ("e1", "r1", "e0"),
        ("e1", "r1", "e1"),
        ("e1", "r1", "e2"),
        ("e2", "r1", "e2"),
        ("e3", "r1", "e0"),
        ("e3", "r1", "e2"),
    ]
    assert_scored_as_answered(added, ("e3", "r1", "e1"), Settings())


def assert_scored_as_answered(
    added: list[Fact], fact: Fact, settings: Settings
) -> None:
    head, relation, tail = fact
    cases = case_base(added, settings)
    score_of = {
        answer.entity: answer.score for answer in cases.ask(head, relation, top=-1)
    }
    assert cases.score([fact]) == [score_of.get(tail, 0.0)]


def test_a_fact_from_an_entity_to_itself_scores_as_if_it_were_not_known() -> None:
    """The fact is seen from both its ends, and both are the entity:
    others that are reached from it share it too.
    """
    added = [
        ("e", "r", "e"),
        ("e", "r", "a"),
        ("e", "r", "b"),
        ("a", "r", "e"),
        ("b", "r", "e"),
    ]
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
    graph = cases.graph
    everyone = ids(range(len(graph.entities)))
    for relation, entity in product(range(len(graph.relations)), everyone.tolist()):
        answers = cases.ask(graph.entities[entity], graph.relations[relation], top=-1)
        score_of = {answer.entity: answer.score for answer in answers}
        known = np.sort(graph.answers(entity, forward(relation)))
        standing = standings(
            cases.state,
            (forward(relation), ids([entity])),
            (np.array([0, len(everyone)]), everyone),
            (np.array([0, len(known)]), known),
        )
        passed_over = {graph.entities[other] for other in known.tolist()}
        for place, target in enumerate(graph.entities.names):
            own = score_of.get(target, 0.0)
            rivals = score_of.keys() - passed_over - {target}
            scores = [score_of[rival] for rival in rivals]
            assert standing.score[place] == own
            assert standing.better[place] == sum(score > own for score in scores)
            assert standing.equal[place] == sum(score == own for score in scores)
            assert 0 <= standing.earlier[place] <= standing.equal[place]


@example_settings(max_examples=40)
@given(fact_lists(least=1), st.integers(0, 5))
def test_the_best_few_are_the_first_of_all(added: list[Fact], top: int) -> None:
    for settings in (Settings(), PAPER):
        cases = case_base(added, settings)
        for head, relation, _ in added[:4]:
            every = cases.ask(head, relation, top=-1)
            assert cases.ask(head, relation, top=top).found == every.found[:top]


def test_a_sum_does_not_depend_on_the_order_in_which_facts_came() -> None:
    random = Random(5)
    for _ in range(40):
        facts = random_facts(random, entities=7, relations=3, facts=22)
        settings = Settings(combination="sum", support=1, max_length=2)
        questions = sorted({(fact[0], fact[1]) for fact in facts})
        one = case_base(facts, settings)
        other = case_base(shuffled(random, facts), settings)
        assert one.ask_many(questions, top=-1) == other.ask_many(questions, top=-1)
        answers = list(chain.from_iterable(one.ask_many(questions, top=2)))
        assert one.explain_all(answers) == other.explain_all(answers)
        for explanation in one.explain_all(answers):
            shares = [reason.share for reason in explanation]
            # Without the compensation that `sum` has.
            assert reduce(add, shares, 0.0) == explanation.answer.score
