"""Which build of the package is tested, where stores are put, and how many faults were tried.

The build is the installed one, or the one in the folder that CASEGRAPH_PACKAGE names.
"""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pytest
from hypothesis import settings as example_settings

# Time is not what is asserted, in whatever files are run.
example_settings.register_profile("casegraph", deadline=None)
example_settings.load_profile("casegraph")
# The profile of scripts/coverage.
example_settings.register_profile("coverage", max_examples=10, derandomize=True, deadline=None)

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

os.environ["CASEGRAPH_CACHE"] = ""  # a test neither finds nor leaves anything in the user's cache

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
    with TemporaryDirectory(dir=MEMORY, prefix="casegraph-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how often what was tried, by the tests that passed, as docs/reliability.md has it."""
    tried = Counter[str]()
    for report in terminalreporter.getreports("passed"):
        if report.when == "call":
            for what, number in (
                value for name, value in report.user_properties if name == "tried"
            ):
                tried[what] += number
    if tried:
        terminalreporter.section("tried, by tests that passed")
        for what, number in sorted(tried.items()):
            terminalreporter.write_line(f"| {what} | {number:,} |")
