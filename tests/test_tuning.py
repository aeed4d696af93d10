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
from tests.strategies import Fact, fact_lists, random_facts, shuffled

from casegraph import CaseBase, CaseStore, InvalidArgument, Settings, world
from casegraph.cli import cli
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import evaluate
from casegraph.graph.graph import Graph
from casegraph.settings import Belief, Combination, Tuning
from casegraph.storage.store.checking import check
from casegraph.tuning import grid
from casegraph.tuning.choice import best_unless_by_chance, better, better_so_far
from casegraph.tuning.questions import MOST_ALIKE, Questions
from casegraph.tuning.sample import (
    LEAST,
    LEAST_GIVEN,
    MOST,
    SMALLEST,
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


def test_the_sample_is_a_tenth_of_a_graph_or_two_hundred_facts() -> None:
    for facts, wanted in ((FACTS, SMALLEST), (FACTS[:80], 80)):
        graph = Graph.of(facts)
        sample = named(graph, own_sample(graph))
        assert len(sample) == len(set(sample))
        assert wanted - 5 <= len(sample) <= wanted  # some have no other facts
        assert set(sample) <= set(facts)
    large = random_facts(Random(5), entities=300, relations=3, facts=4_000)
    assert len(own_sample(Graph.of(large))) == len(large) // 10


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
    cases.update(add=FACTS[:25])
    assert cases.tune() is None
    assert cases.settings == Settings()
    with pytest.raises(InvalidArgument, match="tuned"):
        CaseBase(Settings.paper()).tune()
    with pytest.raises(InvalidArgument, match="tuning"):
        Settings.paper().but(tuning=some_tuning())


def test_a_graph_without_a_fact_to_ask_for_is_not_tuned() -> None:
    apart = [(f"head {number}", "of", f"tail {number}") for number in range(300)]
    assert case_base(apart).tune() is None


def test_a_graph_outgrows_its_table() -> None:
    tuning = some_tuning()
    assert not tuning.is_outgrown_by(150)
    assert tuning.is_outgrown_by(151)
    assert tuning.is_outgrown_by(49)


def some_tuning() -> Tuning:
    combination = Settings().combined
    return Tuning(combination=combination, belief=Belief(), facts=100, sample=10)


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
    few_facts = tmp_path / "few.tsv"
    few_facts.write_text("\n".join(lines[-99:]), encoding="utf-8")
    few = run("tune", train, "--held-out", few_facts)
    assert few.exit_code == 0
    assert "fewer than 100 facts" in few.stderr
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
    state = case_base(FACTS).state
    chosen = tuned(state).settings
    assert chosen.tuning is not None  # as belief is fitted
    assert chosen.tuning.combination == replace(
        grid.scaled(Settings().combined, state.graph), longest=chosen.max_length
    )
