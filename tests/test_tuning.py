"""What is chosen for a graph is a real choice, depends on its facts alone, and is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import Fact, fact_lists, random_facts, shuffled

from casegraph import Answers, CaseBase, CaseStore, InvalidSettings, Settings, world
from casegraph.answering.probability import probability
from casegraph.cli import cli
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import evaluate
from casegraph.evaluation.plots import picture
from casegraph.evaluation.reliability import Reliability, bins, calibration_error
from casegraph.graph.graph import Graph
from casegraph.settings import Calibration, Combination, Curve, KnownCalibration, Tuning
from casegraph.storage.store.checking import check
from casegraph.tuning import grid
from casegraph.tuning.calibration import (
    Observed,
    calibrated,
    chance_to_be_asked_for,
    isotonic,
)
from casegraph.tuning.choice import best_unless_by_chance, better, better_so_far
from casegraph.tuning.questions import MOST_ALIKE, Questions
from casegraph.tuning.sample import (
    LEAST,
    LEAST_GIVEN,
    MOST,
    affordable,
    given_sample,
    own_sample,
)
from casegraph.tuning.tuning import tuned

if TYPE_CHECKING:
    from pathlib import Path

FACTS = random_facts(Random(12), entities=40, relations=4, facts=300)


def named(graph: Graph, rows: np.ndarray) -> list[Fact]:
    """Rows of ids as facts by name."""
    return [
        (graph.entities[head], graph.relation_name(relation), graph.entities[tail])
        for head, relation, tail in rows.tolist()
    ]


def case_base(facts: list[Fact], settings: Settings | None = None) -> CaseBase:
    cases = CaseBase(settings or Settings())
    cases.update(add=facts)
    return cases


def answers_in_bytes(cases: CaseBase) -> bytes:
    entities = sorted({head for head, _, _ in FACTS})[::4]
    relations = sorted({relation for _, relation, _ in FACTS})
    said = [
        cases.ask(head, relation).as_dict()
        for head in entities
        for relation in relations
    ]
    return json.dumps(said).encode()


@pytest.fixture(scope="module")
def tuned_cases() -> CaseBase:
    cases = CaseBase()
    cases.update(add=FACTS)
    cases.tune()
    return cases


# The sample


@pytest.mark.parametrize("seed", range(5))
def test_the_sample_does_not_depend_on_the_order_of_facts(seed: int) -> None:
    graph = Graph.of(FACTS[:250])
    other = Graph.of(shuffled(Random(seed), FACTS[:250]))
    assert named(graph, own_sample(graph)) == named(other, own_sample(other))
    given = shuffled(Random(seed), FACTS)
    assert named(graph, given_sample(graph, FACTS)) == named(
        other, given_sample(other, given)
    )


def test_the_sample_is_a_tenth_of_a_small_graph() -> None:
    graph = Graph.of(FACTS)
    sample = named(graph, own_sample(graph))
    assert len(sample) == len(set(sample)) == len(FACTS) // 10
    assert set(sample) <= set(FACTS)


@given(fact_lists(least=10))
def test_entities_that_are_asked_about_have_other_facts(facts: list[Fact]) -> None:
    graph = Graph.of(facts)
    for asked in named(graph, own_sample(graph)):
        others = set(facts) - {asked}
        left = {name for head, _, tail in others for name in (head, tail)}
        assert {asked[0], asked[2]} <= left


def test_given_facts_are_asked_for_if_the_graph_could_have_them_and_does_not() -> None:
    graph = Graph.of(FACTS[:250])
    unseen = [("nobody", *FACTS[0][1:]), (FACTS[0][0], "nothing", FACTS[0][2])]
    new = sorted(set(FACTS[250:]) - set(FACTS[:250]))
    assert sorted(named(graph, given_sample(graph, [*FACTS, *FACTS, *unseen]))) == new


def test_a_question_is_asked_a_few_times_only() -> None:
    facts = [(f"person {n}", "lives in", "here") for n in range(20)]
    rows = np.concatenate([Graph.of(facts).rows(0)] * 2)
    questions = Questions.of(rows, in_graph=True)
    asked = list(
        zip(questions.directions.tolist(), questions.entities.tolist(), strict=True)
    )
    assert max(asked.count(question) for question in asked) == MOST_ALIKE
    assert len(set(asked)) == 21


# The choice


def test_a_way_is_chosen_if_it_is_surely_better() -> None:
    random = np.random.default_rng(0)
    usual = random.random(400)
    by_chance = usual + random.normal(0, 0.3, 400)
    surely = usual + random.normal(0.1, 0.3, 400)
    assert better(usual, [by_chance, surely], comparisons=2) == 1
    assert better(usual, [by_chance], comparisons=1) is None


def test_the_more_comparisons_the_more_must_speak_for_a_way() -> None:
    usual = np.zeros(100)
    other = np.where(np.arange(100) < 6, 1.0, 0.0)  # 2.5 standard errors
    assert better(usual, [other], comparisons=1) == 0
    assert better(usual, [other], comparisons=100) is None


def test_only_who_is_better_so_far_stays_in_the_race() -> None:
    usual = np.array([1.0, 0.5])
    others = {
        "worse": np.array([1.0, 0.2]),
        "better": np.array([0.9, 1.0]),
        "same": usual,
    }
    assert better_so_far(usual, others) == ["better"]


def test_the_usual_length_is_left_only_for_one_that_is_clearly_better() -> None:
    good = np.array([1.0, 0.5, 1.0, 0.5])
    bad = np.array([0.5, 0.25, 0.5, 0.5])
    by_chance = np.array([1.0, 0.5, 1.0, 0.6])
    assert best_unless_by_chance([bad, good, good], usual=1) == 1
    assert best_unless_by_chance([good, bad], usual=1) == 0
    assert best_unless_by_chance([by_chance, good], usual=1) == 1
    assert best_unless_by_chance([bad, bad, good], usual=1) == 2


def test_a_graph_whose_answers_are_four_steps_away_gets_paths_of_four_steps() -> None:
    facts = []
    for ring in range(80):
        names = [f"{place} of {ring}" for place in range(5)]
        steps = pairwise([*names, names[0]])
        facts += [(head, f"r{place}", tail) for place, (head, tail) in enumerate(steps)]
    state = case_base(facts).state
    assert tuned(state).settings.max_length == 4
    assert tuned(state, keep_length=True).settings.max_length == 3


@pytest.mark.parametrize("length", [2, 4])
def test_a_length_that_is_given_is_kept(length: int) -> None:
    state = case_base(FACTS, Settings(max_length=length)).state
    settings = tuned(state, keep_length=True).settings
    assert settings.tuning is not None
    assert settings.max_length == settings.tuning.combination.longest == length


# Facts that are given


def test_held_out_facts_are_asked_for_in_place_of_facts_of_the_graph() -> None:
    train = random_facts(Random(1), entities=60, relations=3, facts=2_200)
    valid = random_facts(Random(2), entities=60, relations=3, facts=2_200)
    new = set(valid) - set(train)
    assert LEAST_GIVEN <= len(new) <= MOST
    cases = case_base(train)
    tuning = cases.tune(held_out=valid)
    assert tuning is not None
    assert tuning.held_out
    assert tuning.sample == len(new)
    assert "held-out" in repr(tuning)
    by_order = case_base(shuffled(Random(3), train))
    assert by_order.tune(held_out=shuffled(Random(4), valid)) == tuning


def test_held_out_facts_can_show_that_linked_entities_are_never_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the films that people saw, they like every second: so says the graph.

    Facts that were held out are about films that people did not see, and that others of their club
    like.
    """
    monkeypatch.setattr("casegraph.tuning.tuning.LEAST_GIVEN", 100)
    train = []
    held_out = []
    for person in range(400):
        name, club = f"person {person}", person // 10
        train += [
            (name, "member of", f"club {club}"),
            (name, "saw", f"film {person // 2}"),
        ]
        likes = (name, "likes", f"film of club {club}")
        if person % 2:
            held_out.append(likes)
        else:
            train += [likes, (name, "likes", f"film {person // 2}")]

    by_held_out_facts = case_base(train).tune(held_out=held_out, keep_length=True)
    by_own_facts = case_base(train).tune(keep_length=True)
    assert by_held_out_facts is not None
    assert by_own_facts is not None
    assert not by_held_out_facts.combination.linked
    assert by_own_facts.combination.linked

    # A fact of the graph is never left out when it is asked for.
    usual = Settings().combined
    assert all(way.linked for way in grid.variants(usual, held_out=False))


def test_of_too_few_held_out_facts_nothing_is_learned() -> None:
    cases = case_base(FACTS)
    other = case_base(FACTS)
    few = [(head, relation, head) for head, relation, _ in FACTS[:20]]
    tuning = cases.tune(held_out=few)
    assert tuning is not None
    assert not tuning.held_out
    assert tuning == other.tune()


def test_what_was_counted_to_tune_is_kept() -> None:
    cases = case_base(FACTS)
    cases.tune(keep_length=True)
    counted = cases.state.statistics.counted
    again = case_base(FACTS)
    assert counted
    for relation, counts in counted.items():
        expected = again.state.statistics.everyone(relation)
        assert counts.types.tolist() == expected.types.tolist()
        assert counts.right.tolist() == expected.right.tolist()


def test_an_experiment_tunes_on_validation_facts_unless_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("casegraph.tuning.tuning.LEAST_GIVEN", 20)
    benchmark = Benchmark.of(train=FACTS[:220], valid=FACTS[220:245], test=FACTS[245:])

    def is_by_validation_facts(**options: Any) -> bool:
        tuning = evaluate(benchmark, tune=True, **options).settings.tuning
        assert tuning is not None
        return tuning.held_out

    assert is_by_validation_facts()
    assert not is_by_validation_facts(held_out=False)
    assert not is_by_validation_facts(split="valid")


def test_questions_are_asked_in_tasks_whose_size_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, tuned_cases: CaseBase
) -> None:
    monkeypatch.setattr("casegraph.tuning.questions.AT_ONCE", 3)
    assert tuned(case_base(FACTS).state).settings == tuned_cases.settings


# The table


def test_the_table_is_plain_json_and_comes_back_as_it_was(
    tuned_cases: CaseBase,
) -> None:
    settings = tuned_cases.settings
    back = Settings(**json.loads(json.dumps(settings.as_dict())))
    assert back == settings
    assert hash(back) == hash(settings)
    assert back.tuning == settings.tuning


def test_the_table_is_part_of_the_digest(tuned_cases: CaseBase) -> None:
    untuned = CaseBase(tuned_cases.settings.but(tuning=None))
    untuned.update(add=FACTS)
    assert untuned.state.digest != tuned_cases.state.digest


@pytest.mark.parametrize("seed", ["1", "2"])
def test_what_is_chosen_depends_on_the_facts_alone(
    seed: str, tuned_cases: CaseBase
) -> None:
    program = (
        "import json, sys; from casegraph import CaseBase; cases = CaseBase();"
        "cases.update(add=map(tuple, json.load(sys.stdin))); cases.tune();"
        "print(json.dumps(cases.settings.as_dict()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(shuffled(Random(int(seed)), FACTS)),
        env={**os.environ, "PYTHONHASHSEED": seed, "CASEGRAPH_THREADS": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Settings(**json.loads(run.stdout)) == tuned_cases.settings


def test_updates_keep_the_table_and_lead_where_a_rebuild_leads() -> None:
    cases = CaseBase()
    cases.update(add=FACTS[:250])
    tuning = cases.tune()
    cases.ask(FACTS[0][0], FACTS[0][1])
    cases.update(add=FACTS[250:], retract=FACTS[:10])
    assert cases.settings.tuning == tuning

    rebuilt = CaseBase(cases.settings)
    rebuilt.update(add=FACTS[10:])
    assert answers_in_bytes(cases) == answers_in_bytes(rebuilt)


def test_a_small_graph_and_the_settings_of_the_paper_are_not_tuned() -> None:
    cases = CaseBase()
    cases.update(add=FACTS[:150])
    assert cases.tune() is None
    assert cases.settings == Settings()
    with pytest.raises(InvalidSettings, match="tuned"):
        CaseBase(Settings.paper()).tune()
    with pytest.raises(InvalidSettings, match="tuning"):
        Settings.paper().but(tuning=flat_tuning(0.5))


def test_a_graph_without_a_fact_to_ask_for_is_not_tuned() -> None:
    apart = [(f"head {number}", "of", f"tail {number}") for number in range(300)]
    assert case_base(apart).tune() is None


def test_a_graph_outgrows_its_table() -> None:
    tuning = flat_tuning(0.5)
    assert not tuning.is_outgrown_by(150)
    assert tuning.is_outgrown_by(151)
    assert tuning.is_outgrown_by(49)


def test_the_number_of_known_answers_says_which_calibration_holds() -> None:
    none_known = KnownCalibration(least=0, calibration=flat(0.9))
    some_known = KnownCalibration(least=4, calibration=flat(0.5))
    tuning = replace(flat_tuning(0.5), calibrations=(none_known, some_known))
    assert tuning.calibration_of(0) == tuning.calibration_of(3) == flat(0.9)
    assert tuning.calibration_of(4) == tuning.calibration_of(1000) == flat(0.5)
    for calibrations in (), (some_known,), (none_known, none_known):
        with pytest.raises(InvalidSettings, match="known answers from 0, rising"):
            replace(tuning, calibrations=calibrations)


# Probabilities


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 5)), min_size=1, max_size=12),
)
def test_isotonic_regression_is_the_largest_of_the_smallest_means(
    points: list[tuple[int, int]],
) -> None:
    values, weights = np.array(points, dtype=np.float64).T

    def mean(first: int, last: int) -> float:
        part = slice(first, last + 1)
        return float(np.average(values[part], weights=weights[part]))

    places = range(len(values))
    expected = [
        max(
            min(mean(first, last) for last in places[place:])
            for first in places[: place + 1]
        )
        for place in places
    ]
    assert isotonic(values, weights) == pytest.approx(expected)


def test_the_chance_to_be_asked_for_is_one_among_those_that_are_missing() -> None:
    others = np.random.default_rng(0).poisson(0.2 * 15, size=100_000)
    expected = np.mean(1 / (1 + others))
    assert chance_to_be_asked_for(np.array([15]), 0.2)[0] == pytest.approx(
        expected, abs=0.005
    )
    assert chance_to_be_asked_for(np.array([15]), 0)[0] == pytest.approx(1)


def test_curves_find_how_often_answers_are_right_though_others_are_missing() -> None:
    random = np.random.default_rng(1)
    count = 20_000
    scores = random.random(count)
    known = random.integers(1, 40, count)
    is_right = random.random(count) < scores**2
    is_asked = is_right & (random.random(count) < chance_to_be_asked_for(known, 0.2))
    observed = Observed(
        directions=np.zeros(count, dtype=np.int64),
        scores=scores,
        is_first=np.arange(count) % 2 == 0,
        is_asked=is_asked,
        known=known,
    )
    found = calibrated(observed)
    assert found is not None
    assert found.missing == pytest.approx(0.2, abs=0.05)
    for of_group in found.by_known[1:4]:
        for curve in of_group.calibration.first, of_group.calibration.others:
            expected = np.square(curve.scores)
            assert np.abs(np.array(curve.probabilities) - expected).max() < 0.2


def test_questions_with_more_known_answers_have_curves_of_their_own() -> None:
    random = np.random.default_rng(2)
    count = 4_000
    known = np.where(np.arange(count) % 2 == 0, 1, 5)  # the held-out one among them
    is_asked = random.random(count) < np.where(known == 1, 0.8, 0.2)
    observed = Observed(
        directions=np.arange(count) % 2,
        scores=random.random(count),
        is_first=np.ones(count, dtype=bool),
        is_asked=is_asked,
        known=known,
    )
    found = calibrated(observed)
    assert found is not None
    for known_with_asked, share in (1, 0.8), (5, 0.2):
        (own,) = [one for one in found.by_known if one.least == known_with_asked - 1]
        right = np.mean(own.calibration.first.probabilities)
        chance = chance_to_be_asked_for(np.array([known_with_asked]), found.missing)[0]
        assert right * chance == pytest.approx(share, abs=0.05)


def flat(share: float) -> Calibration:
    curve = Curve(scores=(1.0,), probabilities=(share,))
    return Calibration(first=curve, others=curve)


def flat_tuning(share: float) -> Tuning:
    return Tuning(
        combination=Settings().combined,
        calibrations=(KnownCalibration(least=0, calibration=flat(share)),),
        missing=0.1,
        facts=100,
        sample=10,
    )


def test_an_answer_is_as_probable_as_its_curve_says_the_first_at_least() -> None:
    first = Curve(scores=(1.0, 3.0), probabilities=(0.2, 0.6))
    others = Curve(scores=(1.0, 3.0), probabilities=(0.4, 0.5))
    both = Calibration(first=first, others=others)
    assert probability(both, 2.0, is_first=True) == pytest.approx(0.4)
    assert probability(both, 3.0, is_first=False) == pytest.approx(0.5)
    assert probability(both, 1.0, is_first=False) == pytest.approx(0.2)
    assert probability(both, 9.0, is_first=True) == pytest.approx(0.6)


def test_probabilities_fall_with_the_score_and_known_answers_have_none(
    tuned_cases: CaseBase,
) -> None:
    for head, relation, _ in FACTS[::10]:
        answers = tuned_cases.ask(head, relation, top=-1)
        assert answers.tuned
        new = [answer.probability for answer in answers if not answer.known]
        assert all(one is not None and 0 <= one <= 1 for one in new)
        assert new == sorted(new, reverse=True)  # type: ignore[type-var]
        assert all(answer.probability is None for answer in answers if answer.known)
        assert answers.none == pytest.approx(np.prod([1 - (one or 0) for one in new]))


def test_candidates_do_not_change_how_probable_an_answer_is(
    tuned_cases: CaseBase,
) -> None:
    head, relation, _ = FACTS[0]
    new = tuned_cases.ask(head, relation, known="exclude")
    second = new[1]
    (alone,) = tuned_cases.ask(head, relation, candidates=[second.entity])
    assert alone.probability == second.probability


def test_without_a_table_there_are_no_probabilities() -> None:
    cases = CaseBase()
    cases.update(add=FACTS)
    answers: Answers = cases.ask(*FACTS[0][:2])
    assert not answers.tuned
    assert answers.none is None
    assert {answer.probability for answer in answers} == {None}


def test_the_calibration_error_is_the_distance_between_said_and_happened() -> None:
    said = np.array([0.95, 0.95, 0.25, 0.25])
    happened = np.array([True, False, False, False])
    assert calibration_error(said, happened) == pytest.approx(0.5 * 0.45 + 0.5 * 0.25)
    assert [one.answers for one in bins(said, happened)] == [2, 2]
    drawing = picture([Reliability(said, happened, said, happened).panel()])
    assert drawing.startswith("<svg")
    assert drawing.count("<circle") == 2


# Where it is kept


def test_a_case_file_keeps_the_table(tuned_cases: CaseBase, tmp_path: Path) -> None:
    tuned_cases.save(tmp_path / "saved.case")
    assert CaseBase.load(tmp_path / "saved.case").settings == tuned_cases.settings


def test_a_store_keeps_the_table_and_opens_without_it_if_it_is_damaged(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "store"
    with CaseStore.open(folder) as store:
        store.update(add=FACTS)
        tuning = store.tune()
        store.update(retract=FACTS[:3])
    assert tuning is not None
    assert CaseStore.open(folder, read_only=True).settings.tuning == tuning
    assert not any(file.damaged for file in check(folder))

    file = folder / "settings"
    file.write_bytes(file.read_bytes().replace(b"discount", b"discover"))
    assert CaseStore.open(folder, read_only=True).settings == Settings()
    assert [found.file for found in check(folder) if found.damaged] == ["settings"]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, list(map(str, arguments)))


def test_build_tunes_and_info_says_to_what(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    assert run("build", "world", "--into", folder).exit_code == 0
    assert "facts it was tuned to" in run("info", folder).stdout
    assert "casegraph tune" not in run("info", folder).stdout
    assert "probability" in run("ask", folder, "John von Neumann", "died in").stdout

    with CaseStore.open(folder) as store:
        store.update(retract=list(world.facts())[: len(store.graph) * 2 // 3])
    assert "casegraph tune" in run("info", folder).stdout

    assert (
        run("build", "world", "--no-tune", "--into", tmp_path / "other").exit_code == 0
    )
    assert "tuned" not in run("info", tmp_path / "other").stdout


def test_tune_says_what_was_chosen() -> None:
    done = run("tune", "world", "--format", "json")
    assert done.exit_code == 0, done.stderr
    chosen = Combination(**json.loads(done.stdout)["combination"])
    assert chosen.longest >= 2


def test_commands_tune_on_held_out_facts_or_say_that_they_are_too_few(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    facts = list(world.facts())
    lines = ["\t".join(fact) for fact in facts]
    train = tmp_path / "train.tsv"
    valid = tmp_path / "valid.tsv"
    train.write_text("\n".join(lines[:-300]), encoding="utf-8")
    valid.write_text("\n".join(lines[-300:]), encoding="utf-8")
    few = run("tune", train, "--held-out", valid)
    assert few.exit_code == 0
    assert "fewer than 1,000" in few.stderr
    monkeypatch.setattr("casegraph.tuning.tuning.LEAST_GIVEN", 20)
    assert "held-out facts asked for" in run("tune", train, "--held-out", valid).stdout
    store = tmp_path / "store"
    assert run("build", train, "--into", store, "--held-out", valid).exit_code == 0
    assert "held-out facts asked for" in run("info", store).stdout


def test_fewer_questions_are_asked_where_each_is_slow() -> None:
    """Entities of which each shares its facts with a thousand others, and as many that do not."""
    shared = [
        (f"gene {n}", "in", f"tissue {t}") for n in range(1_000) for t in range(12)
    ]
    apart = [(f"gene {n}", "near", f"gene {n + 1}") for n in range(12_000)]
    assert affordable(Graph.of(apart)) == 1
    slow = Graph.of(shared)
    assert 0 < affordable(slow) < 1
    assert len(own_sample(slow)) < len(own_sample(Graph.of(apart))) == 600
    assert len(own_sample(slow)) >= LEAST


def test_where_questions_are_too_slow_to_choose_by_the_usual_combination_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("casegraph.tuning.sample.USUAL_WORK", 1)
    chosen = tuned(case_base(FACTS).state).settings
    assert chosen.tuning is not None  # as probabilities are calibrated
    assert chosen.tuning.combination == replace(
        Settings().combined, longest=chosen.max_length
    )
