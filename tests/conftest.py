"""Which build of the package is tested, where stores are put, and how many faults were tried.

The build is the installed one, or the one in the folder that CASEGRAPH_PACKAGE names.

With `--passed FILE`, tests that the file lists are not run again, and those that pass are added to
it: a long run that was interrupted goes on where it was.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, cast

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as example_settings

# Time is not what is asserted, in whatever files are run, on however busy a machine.
example_settings.register_profile(
    "casegraph", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
example_settings.load_profile("casegraph")
# The profile of scripts/coverage.
example_settings.register_profile(
    "coverage",
    parent=example_settings.get_profile("casegraph"),
    max_examples=10,
    derandomize=True,
)

if folder := os.environ.get("CASEGRAPH_PACKAGE"):
    sys.meta_path[:] = [
        finder
        for finder in sys.meta_path
        if type(finder).__name__ != "ScikitBuildRedirectingFinder"
    ]
    sys.path.insert(0, folder)

    from casegraph import kernels

    assert kernels.__file__.startswith(folder), (
        f"{kernels.__file__} is tested instead of the build in {folder}"
    )

# A test neither finds nor leaves anything in the user's cache.
os.environ["CASEGRAPH_CACHE"] = ""
# Data sets that are beside the checkout are found.
os.environ.setdefault(
    "CASEGRAPH_DATA", str(Path(__file__).parents[2] / "shared" / "data")
)

Tally: TypeAlias = Callable[[str, int], None]
MEMORY = Path("/dev/shm")


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    """Notes how often something was tried; the sums are printed after the last test."""
    sums: dict[str, list[Any]] = {}

    def note(what: str, number: int) -> None:
        if what not in sums:
            sums[what] = [what, 0]
            request.node.user_properties.append(("tried", sums[what]))
        sums[what][1] += number

    return note


@pytest.fixture
def memory_folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder, in memory where there is such a thing:
    for thousands of stores that are flushed all the time.
    """
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with TemporaryDirectory(
        dir=MEMORY, prefix="casegraph-", ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The file that lists tests that have passed."""
    parser.addoption(
        "--passed", type=Path, help="tests in this file are left out, and added to it"
    )


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out the tests that have passed before."""
    before = _passed_before(config)
    done = [item for item in items if item.nodeid in before]
    if done:
        items[:] = [item for item in items if item.nodeid not in before]
        config.hook.pytest_deselected(items=done)


def pytest_configure(config: pytest.Config) -> None:
    """Note the tests that pass, where all of them are reported: not in a worker of xdist."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Passed(config), "passed")


class _Passed:
    """Notes which tests pass and how often they tried what; prints the sums after the last test."""

    def __init__(self, config: pytest.Config) -> None:
        self._file: Path | None = config.option.passed
        self._tried = Counter[str]()
        for tried in _passed_before(config).values():
            self._tried.update(tried)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that has passed."""
        if report.when != "call" or not report.passed:
            return
        tried: dict[str, int] = dict(
            cast("list[Any]", value)
            for name, value in report.user_properties
            if name == "tried"
        )
        self._tried.update(tried)
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps([report.nodeid, tried]) + "\n")

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        """Print how often what was tried, by tests that passed, as docs/reliability.md has it."""
        if self._tried:
            terminalreporter.section("tried, by tests that passed")
            for what, number in sorted(self._tried.items()):
                terminalreporter.write_line(f"| {what} | {number:,} |")


def _passed_before(config: pytest.Config) -> dict[str, dict[str, int]]:
    """The tests that the file lists, and how often each tried what."""
    file = config.option.passed
    if file is None or not file.exists():
        return {}
    return dict(map(json.loads, file.read_text(encoding="utf-8").splitlines()))
