"""A progress bar on standard error, if that is a terminal and the work takes a while."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from casegraph.cli.output import notes_said_by
from casegraph.graph.batches import Batched, batches_of, size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.progress import TaskID

    from casegraph.graph.batches import Batch
    from casegraph.running import Show

PATIENCE = 0.5  # seconds before a progress bar appears
EVERY = 10_000  # facts between two looks at the progress bar


@contextmanager
def progress() -> Iterator[Show]:
    """A function that shows how far the work is."""
    if not sys.stderr.isatty():
        yield _show_nothing
        return

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    started = monotonic()
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[far]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    def show(doing: str, done: int, total: int) -> None:
        if monotonic() - started < PATIENCE:
            return
        bars.start()
        far = f"{done / total:.0%}" if total else f"{done:,}"
        if doing not in tasks:
            for task in bars.tasks:
                bars.update(
                    task.id, total=task.completed or 1, completed=task.completed or 1
                )
            tasks[doing] = bars.add_task(doing, total=total or None, far=far)
        bars.update(tasks[doing], completed=done, total=total or None, far=far)

    def say(text: str) -> None:
        bars.console.print(text, markup=False, highlight=False, soft_wrap=True)

    try:
        with notes_said_by(say):
            yield show
    finally:
        bars.stop()


def named(show: Show, what: str) -> Show:
    """The same, where what is being done is a part of something."""

    def show_part(doing: str, done: int, total: int) -> None:
        show(doing if doing == what else f"{what}: {doing}", done, total)

    return show_part


def counted(facts: Iterable[tuple[str, str, str]], show: Show) -> Batched:
    """The same facts; how many there were is shown on the way."""
    return Batched(_counted(batches_of(facts), show))


def _counted(batches: Iterator[Batch], show: Show) -> Iterator[Batch]:
    done = 0
    shown = 0
    for batch in batches:
        if done >= shown:
            show("reading facts", done, 0)
            shown += EVERY
        yield batch
        done += size_of(batch)
    show("reading facts", done, 0)


def _show_nothing(doing: str, done: int, total: int) -> None:
    """Not `running.quiet`: work that is watched can be interrupted,
    and that says nobody watches.
    """
