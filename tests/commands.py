"""Commands as a user gives them: run in this process, or as a process of their own."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner, Result

from casegraph.cli import cli

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str | Path, given: str | None = None) -> Result:
    """What a command does; `given` is its standard input."""
    return CliRunner().invoke(
        cli, [str(argument) for argument in arguments], input=given
    )


def records(*arguments: str | Path, given: str | None = None) -> list[dict[str, Any]]:
    """The lines that a command prints as JSON; it must succeed."""
    done = run(*arguments, "--format", "jsonl", given=given)
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def process(*arguments: str | Path) -> list[str]:
    """How to start a command as a process."""
    program = "from casegraph.cli import main; main()"
    return [sys.executable, "-c", program, *(str(argument) for argument in arguments)]


def assert_refused(done: Result, message: str) -> None:
    """The command failed with an error of one line, which begins like this, and printed no more."""
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"casegraph: {message}")
    assert done.stderr.count("\n") == 1
