"""Options from files and from the environment, and which of them counts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import assert_refused, records, run

from casegraph.cli.configuration import user_file

QUESTION = ("ask", "world", "Marie Curie", "spouse")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, and another that is the user's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "user"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def write_user_file(text: str) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(text, encoding="utf-8")


def test_an_option_counts_before_the_environment_before_the_folder_before_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(records(*QUESTION)) == 10
    write_user_file("[ask]\ntop = 5\n")
    assert len(records(*QUESTION)) == 5
    Path("casegraph.toml").write_text("[ask]\ntop = 4\n", encoding="utf-8")
    assert len(records(*QUESTION)) == 4
    monkeypatch.setenv("CASEGRAPH_ASK_TOP", "3")
    assert len(records(*QUESTION)) == 3
    assert len(records(*QUESTION, "--top", "2")) == 2


def test_files_add_to_each_other() -> None:
    write_user_file('threads = 1\n[ask]\nformat = "tsv"\ntop = 9\n')
    Path("casegraph.toml").write_text(
        "[ask]\ntop = 1\n[search]\ntop = 2\n", encoding="utf-8"
    )
    assert len(run(*QUESTION).stdout.splitlines()) == 2  # a header and an answer
    assert len(records("search", "world", "a")) == 2


def test_options_are_written_as_on_the_command_line() -> None:
    text = '[ask]\nknown = "exclude"\nmax-length = 2\nset = "doubt=10"\n[build]\ntune = false\n'
    Path("casegraph.toml").write_text(text, encoding="utf-8")
    given = ("--known", "exclude", "--max-length", "2", "--set", "doubt=10")
    expected = records("--config", "", *QUESTION, *given)
    assert records(*QUESTION) == expected


def test_an_option_at_the_top_is_that_of_every_command_which_has_it() -> None:
    Path("casegraph.toml").write_text("top = 3\n[search]\ntop = 2\n", encoding="utf-8")
    assert len(records(*QUESTION)) == 3
    assert len(records("similar", "world", "Marie Curie")) == 3
    assert len(records("search", "world", "a")) == 2


def test_another_file_is_read_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("casegraph.toml").write_text("[ask]\ntop = 1\n", encoding="utf-8")
    Path("other.toml").write_text("[ask]\ntop = 2\n", encoding="utf-8")
    assert len(records("--config", "other.toml", *QUESTION)) == 2
    assert len(records("--config", "", *QUESTION)) == 10
    monkeypatch.setenv("CASEGRAPH_CONFIG", "other.toml")
    assert len(records(*QUESTION)) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topp = 1", "casegraph.toml: says 'topp', which is no option there"),
        (
            "[ask]\ntopp = 1",
            "casegraph.toml, [ask]: says 'topp', which is no option there; did",
        ),
        (
            "[asks]\ntop = 1",
            "casegraph.toml: says 'asks', which is no option there; did you mean",
        ),
        (
            "[ask.more]\ntop = 1",
            "casegraph.toml, [ask]: says 'more', which is no option there",
        ),
        ("[ask", "casegraph.toml: is no TOML: "),
        (
            '[complete]\nout = "x"',
            "casegraph.toml, [complete]: says 'out', which is given with",
        ),
        ("help = true", "casegraph.toml: says 'help', which is no option there"),
    ],
)
def test_what_is_not_understood_is_named(text: str, message: str) -> None:
    Path("casegraph.toml").write_text(text, encoding="utf-8")
    assert_refused(run(*QUESTION), message)


def test_a_file_that_is_named_must_be_there() -> None:
    assert_refused(
        run("--config", "none.toml", *QUESTION), "none.toml: no such file or directory"
    )


def test_a_value_of_another_kind_is_wrong_usage() -> None:
    Path("casegraph.toml").write_text('[ask]\ntop = "many"\n', encoding="utf-8")
    done = run(*QUESTION)
    assert done.exit_code == 2
    assert "Invalid value for '--top': 'many'" in done.stderr


COMPLETING = (
    "import sys; from casegraph.cli import main; sys.argv = ['casegraph']; main()"
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["casegraph", "ev"], ["evaluate"]),
        (["casegraph", "ask", "world", "x", "y", "--kno"], ["--known"]),
        (["casegraph", "ask", "world", "x", "y", "--known", ""], ["mark", "exclude"]),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_a_line_goes_on(
    shell: str, line: list[str], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is wrong there is no matter.
    Path("casegraph.toml").write_text("[ask", encoding="utf-8")
    monkeypatch.setenv("_CASEGRAPH_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(line))
    monkeypatch.setenv(
        "COMP_CWORD", line[-1] if shell == "fish" else str(len(line) - 1)
    )
    done = subprocess.run(
        [sys.executable, "-c", COMPLETING], capture_output=True, text=True, check=False
    )
    offered = re.split(r"[,\t\n]", done.stdout)
    assert set(expected) <= set(offered), done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_given_the_lines_that_switch_completion_on(
    shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_CASEGRAPH_COMPLETE", f"{shell}_source")
    done = subprocess.run(
        [sys.executable, "-c", COMPLETING], capture_output=True, text=True, check=False
    )
    assert f"_CASEGRAPH_COMPLETE={shell}_complete" in done.stdout
