"""The commands for stores: what changed is printed, every error is one line,
and what goes in comes out again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import assert_refused, process, records, run

from casegraph import CaseStore, world, write_facts

ADA = "Ada Lovelace\tfield\tComputer science\n"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    assert (
        run("build", "world", "--no-tune", "--into", tmp_path / "store").exit_code == 0
    )
    return tmp_path / "store"


def test_an_entity_never_seen_before_is_answered_and_later_facts_change_the_answer(
    store: Path,
) -> None:
    (done,) = records("add", store, "-", given=ADA)
    assert {
        "update": 2,
        "added": 1,
        "retracted": 0,
        "new_entities": 1,
    }.items() <= done.items()

    def birthplaces(*options: str) -> dict[str, float]:
        answers = records("ask", store, "Ada Lovelace", "born in", *options)
        return {answer["entity"]: answer["score"] for answer in answers}

    before = birthplaces()
    records("add", store, "-", given="Ada Lovelace\tdied in\tLondon\n")
    after = birthplaces()
    assert after["London"] > before["London"]
    assert next(iter(after)) == "London"
    assert birthplaces("--as-of", "2") == before
    (done,) = records("retract", store, "--entity", "Ada Lovelace")
    assert done["update"] == 4
    assert done["retracted"] == 2
    rows = records("log", store, "--since", "1")
    log = [(row["update"], row["change"], row["tail"]) for row in rows]
    assert log == [
        (2, "+", "Computer science"),
        (3, "+", "London"),
        (4, "-", "London"),
        (4, "-", "Computer science"),
    ]


@pytest.mark.parametrize("command", ["ask", "explain", "similar"])
def test_a_store_answers_as_its_facts_do(command: str, store: Path) -> None:
    rest = {"ask": ["died in"], "explain": ["died in", "Princeton"], "similar": []}[
        command
    ]
    given = ["John von Neumann", *rest]
    assert records(command, store, *given) == records(command, "world", *given)
    if command != "similar":
        given += ["--max-length", "2"]
        assert records(command, store, *given) == records(command, "world", *given)


def test_a_benchmark_can_be_answered_from_a_store(store: Path, tmp_path: Path) -> None:
    (tmp_path / "asked").mkdir()
    write_facts(world.facts(), tmp_path / "asked" / "train.tsv")
    write_facts(world.questions(), tmp_path / "asked" / "test.tsv")
    given: list[str | Path] = ["evaluate", tmp_path / "asked"]
    assert records(*given, "--graph", store) == records(*given)


def test_what_is_exported_builds_the_same_store(store: Path, tmp_path: Path) -> None:
    run("add", store, "-", given=ADA)
    exported = run("export", store).stdout
    assert exported.count("\n") == len(world.facts()) + 1
    assert (
        run("build", "-", "--into", tmp_path / "again", given=exported).exit_code == 0
    )
    assert run("export", tmp_path / "again").stdout == exported
    assert run("export", store, "--as-of", "1").stdout == exported.replace(ADA, "")
    run("export", store, tmp_path / "facts.tsv.gz")
    assert (
        records("facts", tmp_path / "facts.tsv.gz")[0]["facts"]
        == len(world.facts()) + 1
    )


def test_lines_that_are_no_facts_stop_an_update_or_are_skipped(store: Path) -> None:
    given = ADA + "no fact\n"
    refused = run("add", store, "-", given=given)
    assert refused.exit_code == 1
    assert refused.stderr.count("\n") == 1
    assert CaseStore.open(store, read_only=True).sequence == 1
    done = run("add", store, "-", "--on-error", "skip", given=given)
    assert done.exit_code == 0
    assert done.stderr == "casegraph: -: 1 line skipped\n"
    assert CaseStore.open(store, read_only=True).sequence == 2


def test_info_says_how_much_there_is(store: Path) -> None:
    rows = {
        (row["what"], row["which"]): row["number"] for row in records("info", store)
    }
    assert rows["facts", ""] == len(world.facts())
    assert rows["facts of entity", "United States"] > 200
    assert rows["bytes on disk", "generation-000001"] > 10_000
    assert not any("cluster" in what for what, _ in rows)


def test_info_names_the_largest_clusters_where_clusters_are_kept(
    tmp_path: Path,
) -> None:
    run(
        "build",
        "world",
        "--into",
        tmp_path / "store",
        "--settings",
        "paper",
        "--dataset",
        "FB122",
    )
    rows = records("info", tmp_path / "store")
    sizes = [row["number"] for row in rows if "cluster" in row["what"]]
    assert len(sizes) == 5
    assert sizes == sorted(sizes, reverse=True)


def test_check_says_what_is_damaged_and_salvage_saves_the_rest(store: Path) -> None:
    run("add", store, "-", given=ADA)
    assert [row["damaged"] for row in records("check", store)] == [False, False, False]
    log = store / "log-000000"
    log.write_bytes(log.read_bytes()[:-1])
    done = run("check", store, "--format", "jsonl")
    assert done.exit_code == 1
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["damaged"] for row in rows] == [False, True, False]
    saved = run("salvage", store)
    assert saved.stdout.count("\n") == len(world.facts())
    assert (
        saved.stderr
        == f"casegraph: {len(world.facts()):,} facts saved; lost: update 2\n"
    )


def test_compact_makes_a_generation_and_can_forget_history(store: Path) -> None:
    run("add", store, "-", given=ADA)
    assert records("compact", store)[0]["update"] == 2
    assert (store / "generation-000002").is_dir()
    (done,) = records("compact", store, "--forget-history")
    assert done["update"] == 3
    assert len(records("log", store)) == len(world.facts()) + 1


ERRORS = {
    "not a store": (
        ["add", "empty", "-"],
        "empty: is not a store; make one with 'casegraph build'",
    ),
    "not there": (
        ["retract", "nowhere", "--entity", "x"],
        "nowhere: is not a store; make one with",
    ),
    "nothing to check": (["check", "empty"], "empty: is not a store"),
    "nothing to look into": (["info", "empty"], "empty: expected a train file"),
    "built already": (
        ["build", "other.tsv", "--into", "store"],
        "store: is a store already; give its facts with",
    ),
    "missing facts": (
        ["add", "store", "missing.tsv"],
        "missing.tsv: no such file or directory",
    ),
    "no past": (
        ["ask", "good.tsv", "a", "r", "--as-of", "1"],
        "good.tsv: has no past, as only a store has one",
    ),
    "not yet": (
        ["ask", "store", "a", "r", "--as-of", "9"],
        "as_of is 9; expected an update from 0 to 1",
    ),
    "damaged": (
        ["ask", "damaged", "a", "r"],
        "damaged/log-000000: is damaged at byte ",
    ),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_bad_input_is_one_line_and_exit_code_1(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.tsv").write_text("a\tr\tb\n", encoding="utf-8")
    Path("other.tsv").write_text("a\tr\tb\nother\tr\tb\n", encoding="utf-8")
    Path("empty").mkdir()
    for name in ("store", "damaged"):
        with CaseStore.open(name) as made:
            made.update(add=[("a", "r", "b")])
    Path("damaged/log-000000").write_bytes(Path("damaged/log-000000").read_bytes()[:-1])
    arguments, message = ERRORS[kind]
    assert_refused(run(*arguments, given="a\tr\tb\n"), message)


@pytest.mark.parametrize("is_large", [False, True])
def test_an_interrupted_build_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_large: bool
) -> None:
    """A store that is large writes its facts as a generation when it is opened again."""
    monkeypatch.chdir(tmp_path)
    if is_large:
        monkeypatch.setattr("casegraph.storage.store.store.MOST_REPLAYED_ROWS", 1)
    facts = world.facts()
    write_facts(facts, "facts.tsv")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(CaseStore, "tune", interrupted)
        stopped = run("build", "facts.tsv", "--into", "store")
    assert stopped.exit_code == 130
    assert "the same command continues" in stopped.stderr
    (missing,) = [
        row for row in records("info", "store") if "not counted" in row["what"]
    ]
    assert missing["number"] > 0
    assert "casegraph compact" in missing["which"]

    done = run("build", "facts.tsv", "--into", "store")
    assert done.exit_code == 0
    assert "going on with tuning and counting" in done.stderr
    told = [row["what"] for row in records("info", "store")]
    assert not any("not counted" in what for what in told)
    assert "facts it was tuned to" in told
    assert records("log", "store") != []
    again = run("build", "facts.tsv", "--into", "store")
    assert_refused(
        again, "store: is a store already; give its facts with 'casegraph add'"
    )
    with CaseStore.open("store", read_only=True) as store:
        assert store.sequence == 1
        assert set(store.graph.facts()) == set(facts)


def test_a_second_writer_is_told_which_command_writes(store: Path) -> None:
    program = (
        "from casegraph import CaseStore; "
        f"held = CaseStore.open({str(store)!r}); print(flush=True); input()"
    )
    command = [sys.executable, "-c", program, "at work"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        done = run("add", store, "-", given=ADA)
        writer.communicate(b"\n")
    expected = (
        f"casegraph: {store}: is being written by process {writer.pid} (-c at work); "
        "wait for it or stop it\n"
    )
    assert done.exit_code == 1
    assert done.stderr == expected


def test_an_export_into_a_pipe_that_is_closed_is_silent(store: Path) -> None:
    with subprocess.Popen(
        process("export", store), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
