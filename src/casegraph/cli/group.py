"""
What the commands have in common: the group, its errors, and the options that several take.

Everything heavy is imported inside the commands, so that `--help` is instant. Our own errors become
one line and exit code 1 in one place, the group; commands never catch.
"""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

import errno
import os
from functools import wraps
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import click

from casegraph import __version__
from casegraph.cli.output import choice, note
from casegraph.errors import CasegraphError

if TYPE_CHECKING:
    from collections.abc import Callable

    from casegraph.graph.facts import Facts
    from casegraph.settings import Settings

    Read = Callable[[str], Facts]

SETTINGS = ("default", "paper", "cbr", "no-clusters", "one-cluster")
DATASETS = ("WN18RR", "FB122", "NELL-995")


class Chosen:
    """The settings that the options of a command choose, which may depend on the source."""

    def __init__(self, settings: str | None, dataset: str | None, max_length: int | None) -> None:
        self._settings = settings
        self._dataset = dataset
        self._max_length = max_length

    def __call__(self, source: str) -> Settings | None:
        """The settings for a source; None if no option was given."""
        from casegraph.cli.sources import settings_named

        return settings_named(self._settings, self._dataset, self._max_length, source)

    @property
    def length_is_given(self) -> bool:
        """Whether there is an option for the longest path, so that tuning must keep it."""
        return self._max_length is not None


class Commands(click.Group):
    """The group: the one place where an error of ours becomes a line on standard error."""

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except CasegraphError as error:
            if isinstance(error.__cause__, BrokenPipeError):
                raise error.__cause__ from None
            _fail(ctx, str(error), 1)
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
    @wraps(command)
    def choosing(
        settings: str | None, dataset: str | None, max_length: int | None, **options: object
    ) -> None:
        command(chosen=Chosen(settings, dataset, max_length), **options)

    return choosing


def with_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how to read files of facts,
    as a function of the source.
    """

    @click.option(
        "--columns", metavar="A,B,C", help="The names in the header of the columns to read."
    )
    @click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line is a header; else by its words.",
    )
    @choice("--on-error", ("stop", "skip"), "At a line that is no fact.")
    @click.option(
        "--refused",
        type=click.File("wb"),
        metavar="FILE",
        help="Where to write the lines that are skipped.",
    )
    @wraps(command)
    def reading(
        columns: str | None,
        header: bool | None,
        on_error: Any,  # noqa: ANN401
        refused: Any,  # noqa: ANN401
        **options: object,
    ) -> None:
        def read(source: str) -> Facts:
            from casegraph.graph.facts import read_facts

            named = None if columns is None else columns.split(",")
            return read_facts(
                source, columns=named, header=header, on_error=on_error, refused=refused
            )

        command(read=read, **options)

    return reading


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
head = click.option("--head", is_flag=True, help="Ask for the head instead: (?, RELATION, ENTITY).")


@click.group(cls=Commands, context_settings={"max_content_width": 100})
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    envvar="CASEGRAPH_THREADS",
    help="How many; else all processors.",
)
@click.version_option(__version__)
def cli(threads: int | None) -> None:
    """Complete knowledge graphs by precedent: answers with reasons.

    A SOURCE is a file of facts (.tsv or .csv, packed by gzip or not; - for standard input), the
    folder of a store or of a benchmark, a case base that was saved, or the word world for the
    bundled graph.

    \b
    Example:
        casegraph demo
    """
    if threads is not None:
        os.environ["CASEGRAPH_THREADS"] = str(threads)


def names_of(file: BinaryIO) -> list[str]:
    """The names in a file, one a line."""
    return file.read().decode(errors="surrogateescape").splitlines()


def _fail(ctx: click.Context, problem: str, code: int) -> NoReturn:
    note(problem)
    ctx.exit(code)
