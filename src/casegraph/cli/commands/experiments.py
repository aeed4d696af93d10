"""Commands that repeat experiments: stream."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

import click

from casegraph.cli.group import cli
from casegraph.cli.options import with_settings
from casegraph.cli.output import Result, with_format_only
from casegraph.cli.progress import progress
from casegraph.errors import CasegraphError

if TYPE_CHECKING:
    from casegraph.cli.options import Chosen
    from casegraph.experiments.journal import Record
    from casegraph.settings import Settings

OUT = "Where to write one file of JSON lines per seed."
ALONE = "How many entities of each batch come alone, after the others."
COLUMNS = (
    "batch",
    "entities",
    "facts",
    "mrr",
    "mrr_spread",
    "new_mrr",
    "oracle_mrr",
    "update_s",
    "newcomer_s",
    "rebuild_s",
)
MRR = "both.realistic.inverse_harmonic_mean_rank"


@cli.command()
@click.argument("benchmark")
@click.option("--out", type=Path, required=True, metavar="DIR", help=OUT)
@click.option(
    "--start",
    type=float,
    default=0.5,
    show_default=True,
    help="The share of entities at the start.",
)
@click.option(
    "--batches",
    type=int,
    default=10,
    show_default=True,
    help="In how many batches the others come.",
)
@click.option("--alone", type=int, default=5, show_default=True, help=ALONE)
@click.option(
    "--seed",
    "seeds",
    type=int,
    multiple=True,
    default=(0,),
    show_default=True,
    help="Repeatable.",
)
@click.option(
    "--clustering",
    type=click.Choice(("grinch", "hac")),
    help="With the paper's settings: update clusters, or rebuild them.",
)
@click.option("--tune", is_flag=True, help="Tune the settings once, on the seed graph.")
@click.option("--verify", is_flag=True, help="Compare every state with a rebuild.")
@click.option("--limit", type=int, metavar="N", help="Ask for only N facts.")
@with_settings
@with_format_only
def stream(
    benchmark: str,
    *,
    out: Path,
    seeds: tuple[int, ...],
    clustering: str | None,
    chosen: Chosen,
    tune: bool,
    verify: bool,
    limit: int | None,
    **plan: Any,  # noqa: ANN401
) -> Result:
    """Add a benchmark in batches of entities, and evaluate after each.

    The paper's open world: the seed graph has the tenth of all entities with most facts, and others
    at random; the rest follows. If interrupted, the same command goes on.

    \b
    Example:
        casegraph stream WN18RR --batches 3 --verify --out streams
    """
    from casegraph.evaluation.catalogue import located
    from casegraph.evaluation.datasets import Benchmark
    from casegraph.experiments.arrivals import Plan
    from casegraph.experiments.stream import StreamOptions
    from casegraph.experiments.stream import stream as run
    from casegraph.settings import Settings

    opened = Benchmark.open(located(benchmark))
    settings = _clustered(chosen(benchmark) or Settings(), clustering)
    runs = []
    with progress() as show:
        for seed in seeds:
            wanted = StreamOptions(
                settings=settings,
                name=chosen.name,
                plan=Plan(seed=seed, **plan),
                tune=tune,
                verify=verify,
                limit=limit,
            )
            runs.append(run(opened, wanted, out, show))
    rows = [_row(list(records)) for records in zip(*runs, strict=True)]
    return Result(COLUMNS, rows, document=[record for run in runs for record in run])


def _clustered(settings: Settings, clustering: str | None) -> Settings:
    """The settings with the way to cluster that was asked for; by default GRINCH, as the paper."""
    if settings.clustering == "hac":
        return settings.but(clustering=clustering or "grinch")
    if clustering is not None:
        raise CasegraphError(
            f"the settings have no clusters, so --clustering {clustering} has no meaning; "
            "choose --settings paper or published"
        )
    return settings


def _row(records: list[Record]) -> tuple[Any, ...]:
    """The means over the seeds after one batch."""
    first = records[0]
    online = [record["metrics"]["online"]["test"] for record in records]
    mrr = [groups["all"][MRR] for groups in online]
    new = [groups["new"][MRR] for groups in online if MRR in groups["new"]]
    oracle = [
        record["metrics"]["oracle"]["test"]["all"][MRR]
        for record in records
        if "oracle" in record["metrics"]
    ]
    alone = [
        step["seconds"] + step["answer_seconds"]
        for record in records
        for step in record["alone"]
    ]
    updates = [record["update"] for record in records]
    return (
        first["batch"],
        first["entities"],
        round(fmean(record["facts"] for record in records)),
        fmean(mrr),
        pstdev(mrr),
        fmean(new) if new else None,
        fmean(oracle) if oracle else fmean(mrr),
        fmean(update["seconds"] + update["counting_seconds"] for update in updates),
        fmean(alone) if alone else None,
        fmean(record["rebuild"]["seconds"] for record in records),
    )
