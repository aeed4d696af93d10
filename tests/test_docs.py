"""The documents are true: help is as printed, examples run, links lead somewhere."""

from __future__ import annotations

import doctest
import os
import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner
from tools import architecture
from tools.tree import Module, modules

import casegraph.casebase
import casegraph.evaluation.datasets
from casegraph import CaseStore, world, write_facts
from casegraph.cli import cli
from casegraph.cli.group import SUMMARIES

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[1]
COMMANDS_PAGE = ROOT / "docs" / "commands.md"
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if page.exists()
]
NAMES = ["", *sorted(cli.commands), "datasets fetch"]
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(
    r"^<!-- output: (casegraph .+?) -->\n.*?<!-- end -->", re.MULTILINE | re.DOTALL
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
NAMED_LINK = re.compile(r"\[`([\w.]+)`\]\((?:\.\./)*(src/casegraph/[^)#\s]+)\)")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
FILE = re.compile(
    r"(?:[\w-]+/)*[\w-]+\.(?:py|pyi|hpp|cpp|md|svg|toml|yml|txt)|scripts/[\w-]+"
)
NOT_OURS = {"json.dumps", "CMakeLists.txt"}
FILES_OF_A_USER = {
    "FILE.progress",
    "acknowledged.new",
    "casegraph.toml",
    "config.toml",
    "generation.new",
    "generation.old",
    "log.new",
}
DOCUMENTED = [*PAGES, ROOT / "CONTRIBUTING.md"]
MODULES = modules()


def printed_help(name: str) -> str:
    arguments = [*name.split(), "--help"]
    done = CliRunner().invoke(cli, arguments, prog_name="casegraph", terminal_width=80)
    return done.stdout.rstrip()


def section(name: str) -> str:
    """What docs/commands.md has between the markers of a command."""
    shown = f"casegraph {name}".strip()
    return f"<!-- help: {shown} -->\n```text\n{printed_help(name)}\n```\n<!-- end -->"


def printed(command: str) -> str:
    """What a page has between the markers of a command whose output it shows."""
    done = CliRunner(env={"COLUMNS": "80"}).invoke(cli, shlex.split(command)[1:])
    assert done.exit_code == 0, done.stderr
    shown = f"$ {command}\n{done.stdout.rstrip()}"
    return f"<!-- output: {command} -->\n```text\n{shown}\n```\n<!-- end -->"


def write_sections() -> None:
    """Bring the sections of docs/commands.md, and outputs on all pages, up to date:
    `CASEGRAPH_WRITE_DOCS=1 pytest tests/test_docs.py`.
    """
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        page.write_text(
            OUTPUT.sub(lambda found: printed(found[1]), before), encoding="utf-8"
        )
    text = COMMANDS_PAGE.read_text(encoding="utf-8")
    for name in NAMES:
        marker = re.escape(f"<!-- help: {f'casegraph {name}'.strip()} -->")
        old = re.search(marker + r".*?<!-- end -->", text, flags=re.DOTALL)
        if old is not None:
            text = text[: old.start()] + section(name) + text[old.end() :]
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
    Path("places.csv").write_text(
        "Ulm,city in,Germany\nBern,capital of\n", encoding="utf-8"
    )
    Path("questions.tsv").write_text(
        "Marie Curie\tspouse\n?\tborn in\tUlm\n", encoding="utf-8"
    )
    Path("WN18RR").mkdir()
    train = [
        fact for fact in facts if fact.relation in ("borders", "continent", "capital")
    ]
    test = [
        fact for fact in world.questions() if fact.relation in ("borders", "continent")
    ]
    write_facts(train, "WN18RR/train.txt")
    write_facts(test, "WN18RR/test.txt")
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


def test_the_output_of_a_command_is_in_the_docs_as_printed() -> None:
    shown: list[re.Match[str]] = []
    for page in PAGES:
        shown += OUTPUT.finditer(page.read_text(encoding="utf-8"))
    assert shown
    for output in shown:
        command = output[1]
        assert output[0] == printed(command)


def test_every_command_is_listed_once_and_in_whole_sentences() -> None:
    listed = [name for summaries in SUMMARIES.values() for name in summaries]
    assert sorted(listed) == sorted(cli.commands)
    assert "..." not in printed_help("").partition("See how it works")[2]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_an_example_that_runs(name: str, workplace: Path) -> None:
    found = examples(command_of(name))
    assert found
    for example in found:
        result = CliRunner().invoke(cli, shlex.split(example))
        assert result.exit_code == 0, result.stderr
        assert result.stdout or " written to " in result.stderr


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_every_command_fits_80_columns(name: str) -> None:
    assert [line for line in printed_help(name).splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_session_in_the_docs_is_true(page: Path, workplace: Path) -> None:
    sessions = [
        block
        for block in PYTHON.findall(page.read_text(encoding="utf-8"))
        if ">>>" in block
    ]
    example = doctest.DocTestParser().get_doctest(
        "\n".join(sessions), {}, page.name, str(page), 0
    )
    runner = doctest.DocTestRunner(
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    report = list[str]()
    runner.run(example, out=report.append)
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize(
    "module",
    [casegraph, casegraph.casebase, casegraph.evaluation.datasets],
    ids=lambda module: module.__name__,
)
def test_every_example_in_a_docstring_is_true(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module)
    assert failed == 0
    assert tried > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    relative = [
        link
        for link in links
        if "://" not in link and not link.startswith(("#", "mailto:"))
    ]
    files = [link.partition("#")[0] for link in relative]
    assert [file for file in files if not (page.parent / file).exists()] == []


def test_the_architecture_picture_is_drawn_from_the_imports_as_they_are() -> None:
    assert architecture.PICTURE.read_text(encoding="utf-8") == architecture.drawing(
        MODULES
    ), "run scripts/architecture"


def test_the_table_of_modules_has_every_module_and_what_its_docstring_says() -> None:
    page = architecture.TABLE_PAGE.read_text(encoding="utf-8")
    assert page == architecture.with_table(page, MODULES), "run scripts/architecture"
    table = page.partition(architecture.TABLE_BEGIN)[2].partition(
        architecture.TABLE_END
    )[0]
    named = re.findall(r"^\| \**`([\w.]+)/?`\** \| \S", table, re.MULTILINE)
    assert named == [name for name in MODULES if name]


def test_an_arrow_is_left_out_where_others_lead_there() -> None:
    imports = {
        "top": {"middle", "bottom", "aside"},
        "middle": {"bottom"},
        "aside": set[str](),
        "bottom": set[str](),
    }
    assert architecture.needed(imports) == {
        "top": {"middle", "aside"},
        "middle": {"bottom"},
        "aside": set(),
        "bottom": set(),
    }
    assert architecture.rows(imports) == [["top"], ["aside", "middle"], ["bottom"]]


def test_what_a_package_imports_is_read_from_all_its_modules() -> None:
    found = {
        name: Module(name, ROOT / f"{name}.py", "", frozenset(imports))
        for name, imports in {
            "graph.facts": ["errors"],
            "storage.disk": ["graph.facts", "storage.other"],
            "storage.store.log": ["storage.disk", "world"],
        }.items()
    }
    assert architecture.package_imports(found) == {
        "graph": set(),
        "storage": {"graph"},
        "storage.store": {"storage"},
    }


def is_there(name: str) -> bool:
    """Whether a dotted name is that of a module of ours, or of something
    in it, or of something public.
    """
    module = name
    while module and module not in MODULES:
        module = module.rpartition(".")[0]
    try:
        found: object = import_module(f"casegraph.{module}" if module else "casegraph")
    except ModuleNotFoundError as error:
        return error.name == "mcp"  # an extra that tests do without
    for part in filter(None, name.removeprefix(module).split(".")):
        if not hasattr(found, part) and part not in getattr(
            found, "__annotations__", {}
        ):
            return False
        found = getattr(found, part, None)
    return True


@pytest.mark.parametrize("page", DOCUMENTED, ids=lambda page: page.name)
def test_every_name_of_ours_in_the_docs_exists(page: Path) -> None:
    code = CODE.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    named = set()
    for text in code:
        found = DOTTED.match(text.removeprefix("casegraph."))
        if found and not FILE.fullmatch(found.group()):
            named.add(found.group())
    ours = {
        name
        for name in named - NOT_OURS - FILES_OF_A_USER
        if not name.startswith("cases.")
    }
    assert sorted(name for name in ours if not is_there(name)) == []


def test_a_name_that_does_not_exist_is_noticed() -> None:
    assert is_there("statistics.incremental.changed_hits")
    assert is_there("Settings.budget")
    assert is_there("graph.graph.Graph.answers")
    assert not is_there("statistics.recounting.changed_hits")
    assert not is_there("recounting.changed_hits")
    assert not is_there("graph.graph.Graph.replies")


@pytest.mark.parametrize("page", DOCUMENTED, ids=lambda page: page.name)
def test_a_link_from_a_name_leads_to_the_file_that_has_it(page: Path) -> None:
    wrong = []
    for name, file in NAMED_LINK.findall(page.read_text(encoding="utf-8")):
        holders = [
            module
            for module in MODULES
            if module and f"{name}.".startswith(f"{module}.")
        ]
        files = [
            MODULES[module].path.relative_to(ROOT).as_posix() for module in holders
        ]
        if file not in files:
            wrong.append((name, file))
    assert wrong == []


@pytest.mark.parametrize("page", DOCUMENTED, ids=lambda page: page.name)
def test_every_file_of_ours_that_the_docs_name_exists(page: Path) -> None:
    code = CODE.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    named = {text for text in code if FILE.fullmatch(text)} - FILES_OF_A_USER
    assert (
        sorted(
            name for name in named if not (ROOT / name).exists() and not in_tree(name)
        )
        == []
    )


def test_every_test_that_the_docs_name_exists() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in DOCUMENTED)
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", text)
    assert len(named) > 20
    missing = []
    for file, test in named:
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        if f"def {test}(" not in source:
            missing.append(f"{file}::{test}")
    assert missing == []


def in_tree(name: str) -> bool:
    """Whether a file of this name is in one of our folders; the docs may leave out which."""
    folders = [ROOT / "kernels", ROOT / "tests", ROOT / "src", ROOT / "docs"]
    return any(file for folder in folders for file in folder.rglob(name))


def test_every_command_in_a_shell_session_of_the_docs_exists() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in DOCUMENTED)
    sessions = re.findall(
        r"^```(?:sh|console)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )
    named = set()
    for session in sessions:
        named.update(re.findall(r"^(?:\$ )?casegraph ([a-z]+)", session, re.MULTILINE))
    assert named
    assert named <= set(cli.commands)
