"""Commands that tune: tune."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from casegraph.cli.group import cli
from casegraph.cli.options import held_out, with_columns, with_executor, with_settings
from casegraph.cli.output import Result, note, with_format
from casegraph.cli.progress import progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.casebase import CaseBase
    from casegraph.cli.options import Chosen
    from casegraph.cli.reader import Read
    from casegraph.execution.executor import Executor
    from casegraph.settings import Combination, Settings, Tuning

EVERYTHING = "(all)"  # relations


@cli.command()
@click.argument("source")
@with_columns
@held_out
@with_executor
@with_settings
@with_format
def tune(
    source: str, held_out: str | None, executor: Executor, read: Read, chosen: Chosen
) -> Result:
    """Tune to SOURCE, by asking for facts as if they were missing, and calibrate probabilities.

    A store keeps the result; for any other SOURCE it is only printed.

    \b
    Example:
        casegraph tune world
    """
    from casegraph.cli.loader import case_base
    from casegraph.storage.store.restoring import is_store
    from casegraph.storage.store.store import CaseStore

    if not is_store(Path(source)):
        cases = case_base(source, chosen(source), read=read)
        return _tuned(cases, held_out, executor, read, chosen)
    with CaseStore.open(source, chosen(source)) as store:
        return _tuned(store, held_out, executor, read, chosen)


def _tuned(
    cases: CaseBase,
    held_out: str | None,
    executor: Executor,
    read: Read,
    chosen: Chosen,
) -> Result:
    """Tune a case base, and say what was chosen."""
    from casegraph.cli.loader import content_of

    facts = None if held_out is None else content_of(held_out, read).facts
    with progress() as show:
        tuning = cases.tune(
            show, held_out=facts, keep_length=chosen.length_is_given, executor=executor
        )
    note_if_too_few(held_out, tuning)
    if tuning is None:
        note(f"{len(cases.graph):,} facts are too few to choose by")
        return Result(("what", "relation", "chosen"), [])
    rows = list(_choices(cases.settings, tuning))
    text = "\n".join(f"  {what}: {_shown(chosen)}" for what, _, chosen in rows)
    return Result(
        ("what", "relation", "chosen"), rows, asdict(tuning), text=lambda: text
    )


def note_if_too_few(held_out: str | None, tuning: Tuning | None) -> None:
    """Say so if there were held-out facts to tune on, and they were not used."""
    from casegraph.tuning.sample import LEAST_GIVEN

    if held_out is not None and tuning is not None and not tuning.held_out:
        needed = f"{LEAST_GIVEN:,} facts of known entities that are new"
        note(f"{held_out}: has fewer than {needed}; tuned on facts of the graph itself")


def _choices(settings: Settings, tuning: Tuning) -> Iterator[tuple[str, str, Any]]:
    """What was chosen."""
    whose = "held-out facts" if tuning.held_out else "facts"
    yield f"{whose} asked for", EVERYTHING, tuning.sample
    yield "longest path", EVERYTHING, settings.max_length
    yield "weights", EVERYTHING, _in_words(tuning.combination)
    yield "missing facts per known one", EVERYTHING, tuning.belief.missing


def _shown(chosen: object) -> str:
    return f"{chosen:.4f}" if isinstance(chosen, float) else str(chosen)


def _in_words(combination: Combination) -> str:
    words = [
        f"discount {combination.discount:g}",
        f"ridge {combination.ridge:g}",
        f"precedent weight {combination.precedent_weight:g}",
    ]
    if not combination.linked:
        words.append("no answers that a fact links already")
    return ", ".join(words)
