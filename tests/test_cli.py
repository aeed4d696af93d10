"""The command line: formats, exit codes, one line for every error,
and nothing heavy before it is needed.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import assert_refused, process, records, run

import casegraph
from casegraph import CaseBase, world, write_facts

ASK = [
    "ask",
    "world",
    "John von Neumann",
    "died in",
    "--known",
    "exclude",
    "--top",
    "3",
]
EXPLAIN = ["explain", "world", "John von Neumann", "died in", "Washington, D.C."]
SIMILAR = ["similar", "world", "John von Neumann", "died in"]
BEST = ["Princeton", "Washington, D.C.", "Berlin"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small benchmark: countries."""
    countries = tmp_path / "countries"
    countries.mkdir()
    relations = ("borders", "continent", "capital")
    for facts, name in ((world.facts(), "train.txt"), (world.questions(), "test.txt")):
        chosen = [fact for fact in facts if fact.relation in relations]
        write_facts(chosen, countries / name)
    return countries


def test_a_shell_can_complete_commands_and_options() -> None:
    words = {"COMP_WORDS": "casegraph ask --ty", "COMP_CWORD": "2"}
    asked = {**os.environ, **words, "_CASEGRAPH_COMPLETE": "bash_complete"}
    done = subprocess.run(
        process(), env=asked, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["plain,--type"]


@pytest.mark.parametrize("option", ["--verbose", "--log-json"])
def test_what_is_done_is_said_if_that_is_wanted(option: str) -> None:
    command = process(option, "ask", "world", "Marie Curie", "spouse", "--top", "1")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    if option == "--log-json":
        lines = [json.loads(line)["message"] for line in lines]
    assert "world: <CaseBase: 3,766 facts" in lines[0]
    assert "counted what 'spouse' needs" in lines[1]


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "casegraph", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("casegraph, version")


def test_every_public_name_is_there_and_no_other() -> None:
    program = (
        "import casegraph, json; "
        "print(json.dumps([name for name in dir(casegraph) if name[0] != '_']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == sorted(casegraph.__all__)
    assert all(hasattr(casegraph, name) for name in casegraph.__all__)
    assert not hasattr(casegraph, "nothing")


def test_help_imports_nothing_heavy() -> None:
    heavy = "[name for name in ('numpy', 'rich', 'casegraph.kernels') if name in sys.modules]"
    code = (
        "import sys, casegraph, casegraph.cli; "
        f"casegraph.cli.cli(['--help'], standalone_mode=False); print({heavy})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_demo_finds_most_of_what_was_held_back() -> None:
    ranks = [row["rank"] for row in records("demo")]
    assert len(ranks) == len(world.questions())
    assert sum(rank == 1 for rank in ranks) > len(ranks) / 2


def test_the_demo_tells_the_same_story_every_time() -> None:
    first = run("demo")
    again = run("demo")
    assert first.exit_code == 0
    assert first.stdout == again.stdout
    assert first.stdout.count("← true, held back") >= 5
    assert "(John von Neumann, died in, ?)" in first.stdout
    assert "\x1b" not in first.stdout


@pytest.mark.parametrize(
    "arguments", [ASK, EXPLAIN, SIMILAR, [*ASK, "--explain"], ["demo"]], ids=" ".join
)
def test_every_format_has_the_same_rows(arguments: list[str]) -> None:
    lines = records(*arguments)
    table = run(*arguments, "--format", "tsv").stdout.splitlines()
    rows = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert lines
    assert [list(row) for row in rows] == [list(line) for line in lines]
    key = next(iter(lines[0]))
    assert [row[key] for row in rows] == [str(line[key]) for line in lines]
    assert json.loads(run(*arguments, "--format", "json").stdout)
    assert run(*arguments).exit_code == 0


def test_ask_prints_what_the_case_base_answers() -> None:
    cases = CaseBase()
    cases.update(add=world.facts())
    answers = cases.ask("John von Neumann", "died in", top=3, known="exclude")
    assert [answer.entity for answer in answers] == BEST
    printed = [(line["entity"], line["score"]) for line in records(*ASK)]
    assert printed == [(one.entity, one.score) for one in answers]


def test_ask_can_ask_for_heads_among_candidates(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text(
        "Kurt Gödel\nAlonzo Church\nnobody\n", encoding="utf-8"
    )
    question = ["ask", "world", "Princeton", "died in", "--head"]
    found = records(*question, "--candidates", tmp_path / "some.txt")
    assert {line["entity"] for line in found} == {"Kurt Gödel", "Alonzo Church"}


def test_a_saved_case_base_answers_as_its_source_does(tmp_path: Path) -> None:
    file = str(tmp_path / "world.case")
    assert run("save", "world", file).exit_code == 0
    assert records(ASK[0], file, *ASK[2:]) == records(*ASK)
    shorter = ["--max-length", "2"]
    assert records(ASK[0], file, *ASK[2:], *shorter) == records(*ASK, *shorter)


def test_facts_come_from_standard_input_too() -> None:
    text = "".join("\t".join(fact) + "\n" for fact in world.facts())
    assert run("ask", "-", *ASK[2:], given=text).stdout == run(*ASK).stdout


def test_facts_counts_what_each_source_adds(tmp_path: Path) -> None:
    first = tmp_path / "a.tsv"
    second = tmp_path / "b.csv"
    refused = tmp_path / "refused"
    first.write_text("a\tr\tb\na\tr\tb\n", encoding="utf-8")
    second.write_text("a,r,b\nb,r,c\nbad\n", encoding="utf-8")
    rows = records("facts", first, second, "--on-error", "skip", "--refused", refused)
    counts = [tuple(row.values())[1:] for row in rows]
    assert counts == [(1, 1, 0, 2, 1, 0), (1, 1, 1, 1, 0, 0), (2, 2, 1, 3, 1, 0)]
    assert refused.read_text(encoding="utf-8") == "bad\n"


def test_evaluate_prints_metrics_by_either_rule_for_ties(folder: Path) -> None:
    for ties, name in {"mean": "realistic", "original": "original"}.items():
        done = run("evaluate", folder, "--ties", ties, "--format", "json")
        document = json.loads(done.stdout)
        expected = document["metrics"][f"both.{name}.inverse_harmonic_mean_rank"]
        assert document["summary"]["mrr"] == expected
    rows = records(
        "evaluate", folder, "--per-relation", "--sides", "tail", "--limit", "5"
    )
    assert [row["side"] for row in rows] == ["tail"] * len(rows)
    assert [row["relation"] for row in rows] == ["(all)", "borders", "continent"]


@pytest.mark.parametrize(
    "settings", ["paper", "published", "cbr", "no-clusters", "one-cluster"]
)
def test_evaluate_knows_the_settings_by_name(folder: Path, settings: str) -> None:
    given = ["--settings", settings, "--dataset", "FB122", "--format", "json"]
    document = json.loads(run("evaluate", str(folder), *given).stdout)
    assert document["settings"]["neighbours"] == 10
    assert document["settings"]["precedents"] is False


ERRORS = {
    "unknown relation": (
        ["ask", "world", "Kyoto", "cityin"],
        "no relation is named 'cityin'; did you mean 'city in'",
    ),
    "unknown entity": (
        ["ask", "world", "Kyotto", "city in"],
        "no entity is named 'Kyotto'; did you mean 'Kyoto'",
    ),
    "unknown similar": (
        ["similar", "world", "Kyotto"],
        "no entity is named 'Kyotto'; did you mean 'Kyoto'",
    ),
    "unknown answer": (
        ["explain", "world", "Kyoto", "city in", "Japn"],
        "no entity is named 'Japn'",
    ),
    "not reached": (
        ["explain", "world", "Kyoto", "city in", "Turing Award"],
        "'Turing Award' was not reached",
    ),
    "max length": (
        ["ask", "world", "Kyoto", "city in", "--max-length", "7"],
        "max_length",
    ),
    "missing file": (
        ["ask", "missing.tsv", "a", "r"],
        "missing.tsv: no such file or directory",
    ),
    "missing case base": (["ask", "missing.case", "a", "r"], "missing.case: "),
    "malformed line": (
        ["facts", "bad.tsv"],
        "bad.tsv:2: expected 'head<TAB>relation<TAB>tail', found 2 fields",
    ),
    "no train file": (["evaluate", "empty"], "empty: expected a train file"),
    "no test file": (
        ["evaluate", "train only"],
        "train only: expected a file for the split 'test'",
    ),
    "truncated case base": (["ask", "cut.case", "a", "r"], "cut.case: "),
    "truncated, by another name": (["ask", "cut", "a", "r"], "cut: "),
    "another version": (["ask", "other.case", "a", "r"], "other.case: has format 99"),
    "no place to save": (
        ["save", "bad-folder.tsv", "nowhere/x.case"],
        "nowhere/x.case: ",
    ),
    "no place for refused lines": (
        ["facts", "good.tsv", "--refused", "nowhere/x"],
        "nowhere/x: no such file",
    ),
    "no such column": (
        ["facts", "good.tsv", "--columns", "a,b,x"],
        "good.tsv:1: expected one column called 'x', found",
    ),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_bad_input_is_one_line_and_exit_code_1(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    monkeypatch.chdir(tmp_path)
    cases = CaseBase()
    cases.update(add=[("a", "r", "b")])
    cases.save("whole.case")
    for name in ("cut.case", "cut"):
        Path(name).write_bytes(Path("whole.case").read_bytes()[:-200])
    np.savez("other", format=np.array([99]))
    Path("other.npz").rename("other.case")
    for name in ("good.tsv", "bad-folder.tsv"):
        Path(name).write_text("a\tr\tb\n", encoding="utf-8")
    Path("bad.tsv").write_text("a\tr\tb\na\tr\n", encoding="utf-8")
    for name in ("empty", "train only"):
        Path(name).mkdir()
    Path("train only/train.txt").write_text("a\tr\tb\n", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    arguments, message = ERRORS[kind]
    assert_refused(run(*arguments), message)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments",
    [["ask"], ["nothing"], ["demo", "--format", "xml"], ["--threads", "0", "demo"]],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


def test_an_interrupt_is_one_line_and_exit_code_130(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("casegraph.world.questions", interrupt)
    done = run("demo")
    assert done.exit_code == 130
    assert done.stdout == ""
    assert done.stderr == "casegraph: interrupted\n"


def test_names_cannot_steer_the_terminal_or_break_a_line(tmp_path: Path) -> None:
    file = tmp_path / "facts.csv"
    file.write_text(
        'a,r,"x\x07y\x1b[31m"\nb,r,"x\x07y\x1b[31m"\na,s,c\nb,s,c\n', encoding="utf-8"
    )
    for form in ("table", "tsv"):
        done = run("ask", str(file), "a", "r", "--format", form)
        assert "x\\x07y\\x1b[31m" in done.stdout
    assert records("ask", file, "a", "r")[0]["entity"] == "x\x07y\x1b[31m"


def test_results_and_errors_go_to_their_own_streams() -> None:
    good = subprocess.run(
        process(*ASK, "--format", "tsv"), capture_output=True, check=False
    )
    assert good.returncode == 0
    assert good.stderr.startswith(b"casegraph: with a probability of ")
    assert [
        line.split("\t")[1] for line in good.stdout.decode().splitlines()[1:]
    ] == BEST
    bad = subprocess.run(
        process("facts", "nowhere.tsv"), capture_output=True, check=False
    )
    assert bad.returncode == 1
    assert bad.stdout == b""
    assert bad.stderr.decode() == "casegraph: nowhere.tsv: no such file or directory\n"


def test_a_broken_pipe_is_silent() -> None:
    with subprocess.Popen(
        process("demo"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="needs a device that is always full"
)
@pytest.mark.parametrize("arguments", [ASK, ["demo"]], ids=["ask", "demo"])
def test_output_on_a_full_disk_is_an_error_of_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            process(*arguments),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    problem = "the output cannot be written (no space left on device); make room for it"
    assert done.stderr.endswith(f"casegraph: {problem}\n")


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASEGRAPH_THREADS", "1")
    assert run("--threads", "2", *ASK).stdout == run("--threads", "1", *ASK).stdout
