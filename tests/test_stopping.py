"""Walking stops when what was asked for is settled, queries share what they find:
and no answer depends on that.
"""

from random import Random
from typing import Any

import numpy as np
import pytest
from tests.strategies import random_facts

from casegraph import kernels
from casegraph.answering.query import (
    Found,
    Standings,
    answers,
    relation_query,
    standings,
)
from casegraph.casebase import CaseBase
from casegraph.graph.arrays import ids
from casegraph.settings import Settings

VARIANTS: list[dict[str, Any]] = [
    {},
    {"discount": 0.0},
    {"discount": 1.0},
    {"ridge": 1.0},
    {"precedent_weight": 0.0},
    {"precedent_weight": 100.0},
    {"nearest": 3},
    {"decisive": 0.1},
    {"decisive": 1.0},
    {"best": 1},
    {"habit": 1.0},
    {"habit": 0.0},
    {"path_types": 7},
    {"path_types": None, "support": 1},
    {"precedents": False},
    {"max_length": 4, "path_types": 30},
    {"neighbours": 3},
    {"linked": False},
    {"linked": False, "habit": 1.0, "discount": 1.0},
]
MANY = 32  # targets: with more, nobody stops


def random_cases(random: Random, **changes: Any) -> CaseBase:
    cases = CaseBase(Settings(**changes))
    cases.update(add=random_facts(random, entities=40, relations=4, facts=160))
    return cases


def followed(cases: CaseBase, relation: int, entities: list[int], top: int) -> int:
    """Edges looked at to find the best answers."""
    _, kernel, list_of_each = relation_query(cases.state, relation, ids(entities))
    unknown = np.full(len(entities), -1, dtype=np.int32)
    asked = kernel, ids(entities), list_of_each, unknown, cases.state.workspaces
    *_, edges = kernels.answers(*asked, top, False, 1)
    return edges


def standing(
    cases: CaseBase, relation: int, entity: int, targets: list[int]
) -> Standings:
    query = relation, ids([entity])
    asked_for = np.array([0, len(targets)]), ids(targets)
    none_known = np.zeros(2, dtype=np.int64), ids()
    return standings(cases.state, query, asked_for, none_known)


def assert_first_of(best: Found, whole: Found, top: int) -> None:
    """The best few are the first of all, to the last bit of their scores."""
    assert best.entities.tolist() == whole.entities[:top].tolist()
    assert best.scores.tobytes() == whole.scores[:top].tobytes()


def assert_stand_alike(few: Standings, whole: Standings, first: int) -> None:
    """Some targets stand where they stand among all, the first of them at this place."""
    for column in ("score", "better", "equal", "earlier"):
        alone = getattr(few, column)
        among_all = getattr(whole, column)[first : first + len(alone)]
        assert alone.tolist() == among_all.tolist()


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_the_best_few_are_found_with_less_work_and_to_the_last_bit(
    changes: dict[str, Any],
) -> None:
    random = Random(str(changes))
    all_work = 0
    work = 0
    for _ in range(2):
        cases = random_cases(random, **changes)
        everyone = list(range(len(cases.graph.entities)))
        for relation in range(cases.graph.directions):
            whole = answers(cases.state, relation, ids(everyone), top=-1)
            for top in (1, 3, 10):
                few = answers(cases.state, relation, ids(everyone), top=top)
                for found, best in zip(whole, few, strict=True):
                    assert_first_of(best, found, top)
            all_work += followed(cases, relation, everyone, -1)
            work += followed(cases, relation, everyone, 1)
    assert 0 < work < all_work


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_new_answers_are_all_answers_without_those_that_are_known(
    changes: dict[str, Any],
) -> None:
    cases = random_cases(Random(str(changes)), **changes)
    graph = cases.graph
    everyone = ids(range(len(graph.entities)))
    skipped = 0
    for relation in range(graph.directions):
        known = [graph.answers(entity, relation) for entity in everyone.tolist()]
        hidden = ids(its_known[0] if len(its_known) else -1 for its_known in known)
        for nothing_or_one in (None, hidden):
            whole = answers(
                cases.state, relation, everyone, top=-1, hidden=nothing_or_one
            )
            few = answers(
                cases.state,
                relation,
                everyone,
                top=3,
                new_only=True,
                hidden=nothing_or_one,
            )
            for entity, found, new in zip(everyone.tolist(), whole, few, strict=True):
                left_out = known[entity]
                if nothing_or_one is not None:
                    left_out = left_out[left_out != hidden[entity]]
                is_new = ~np.isin(found.entities, left_out)
                assert new.entities.tolist() == found.entities[is_new][:3].tolist()
                assert new.scores.tobytes() == found.scores[is_new][:3].tobytes()
                skipped += int((~is_new[:3]).sum())
    assert skipped > 0


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_leave_one_out_stops_early_to_the_last_bit(changes: dict[str, Any]) -> None:
    cases = random_cases(Random(str(changes)), **changes)
    compared = 0
    for relation in range(cases.graph.directions):
        heads, _, tails = cases.graph.rows(relation).T.copy()
        whole = answers(cases.state, relation, heads, top=-1, hidden=tails)
        for top in (1, 3):
            few = answers(cases.state, relation, heads, top=top, hidden=tails)
            for found, best in zip(whole, few, strict=True):
                assert_first_of(best, found, top)
                compared += len(best.entities)
    assert compared > 100


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_a_target_stands_where_it_stands_among_all(changes: dict[str, Any]) -> None:
    random = Random(str(changes))
    cases = random_cases(random, **changes)
    everyone = list(range(len(cases.graph.entities)))
    assert len(everyone) > MANY
    for relation in range(cases.graph.directions):
        for entity in random.sample(everyone, 8):
            whole = standing(cases, relation, entity, everyone)
            for first in everyone[::2]:
                few = standing(cases, relation, entity, everyone[first : first + 2])
                assert_stand_alike(few, whole, first)


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_a_target_stands_where_the_answers_say(changes: dict[str, Any]) -> None:
    """Also among the answers about an entity of which nothing is known."""
    cases = random_cases(Random(str(changes)), **changes)
    everyone = list(range(len(cases.graph.entities)))
    for relation in range(cases.graph.directions):
        for entity in (-1, *everyone[::5]):
            (found,) = answers(cases.state, relation, ids([entity]), top=-1)
            score_of = dict(found.pairs())
            whole = standing(cases, relation, entity, everyone)
            for target in everyone:
                score = score_of.get(target, 0.0)
                assert whole.score[target] == score
                assert whole.better[target] == sum(
                    other > score for other in score_of.values()
                )
                if score > 0:
                    as_much = sum(other == score for other in score_of.values())
                    assert whole.equal[target] == as_much - 1


def crowded_facts(random: Random) -> list[tuple[str, str, str]]:
    """People who each have a third of all skills and half of all jobs.

    Skills have very different numbers of people, and equal people give equal scores.
    """
    facts = []
    for number in range(120):
        twin = Random(number // 2)
        skills = [k for k in range(240) if twin.random() < (k + 1) / 300]
        jobs = [k for k in range(80) if twin.random() < (1 + k % 7) / 10]
        facts += [(f"p{number}", "skill", f"s{k}") for k in skills]
        facts += [(f"p{number}", "job", f"j{k}") for k in jobs]
        facts.append((f"p{number}", "knows", f"p{random.randrange(120)}"))
    return facts


@pytest.mark.parametrize(
    "changes",
    [{}, {"best": 1, "habit": 1.0}, {"nearest": 20}, {"precedent_weight": 100.0}],
    ids=str,
)
def test_where_many_share_much_the_best_few_are_found_to_the_last_bit(
    changes: dict[str, Any],
) -> None:
    random = Random(str(changes))
    cases = CaseBase(Settings(max_length=2, **changes))
    cases.update(add=crowded_facts(random))
    everyone = list(range(len(cases.graph.entities)))
    some = random.sample(everyone, 10)
    for relation in range(cases.graph.directions)[:4]:
        whole = answers(cases.state, relation, ids(some), top=-1)
        for top in (1, 10):
            few = answers(cases.state, relation, ids(some), top=top)
            for found, best in zip(whole, few, strict=True):
                assert_first_of(best, found, top)
        for entity in some[:3]:
            among_all = standing(cases, relation, entity, everyone)
            for target in everyone[::40]:
                alone = standing(cases, relation, entity, [target])
                assert_stand_alike(alone, among_all, target)


@pytest.mark.parametrize("budget", [1, 30, 100, 300])
def test_what_a_small_budget_leaves_out_does_not_depend_on_what_is_asked_for(
    budget: int,
) -> None:
    cases = random_cases(Random(300), budget=budget)
    everyone = ids(range(len(cases.graph.entities)))
    exact = []
    for relation in range(cases.graph.directions):
        whole = answers(cases.state, relation, everyone, top=-1)
        few = answers(cases.state, relation, everyone, top=2)
        for found, best in zip(whole, few, strict=True):
            assert best.exact == found.exact
            assert_first_of(best, found, 2)
            exact.append(found.exact)
    assert not all(exact), "the budget left nothing out"


def test_many_that_ask_at_once_are_answered_as_each_alone() -> None:
    """Whatever queries of a batch share, each finds what it would find by itself."""
    random = Random(5)
    shared = [
        (f"e{number}", f"r{number % 2}", f"hub{number % 3 // 2}")
        for number in range(60)
    ]
    cases = CaseBase()
    cases.update(
        add=[*random_facts(random, entities=60, relations=4, facts=240), *shared]
    )
    everyone = range(len(cases.graph.entities))
    for relation in range(cases.graph.directions):
        together = answers(cases.state, relation, ids(everyone), top=-1)
        for entity, found in zip(everyone, together, strict=True):
            (alone,) = answers(cases.state, relation, ids([entity]), top=-1)
            assert_first_of(alone, found, len(found.entities))
