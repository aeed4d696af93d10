"""Commands for counting on many machines: count, merge."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from casegraph.cli.group import cli
from casegraph.cli.options import relations, with_columns, with_settings
from casegraph.cli.output import Result, with_format_only
from casegraph.cli.progress import progress
from casegraph.errors import CasegraphError

if TYPE_CHECKING:
    from casegraph.cli.options import Chosen
    from casegraph.cli.reader import Read
    from casegraph.execution.shards import Part

out = click.option(
    "--out",
    type=Path,
    required=True,
    metavar="FILE",
    help="Where to write: .npz, or .parquet for other engines.",
)


@cli.command()
@click.argument("source")
@out
@click.option(
    "--shard",
    default="1/1",
    show_default=True,
    metavar="I/N",
    help="Which share of the entities.",
)
@click.option(
    "--given",
    type=Path,
    metavar="HITS",
    help="The merged hits of all shards: count what paths reach.",
)
@relations
@with_columns
@with_settings
@with_format_only
def count(
    source: str,
    *,
    out: Path,
    shard: str,
    given: Path | None,
    relations: tuple[str, ...],
    read: Read,
    chosen: Chosen,
) -> Result:
    """Count the hits of one shard; or, given the hits of all, what its paths reach.

    \b
    Example:
        casegraph count world --shard 2/8 --out hits-2.npz
    """
    from casegraph.batch.completion import chosen_directions
    from casegraph.cli.loader import case_base
    from casegraph.execution.shard_files import read_part, write_part
    from casegraph.execution.shards import Shard, count_hits, count_reach, with_hits

    if relations and given is None:
        raise CasegraphError(
            "hits are counted for all relations at once; choose --relations with --given them"
        )
    part = Shard.named(shard)
    state = case_base(source, chosen(source), read=read).state
    with progress() as show:
        if given is None:
            counts = count_hits(state, part, show)
        else:
            wanted = chosen_directions(state.graph, relations, heads=True)
            counts = count_reach(
                with_hits(state, read_part(given)), (part, wanted), show
            )
    write_part(counts, out)
    return _counted(out, counts)


@cli.command()
@click.argument("parts", nargs=-1, required=True, type=Path)
@out
@with_format_only
def merge(parts: tuple[Path, ...], out: Path) -> Result:
    """Add up the counts of all shards.

    \b
    Example:
        casegraph count world --shard 1/2 --out hits-1.npz
        casegraph count world --shard 2/2 --out hits-2.npz
        casegraph merge hits-1.npz hits-2.npz --out hits.npz
    """
    from casegraph.execution.shard_files import read_part, write_part
    from casegraph.execution.shards import merged

    counts = merged(map(read_part, parts))
    write_part(counts, out)
    return _counted(out, counts)


def _counted(out: Path, counts: Part) -> Result:
    columns = ("file", "shard", "relations", "path_types", *counts.columns)
    sums = [int(column.sum()) for column in counts.columns.values()]
    row = (str(out), str(counts.shard), len(counts.counted), len(counts.types), *sums)
    return Result(columns, [row])
