"""A fact that is asked for is left out of the counts of path types, as if counted without it.

What leaving out does is exact where path types do not follow the query relation, the head of the
fact has other answers, and no slot opens by its removal for others. Here that is so for all facts:
every path goes from a person over a place to a job, in two steps.
"""

from random import Random
from typing import Any

import numpy as np
import pytest

from casegraph.answering.query import answers, standings
from casegraph.answering.reasons import reasons
from casegraph.casebase import CaseBase
from casegraph.graph.arrays import ids
from casegraph.graph.directions import forward
from casegraph.graph.graph import Query
from casegraph.settings import Settings

PATHS_ONLY = Settings(max_length=2, precedents=False)
Fact = tuple[str, str, str]


def people_and_jobs(random: Random) -> list[Fact]:
    """Jobs that many have, and jobs that one has and that only the own place leads to."""
    facts = {("nobody", "does", "nothing")}
    for number in range(30):
        person = f"person {number}"
        for place in random.sample(range(6), 2):
            facts.add((person, random.choice(("near", "at")), f"place {place}"))
        for job in random.sample(range(5), 3):
            facts.add((person, "does", f"job {job}"))
        if number % 2:
            facts |= {
                (person, "at", f"own {number}"),
                (f"own {number}", "has", f"rare {number}"),
            }
        if number % 4 == 1:
            facts.add((person, "does", f"rare {number}"))
    for place in range(6):
        for job in random.sample(range(5), 3):
            facts.add((f"place {place}", random.choice(("has", "needs")), f"job {job}"))
    return sorted(facts)


def cases_of(facts: list[Fact], **changes: Any) -> CaseBase:
    cases = CaseBase(PATHS_ONLY.but(**changes))
    cases.update(add=facts)
    return cases


def scores(cases: CaseBase, person: str, hidden: str | None = None) -> dict[str, float]:
    """What each job scores for a person; exactly as much as it should, to 12 digits."""
    names = cases.graph.entities.names
    entity = names.index(person)
    hidden_entity = -1 if hidden is None else names.index(hidden)
    (found,) = answers(
        cases.state, does(cases), ids([entity]), top=-1, hidden=ids([hidden_entity])
    )
    return {names[answer]: round(score, 12) for answer, score in found.pairs()}


def does(cases: CaseBase) -> int:
    """The relation that is asked about."""
    return forward(cases.graph.relations.names.index("does"))


@pytest.mark.parametrize(
    "changes", [{}, {"slots": False}, {"best": 1}, {"decisive": 0.1}], ids=str
)
@pytest.mark.parametrize("seed", range(3))
def test_leaving_a_fact_out_is_counting_without_it(
    seed: int, changes: dict[str, Any]
) -> None:
    facts = people_and_jobs(Random(seed))
    cases = cases_of(facts, **changes)
    differs = 0
    of_rare = 0
    for fact in facts:
        person, relation, job = fact
        if relation != "does" or person == "nobody":
            continue
        without = cases_of([other for other in facts if other != fact], **changes)
        found = scores(cases, person, hidden=job)
        assert found == scores(without, person)
        differs += found != scores(cases, person)
        of_rare += job.startswith("rare")
    assert differs > 20
    assert of_rare > 5


def test_ranks_leave_the_fact_out_too() -> None:
    facts = people_and_jobs(Random(0))
    cases = cases_of(facts)
    entities = cases.graph.entities
    relation = does(cases)
    heads, _, tails = cases.graph.rows(relation).T.copy()
    one_each = np.arange(len(tails) + 1)
    nothing = np.zeros(len(tails) + 1, dtype=np.int64), ids()
    standing = standings(
        cases.state, (relation, heads), (one_each, tails), nothing, hidden=tails
    )
    for head, tail, score in zip(
        heads.tolist(), tails.tolist(), standing.score, strict=True
    ):
        person = entities[head]
        job = entities[tail]
        expected = scores(cases, person, hidden=job).get(job, 0.0)
        assert round(float(score), 12) == expected
    assert (standing.score > 0).sum() > 20


@pytest.mark.parametrize("seed", range(3))
def test_the_counts_of_a_reason_are_those_that_its_worth_comes_from(seed: int) -> None:
    cases = cases_of(people_and_jobs(Random(seed)), slots=False)
    relation = does(cases)
    shown = 0
    for head, _, tail in cases.graph.rows(relation).tolist():
        for found in (tail, *cases.graph.answers(head, relation).tolist()):
            for reason in reasons(
                cases.state, Query(head, relation), found, hidden=tail
            ):
                assert reason.worth == pytest.approx(reason.count / (reason.of + 5))
                shown += 1
    assert shown > 100
