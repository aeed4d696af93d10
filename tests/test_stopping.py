"""Walking stops when what was asked for is settled, queries share what they find:
and no answer depends on that.
"""

from random import Random
from typing import Any

import numpy as np
import pytest
from tests import oracle
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
from casegraph.settings import KindWeights, Settings

VARIANTS: list[dict[str, Any]] = [
    {},
    {"discount": 0.0},
    {"discount": 1.0},
    {"answers_discount": 0.0},
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
    {"linked": False, "habit": 1.0, "kinds": KindWeights(habit=10)},
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
    habit_decides = "kinds" in changes  # then there is nothing to leave out
    assert 0 < work < all_work or (habit_decides and work == all_work)


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


ONLY_SHARED = KindWeights(shared_fact=5, answers_fact=0, near_answers=0, neighbours=0)


def crowded_facts(random: Random) -> list[tuple[str, str, str]]:
    """People who each have a third of all skills and half of all jobs.

    There are so many sharers of each fact that only the rarest are asked for their answers. Skills
    have very different numbers of people, and equal people give equal scores.
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
    "changes", [{}, {"best": 1, "habit": 1.0}, {"kinds": ONLY_SHARED}], ids=str
)
def test_facts_that_many_share_are_looked_up_for_few_to_the_last_bit(
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


@pytest.mark.parametrize("givers", range(30, 51, 2))
@pytest.mark.parametrize("is_mentioned", [False, True])
def test_an_answer_that_only_the_last_fact_speaks_for_is_not_missed(
    givers: int,
    is_mentioned: bool,
) -> None:
    """Fifty members of a guild share nothing but the guild, and some of them have a rare job.

    The guild is the fact that most entities share, so it is looked up last, and until then nothing
    but the bound says that the job may be the best answer. All who have the job are members, so
    the fact is worth as much as the bound allows. The other jobs are worth about as much as that of
    40 members.
    """
    random = Random(3)
    jobs = [f"job {number}" for number in range(80)]
    skills = [f"skill {number}" for number in range(240)]
    facts = [("asker", "skill", skill) for skill in skills]
    for number in range(120):
        person = f"person {number}"
        facts += [
            (person, "skill", skill) for skill in skills if random.random() < 0.25
        ]
        facts += [(person, "job", job) for job in jobs if random.random() < 0.4]
    facts.append(("asker", "guild", "guild"))
    facts += [(f"member {number}", "guild", "guild") for number in range(50)]
    facts += [(f"member {number}", "job", "rare job") for number in range(givers)]
    # By a fact that few share: then it is a candidate before the guild is asked.
    if is_mentioned:
        facts += [(f"member {number}", "hobby", "chess") for number in range(45, 50)]
        facts += [("member 0", "hobby", "chess"), ("member 1", "hobby", "chess")]
        facts.append(("asker", "hobby", "chess"))

    kinds = KindWeights(answers_fact=0, near_answers=0, neighbours=0)
    cases = CaseBase(Settings(max_length=1, kinds=kinds))
    cases.update(add=facts)
    for top in (1, 3):
        best = [
            (answer.entity, answer.score)
            for answer in cases.ask("asker", "job", top=top)
        ]
        whole = [
            (answer.entity, answer.score)
            for answer in cases.ask("asker", "job", top=-1)
        ]
        assert best == whole[:top]
    places = [entity for entity, _ in whole]
    assert places.index("rare job") == 0 or givers < 45


def test_facts_that_are_looked_up_say_what_their_sharers_say() -> None:
    facts = [fact for fact in crowded_facts(Random(1)) if fact[1] != "knows"]
    cases = CaseBase(Settings(max_length=1))
    cases.update(add=facts)
    sharers: dict[tuple[str, str], set[str]] = {}
    for person, relation, tail in facts:
        sharers.setdefault((relation, tail), set()).add(person)
    for person in ("p0", "p7", "p119"):
        shared = {
            fact: people - {person}
            for fact, people in sharers.items()
            if person in people
        }
        for answer in cases.ask(person, "job", top=2):
            fact_of_answer = ("job", answer.entity)
            others = sharers[fact_of_answer] - {person}
            worths = [
                len(people & others) / (len(people) + 5)
                for fact, people in shared.items()
                if fact != fact_of_answer
            ]
            reasons = cases.explain(answer).reasons
            found = [reason.worth for reason in reasons if reason.kind == "shared fact"]
            assert found
            best = sorted(worths, reverse=True)[: len(found)]
            assert sorted(found, reverse=True) == pytest.approx(best)


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
    """What is found for facts that many share is kept for the next query of the batch."""
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


def test_facts_with_the_same_sharers_are_counted_as_in_the_plain_version() -> None:
    """Each of 300 people has one of three sets of professions.
    No path type but the relation itself leads anywhere.
    """
    sets = [
        ("actor", "singer", "dancer"),
        ("actor", "singer", "writer", "poet"),
        ("actor", "poet", "dancer", "writer"),
    ]
    facts = []
    for number in range(300):
        facts += [
            (profession, "people", f"p{number}") for profession in sets[number % 3]
        ]
    facts.remove(("actor", "people", "p0"))
    kinds = KindWeights(answers_fact=0, near_answers=0, neighbours=0)
    settings = Settings(max_length=1, kinds=kinds)
    cases = CaseBase(settings)
    cases.update(add=facts)
    pieces = oracle.precedents(
        oracle.both_ways(facts),
        "actor",
        "people",
        2,
        5.0,
        0.1,
        reflexive=False,
        likeness=False,
    )
    expected = {name: oracle.combined(said, settings) for name, said in pieces.items()}
    found = {
        answer.entity: answer.score for answer in cases.ask("actor", "people", top=-1)
    }
    assert found == pytest.approx(expected, rel=1e-12)
    assert len(found) == 300
