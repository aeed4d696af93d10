"""
The group of all commands: what they are for, and what becomes of an error.

Everything heavy is imported inside the commands, so that `--help` is instant. Our own errors become
one line and exit code 1 in one place, the group; commands never catch.
"""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

import errno
import os
from typing import NoReturn

import click

from casegraph import __version__
from casegraph.cli.configuration import configured
from casegraph.cli.logs import start_logging
from casegraph.cli.output import note
from casegraph.errors import CasegraphError, UnknownName

ONE_SOURCE = (
    "(make one SOURCE of several files with 'casegraph build FILES --into STORE')"
)
HINTS = {  # what finds a name that is not known
    "relation": " ('casegraph relations SOURCE' lists all)",
    "entity": " ('casegraph search SOURCE WORDS' finds names and labels)",
}


# The commands by what they are for, in the order in which a new user needs them.
SUMMARIES = {
    "See how it works": {
        "demo": "Answer questions about the bundled graph.",
    },
    "Look around": {
        "facts": "Preview how files of facts are read.",
        "info": "Show the size of a source, and what is largest in it.",
        "relations": "List the relations that can be asked about.",
        "search": "Find entities by a part of their name or label.",
        "entity": "Show the facts of an entity.",
        "similar": "List the entities most similar to one.",
    },
    "Ask": {
        "ask": "Answer a question, or all questions in a file.",
        "explain": "Explain an answer, and find what would change it.",
        "complete": "Propose missing facts.",
        "audit": "List the facts that are the least probable by the others.",
    },
    "Keep a store": {
        "build": "Create a store from files of facts.",
        "add": "Add facts from files or from a stream.",
        "retract": "Retract facts, or all facts of an entity.",
        "tune": "Tune a store to its facts, and calibrate probabilities.",
        "watch": "Print facts as they are added and retracted.",
        "log": "List all changes, with their times.",
        "export": "Write the facts to a file.",
        "compact": "Count everything in advance, so that answers are fast.",
        "check": "Check the files of a store for damage.",
        "salvage": "Recover the facts of a damaged store.",
        "serve": "Serve a store over HTTP, with a page.",
        "mcp": "Offer a store to language models as tools.",
    },
    "Measure and repeat": {
        "trust": "Measure how good proposed facts are.",
        "split": "Split facts into train, valid and test.",
        "evaluate": "Rank held-out facts, and print the metrics.",
        "datasets": "List and fetch published data sets.",
        "stream": "Replay a benchmark in batches, as in the paper.",
    },
    "Beyond one process": {
        "save": "Write a case base with all its counts to a file.",
        "count": "Count one shard of many.",
        "merge": "Add up the counts of all shards.",
    },
}


class Commands(click.Group):
    """The group: the one place where an error of ours becomes a line on standard error."""

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
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
            hint = HINTS.get(error.kind, "") if isinstance(error, UnknownName) else ""
            _fail(ctx, f"{error}{hint}", 1)
        except click.UsageError as error:
            command = error.ctx.command if error.ctx else self
            takes_one = any(param.name == "source" for param in command.params)
            if takes_one and "unexpected extra argument" in error.message:
                raise click.UsageError(
                    f"{error.message} {ONE_SOURCE}", error.ctx
                ) from None
            raise
        except KeyboardInterrupt:
            _fail(ctx, "interrupted", 130)
        except click.FileError as error:
            _fail(ctx, f"{error.ui_filename}: {error.message.lower()}", 1)
        except OSError as error:
            problem = (error.strerror or "").lower()
            if error.errno == errno.ENOSPC and error.filename is None:
                _fail(
                    ctx,
                    f"the output cannot be written ({problem}); make room for it",
                    1,
                )
            if error.filename is None or error.errno == errno.EPIPE:
                raise
            _fail(ctx, f"{error.filename}: {problem}", 1)


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
    help="A file of options; by default casegraph.toml and your own.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    envvar="CASEGRAPH_THREADS",
    help="How many threads to use; by default one per processor.",
)
@click.option(
    "--verbose", is_flag=True, help="Log what is being done to standard error."
)
@click.option("--log-json", is_flag=True, help="Log as JSON, one object per line.")
@click.version_option(__version__)
def cli(threads: int | None, *, verbose: bool, log_json: bool) -> None:
    """Complete knowledge graphs by precedent: answers with reasons.

    A SOURCE is a file of facts (.tsv, .csv, .jsonl, .nt, .ttl, .rdf, .parquet and others, also
    compressed with gzip; - for standard input), the folder of a store or of a benchmark, a saved
    case base (.case), or the word world for the bundled graph.

    \b
    Example:
        casegraph demo
    """
    if threads is not None:
        os.environ["CASEGRAPH_THREADS"] = str(threads)
    if verbose or log_json:
        start_logging(as_json=log_json)


def _fail(ctx: click.Context, problem: str, code: int) -> NoReturn:
    note(problem)
    ctx.exit(code)
