"""
What the commands have in common: the group, its errors, and the options that several take.

Everything heavy is imported inside the commands, so that `--help` is instant. Our own errors become
one line and exit code 1 in one place, the group; commands never catch.
"""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

import errno
import json
import logging
import os
from functools import wraps
from typing import TYPE_CHECKING, BinaryIO, NoReturn

import click

from casegraph import __version__
from casegraph.cli.configuration import configured
from casegraph.cli.output import choice, note
from casegraph.cli.reading import Read
from casegraph.errors import CasegraphError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Callable

    from casegraph.settings import Settings

FORMAT_NAMES = ("tsv", "csv", "jsonl", "nt", "nq", "ttl", "trig", "rdfxml", "parquet", "arrow")
FROM = "The format of a file; else by its ending."
COLUMNS = "Head, relation and tail, by name or number; else by the header."
NAMES = "What entities are called: a name, its label and perhaps its types a line."
HEADER = "Whether the first line is a header; else by its words."
SETTINGS = ("default", "paper", "published", "cbr", "no-clusters", "one-cluster")
DATASETS = ("WN18RR", "FB122", "NELL-995")


class Chosen:
    """The settings that the options of a command choose, which may depend on the source."""

    def __init__(
        self,
        settings: str | None,
        dataset: str | None,
        max_length: int | None,
        changed: tuple[str, ...] = (),
    ) -> None:
        self._settings = settings
        self._dataset = dataset
        self._max_length = max_length
        self._changed = changed

    def __call__(self, source: str) -> Settings | None:
        """The settings for a source; None if no option was given."""
        from casegraph.cli.sources import settings_named

        return settings_named(
            self._settings, self._dataset, self._max_length, source, self._changed
        )

    @property
    def name(self) -> str:
        """What the settings are called, before single ones are changed."""
        return self._settings or "default"

    @property
    def length_is_given(self) -> bool:
        """Whether there is an option for the longest path, so that tuning must keep it."""
        is_changed = any(text.startswith("max_length=") for text in self._changed)
        return self._max_length is not None or is_changed


# The commands by what they are for, in the order in which a new user needs them.
SUMMARIES = {
    "See how it works": {
        "demo": "Ask the bundled graph for facts that were held back from it.",
    },
    "Look around": {
        "facts": "Show how files of facts are understood.",
        "info": "Say how much a source holds, and what is largest in it.",
        "relations": "List the relations, which is what can be asked.",
        "search": "Find entities by a part of their name or label.",
        "entity": "Show what is said of an entity.",
        "similar": "List the entities most like one.",
    },
    "Ask": {
        "ask": "Answer a question, or all questions of a file.",
        "explain": "Say why an answer is given, and what would change it.",
        "complete": "Propose the facts that are missing.",
        "audit": "List the facts that have the least support.",
    },
    "Keep a store": {
        "build": "Make a store of facts.",
        "add": "Add facts, of files or of a stream.",
        "retract": "Retract facts, or all facts of an entity.",
        "tune": "Choose what answers best, for probabilities, too.",
        "watch": "Print what comes and goes, as it does.",
        "log": "List what came and went, and when.",
        "export": "Write the facts to a file.",
        "compact": "Count everything, so that it answers fast.",
        "check": "Say what state the files are in.",
        "salvage": "Write the facts that a damaged store still has.",
        "serve": "Serve a store over HTTP, with a page.",
        "mcp": "Offer a store to language models, as tools.",
    },
    "Measure and repeat": {
        "split": "Divide facts into train, valid and test.",
        "evaluate": "Rank the facts of a split that is held out.",
        "datasets": "List and fetch published data sets.",
        "stream": "Let a benchmark arrive in batches, as in the paper.",
    },
    "Beyond one process": {
        "save": "Write a case base with all its counts to a file.",
        "count": "Count one shard of many.",
        "merge": "Add up the counts of all shards.",
    },
}


class Commands(click.Group):
    """The group: the one place where an error of ours becomes a line on standard error."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by what they are for."""
        del ctx
        width = max(map(len, self.commands))
        for heading, summaries in SUMMARIES.items():
            rows = [(name.ljust(width), summary) for name, summary in summaries.items()]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except CasegraphError as error:
            if isinstance(error.__cause__, BrokenPipeError):
                raise error.__cause__ from None
            hint = ""
            if isinstance(error, UnknownName) and error.kind == "relation":
                hint = " ('casegraph relations SOURCE' lists all)"
            _fail(ctx, f"{error}{hint}", 1)
        except KeyboardInterrupt:
            _fail(ctx, "interrupted", 130)
        except click.FileError as error:
            _fail(ctx, f"{error.ui_filename}: {error.message.lower()}", 1)
        except OSError as error:
            problem = (error.strerror or "").lower()
            if error.errno == errno.ENOSPC and error.filename is None:
                _fail(ctx, f"the output cannot be written ({problem}); make room for it", 1)
            if error.filename is None or error.errno == errno.EPIPE:
                raise
            _fail(ctx, f"{error.filename}: {problem}", 1)


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that choose settings, as one function of the source."""

    @click.option(
        "--settings",
        type=click.Choice(SETTINGS),
        help="Ours (default), the paper's, or a baseline's.",
    )
    @click.option(
        "--dataset",
        type=click.Choice(DATASETS),
        help="Whose settings in the paper; else by the folder.",
    )
    @click.option("--max-length", type=int, metavar="N", help="The longest path, from 1 to 5.")
    @click.option(
        "--set",
        "changed",
        multiple=True,
        metavar="NAME=VALUE",
        help="Any setting, such as doubt=10; may be given repeatedly.",
    )
    @wraps(command)
    def choosing(
        settings: str | None,
        dataset: str | None,
        max_length: int | None,
        changed: tuple[str, ...],
        **options: object,
    ) -> None:
        command(chosen=Chosen(settings, dataset, max_length, changed), **options)

    return choosing


def with_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how to read files of facts, as a function of the source.

    They are those of `with_columns`, and what to do with lines that are no facts.
    """

    @choice("--on-error", ("stop", "skip"), "At a line that is no fact.")
    @click.option(
        "--refused",
        type=click.File("wb"),
        metavar="FILE",
        help="Where to write the lines that are skipped.",
    )
    @click.option("--literals", is_flag=True, help="Keep the literals of RDF, as entities.")
    @with_columns
    @wraps(command)
    def reading(
        read: Read, on_error: str, refused: BinaryIO | None, literals: bool, **options: object
    ) -> None:
        kept = "keep" if literals else "leave out"
        read.options |= {"on_error": on_error, "refused": refused, "literals": kept}
        command(read=read, **options)

    return reading


def with_columns(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say which columns of a file are facts, as a function."""

    @click.option("--from", "form", type=click.Choice(FORMAT_NAMES), help=FROM)
    @click.option("--columns", metavar="A,B,C", help=COLUMNS)
    @click.option("--header/--no-header", default=None, help=HEADER)
    @click.option("--names", metavar="FILE", help=NAMES)
    @wraps(command)
    def choosing(
        form: str | None,
        columns: str | None,
        header: bool | None,
        names: str | None,
        **options: object,
    ) -> None:
        named = None if columns is None else columns.split(",")
        how = {"format": form, "columns": named, "header": header}
        command(read=Read(names, how), **options)

    return choosing


def with_executor(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that choose where to work, as an executor."""

    @choice("--executor", ("here", "dask"), "Where to work: in this process, or on a Dask cluster.")
    @click.option(
        "--scheduler", metavar="ADDRESS", help="Of the Dask cluster; else it is started here."
    )
    @wraps(command)
    def choosing(executor: str, scheduler: str | None, **options: object) -> None:
        from casegraph.execution.executor import HERE

        if executor == "here" and scheduler is None:
            command(executor=HERE, **options)
            return
        from casegraph.execution.dask import DaskExecutor

        with DaskExecutor(scheduler) as cluster:
            command(executor=cluster, **options)

    return choosing


tune = click.option(
    "--tune/--no-tune",
    default=True,
    show_default=True,
    help="Choose what answers best, by facts that are held out.",
)
relations = click.option(
    "--relations", multiple=True, metavar="NAME", help="Only this one; may be given repeatedly."
)
top = click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, help="How many to print."
)
as_of = click.option("--as-of", type=int, metavar="N", help="Of a store: answer as after update N.")
of_type = click.option(
    "--type", "of_type", metavar="TYPE", help="Only answers of this type, such as Disease."
)
head = click.option("--head", is_flag=True, help="Ask for the head instead: (?, RELATION, ENTITY).")


def _configure(ctx: click.Context, _: click.Parameter, file: str | None) -> None:
    """Take options from files of configuration, before any other option is looked at."""
    if ctx.resilient_parsing:  # while a shell completes a line
        return
    assert isinstance(ctx.command, click.Group)
    try:
        ctx.default_map = configured(ctx.command, file)
    except CasegraphError as error:
        _fail(ctx, str(error), 1)


@click.group(
    cls=Commands,
    context_settings={"max_content_width": 80, "auto_envvar_prefix": "CASEGRAPH"},
)
@click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_configure,
    help="Options to use; else casegraph.toml, and the user's.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    envvar="CASEGRAPH_THREADS",
    help="How many; else all processors.",
)
@click.option("--verbose", is_flag=True, help="Say on standard error what is being done.")
@click.option("--log-json", is_flag=True, help="The same, as a JSON object a line.")
@click.version_option(__version__)
def cli(threads: int | None, *, verbose: bool, log_json: bool) -> None:
    """Complete knowledge graphs by precedent: answers with reasons.

    A SOURCE is a file of facts (.tsv, .csv, .jsonl, .nt, .ttl, .rdf, .parquet and others, packed
    by gzip or not; - for standard input), the folder of a store or of a benchmark, a case base that
    was saved, or the word world for the bundled graph.

    \b
    Example:
        casegraph demo
    """
    if threads is not None:
        os.environ["CASEGRAPH_THREADS"] = str(threads)
    if verbose or log_json:
        start_logging(as_json=log_json)


def start_logging(*, as_json: bool) -> None:
    """Write what casegraph says about its work to standard error, from information on."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if as_json else logging.Formatter("casegraph: %(message)s"))
    logger = logging.getLogger("casegraph")
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(logging.INFO)


class JsonLines(logging.Formatter):
    """A record of the log as an object of JSON on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record with its time in seconds since 1970."""
        said = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        return json.dumps(said, ensure_ascii=False)


def names_of(file: BinaryIO) -> list[str]:
    """The names in a file, one a line."""
    return file.read().decode(errors="surrogateescape").splitlines()


def _fail(ctx: click.Context, problem: str, code: int) -> NoReturn:
    note(problem)
    ctx.exit(code)
