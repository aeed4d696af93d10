"""Facts of a graph are held out, and what is proposed from the rest is compared with them."""

from __future__ import annotations

import csv
import json
from itertools import permutations
from random import Random
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import assert_refused, records, run
from tests.strategies import Fact, fact_lists, random_facts, shuffled

from casegraph import (
    CaseBase,
    CasegraphError,
    CaseStore,
    InvalidArgument,
    NotABenchmark,
    Settings,
    UnknownName,
    evaluate,
    world,
    write_facts,
)
from casegraph.answering.belief import probabilities
from casegraph.answering.pair_strengths import Pairs
from casegraph.answering.query import scores_of_targets
from casegraph.evaluation.evaluation import benchmark_of
from casegraph.evaluation.splitting import hold_out
from casegraph.evaluation.trust import (
    LEAST_FACTS,
    LEAST_STATED,
    SHOWN_BINS,
    TEN_BINS,
    PairQuestions,
    Trust,
    auroc,
    average_precision,
    bins,
    calibration_error,
    chosen_questions,
    is_among,
    precision_at,
    proposed_pairs,
    trust,
)
from casegraph.graph.directions import forward, inverse
from casegraph.graph.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FACTS = random_facts(Random(6), entities=30, relations=3, facts=400)
SVG = "{http://www.w3.org/2000/svg}"


def treatments(number: int = 150) -> list[Fact]:
    """Facts of one relation: drugs of a group treat the diseases of that group."""
    random = Random(1)
    found: set[Fact] = set()
    while len(found) < number:
        group = random.randrange(5)
        drug = f"drug {group * 8 + random.randrange(8)}"
        found.add((drug, "treats", f"disease {group * 5 + random.randrange(5)}"))
    return sorted(found)


def case_base(facts: list[Fact], settings: Settings | None = None) -> CaseBase:
    cases = CaseBase(settings)
    cases.update(add=facts)
    return cases


@pytest.fixture(scope="module")
def of_treatments() -> Trust:
    return trust(case_base(treatments()))


@pytest.fixture(scope="module")
def facts_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("facts") / "treatments.tsv"
    write_facts(treatments(), file)
    return file


# Holding out


@given(fact_lists(least=5), st.floats(0.05, 0.95))
def test_every_entity_and_relation_keeps_a_fact(
    facts: list[Fact], share: float
) -> None:
    graph = Graph.of(facts)
    rest, rows = hold_out(graph, share)
    held_out = set(graph.facts_in(rows))
    kept = set(rest.facts())
    assert held_out | kept == set(facts)
    assert not held_out & kept
    assert len(held_out) == len(rows) <= round(share * len(graph))

    def names(some: Iterable[Fact]) -> set[str]:
        ends = {end for head, _, tail in some for end in (head, tail)}
        return ends | {relation for _, relation, _ in some}

    assert names(kept) == names(facts)


@given(fact_lists(least=5), st.randoms())
def test_names_alone_decide_what_is_held_out(facts: list[Fact], random: Random) -> None:
    graph = Graph.of(facts)
    other = Graph.of(shuffled(random, facts))
    rows = hold_out(graph, 0.3).rows
    other_rows = hold_out(other, 0.3).rows
    assert list(graph.facts_in(rows)) == list(other.facts_in(other_rows))


@pytest.mark.parametrize("share", [0, 1, -0.1, 2])
def test_a_share_that_is_none_or_everything_is_refused(share: float) -> None:
    with pytest.raises(InvalidArgument, match="share is"):
        hold_out(Graph.of(FACTS), share)


# What is measured


def test_150_facts_of_one_relation_are_enough(of_treatments: Trust) -> None:
    overall = of_treatments.overall
    assert of_treatments.held_out == overall.held_out == 15
    (own,) = of_treatments.by_relation
    assert own == overall._replace(relation="treats")
    assert overall.found == 15
    assert overall.average_precision is not None
    assert overall.by_degree is not None
    assert overall.average_precision > 5 * overall.by_degree
    assert overall.auroc is not None
    assert overall.auroc > 0.95
    assert of_treatments.asked == of_treatments.questions


def test_insertion_order_changes_no_figure(of_treatments: Trust) -> None:
    assert trust(case_base(shuffled(Random(3), treatments()))) == of_treatments
    several_relations = trust(case_base(FACTS))
    assert trust(case_base(shuffled(Random(4), FACTS))) == several_relations
    assert several_relations.overall.held_out == several_relations.held_out
    sums = [sum(getattr(own, name) for own in several_relations.by_relation)
            for name in ("pairs", "held_out", "found")]  # fmt: skip
    overall = several_relations.overall
    assert sums == [overall.pairs, overall.held_out, overall.found]


def test_relations_limit_what_is_proposed_not_what_is_held_out() -> None:
    cases = case_base(FACTS)
    whole = {own.relation: own for own in trust(cases).by_relation}
    done = trust(cases, ["r1"])
    assert done.by_relation == [whole["r1"]]
    assert done.overall == whole["r1"]._replace(relation="(all)")
    assert done.held_out > done.overall.held_out
    with pytest.raises(UnknownName, match="no relation is named 'r9'"):
        trust(cases, ["r9"])


def test_mrr_is_that_of_evaluate_on_the_same_facts() -> None:
    facts = [*FACTS]
    measured = trust(case_base(facts)).overall.mrr
    done = evaluate(benchmark_of("facts", facts), tune=True)
    assert measured == pytest.approx(
        done.metrics["both.realistic.inverse_harmonic_mean_rank"]
    )


def test_nothing_of_the_case_base_changes() -> None:
    cases = case_base(treatments())
    before = cases.state
    trust(cases)
    assert cases.state is before
    assert cases.settings.tuning is None


def test_of_a_large_graph_a_sample_of_questions_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("casegraph.evaluation.trust.QUESTIONS", 40)
    done = trust(case_base(FACTS))
    assert 10 < done.asked < 80 < done.questions
    assert done.overall.held_out < done.held_out
    assert trust(case_base(shuffled(Random(5), FACTS))) == done


def test_too_few_facts_are_refused_in_one_sentence() -> None:
    with pytest.raises(CasegraphError, match="found 99 facts"):
        trust(case_base(treatments(LEAST_FACTS - 1)))
    assert trust(case_base(treatments(LEAST_FACTS))).held_out == 10


def test_a_graph_without_a_fact_to_spare_is_refused() -> None:
    lone = [(f"a{n}", "r", f"b{n}") for n in range(150)]
    with pytest.raises(CasegraphError, match="no fact can be held out"):
        trust(case_base(lone))


def test_settings_without_probabilities_are_refused() -> None:
    with pytest.raises(CasegraphError, match="state no probabilities"):
        trust(case_base(treatments(), Settings.paper("WN18RR")))


# What is proposed


def test_pairs_are_the_first_new_answers_of_both_directions() -> None:
    cases = case_base(FACTS)
    cases.tune()
    state = cases.state
    relation = forward(1)
    asked = chosen_questions(state, [relation]).of(relation)
    found = proposed_pairs(state, asked, top=3)
    names = cases.graph.entities
    pairs = {
        (names[head], names[tail])
        for head, tail in zip(found.heads.tolist(), found.tails.tolist(), strict=True)
    }
    name = cases.graph.relations[1]
    expected = set()
    for entity in names.names:
        for answer in cases.ask(entity, name, top=3, known="exclude"):
            expected.add((entity, answer.entity))
        for answer in cases.ask_head(name, entity, top=3, known="exclude"):
            expected.add((answer.entity, entity))
    has_loops = any(head == tail for head, label, tail in FACTS if label == name)
    if not has_loops:
        expected = {(head, tail) for head, tail in expected if head != tail}
    assert pairs == expected
    assert len(found.heads) == len(pairs)

    ahead = scores_of_targets(state, relation, found.heads, found.tails)
    back = scores_of_targets(state, inverse(relation), found.tails, found.heads)
    assert found.tail_scores == pytest.approx(ahead)
    assert found.head_scores == pytest.approx(back)
    believed = probabilities(state, Pairs(relation, found.heads, found.tails))
    assert believed is not None
    assert found.probabilities == pytest.approx(believed)


def test_an_entity_is_paired_with_itself_only_if_the_relation_does_so() -> None:
    knows = [(f"p{n}", "knows", f"p{(n * k) % 40}") for n in range(40) for k in (3, 7)]
    others = [fact for fact in knows if fact[0] != fact[2]]
    for facts, expects_loops in ((knows, True), (others, False)):
        cases = case_base(sorted(set(facts)))
        asked = chosen_questions(cases.state, [0]).of(0)
        found = proposed_pairs(cases.state, asked, top=30)
        assert bool((found.heads == found.tails).any()) == expects_loops


def test_only_heads_that_are_asked_about_are_proposed_if_wanted() -> None:
    state = case_base(FACTS).state
    asked = chosen_questions(state, [0]).of(0)
    some = PairQuestions(0, asked.heads[:4], asked.tails)
    found = proposed_pairs(state, some, top=10, among_heads=True)
    assert set(found.heads.tolist()) <= set(some.heads.tolist())
    row = np.array([[found.heads[0], found.tails[0]]], dtype=np.int32)
    is_found = is_among(found, row, len(state.graph.entities))
    assert is_found.tolist() == [True] + [False] * (len(found.heads) - 1)


# Figures of a list

RATED = st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=7)


def arrays(rated: list[tuple[int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    values, is_right = zip(*rated, strict=True)
    return np.array(values, dtype=np.float64), np.array(is_right, dtype=np.bool)


@given(RATED)
def test_average_precision_is_that_of_the_formula(
    rated: list[tuple[int, bool]],
) -> None:
    """Σ over thresholds of (recall gained) × (precision down to there)."""
    right = sum(is_right for _, is_right in rated)
    if not right:
        assert average_precision(*arrays(rated)) is None
        return
    expected = 0.0
    recall_before = 0.0
    for threshold in sorted({value for value, _ in rated}, reverse=True):
        chosen = [is_right for value, is_right in rated if value >= threshold]
        recall = sum(chosen) / right
        expected += (recall - recall_before) * sum(chosen) / len(chosen)
        recall_before = recall
    assert average_precision(*arrays(rated)) == pytest.approx(expected)


def test_average_precision_of_a_list_without_ties() -> None:
    values = np.array([0.9, 0.8, 0.7, 0.6])
    is_right = np.array([True, False, True, False])
    assert average_precision(values, is_right) == pytest.approx((1 + 2 / 3) / 2)
    twice = np.array([1.0, 2.0, 1.0, 1.0])
    assert average_precision(values, is_right, twice) == pytest.approx((1 + 2 / 4) / 2)


@given(RATED, st.integers(1, 7))
def test_precision_is_the_mean_over_all_orders_of_equals(
    rated: list[tuple[int, bool]], k: int
) -> None:
    found = precision_at(k, *arrays(rated))
    if len(rated) < k:
        assert found is None
        return
    shares = []
    for order in permutations(rated):
        values = [value for value, _ in order]
        if values == sorted(values, reverse=True):
            shares.append(sum(is_right for _, is_right in order[:k]) / k)
    assert found == pytest.approx(np.mean(shares))


@given(RATED)
def test_auroc_is_how_often_a_right_pair_comes_before_a_wrong_one(
    rated: list[tuple[int, bool]],
) -> None:
    wins = []
    for value, is_right in rated:
        for other, other_is_right in rated:
            if is_right and not other_is_right:
                wins.append((value > other) + (value == other) / 2)
    found = auroc(*arrays(rated))
    assert (found is None) == (not wins)
    if wins:
        assert found == pytest.approx(np.mean(wins))


def test_the_calibration_error_is_the_distance_between_stated_and_right() -> None:
    stated = np.array([0.05, 0.05, 0.75, 0.75])
    is_right = np.array([True, False, True, True])
    assert calibration_error(stated, is_right) == pytest.approx(0.5 * 0.45 + 0.5 * 0.25)
    assert calibration_error(np.zeros(0), np.zeros(0, dtype=np.bool)) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans())))
def test_every_pair_within_bounds_is_in_one_bin(
    rated: list[tuple[float, bool]],
) -> None:
    stated = np.array([value for value, _ in rated])
    is_right = np.array([is_right for _, is_right in rated], dtype=np.bool)
    assert sum(own.pairs for own in bins(stated, is_right, TEN_BINS)) == len(rated)
    shown = bins(stated, is_right, SHOWN_BINS)
    assert sum(own.pairs for own in shown) == np.count_nonzero(stated >= LEAST_STATED)


# The commands


def test_trust_prints_a_table_and_what_was_stated(facts_file: Path) -> None:
    done = run("trust", facts_file)
    assert done.exit_code == 0, done.stderr
    header, overall, treats = done.stdout.splitlines()
    assert header.split()[:5] == [
        "relation",
        "pairs",
        "held_out",
        "found",
        "average_precision",
    ]
    assert overall.split()[1:] == treats.split()[1:]
    assert "15 of 150 facts held out" in done.stderr
    assert "stated 0." in done.stderr


def test_trust_writes_csv_json_and_a_picture(
    facts_file: Path, tmp_path: Path, of_treatments: Trust
) -> None:
    svg = tmp_path / "trust.svg"
    document = json.loads(run("trust", facts_file, "--format", "json").stdout)
    assert document == json.loads(json.dumps(of_treatments.as_dict()))
    out = tmp_path / "trust.csv"
    done = run("trust", facts_file, "--out", out, "--plot", svg)
    assert done.exit_code == 0, done.stderr
    with out.open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert [row["relation"] for row in rows] == ["(all)", "treats"]
    dots = list(ElementTree.parse(svg).iter(f"{SVG}circle"))
    assert len(dots) == len(of_treatments.reliability) > 0
    refused = run("trust", facts_file, "--plot", "trust.png")
    assert_refused(refused, "trust.png: pictures are SVG")


def test_trust_reads_a_store_and_writes_nothing_to_it(
    facts_file: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    with CaseStore.open(store) as cases:
        cases.update(add=treatments())

    def contents() -> dict[str, bytes]:
        files = [file for file in store.rglob("*") if file.is_file()]
        return {str(file): file.read_bytes() for file in files}

    before = contents()
    assert records("trust", store) == records("trust", facts_file)
    assert contents() == before


def test_trust_refuses_a_small_graph(tmp_path: Path) -> None:
    write_facts(treatments(20), tmp_path / "few.tsv")
    assert_refused(
        run("trust", tmp_path / "few.tsv"), "expected at least 100 facts, so that some"
    )


def test_evaluate_splits_a_file_and_a_store_in_the_same_way(
    facts_file: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    with CaseStore.open(store) as cases:
        cases.update(add=shuffled(Random(9), treatments()))
    by_file = records("evaluate", facts_file)
    assert by_file == records("evaluate", store)
    assert by_file[0]["questions"] == 30
    assert evaluate(facts_file).metrics == evaluate(store).metrics


def test_evaluate_asks_only_about_some_relations() -> None:
    whole = records("evaluate", "world", "--no-tune", "--per-relation")
    some = records("evaluate", "world", "--no-tune", "--relations", "citizen of")
    of_relation = [row for row in whole if row["relation"] == "citizen of"]
    assert [dict(row, relation="citizen of") for row in some] == of_relation
    unknown = run("evaluate", "world", "--relations", "citizens of")
    assert_refused(unknown, "no relation is named 'citizens of'; did you mean")


def test_evaluate_says_if_nothing_can_be_asked() -> None:
    lone = [(f"a{n}", "r", f"b{n}") for n in range(9)]
    with pytest.raises(NotABenchmark, match="expected facts that can be held out"):
        benchmark_of("lone", lone)
    benchmark = benchmark_of("world", world.facts())
    asked = {fact.relation for fact in benchmark.facts("test")}
    rare = sorted({fact.relation for fact in world.facts()} - asked)
    for relation in rare[:1]:
        with pytest.raises(NotABenchmark, match="expected facts of"):
            evaluate(benchmark, relations=[relation])
