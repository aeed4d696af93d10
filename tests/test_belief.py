"""A fact has one probability, whichever way one asks; it follows from evidence and counts alone."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import Fact, fact_lists, random_facts, shuffled

from casegraph import CaseBase, InvalidArgument, Settings, world
from casegraph.answering.belief import believed, features, probabilities
from casegraph.answering.pair_strengths import Pairs
from casegraph.graph.arrays import Flags, Floats, Ids, ids
from casegraph.graph.directions import forward
from casegraph.settings import USUAL_COEFFICIENTS, Belief
from casegraph.tuning.fitting import Examples, fitted

FACTS = random_facts(Random(4), entities=30, relations=3, facts=200)
EINSTEIN = "Albert Einstein"


def case_base(facts: list[Fact], settings: Settings | None = None) -> CaseBase:
    cases = CaseBase(settings)
    cases.update(add=facts)
    return cases


@pytest.fixture(scope="module")
def tuned_world() -> CaseBase:
    cases = CaseBase()
    cases.update(add=world.facts())
    cases.tune()
    return cases


def direction_of(cases: CaseBase, relation: str) -> int:
    found = cases.graph.relations.find(relation)
    assert found is not None
    return forward(found)


def pair_of(cases: CaseBase, fact: Fact) -> tuple[Ids, Ids]:
    head, tail = (cases.graph.entities.find(fact[place]) for place in (0, 2))
    assert head is not None
    assert tail is not None
    return ids([head]), ids([tail])


def probability(cases: CaseBase, fact: Fact) -> float:
    """The belief in a fact that the graph does not have."""
    head, relation, tail = fact
    (answer,) = cases.ask(head, relation, candidates=[tail], top=1)
    assert answer.probability is not None
    return answer.probability


@given(fact_lists(least=5))
def test_a_fact_is_as_probable_asked_for_its_head_as_for_its_tail(
    facts: list[Fact],
) -> None:
    cases = case_base(facts)
    for head, relation, _ in facts[:3]:
        for answer in cases.ask(head, relation, known="exclude"):
            heads = cases.ask_head(relation, answer.entity, top=-1, known="exclude")
            same = [other.probability for other in heads if other.entity == head]
            assert same in ([answer.probability], [])  # not found: no evidence there


@given(fact_lists(least=5))
def test_after_any_history_beliefs_are_those_of_a_rebuild(facts: list[Fact]) -> None:
    cases = case_base(facts[::2])
    cases.ask(*facts[0][:2])
    cases.update(add=facts)
    cases.update(retract=facts[1:3])
    left = [fact for fact in facts if fact not in facts[1:3]]
    rebuilt = case_base(shuffled(Random(1), left))
    for head, relation, _ in left[:3]:
        assert cases.ask(head, relation) == rebuilt.ask(head, relation)


def test_known_answers_have_no_probability_and_the_papers_settings_have_none() -> None:
    cases = case_base(FACTS)
    by_paper = case_base(FACTS, Settings.paper())
    for head, relation, _ in FACTS[:5]:
        for answer in cases.ask(head, relation, top=-1):
            assert (answer.probability is None) == answer.known
        answers = by_paper.ask(head, relation)
        assert answers.none_probability is None
        assert {answer.probability for answer in answers} <= {None}


def test_that_nothing_is_missing_does_not_depend_on_how_many_answers_are_wanted() -> (
    None
):
    cases = case_base(FACTS)
    for head, relation, _ in FACTS[:10]:
        said = {
            cases.ask(head, relation, top=top).none_probability for top in (0, 1, 3, 50)
        }
        said |= {cases.ask(head, relation, known="exclude").none_probability}
        assert len(said) == 1


def test_candidates_do_not_change_how_probable_an_answer_is() -> None:
    cases = case_base(FACTS)
    head, relation, _ = FACTS[0]
    second = cases.ask(head, relation, known="exclude")[1]
    (alone,) = cases.ask(head, relation, candidates=[second.entity])
    assert alone.probability == second.probability


def test_different_scores_have_different_probabilities(tuned_world: CaseBase) -> None:
    answers = tuned_world.ask(EINSTEIN, "field", known="exclude")
    first = [answer.probability for answer in answers[:5]]
    assert len(set(first)) == len(first)


def test_the_odds_are_proportional_to_how_much_is_missing() -> None:
    head, relation, _ = FACTS[0]
    odds = {}
    for missing in (0.0, 0.1, 1.0):
        cases = case_base(FACTS, Settings(missing=missing))
        (best, *_) = cases.ask(head, relation, known="exclude")
        assert best.probability is not None
        odds[missing] = best.probability / (1 - best.probability)
    assert odds[0.0] == 0
    assert odds[1.0] / odds[0.1] == pytest.approx((1 / 2) / (0.1 / 1.1), rel=0.01)
    with pytest.raises(InvalidArgument, match="missing"):
        Settings(missing=-0.1)


def test_what_accepting_an_answer_changes_is_evidence_and_counts(
    tuned_world: CaseBase,
) -> None:
    citizen = (EINSTEIN, "citizen of", "Germany")
    other = (EINSTEIN, "citizen of", "Czechia")
    before = probability(tuned_world, other)
    accepted = tuned_world.what_if(add=[citizen])
    assert probability(accepted, other) <= before


def test_a_second_answer_where_everybody_has_one_is_improbable(
    tuned_world: CaseBase,
) -> None:
    answers = tuned_world.ask("Ulm", "city in", known="exclude")
    assert all(answer.probability is not None for answer in answers)
    assert max(answer.probability or 0 for answer in answers) < 0.1


def test_a_country_is_not_proposed_for_a_closed_club(tuned_world: CaseBase) -> None:
    for answer in tuned_world.ask_head("member of", "G7", top=50, known="exclude"):
        assert (answer.probability or 0) < 0.3


def test_held_out_facts_of_the_world_are_believed_more_than_most(
    tuned_world: CaseBase,
) -> None:
    held_out = [probability(tuned_world, fact) for fact in world.questions()]
    others = [
        answer.probability or 0
        for head, relation, tail in world.questions()
        for answer in tuned_world.ask(head, relation, known="exclude", top=5)
        if answer.entity != tail
    ]
    assert np.mean(held_out) > 0.25
    assert np.mean(others) < 0.05


def test_a_fact_that_is_left_out_looks_as_if_it_were_retracted() -> None:
    """But for the weights of path types, which leave-one-out takes from the same counts."""
    cases = case_base(FACTS)
    for fact in FACTS[:20]:
        direction = direction_of(cases, fact[1])
        hidden_pair = Pairs(direction, *pair_of(cases, fact), are_facts=True)
        hidden = features(cases.state, hidden_pair)
        retracted = cases.what_if(retract=[fact])
        absent = features(retracted.state, Pairs(direction, *pair_of(retracted, fact)))
        np.testing.assert_allclose(hidden[:, 5:9], absent[:, 5:9])
        np.testing.assert_allclose(hidden[:, 12:], absent[:, 12:], atol=0.1)


def test_the_share_with_more_answers_is_that_of_the_other_entities() -> None:
    facts = [(f"h{number}", "of", f"t{number % 3}") for number in range(20)]
    cases = case_base([*facts, ("h0", "of", "t1"), ("h1", "of", "t2")])
    direction = direction_of(cases, "of")
    pair = Pairs(direction, *pair_of(cases, ("h5", "of", "t0")))
    usual = (2 + 0.5) / (22 + 1)  # two heads of twenty have a second tail
    expected = (2 + 5 * usual) / (19 + 5)
    share = features(cases.state, pair)[0, 12]
    assert share == pytest.approx(np.log(expected))


def test_an_entity_that_is_unknown_can_be_asked_about() -> None:
    answers = case_base(FACTS).ask("nobody", FACTS[0][1])
    assert all(0 <= (answer.probability or 0) < 0.5 for answer in answers)


# The fit


def sampled(missing: float, seed: int, pairs: int = 60_000) -> tuple[Examples, Flags]:
    """Pairs of a made-up graph: those that are facts are known with the same chance."""
    numbers = np.random.default_rng(seed)
    rows = numbers.normal(size=(pairs, len(USUAL_COEFFICIENTS) - 1))
    exponents = -4 + 3 * rows[:, 0] + 2 * rows[:, 1]
    is_true = numbers.random(pairs) < 1 / (1 + np.exp(-exponents))
    is_known = is_true & (numbers.random(pairs) < 1 / (1 + missing))
    return Examples(rows, is_known, np.ones(pairs)), is_true


@pytest.mark.parametrize("missing", [0.05, 0.3])
def test_the_fit_finds_how_many_facts_are_missing_and_which(missing: float) -> None:
    examples, is_true = sampled(missing, seed=3)
    belief = fitted(examples)
    assert missing < belief.missing < missing + 0.1  # even the best may be no facts
    is_open = ~examples.is_fact
    said = believed(belief, examples.features[is_open])
    happened = is_true[is_open]
    for low, high in ((0.02, 0.1), (0.1, 0.5), (0.5, 1.0)):
        is_in = (said >= low) & (said < high)
        if is_in.sum() > 100:
            ratio = happened[is_in].mean() / said[is_in].mean()
            assert 0.4 < ratio < 2.2


def test_what_a_pair_stands_for_counts_as_so_many_pairs() -> None:
    examples, _ = sampled(0.2, seed=5, pairs=4_000)
    twice = Examples(
        np.concatenate([examples.features, examples.features[~examples.is_fact]]),
        np.concatenate([examples.is_fact, examples.is_fact[~examples.is_fact]]),
        np.ones(len(examples.is_fact) + np.count_nonzero(~examples.is_fact)),
    )
    weights = np.where(examples.is_fact, 1.0, 2.0)
    assert fitted(twice) == fitted(replace_weights(examples, weights))


def replace_weights(examples: Examples, weights: Floats) -> Examples:
    return examples._replace(weights=weights)


def test_without_examples_the_belief_is_the_usual_one() -> None:
    nothing = np.empty((0, len(USUAL_COEFFICIENTS) - 1))
    none = Examples(nothing, np.empty(0, dtype=bool), np.empty(0))
    assert fitted(none) == Belief()


def test_coefficients_that_are_no_numbers_are_refused() -> None:
    for wrong in ((1.0,), (*USUAL_COEFFICIENTS[1:], float("nan"))):
        with pytest.raises(InvalidArgument, match="coefficients"):
            replace(Belief(), coefficients=wrong)


def test_probabilities_of_a_batch_are_those_of_single_pairs(
    tuned_world: CaseBase,
) -> None:
    direction = direction_of(tuned_world, "field")
    heads, _, tails = tuned_world.graph.rows(direction)[:40].T
    pairs = Pairs(direction, heads.copy(), tails[::-1].copy())
    together = probabilities(tuned_world.state, pairs)
    assert together is not None
    for place in range(0, 40, 7):
        one = Pairs(direction, pairs.heads[[place]], pairs.tails[[place]])
        alone = probabilities(tuned_world.state, one)
        assert alone is not None
        assert alone[0] == together[place]
