"""
The `casegraph` command: each command parses, makes a public call, and hands back what to print.

Everything heavy is imported inside the commands, so that `--help` is instant. Our own errors become one line and exit
code 1 in one place, the group; commands never catch.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NoReturn, get_args

import click

from casegraph import __version__
from casegraph.errors import CasegraphError, UnknownName
from casegraph.printing import Format, Result, counted, demo_text, note, print_result, progress

if TYPE_CHECKING:
    from casegraph.casebase import CaseBase
    from casegraph.explanation import Answers
    from casegraph.settings import Settings
    from casegraph.work import Show

Command = Callable[..., Result]
SETTINGS = ("default", "paper", "cbr", "no-clusters", "one-cluster")
DATASETS = ("WN18RR", "FB122", "NELL-995")  # those the paper has settings for
TIES = {"mean": "realistic", "original": "original"}
METRICS = {"mrr": "inverse_harmonic_mean_rank", **{f"hits_at_{k}": f"hits_at_{k}" for k in (1, 3, 5, 10)}}
SHOWN = ("John von Neumann", "Albert Einstein", "Marie Curie", "Kyoto", "Emmy Noether", "Portugal")


class Commands(click.Group):
    """The group: the one place where an error of ours becomes a line on standard error."""

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except CasegraphError as error:
            _fail(ctx, str(error), 1)
        except KeyboardInterrupt:
            _fail(ctx, "interrupted", 130)
        except OSError as error:
            if error.filename is None or error.errno == errno.EPIPE:
                raise
            _fail(ctx, f"{error.filename}: {(error.strerror or '').lower()}", 1)


def in_format(command: Command) -> Callable[..., None]:
    """Give a command the option `--format`, and print what it returns."""

    @click.option(
        "--format", "form", type=click.Choice(get_args(Format)), default="table", show_default=True, help="How to print."
    )
    @wraps(command)
    def printing(form: Format, **options: object) -> None:
        print_result(command(**options), form)

    return printing


def with_settings(command: Command) -> Command:
    """Give a command the options that choose settings, as one function of the source; it gives None for none chosen."""

    @click.option("--settings", type=click.Choice(SETTINGS), help="Ours (default), the paper's, or a baseline's.")
    @click.option("--dataset", type=click.Choice(DATASETS), help="Whose settings of the paper; else the name tells.")
    @click.option("--max-length", type=int, metavar="N", help="Longest path, 1 to 5.")
    @wraps(command)
    def choosing(settings: str | None, dataset: str | None, max_length: int | None, **options: object) -> Result:
        def chosen(source: str) -> Settings | None:
            if settings is None and max_length is None:
                return None
            named = _settings(settings or "default", dataset or _dataset(source))
            return named if max_length is None else named.but(max_length=max_length)

        return command(chosen=chosen, **options)

    return choosing


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--threads", type=click.IntRange(min=1), envvar="CASEGRAPH_THREADS", help="Threads to use; else all there are.")
@click.version_option(__version__)
def cli(threads: int | None) -> None:
    """Complete knowledge graphs by precedent: answers with reasons.

    A SOURCE is a file of facts (.tsv or .csv, packed by gzip or not; - for standard input), the folder of a benchmark,
    a case base written by save, or the word world for the bundled graph.

    \b
    Example:
        casegraph demo
    """
    if threads is not None:
        os.environ["CASEGRAPH_THREADS"] = str(threads)


@cli.command()
@in_format
def demo() -> Result:
    """Ask the bundled graph for facts that were held back from it.

    \b
    Example:
        casegraph demo
    """
    from casegraph import world

    cases, questions = _cases("world", None), world.questions()
    found = [cases.ask(fact.head, fact.relation, top=-1, known="exclude") for fact in questions]
    ranks = [
        next((answer.rank for answer in answers if answer.entity == fact.tail), None)
        for fact, answers in zip(questions, found, strict=True)
    ]
    rows = [
        (*fact, rank, answers[0].entity, answers[0].score)
        for fact, rank, answers in zip(questions, ranks, found, strict=True)
    ]
    text = demo_text(cases, SHOWN, list(zip(questions, found, ranks, strict=True)))
    return Result(("asked", "relation", "held_back", "rank", "best", "score"), rows, text=text)


@cli.command()
@click.argument("source")
@click.argument("entity")
@click.argument("relation")
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, help="How many answers.")
@click.option("--head", is_flag=True, help="Ask (?, RELATION, ENTITY) instead.")
@click.option("--known", type=click.Choice(["mark", "exclude"]), default="mark", show_default=True, help="What to do with facts that are there already.")
@click.option("--candidates", type=click.File("rb"), help="A file of the only answers to consider, one a line.")
@click.option("--explain", is_flag=True, help="Say why, for each answer.")
@with_settings
@in_format
def ask(source: str, entity: str, relation: str, **options: Any) -> Result:
    """Answer the question (ENTITY, RELATION, ?).

    \b
    Example:
        casegraph ask world "John von Neumann" "died in" --known exclude --top 3
    """
