"""The open-world experiments: what comes when, and that a stream ends where a build begins."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.experiments.candidates import scored
from benchmarks.experiments.changes import changes
from benchmarks.experiments.inductive import inductive
from benchmarks.experiments.lifelong import lifelong, summary
from click.testing import CliRunner
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from casegraph import (
    CaseBase,
    Fact,
    InvalidArgument,
    NotABenchmark,
    Settings,
    world,
    write_facts,
)
from casegraph.answering.ranks import Targets, distinct, filtered_ranks
from casegraph.answering.state import State
from casegraph.cli import cli
from casegraph.evaluation.catalogue import find
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import Files, evaluate, read_files
from casegraph.evaluation.splitting import split
from casegraph.experiments.arrivals import SEED_GRAPH, Plan, arrivals
from casegraph.experiments.journal import MRR, Record, read_records
from casegraph.experiments.stream import StreamOptions, stream
from casegraph.experiments.verification import differences, rebuilt
from casegraph.graph.graph import Graph
from casegraph.running import quiet

OURS = Settings(max_length=2)
PAPER = Settings.paper("FB122").but(max_length=2, clustering="grinch")
SYSTEMS = [OURS, PAPER, PAPER.but(clustering="hac"), PAPER.but(sampled_walks=10)]


@pytest.fixture(scope="module")
def benchmark_of_world(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """A part of the bundled graph, as a benchmark with two parts of test."""
    folder = tmp_path_factory.mktemp("data") / "places"
    folder.mkdir()
    chosen = ("borders", "continent", "capital", "city in", "member of")
    parts = split(
        (fact for fact in world.facts() if fact.relation in chosen),
        valid=0.05,
        test=0.15,
    )
    for name, facts in parts._asdict().items():
        write_facts(facts, folder / f"{name}.txt")
    write_facts(parts.test[::2], folder / "testI.txt")
    return Benchmark.open(folder)


@pytest.fixture(scope="module")
def files(benchmark_of_world: Benchmark) -> Files:
    return read_files(benchmark_of_world, "test", "train", quiet)


plans = st.builds(
    Plan,
    start=st.sampled_from([0.05, 0.5, 0.9]),
    batches=st.integers(1, 7),
    alone=st.integers(0, 3),
    seed=st.integers(0, 3),
)


@example_settings(max_examples=30)
@given(plan=plans)
def test_every_fact_comes_once_and_with_the_later_of_its_entities(
    files: Files, plan: Plan
) -> None:
    arriving = arrivals(files, "train", plan)
    seen = set[tuple[int, ...]]()
    there = set[int]()
    for batch in range(SEED_GRAPH, arriving.batches + 1):
        for step in arriving.steps(batch):
            coming = set(np.flatnonzero(arriving.step_of == step).tolist())
            rows = {tuple(row) for row in arriving.facts("train", step).tolist()}
            there |= coming
            assert not rows & seen
            assert all(
                {head, tail} <= there and {head, tail} & coming
                for _, head, tail in rows
            )
            seen |= rows
        assert arriving.until(batch).entities == [
            files.entities[one] for one in sorted(there)
        ]
        assert len(arriving.until(batch).rows["train"]) == len(seen)
    assert seen == {tuple(row) for row in files.rows["train"].tolist()}


@example_settings(max_examples=30)
@given(plan=plans)
def test_the_seed_graph_has_its_part_and_those_with_most_facts(
    files: Files, plan: Plan
) -> None:
    arriving = arrivals(files, "train", plan)
    entities = len(files.entities)
    in_seed_graph = np.flatnonzero(arriving.step_of == 0)
    assert len(in_seed_graph) == round(plan.start * entities)
    degrees = np.bincount(files.rows["train"][:, 1:].ravel(), minlength=entities)
    connected = min(round(0.1 * entities), len(in_seed_graph))
    assert np.sort(degrees[in_seed_graph])[::-1][:connected].tolist() == (
        np.sort(degrees)[::-1][:connected].tolist()
    )
    sizes = np.bincount(
        arriving.batch_of_step[arriving.step_of], minlength=plan.batches + 1
    )[1:]
    assert sizes.max() - sizes.min() <= 1


def test_another_seed_gives_another_order(files: Files) -> None:
    one = arrivals(files, "train", Plan(seed=1)).step_of
    assert (one == arrivals(files, "train", Plan(seed=1)).step_of).all()
    assert (one != arrivals(files, "train", Plan(seed=2)).step_of).any()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"start": 1.0}, "start is 1.0; expected more than 0, and less than 1"),
        ({"batches": 0}, "batches is 0; expected at least 1"),
        ({"alone": -1}, "alone is -1; expected at least 0"),
        ({"seed": -1}, "seed is -1; expected at least 0"),
    ],
)
def test_a_plan_out_of_range_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Plan(**values)


def without_seconds(record: Any) -> Any:
    """A record without what depends on a clock."""
    if isinstance(record, dict):
        return {
            name: without_seconds(value)
            for name, value in record.items()
            if not name.endswith("seconds")
        }
    return (
        [without_seconds(value) for value in record]
        if isinstance(record, list)
        else record
    )


@pytest.mark.parametrize("settings", SYSTEMS, ids=["ours", "grinch", "hac", "sampled"])
def test_a_stream_ends_with_the_answers_of_the_whole_benchmark(
    benchmark_of_world: Benchmark, settings: Settings, tmp_path: Path
) -> None:
    wanted = StreamOptions(settings, plan=Plan(batches=3, alone=2), verify=True)
    records = stream(benchmark_of_world, wanted, tmp_path)
    assert [record["batch"] for record in records] == [0, 1, 2, 3]
    expected_settings = settings
    if settings.clustering == "grinch":
        expected_settings = settings.but(clustering="hac")
    expected = evaluate(benchmark_of_world, expected_settings)
    last = records[-1]
    which = "oracle" if settings.clustering == "grinch" else "online"
    assert last["facts"] == expected.facts
    assert last["metrics"][which]["test"]["all"][MRR] == expected.metrics[MRR]
    assert all(record["verified"] for record in records)
    assert all(len(record["alone"]) == 2 for record in records[1:])


def test_what_a_batch_brings_is_counted_apart(
    benchmark_of_world: Benchmark, tmp_path: Path
) -> None:
    records = stream(
        benchmark_of_world, StreamOptions(PAPER, plan=Plan(batches=3)), tmp_path
    )
    for split_of_test in ("test", "testI"):
        groups = [record["metrics"]["online"][split_of_test] for record in records]
        numbers = [group["all"]["questions"] for group in groups]
        new = [group["new"]["questions"] for group in groups]
        assert numbers == np.cumsum(new).tolist()
    assert (
        records[-1]["metrics"]["online"]["testI"]["all"]["questions"]
        == len({*benchmark_of_world.facts("testI")}) * 2
    )
    assert sum(record["newcomers"] for record in records) == records[-1]["entities"]
    joined = [example for record in records[1:] for example in record["examples"]]
    assert joined
    assert all(not set(one["members"]) & set(one["newcomers"]) for one in joined)


def test_an_interrupted_stream_goes_on_and_ends_the_same(
    benchmark_of_world: Benchmark, tmp_path: Path
) -> None:
    wanted = StreamOptions(PAPER, plan=Plan(batches=3, alone=1))
    whole = stream(benchmark_of_world, wanted, tmp_path / "whole")

    def interrupt(doing: str, done: int, total: int) -> None:
        if doing == "batches of the stream" and done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stream(benchmark_of_world, wanted, tmp_path / "parts", interrupt)
    again = stream(benchmark_of_world, wanted, tmp_path / "parts")
    assert without_seconds(again) == without_seconds(whole)


def test_a_stream_may_be_tuned_once(
    benchmark_of_world: Benchmark, tmp_path: Path
) -> None:
    wanted = StreamOptions(OURS, plan=Plan(batches=1), tune=True, verify=True)
    assert len(stream(benchmark_of_world, wanted, tmp_path)) == 2


@pytest.mark.parametrize("settings", SYSTEMS[:3], ids=["ours", "grinch", "hac"])
def test_a_state_that_is_no_rebuild_is_noticed(
    files: Files, settings: Settings
) -> None:
    facts = list(files.facts("train"))
    cases = CaseBase(settings)
    cases.update(add=facts)
    state = cases.state
    assert differences(state, rebuilt(state)) == []

    other_graph = Graph(state.graph.entities, state.graph.relations)
    other_graph.add(
        fact for fact in facts if facts[0].head not in (fact.head, fact.tail)
    )
    other = State.of(other_graph, settings)
    found = differences(state, other)
    assert {"facts", "profiles"} <= set(found)
    assert any(name.startswith("counts of ") for name in found)


def test_ranks_among_all_candidates_are_the_usual_ones(files: Files) -> None:
    cases = CaseBase(OURS)
    cases.update(add=files.facts("train"))
    state = cases.state
    everyone = np.ones(len(state.graph.entities), dtype=np.bool)
    for relation in range(state.graph.directions):
        asked = distinct(state.graph.rows(relation)[:, [0, 2]])
        expected = filtered_ranks(state, Targets(relation, asked, asked, len(everyone)))
        found = []
        for one in scored(state, relation, asked, asked, len(everyone)):
            rivals = one.unknown_among(everyone)
            found += [one.rank(target, rivals) for target in one.targets.tolist()]
        assert found == expected.realistic.tolist()


@pytest.fixture
def snapshots(files: Files, tmp_path: Path) -> Path:
    """Two snapshots: the seed graph, and all that comes after it."""
    arriving = arrivals(files, "train", Plan(batches=1, alone=0))
    for snapshot in (0, 1):
        folder = tmp_path / "snapshots" / str(snapshot)
        folder.mkdir(parents=True)
        for name in ("train", "valid", "test"):
            rows = arriving.facts(name, snapshot).tolist()
            named = [
                Fact(
                    files.entities[head],
                    files.relations[relation],
                    files.entities[tail],
                )
                for relation, head, tail in rows
            ]
            write_facts(named, folder / f"{name}.txt")
    return tmp_path / "snapshots"


def test_snapshots_are_asked_about_again(
    snapshots: Path, benchmark_of_world: Benchmark, tmp_path: Path
) -> None:
    records = lifelong(snapshots, OURS, tmp_path / "records.jsonl")
    asked = [(record["snapshot"], record["test_set"]) for record in records]
    assert asked == [(0, 0), (1, 0), (1, 1)]
    assert records[0]["then"] == records[0]["now"]
    assert records[2]["then"] == records[2]["now"]

    whole = evaluate(benchmark_of_world, OURS)
    questions = [record["questions"] for record in records[1:]]
    mrr = [record["now"]["mrr"] for record in records[1:]]
    mean = sum(number * one for number, one in zip(questions, mrr, strict=True)) / sum(
        questions
    )
    assert mean == pytest.approx(whole.metrics[MRR])

    found = summary(records)["now"]
    assert found["mrr"] == pytest.approx(sum(mrr) / 2)
    assert found["backward_transfer"] == pytest.approx(
        mrr[0] - records[0]["now"]["mrr"]
    )


@pytest.mark.parametrize("interrupted_after", [0, 1, 2])
def test_snapshots_go_on_after_an_interruption(
    snapshots: Path, tmp_path: Path, interrupted_after: int
) -> None:
    def interrupt(doing: str, done: int, total: int) -> None:
        if doing == "test sets of snapshots" and done == interrupted_after:
            raise KeyboardInterrupt

    out = tmp_path / "records.jsonl"
    with pytest.raises(KeyboardInterrupt):
        lifelong(snapshots, OURS, out, show=interrupt)
    assert len(read_records(out)) == interrupted_after

    records = lifelong(snapshots, OURS, out)
    expected = lifelong(snapshots, OURS, tmp_path / "whole.jsonl")
    for record in (*records, *expected):
        del record["seconds"]
    assert records == expected


def test_a_folder_without_snapshots_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotABenchmark, match="expected folders 0, 1, 2"):
        lifelong(tmp_path, OURS, tmp_path / "records.jsonl")


def test_an_inductive_graph_alone_is_ranked_as_a_benchmark(
    benchmark_of_world: Benchmark, tmp_path: Path
) -> None:
    shutil.copytree(benchmark_of_world.folder, tmp_path / "X_ind")
    (tmp_path / "X").mkdir()
    write_facts([Fact("ours", "borders", "yours")], tmp_path / "X" / "train.txt")
    alone = inductive(tmp_path / "X", OURS, with_first=False)
    whole = evaluate(benchmark_of_world, OURS)
    assert alone["fully"]["mrr"] == pytest.approx(whole.metrics[MRR])
    assert alone["sampled"]["hits_at_10"] >= alone["fully"]["hits_at_10"]
    assert inductive(tmp_path / "X", OURS, with_first=True)["facts"] == whole.facts + 1


@pytest.mark.parametrize(
    "settings", [OURS, PAPER.but(clustering="hac")], ids=["ours", "paper"]
)
def test_what_goes_and_returns_changes_no_answer(
    benchmark_of_world: Benchmark, settings: Settings
) -> None:
    records = changes(benchmark_of_world, settings)
    assert [record["is_rebuild"] for record in records] == [True] * 4
    assert [record["answers_as_if_always_there"] for record in records] == [
        False,
        True,
        False,
        True,
    ]
    assert records[0]["mrr_of_relation"] < records[1]["mrr_of_relation"]


def printed(*arguments: str) -> list[Record]:
    result = CliRunner().invoke(cli, ["stream", *arguments, "--format", "json"])
    assert result.exit_code == 0, result.stderr
    found: list[Record] = json.loads(result.stdout)
    return found


def test_the_command_runs_several_seeds(
    benchmark_of_world: Benchmark, tmp_path: Path
) -> None:
    arguments = [
        str(benchmark_of_world.folder),
        "--settings=paper",
        "--dataset=FB122",
        "--max-length=2",
        "--batches=1",
        f"--out={tmp_path}",
    ]
    records = printed(*arguments, "--seed=0", "--seed=1")
    assert [record["seed"] for record in records] == [0, 0, 1, 1]
    assert {record["system"] for record in records} == {"paper-grinch"}
    by_hac = printed(*arguments, "--clustering=hac")
    assert {record["system"] for record in by_hac} == {"paper-hac"}
    assert len(list(tmp_path.glob("*.jsonl"))) == 3


def test_clusters_for_settings_without_any_are_refused(
    benchmark_of_world: Benchmark, tmp_path: Path
) -> None:
    folder = str(benchmark_of_world.folder)
    result = CliRunner().invoke(
        cli, ["stream", folder, "--clustering=hac", f"--out={tmp_path / 'out'}"]
    )
    assert result.exit_code == 1
    assert "has no meaning; choose --settings paper or published" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(
    find("UMLS") is None, reason="the benchmark data is not on this machine"
)
def test_a_published_benchmark_streams(tmp_path: Path) -> None:
    records = printed(
        "UMLS",
        "--batches=1",
        "--max-length=2",
        "--limit=50",
        "--verify",
        f"--out={tmp_path}",
    )
    assert records[-1]["entities"] == 135
