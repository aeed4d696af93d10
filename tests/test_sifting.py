"""Of many shared facts only the best few count for an answer. So what their sharers say is sifted,
and facts that very many share wait until the leaders need them; and no answer depends on that.
"""

from collections import Counter, defaultdict
from functools import cache
from itertools import islice
from random import Random
from typing import Any

import numpy as np
import pytest
from tests import oracle
from tests.strategies import Fact

from casegraph.answering.query import Found, answers, standings
from casegraph.casebase import CaseBase
from casegraph.graph.arrays import ids
from casegraph.graph.directions import forward
from casegraph.settings import KindWeights, Settings

ONLY_SHARED = KindWeights(path=0, answers_fact=0, near_answers=0, neighbours=0)
# What changes how many facts count for an answer, how much they are worth, and for whom.
VARIANTS: list[dict[str, Any]] = [
    {},
    {"best": 1},
    {"best": 2, "discount": 1.0},
    {"best": 8, "discount": 1.0},
    {"support": 1, "doubt": 0.1},
    {"support": 4},
    {"linked": False},
    {"habit": 1.0},
]


@cache
def town() -> list[Fact]:
    """People who have many skills in common, a few of many jobs, and who know some others.

    A skill is shared by few or by nearly all, and a job is given by few or by many. Some have the
    same sharers: each fifth skill has a certificate, and so has each tenth job.
    """
    random = Random(7)
    people = [f"person {number}" for number in range(200)]
    facts = set[Fact]()
    for person in people:
        facts |= {
            (person, "skill", f"skill {k}")
            for k in range(240)
            if random.random() < (k + 1) / 300
        }
        facts |= {
            (person, "job", f"job {int(600 * random.random() ** 3)}") for _ in range(6)
        }
        facts |= {(person, "knows", random.choice(people)) for _ in range(3)}
    certificates = {
        (person, "certificate", f"{tail}, certified")
        for person, relation, tail in facts
        if relation != "knows"
        and int(tail.split()[1]) % (5 if relation == "skill" else 10) == 0
    }
    return sorted(fact for fact in facts | certificates if fact[0] != fact[2])


@cache
def cases_of_town(**changes: Any) -> CaseBase:
    cases = CaseBase(Settings(max_length=1, **changes))
    cases.update(add=town())
    return cases


def everyone_and(cases: CaseBase, relation: str) -> tuple[int, list[int]]:
    """A relation, and all who have it."""
    number = forward(cases.graph.relations.names.index(relation))
    return number, sorted(set(cases.graph.rows(number)[:, 0].tolist()))


def plain_scores(
    entity: str, relation: oracle.Name, settings: Settings
) -> dict[str, float]:
    """What shared facts and the habit say, by counting one fact after the other."""
    tails = defaultdict[tuple[str, oracle.Name], set[str]](set)
    facts = set[tuple[oracle.Name, str]]()
    for head, label, tail in oracle.both_ways(town()):
        tails[head, label].add(tail)
        if head == entity:
            facts.add((label, tail))

    def given_by(others: set[str]) -> Counter[str]:
        return Counter(answer for other in others for answer in tails[other, relation])

    pieces = defaultdict[str, dict[str, list[float]]](lambda: defaultdict(list))
    everybody = {head for (head, label), said in tails.items() if said}
    having = {other for other in everybody if tails.get((other, relation))} - {entity}
    for label, tail in facts:
        sharers = tails[tail, oracle.inverse(label)] & having
        for answer, count in given_by(sharers).items():
            if count >= settings.support and (label, tail) != (relation, answer):
                worth = count / (len(sharers) + settings.doubt)
                pieces[answer]["shared_fact"].append(worth)
    for answer, count in given_by(having).items():
        worth = settings.habit * count / (len(having) + settings.doubt)
        pieces[answer]["habit"].append(worth)

    left_out = {entity}
    if not settings.linked:
        left_out |= {tail for _, tail in facts} - tails[entity, relation]
    return {
        answer: oracle.combined(said, settings)
        for answer, said in pieces.items()
        if answer not in left_out
    }


def assert_same(found: Found, expected: Found, top: int | None = None) -> None:
    """The same answers, or the first of them, to the last bit of their scores."""
    assert found.entities.tolist() == expected.entities[:top].tolist()
    assert found.scores.tobytes() == expected.scores[:top].tobytes()


@pytest.mark.parametrize("relation", ["job", "knows", "skill"])
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_the_best_of_many_shared_facts_count_as_in_the_plain_version(
    changes: dict[str, Any], relation: str
) -> None:
    cases = cases_of_town(kinds=ONLY_SHARED, **changes)
    for entity in ("person 3", "person 150"):
        found = {
            answer.entity: answer.score
            for answer in cases.ask(entity, relation, top=-1)
        }
        expected = plain_scores(entity, relation, cases.settings)
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("relation", ["job", "knows", "skill"])
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_whoever_asks_alone_gets_the_answers_of_all_who_ask_together(
    changes: dict[str, Any], relation: str
) -> None:
    """Together, what sharers say is remembered, and nothing of it can be left out."""
    cases = cases_of_town(**changes)
    number, askers = everyone_and(cases, relation)
    some = askers[::20]
    together = answers(cases.state, number, ids(some), top=-1)
    for entity, expected in zip(some, together, strict=True):
        (alone,) = answers(cases.state, number, ids([entity]), top=-1)
        assert_same(alone, expected)


@pytest.mark.parametrize("relation", ["job", "knows", "skill"])
@pytest.mark.parametrize("kinds", [KindWeights(), ONLY_SHARED], ids=["all", "shared"])
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_the_best_answers_are_the_first_of_all_however_many_are_wanted(
    changes: dict[str, Any], kinds: KindWeights, relation: str
) -> None:
    """Deferred facts are looked up for the leaders; in some queries, all sharers are asked."""
    cases = cases_of_town(kinds=kinds, **changes)
    number, askers = everyone_and(cases, relation)
    for entity in askers[::60]:
        (whole,) = answers(cases.state, number, ids([entity]), top=-1)
        for top in (1, 10, 50, 150, 400):
            (few,) = answers(cases.state, number, ids([entity]), top=top)
            assert_same(few, whole, top)


@pytest.mark.parametrize("relation", ["job", "knows"])
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_a_few_targets_stand_where_all_answers_say(
    changes: dict[str, Any], relation: str
) -> None:
    """Facts are looked up for whoever may be better than a target, which may be nearly all."""
    cases = cases_of_town(**changes)
    number, askers = everyone_and(cases, relation)
    for entity in askers[::90]:
        (whole,) = answers(cases.state, number, ids([entity]), top=-1)
        places = range(0, len(whole.entities), len(whole.entities) // 6)
        for place in places:
            score = whole.scores[place]
            stands = standings(
                cases.state,
                (number, ids([entity])),
                (np.array([0, 1]), whole.entities[place : place + 1]),
                (np.array([0, 0]), ids()),
            )
            assert stands.score.tolist() == [score]
            assert stands.better.tolist() == [np.sum(whole.scores > score)]
            assert stands.equal.tolist() == [np.sum(whole.scores == score) - 1]


@pytest.mark.parametrize("relation", ["job", "knows", "skill"])
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_the_reasons_of_an_answer_add_up_to_its_score(
    changes: dict[str, Any], relation: str
) -> None:
    """Reasons are gathered one by one, whether they are among the best or not."""
    cases = cases_of_town(**changes)
    best = cases.ask("person 3", relation, top=-1)
    some = list(islice(best, 0, None, max(1, len(best) // 8)))
    for explanation in cases.explain_all(some):
        assert sum(reason.share for reason in explanation) == pytest.approx(
            explanation.answer.score, rel=1e-9
        )


@cache
def collectors(**changes: Any) -> CaseBase:
    """One of them has thousands of stamps, each of which a few others have as well.

    So to look all her stamps up for many clubs takes longer than to ask who has them.
    """
    random = Random(11)
    facts = [("hero", "stamp", f"stamp {k}") for k in range(3000)]
    for number in range(300):
        stamps = random.sample(range(3000), 300)
        clubs = [int(150 * random.random() ** 2) for _ in range(2)]
        facts += [(f"person {number}", "stamp", f"stamp {k}") for k in stamps]
        facts += [(f"person {number}", "club", f"club {k}") for k in set(clubs)]
    cases = CaseBase(Settings(max_length=1, **changes))
    cases.update(add=facts)
    return cases


@pytest.mark.parametrize("top", [5, 50, 100, 140])
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_where_looking_up_takes_too_long_all_are_asked(
    changes: dict[str, Any], top: int
) -> None:
    cases = collectors(**changes)
    number = forward(cases.graph.relations.names.index("club"))
    hero = cases.graph.entities.find("hero")
    assert hero is not None
    (whole,) = answers(cases.state, number, ids([hero]), top=-1)
    (few,) = answers(cases.state, number, ids([hero]), top=top)
    assert_same(few, whole, top)
