"""The `casegraph` command: each command parses, makes a public call, and returns what to print."""

import logging
import sys
from io import TextIOWrapper

from casegraph.cli.commands import (  # noqa: F401  (a command joins the group when its module is read)
    ask,
    batch,
    benchmarks,
    browse,
    demo,
    experiments,
    inspection,
    measurement,
    scaling,
    servers,
    stores,
    tune,
)
from casegraph.cli.group import cli

__all__ = ["cli", "main"]


def main() -> None:
    """The entry point; what is printed is UTF-8 wherever it goes."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    logging.basicConfig(format="casegraph: %(message)s")
    cli(prog_name="casegraph")
