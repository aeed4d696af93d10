"""Audits list the least probable facts first, each as if it were missing."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from tests.commands import records, run
from tests.strategies import Fact, random_facts, shuffled

from casegraph import world
from casegraph.answering.belief import probabilities
from casegraph.answering.pair_strengths import Pairs
from casegraph.answering.query import answers
from casegraph.batch.audit import NO_REASON, Finding, audit
from casegraph.casebase import CaseBase
from casegraph.errors import InvalidArgument, UnknownName
from casegraph.graph.arrays import ids
from casegraph.graph.descriptions import Description
from casegraph.graph.directions import forward, inverse
from casegraph.settings import Settings

FACTS = random_facts(Random(83), entities=12, relations=3, facts=50)


def case_base(facts: Sequence[Fact], settings: Settings | None = None) -> CaseBase:
    cases = CaseBase(settings)
    cases.update(add=facts)
    return cases


def fact_of(found: Finding) -> Fact:
    return found.head, found.relation, found.tail


def ids_of(cases: CaseBase, fact: Fact) -> tuple[int, int, int]:
    """Head, direction of the relation, and tail of a known fact."""
    head, relation, tail = fact
    found = cases.graph.entities.find(head), cases.graph.entities.find(tail)
    number = cases.graph.relations.find(relation)
    assert found[0] is not None
    assert found[1] is not None
    assert number is not None
    return found[0], forward(number), found[1]


def test_doubt_is_one_minus_the_belief_in_the_fact_as_if_it_were_absent() -> None:
    cases = case_base(FACTS)
    found = audit(cases, top=1_000)
    assert sorted(map(fact_of, found)) == sorted(FACTS)
    for one in found:
        head, relation, tail = ids_of(cases, fact_of(one))
        pair = Pairs(relation, ids([head]), ids([tail]), are_facts=True)
        probable = probabilities(cases.state, pair)
        assert probable is not None
        (probability,) = probable
        assert one.probability == probability
        assert one.doubt == 1 - probability
    assert len({one.doubt for one in found}) > 20


def test_doubt_is_nearly_that_of_a_graph_without_the_fact() -> None:
    cases = case_base(world.facts())
    cases.tune()
    found = audit(cases, relations=("citizen of",), top=1_000)[::20]
    for one in found:
        without = cases.what_if(retract=[fact_of(one)])
        asked = without.ask(one.head, one.relation, top=-1)
        given = [answer for answer in asked if answer.entity == one.tail]
        expected = given[0].probability if given else 0.0
        # Hiding a fact leaves the resemblance of entities as it is; retracting it does not.
        assert one.probability == pytest.approx(expected, abs=0.05)
    assert found[0].doubt > 0.9
    assert found[-1].doubt < 0.1


def test_the_most_doubtful_come_first() -> None:
    found = audit(case_base(FACTS), top=1_000)
    doubts = [one.doubt for one in found]
    assert doubts == sorted(doubts, reverse=True)
    assert audit(case_base(FACTS), top=7) == found[:7]
    assert audit(case_base(shuffled(Random(2), FACTS)), top=1_000) == found
    of_one_relation = [one for one in found if one.relation == "r1"]
    assert audit(case_base(FACTS), relations=("r1",), top=1_000) == of_one_relation


def test_scores_ranks_and_the_other_answer_are_those_without_the_fact() -> None:
    cases = case_base(FACTS)
    state = cases.state
    known_first = 0
    for one in audit(cases, top=1_000):
        head, relation, tail = ids_of(cases, fact_of(one))
        (tails,) = answers(state, relation, ids([head]), top=-1, hidden=ids([tail]))
        (heads,) = answers(
            state, inverse(relation), ids([tail]), top=-1, hidden=ids([head])
        )
        assert one.tail_score == dict(tails.pairs()).get(tail, 0.0)
        assert one.head_score == dict(heads.pairs()).get(head, 0.0)
        known = set(state.graph.answers(head, relation).tolist()) - {tail}
        new = [
            (entity, score) for entity, score in tails.pairs() if entity not in known
        ]
        better = sum(score > one.tail_score for _, score in new)
        assert one.rank == (better + 1 if one.tail_score else None)
        others = [entity for entity, _ in new if entity != tail]
        assert one.instead == (state.graph.entities[others[0]] if others else None)
        known_first += int(tails.entities[0]) in known
    assert known_first > 5


def test_known_answers_that_rank_higher_are_no_doubt() -> None:
    found = audit(case_base(world.facts()), top=50)
    assert sum(one.relation == "borders" for one in found) < 10
    assert sum(one.rank == 1 for one in found) < 10


def test_equal_doubts_are_told_apart_by_what_they_were_rounded_from() -> None:
    planted = ("London", "city in", "Japan")
    cases = case_base([*world.facts(), planted])
    cases.tune()
    found = audit(cases, top=20)
    assert planted in map(fact_of, found)
    assert round(found[0].doubt, 4) == round(found[-1].doubt, 4) == 1


def test_without_evidence_facts_of_a_relation_come_by_name() -> None:
    facts = [(f"country {name}", "currency", f"money {name}") for name in "dbacfe"]
    found = audit(case_base(facts))
    assert [one.head for one in found] == [f"country {name}" for name in "abcdef"]


def test_a_fact_that_was_planted_comes_first() -> None:
    facts = [(f"city {n}", "city in", f"land {n % 4}") for n in range(24)]
    facts += [(f"person {n}", "born in", f"city {n % 24}") for n in range(48)]
    facts += [(f"person {n}", "citizen of", f"land {n % 4}") for n in range(48)]
    planted = ("person 5", "citizen of", "land 2")
    found = audit(case_base([*facts, planted]), relations=("citizen of",), top=2)
    assert fact_of(found[0]) == planted
    assert found[0].doubt > found[1].doubt + 0.01


@pytest.mark.parametrize("is_tuned", [False, True], ids=["usual", "tuned"])
def test_planted_errors_are_found(is_tuned: bool) -> None:
    facts = world.facts()
    random = Random(1)
    entities = sorted({name for fact in facts for name in (fact.head, fact.tail)})
    planted = set[Fact]()
    while len(planted) < len(facts) // 20:
        head, relation, tail = random.choice(facts)
        wrong = (
            (head, relation, random.choice(entities))
            if random.random() < 0.5
            else (random.choice(entities), relation, tail)
        )
        if wrong not in facts and wrong[0] != wrong[2]:
            planted.add(wrong)
    cases = case_base([*facts, *sorted(planted)])
    if is_tuned:
        cases.tune()
    found = audit(cases, top=10_000)
    is_wrong = np.array([fact_of(one) in planted for one in found])
    # Of all pairs of a wrong and a right fact, how often the wrong one is listed first.
    right_after = np.count_nonzero(~is_wrong) - np.cumsum(~is_wrong)
    auroc = right_after[is_wrong].mean() / np.count_nonzero(~is_wrong)
    assert auroc >= 0.92


def test_each_fact_has_a_reason_or_says_that_nothing_speaks_for_it() -> None:
    cases = case_base([*FACTS, ("lonely", "r1", "island")])
    found = audit(cases, top=1_000)
    for one in found:
        assert len(one.reasons) == 1
        assert (one.reasons[0] == NO_REASON) == (not one.tail_score + one.head_score)
        assert one.instead_reasons is None
    assert {fact_of(one): one for one in found}["lonely", "r1", "island"].reasons == (
        NO_REASON,
    )
    explained = audit(cases, top=1_000, explain=True)
    assert list(map(fact_of, explained)) == list(map(fact_of, found))
    for one, more in zip(found, explained, strict=True):
        assert more.reasons[:1] == one.reasons
        assert (more.instead is None) == (not more.instead_reasons)
    assert max(len(one.reasons) for one in explained) == 3


def test_a_fact_that_only_its_tail_speaks_for_has_the_reason_of_the_tail() -> None:
    found = audit(case_base(world.facts()), top=10_000)
    from_tail = [one for one in found if one.head_score and not one.tail_score]
    assert from_tail
    assert all(one.reasons != (NO_REASON,) for one in from_tail)


def test_findings_have_labels_where_the_graph_has_them() -> None:
    cases = case_base(FACTS)
    plain = audit(cases, top=3)
    assert all("head_label" not in one.as_dict() for one in plain)
    names = [Description(f"e{number}", f"Entity {number}") for number in range(12)]
    cases.update(describe=names)
    labelled = audit(cases, top=3)
    for one, before in zip(labelled, plain, strict=True):
        assert fact_of(one) == fact_of(before)
        assert one.head_label == f"Entity {one.head[1:]}"
        assert one.tail_label == f"Entity {one.tail[1:]}"
        assert one.as_dict()["relation_label"] == one.relation


def test_settings_without_belief_doubt_by_score() -> None:
    cases = case_base(FACTS, Settings.paper("FB122"))
    found = audit(cases, top=1_000)
    assert {one.probability for one in found} == {None}
    doubts = [one.doubt for one in found]
    assert doubts == sorted(doubts, reverse=True)
    alone = [one for one in found if one.instead is None]
    assert all(one.doubt == -one.tail_score for one in alone)
    assert len(set(doubts)) > 5


def test_what_cannot_be_audited_is_refused() -> None:
    cases = case_base(FACTS)
    with pytest.raises(InvalidArgument, match="top is 0; expected at least 1"):
        audit(cases, top=0)
    with pytest.raises(UnknownName, match="no relation is named 'r9'"):
        audit(cases, relations=("r9",))


def test_the_command_prints_facts_with_reasons() -> None:
    arguments = ("audit", "world", "--relations", "citizen of", "--top", "4")
    rows = records(*arguments)
    assert len(rows) == 4
    assert all(row["doubt"] == 1 - row["probability"] for row in rows)
    assert all(row["reasons"] for row in rows)
    printed = run(*arguments)
    assert printed.exit_code == 0
    assert printed.stdout.splitlines()[0].split() == [
        "doubt",
        "head",
        "relation",
        "tail",
        "rank",
        "instead",
        "reasons",
    ]
    explained = run(*arguments, "--explain")
    assert explained.stdout.count("(doubt ") == 4
    assert "  instead " in explained.stdout
