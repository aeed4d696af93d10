"""
Configuration files with default options.

There are two: `casegraph.toml` in the folder where the command is run, and `config.toml` in the
user's folder for configurations. What the first says comes before the second, and an option or an
environment variable before both. `--config`, or CASEGRAPH_CONFIG, names one file instead of the
two, or, if it is empty, none.

A file has the options of `casegraph` itself at the top, and those that every command is to use
which has them; those of one command are in a table that is called like it:

    threads = 2
    columns = "drug,effect,disease"
    [ask]
    top = 5
    format = "json"
"""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import click

from casegraph.errors import UnreadableFile, close_names, quoted

IN_FOLDER = "casegraph.toml"
OF_USER = "config.toml"

# What is written, and over what, is said with each command: the file may be somebody else's.
NEVER = frozenset({"out", "into", "refused", "ranks", "plot", "reliability", "config"})


def configured(group: click.Group, chosen: str | None) -> dict[str, Any]:
    """The options that the files say, as click takes them; of files that are there.

    chosen  the only file to read; none if it is empty
    """
    if chosen is None:
        files = [file for file in (user_file(), Path(IN_FOLDER)) if file.is_file()]
    else:
        files = [Path(chosen)] if chosen else []
    options: dict[str, Any] = {}
    for file in files:
        _put(options, _options(group, _read(file), str(file)))
    return options


def user_file() -> Path:
    """The file of the user, as each system has it."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return base / "casegraph" / OF_USER


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableFile(str(file), (error.strerror or "").lower()) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnreadableFile(str(file), f"is no TOML: {error}") from error


def _options(command: click.Command, said: dict[str, Any], place: str) -> dict[str, Any]:
    """What a table says, by the names that click has for its options; what is unknown is an error.

    place  the file and the table, for messages
    """
    parameters = _parameters(command)
    subcommands = command.commands if isinstance(command, click.Group) else {}
    options: dict[str, Any] = {}
    for name, value in said.items():
        if isinstance(value, dict):
            continue
        if name in NEVER:
            raise UnreadableFile(place, f"says {name!r}, which is given with each command only")
        having = [sub for sub, other in subcommands.items() if name in _parameters(other)]
        if name in parameters:
            _set(options, parameters[name], value)
        for sub in having:
            _set(options.setdefault(sub, {}), _parameters(subcommands[sub])[name], value)
        if name not in parameters and not having:
            raise _no_option(name, [*parameters, *subcommands], place)
    for name, value in said.items():
        if isinstance(value, dict):
            if name not in subcommands:
                raise _no_option(name, [*parameters, *subcommands], place)
            its_options = _options(subcommands[name], value, f"{place}, [{name}]")
            _put(options.setdefault(name, {}), its_options)
    return options


def _set(options: dict[str, Any], parameter: click.Option, value: object) -> None:
    is_one = parameter.multiple and not isinstance(value, list)
    options[str(parameter.name)] = [value] if is_one else value


def _no_option(name: str, known: list[str], place: str) -> UnreadableFile:
    near = close_names(name, known)
    meant = f"; did you mean {' or '.join(map(quoted, near))}?" if near else ""
    return UnreadableFile(place, f"says {name!r}, which is no option there{meant}")


def _parameters(command: click.Command) -> dict[str, click.Option]:
    """The options of a command as they are written, without the dashes; not those that are `--no`.

    Options that end the command, such as --help, are none of them.
    """
    found = {}
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.is_eager:
            for spelling in parameter.opts:
                found[spelling.lstrip("-")] = parameter
    return found


def _put(options: dict[str, Any], more: dict[str, Any]) -> None:
    """Put more options among these; what both have, `more` says."""
    for name, value in more.items():
        if isinstance(value, dict):
            _put(options.setdefault(name, {}), value)
        else:
            options[name] = value
