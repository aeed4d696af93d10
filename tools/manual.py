"""
The manual page, made from the commands: docs/casegraph.1, which an installation puts where `man`
finds it.

`python -m tools.manual` writes it; a test compares the two.
"""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import TYPE_CHECKING

import click

from casegraph import __version__
from casegraph.cli import cli
from tools.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "casegraph.1"
KEPT = "\b"  # click's sign for a paragraph whose lines are kept as they are
PROGRAM = "casegraph"
FILES = [
    (
        "casegraph.toml",
        "Options to use where none is given, in the folder of the command.",
    ),
    ("~/.config/casegraph/config.toml", "The same of the user."),
    ("~/.cache/casegraph", "Data that were fetched, and what was counted of files."),
]
ENVIRONMENT = [
    ("CASEGRAPH_CONFIG", "The only file of options to read; none if it is empty."),
    ("CASEGRAPH_THREADS", "How many threads to use."),
    ("CASEGRAPH_DATA", "Where published data sets are looked for."),
    (
        "CASEGRAPH_CACHE",
        "Where to keep what was counted of files; nowhere if it is empty.",
    ),
    ("CASEGRAPH_COMMAND_OPTION", "Any option of a command, such as CASEGRAPH_ASK_TOP."),
]
EXITS = [
    ("0", "Success."),
    ("1", "An error, which one line on standard error says."),
    ("2", "Wrong usage."),
    ("130", "Interrupted."),
]


def main() -> None:
    """Write the page."""
    PAGE.write_text(manual(), encoding="utf-8")


def manual() -> str:
    """The whole page, in the language of man(7)."""
    summary = _first_sentence(cli)
    lines = [
        f'.TH CASEGRAPH 1 "" "casegraph {__version__}" "User Commands"',
        ".SH NAME",
        f"{PROGRAM} \\- {_text(summary[0].lower() + summary[1:])}",
        ".SH SYNOPSIS",
        f".B {PROGRAM}",
        "[OPTIONS] COMMAND [ARGS]...",
        ".SH DESCRIPTION",
        *_description(cli),
        ".SH OPTIONS",
        *_options(cli, PROGRAM),
        ".SH COMMANDS",
    ]
    for name, command in _commands(cli, PROGRAM):
        lines += [f'.SS "{_text(_usage(command, name))}"', *_description(command)]
        lines += _options(command, name)
    for title, entries in (
        ("FILES", FILES),
        ("ENVIRONMENT", ENVIRONMENT),
        ("EXIT STATUS", EXITS),
    ):
        lines.append(f".SH {title}")
        for term, meaning in entries:
            lines += [".TP", f".B {_text(term)}", _text(meaning)]
    return "\n".join(lines) + "\n"


def _commands(group: click.Group, name: str) -> Iterator[tuple[str, click.Command]]:
    """Every command with its full name, in the order of names."""
    for part in sorted(group.commands):
        command = group.commands[part]
        yield f"{name} {part}", command
        if isinstance(command, click.Group):
            yield from _commands(command, f"{name} {part}")


def _usage(command: click.Command, name: str) -> str:
    context = click.Context(command, info_name=name)
    return " ".join([name, *command.collect_usage_pieces(context)])


def _description(command: click.Command) -> Iterator[str]:
    """The help of a command, a paragraph at a time; lines of examples stay as they are."""
    for paragraph in cleandoc(command.help or "").split("\n\n"):
        yield ".PP"
        if paragraph.startswith(KEPT):
            yield ".nf"
            yield from map(_text, paragraph.removeprefix(KEPT).strip("\n").split("\n"))
            yield ".fi"
        else:
            yield _text(" ".join(paragraph.split()))


def _options(command: click.Command, name: str) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            spelling, meaning = record
            yield from (".TP", f".B {_text(spelling)}", _text(meaning))


def _first_sentence(command: click.Command) -> str:
    return (command.help or "").partition("\n")[0].rstrip(".")


def _text(text: str) -> str:
    """Text as roff has it: no sign of it is taken for a request or an escape."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return re.sub(r"^([.'])", r"\\&\1", escaped)


if __name__ == "__main__":
    main()
