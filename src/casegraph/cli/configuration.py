"""
Configuration files with default options.

There are two: `casegraph.toml` in the folder where the command is run, and `config.toml` in the
user's folder for configurations. The first takes precedence over the second, and an option or an
environment variable over both. `--config`, or CASEGRAPH_CONFIG, names one file instead of the two;
if it is empty, no file is read.

At the top of a file are the options of `casegraph` itself, and options for all commands that have
them; those of a single command are in a table with its name:

    threads = 2
    columns = "drug,effect,disease"
    [ask]
    top = 5
    format = "json"
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click

from casegraph.errors import UnreadableFile, close_names, quoted
from casegraph.folders import configuration_folder

IN_FOLDER = "casegraph.toml"
OF_USER = "config.toml"

# Files to write are only given on the command line: a configuration may be written by others.
NEVER = frozenset({"out", "into", "refused", "ranks", "plot", "reliability", "config"})


def configured(group: click.Group, chosen: str | None) -> dict[str, Any]:
    """The options in configuration files, in the form of click's default map.

    chosen  the only file to read; empty: none; None: the two files, if they exist
    """
    if chosen is None:
        files = [file for file in (user_file(), Path(IN_FOLDER)) if file.is_file()]
    else:
        files = [Path(chosen)] if chosen else []
    options: dict[str, Any] = {}
    for file in files:
        in_file = _options(group, _read(file), place=str(file))
        _merge(options, in_file)
    return options


def user_file() -> Path:
    """The user's configuration file, by the convention of each system."""
    return configuration_folder() / OF_USER


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableFile(str(file), (error.strerror or "").lower()) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnreadableFile(str(file), f"is no TOML: {error}") from error


def _options(
    command: click.Command, table: dict[str, Any], place: str
) -> dict[str, Any]:
    """The options in a table, by click's names of them; an error if one is unknown.

    place  the file and the table, for messages
    """
    parameters = _parameters(command)
    subcommands = command.commands if isinstance(command, click.Group) else {}
    known = [*parameters, *subcommands]
    values = {
        name: value for name, value in table.items() if not isinstance(value, dict)
    }
    subtables = {
        name: value for name, value in table.items() if isinstance(value, dict)
    }
    options: dict[str, Any] = {}

    for name, value in values.items():
        if name in NEVER:
            raise UnreadableFile(
                place, f"says {name!r}, which is given with each command only"
            )
        is_known = name in parameters
        if is_known:
            _set(options, parameters[name], value)
        for subcommand, other in subcommands.items():
            its_parameters = _parameters(other)
            if name in its_parameters:
                is_known = True
                _set(options.setdefault(subcommand, {}), its_parameters[name], value)
        if not is_known:
            raise _no_option(name, known, place)

    # The options of a single command come last, and take precedence over those for all.
    for name, subtable in subtables.items():
        if name not in subcommands:
            raise _no_option(name, known, place)
        its_options = _options(subcommands[name], subtable, f"{place}, [{name}]")
        _merge(options.setdefault(name, {}), its_options)
    return options


def _set(options: dict[str, Any], parameter: click.Option, value: object) -> None:
    is_one = parameter.multiple and not isinstance(value, list)
    options[str(parameter.name)] = [value] if is_one else value


def _no_option(name: str, known: list[str], place: str) -> UnreadableFile:
    near = close_names(name, known)
    meant = f"; did you mean {' or '.join(map(quoted, near))}?" if near else ""
    return UnreadableFile(place, f"says {name!r}, which is no option there{meant}")


def _parameters(command: click.Command) -> dict[str, click.Option]:
    """The options of a command by their spelling without dashes, except for `--no-` spellings.

    Options that end the command, such as --help, are left out.
    """
    found = {}
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.is_eager:
            for spelling in parameter.opts:
                found[spelling.lstrip("-")] = parameter
    return found


def _merge(options: dict[str, Any], more: dict[str, Any]) -> None:
    """Add more options to these, and replace those that both have."""
    for name, value in more.items():
        if isinstance(value, dict):
            _merge(options.setdefault(name, {}), value)
        else:
            options[name] = value
