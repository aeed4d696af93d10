"""The options that several commands take."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, BinaryIO

import click

from casegraph.cli.output import choice
from casegraph.cli.reader import Read

if TYPE_CHECKING:
    from collections.abc import Callable

    from casegraph.settings import Settings

FORMAT_NAMES = (
    "tsv",
    "csv",
    "jsonl",
    "nt",
    "nq",
    "ttl",
    "trig",
    "rdfxml",
    "parquet",
    "arrow",
)
FROM = "The format of the files; by default from their ending."
COLUMNS = (
    "The columns of head, relation and tail, by name or number; =NAME for one relation."
)
ENCODING = "The encoding of the text, such as cp1252; by default UTF-8."
NAMES = "A file of labels: each line has a name, its label, and optionally types."
HEADER = "Whether the first line is a header; by default decided by its words."
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
        from casegraph.cli.loader import settings_named

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


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that choose settings, as one function of the source."""

    @click.option(
        "--settings",
        type=click.Choice(SETTINGS),
        help="Our settings (default), the paper's, or a baseline's.",
    )
    @click.option(
        "--dataset",
        type=click.Choice(DATASETS),
        help="The paper's data set whose settings to use; by default from the folder.",
    )
    @click.option(
        "--max-length",
        type=int,
        metavar="N",
        help="The length of the longest paths, from 1 to 5.",
    )
    @click.option(
        "--set",
        "changed",
        multiple=True,
        metavar="NAME=VALUE",
        help="Change a setting, such as doubt=10; repeatable.",
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


missing = click.option(
    "--missing",
    type=click.FloatRange(min=0),
    metavar="M",
    help="Assume that the graph lacks M facts for each that it has; by default as tuned, or 0.1.",
)


def with_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how to read files of facts, as a function of the source.

    They are those of `with_columns`, and what to do with lines that are not facts.
    """

    @choice("--on-error", ("stop", "skip"), "What to do at a line that is not a fact.")
    @click.option(
        "--refused",
        type=click.File("wb"),
        metavar="FILE",
        help="Where to write skipped lines.",
    )
    @click.option("--literals", is_flag=True, help="Keep RDF literals, as entities.")
    @with_columns
    @wraps(command)
    def reading(
        read: Read,
        on_error: str,
        refused: BinaryIO | None,
        literals: bool,
        **options: object,
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
    @click.option("--encoding", metavar="NAME", help=ENCODING)
    @click.option("--names", metavar="FILE", help=NAMES)
    @wraps(command)
    def choosing(
        form: str | None,
        columns: str | None,
        header: bool | None,
        encoding: str | None,
        names: str | None,
        **options: object,
    ) -> None:
        named = None if columns is None else columns.split(",")
        how = {"format": form, "columns": named, "header": header, "encoding": encoding}
        command(read=Read(names, how), **options)

    return choosing


def with_executor(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that choose where to work, as an executor."""

    @choice(
        "--executor",
        ("here", "dask"),
        "Where to run: in this process, or on a Dask cluster.",
    )
    @click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="The address of the Dask scheduler; by default one is started here.",
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


held_out = click.option(
    "--held-out",
    metavar="FILE",
    help="Facts to tune on, which SOURCE does not have; by default, facts of SOURCE.",
)
tune = click.option(
    "--tune/--no-tune",
    default=True,
    show_default=True,
    help="Tune to the graph; see casegraph tune.",
)
relations = click.option(
    "--relations", multiple=True, metavar="NAME", help="Only this relation; repeatable."
)
top = click.option(
    "--top",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How many to print.",
)
as_of = click.option(
    "--as-of", type=int, metavar="N", help="For a store: its state after update N."
)
of_type = click.option(
    "--type",
    "of_type",
    metavar="TYPE",
    help="Only answers of this type, such as Disease.",
)
head = click.option(
    "--head", is_flag=True, help="Ask for the head instead: (?, RELATION, ENTITY)."
)


def names_of(file: BinaryIO) -> list[str]:
    """The names in a file, one a line."""
    return file.read().decode("utf-8-sig", errors="surrogateescape").splitlines()
