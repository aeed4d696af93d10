"""The documents are true: help is as printed, examples run, links lead somewhere."""

from __future__ import annotations

import doctest
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

import casegraph.casebase
from casegraph import CaseStore, world, write_facts
from casegraph.cli import cli

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[1]
COMMANDS_PAGE = ROOT / "docs" / "commands.md"
PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if page.exists()]
NAMES = ["", *sorted(cli.commands), "datasets fetch"]
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def printed_help(name: str) -> str:
    arguments = [*name.split(), "--help"]
    return CliRunner().invoke(cli, arguments, prog_name="casegraph", terminal_width=88).stdout.rstrip()


def section(name: str) -> str:
    """What docs/commands.md has between the markers of a command."""
    shown = f"casegraph {name}".strip()
    return f"<!-- help: {shown} -->\n```text\n{printed_help(name)}\n```\n<!-- end -->"


def write_sections() -> None:
    """Bring the sections of docs/commands.md up to date: `CASEGRAPH_WRITE_DOCS=1 pytest tests/test_docs.py`."""
    text = COMMANDS_PAGE.read_text(encoding="utf-8")
    for name in NAMES:
        marker = re.escape(f"<!-- help: {f'casegraph {name}'.strip()} -->")
        new = section(name)
        text = re.sub(marker + r".*?<!-- end -->", lambda _, new=new: new, text, flags=re.DOTALL)  # type: ignore[misc]
    COMMANDS_PAGE.write_text(text, encoding="utf-8")


if os.environ.get("CASEGRAPH_WRITE_DOCS") == "1":
    write_sections()


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CASEGRAPH_DATA", str(tmp_path))
    facts = world.facts()
    write_facts(facts[:100], "people.tsv")
    Path("places.csv").write_text("Ulm,city in,Germany\nBern,capital of\n", encoding="utf-8")
    Path("WN18RR").mkdir()
    write_facts([fact for fact in facts if fact.relation in ("borders", "continent", "capital")], "WN18RR/train.txt")
    write_facts([fact for fact in world.questions() if fact.relation in ("borders", "continent")], "WN18RR/test.txt")
    with CaseStore.open("store") as store:
        store.update(add=facts[:100])
    return tmp_path


def command_of(name: str) -> click.Command:
    command: click.Command = cli
    for part in name.split():
        assert isinstance(command, click.Group)
        command = command.commands[part]
    return command


def examples(command: click.Command) -> list[str]:
    return re.findall(r"^\s*casegraph (.+)$", command.help or "", re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_every_command_is_in_the_docs_as_printed(name: str) -> None:
    assert section(name) in COMMANDS_PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_an_example_that_runs(name: str, workplace: Path) -> None:
    found = examples(command_of(name))
    assert found
    for example in found:
        result = CliRunner().invoke(cli, shlex.split(example))
        assert (result.exit_code, bool(result.stdout)) == (0, True), result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_session_in_the_docs_is_true(page: Path, workplace: Path) -> None:
    sessions = [block for block in PYTHON.findall(page.read_text(encoding="utf-8")) if ">>>" in block]
    example = doctest.DocTestParser().get_doctest("\n".join(sessions), {}, page.name, str(page), 0)
    runner, report = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS), list[str]()
    runner.run(example, out=report.append)
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize("module", [casegraph, casegraph.casebase], ids=lambda module: module.__name__)
def test_every_example_in_a_docstring_is_true(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    files = [link.partition("#")[0] for link in links if "://" not in link and not link.startswith(("#", "mailto:"))]
    assert [file for file in files if not (page.parent / file).exists()] == []
