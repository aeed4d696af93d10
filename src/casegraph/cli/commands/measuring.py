"""Commands that measure and prepare: evaluate, facts, save."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from casegraph.cli.group import cli, tune, with_executor, with_reading, with_settings
from casegraph.cli.output import ALL, Result, choice, note, with_format
from casegraph.cli.progress import counted, progress
from casegraph.errors import CasegraphError

if TYPE_CHECKING:
    from casegraph.cli.group import Chosen, Read
    from casegraph.evaluation.evaluation import Evaluation
    from casegraph.execution.executor import Executor

TIES = {"mean": "realistic", "original": "original"}  # our names, and PyKEEN's
METRICS = {
    "mrr": "inverse_harmonic_mean_rank",
    "hits_at_1": "hits_at_1",
    "hits_at_3": "hits_at_3",
    "hits_at_5": "hits_at_5",
    "hits_at_10": "hits_at_10",
}


@cli.command()
@click.argument("folder")
@click.option("--split", default="test", show_default=True, help="The facts to ask for.")
@click.option(
    "--graph",
    metavar="FILE",
    help="The facts to answer from: a file, store or split; else graph or train.",
)
@choice("--sides", ("both", "head", "tail"), "Which end of a fact to ask for.")
@choice(
    "--ties", tuple(TIES), "The rank among equal scores: the mean, or as in the paper's own code."
)
@click.option(
    "--limit",
    type=int,
    metavar="N",
    help="Ask for so many facts only, spread evenly over the split.",
)
@click.option("--per-relation", is_flag=True, help="Print the metrics of every relation too.")
@tune
@click.option(
    "--reliability",
    type=Path,
    metavar="FILE",
    help="Draw how often first answers are right by their probability, as SVG.",
)
@with_executor
@with_settings
@with_format
def evaluate(folder: str, graph: str | None, ties: str, chosen: Chosen, **asked: Any) -> Result:  # noqa: ANN401
    """Ask for the facts of a benchmark's split, and rank the answers.

    FOLDER is a folder with a file for each split, or the name of a data set
    (see casegraph datasets).

    \b
    Example:
        casegraph evaluate WN18RR --settings paper --max-length 3 --ties original
    """
    from casegraph.evaluation.catalogue import located
    from casegraph.evaluation.datasets import SPLITS, Benchmark
    from casegraph.evaluation.evaluation import evaluate as experiment
    from casegraph.settings import Settings

    per_relation = asked.pop("per_relation")
    drawing = asked.pop("reliability")
    source: str | Path | None = graph
    if graph is not None and graph not in SPLITS:
        source = Path(graph)
    settings = chosen(folder) or Settings()
    asked["tune"] = asked["tune"] and settings.can_be_tuned
    asked["keep_length"] = chosen.length_is_given
    with progress() as show:
        benchmark = Benchmark.open(located(folder))
        done = experiment(benchmark, settings, graph_split=source, show=show, **asked)
    took = ", ".join(f"{name} {phase.seconds:.1f} s" for name, phase in done.phases.items())
    memory = done.phases["rank"].peak_memory / 1e6
    note(f"{took}; {done.queries_per_second:,.0f} queries/s; {memory:,.0f} MB at most")
    if done.reliability is not None:
        right, one_asked_for = done.reliability.errors.values()
        note(
            f"expected calibration error of the first answer: {right:.3f} that it is right, "
            f"{one_asked_for:.3f} that it is the one asked for"
        )
    if drawing is not None:
        if done.reliability is None:
            raise CasegraphError("only settings that are tuned give probabilities to draw")
        drawing.write_text(done.reliability.svg(), encoding="utf-8")
    return _metrics(done, ties, by_relation=per_relation)


@cli.command()
@click.argument("sources", nargs=-1, required=True)
@with_reading
@with_format
def facts(sources: tuple[str, ...], read: Read) -> Result:
    """Read files of facts and count what each adds to those before it.

    \b
    Example:
        casegraph facts people.tsv places.csv --on-error skip --refused refused.tsv
    """
    from casegraph.graph.graph import Graph

    columns = ("source", "facts", "duplicates", "skipped", "entities", "relations")
    graph = Graph()
    rows: list[tuple[Any, ...]] = []
    for source in sources:
        entities_before = len(graph.entities)
        relations_before = len(graph.relations)
        reading = read(source)
        with progress() as show:
            change = graph.add(counted(reading, show))
        new_entities = len(graph.entities) - entities_before
        new_relations = len(graph.relations) - relations_before
        rows.append(
            (
                source,
                len(change.added),
                change.repeated,
                reading.skipped,
                new_entities,
                new_relations,
            )
        )

    if len(rows) > 1:
        sums = [sum(row[place] for row in rows) for place in range(1, len(columns))]
        rows.append((ALL, *sums))
    return Result(columns, rows)


@cli.command()
@click.argument("source")
@click.argument("file")
@click.option(
    "--counts", type=Path, metavar="COUNTS", help="What was counted already, by count and merge."
)
@click.option("--tune", is_flag=True, help="Choose what answers best first; see casegraph tune.")
@with_executor
@with_settings
@with_format
def save(
    source: str,
    file: str,
    *,
    counts: Path | None,
    tune: bool,
    executor: Executor,
    chosen: Chosen,
) -> Result:
    """Count everything that questions need, and write it to FILE as a case base.

    \b
    Example:
        casegraph save world world.case
    """
    from casegraph.cli.sources import case_base
    from casegraph.execution.shard_files import read_part
    from casegraph.execution.shards import keep

    cases = case_base(source, chosen(source))
    if tune:
        with progress() as show:
            cases.tune(show, keep_length=chosen.length_is_given)
    if counts is not None:
        keep(cases.state, read_part(counts))
    with progress() as show:
        executor.count(cases.state, list(range(cases.graph.directions)), show)
    cases.save(file)
    row = (file, len(cases.graph), len(cases.graph.entities), len(cases.graph.relations))
    return Result(("file", "facts", "entities", "relations"), [row])


def _metrics(evaluation: Evaluation, ties: str, *, by_relation: bool) -> Result:
    """The metrics of an experiment by a rule for ties, on each side that was asked for."""
    sides = ("both", "head", "tail") if evaluation.sides == "both" else (evaluation.sides,)
    metrics_of = {ALL: evaluation.metrics}
    if by_relation:
        metrics_of |= evaluation.by_relation

    rows = []
    for relation, metrics in metrics_of.items():
        for side in sides:
            values = [metrics[f"{side}.{TIES[ties]}.{name}"] for name in METRICS.values()]
            rows.append((relation, side, *values))

    first_values = rows[0][2:]
    summary = {"ties": ties, **dict(zip(METRICS, first_values, strict=True))}
    document = {"summary": summary, **evaluation.as_dict(by_relation=by_relation)}
    return Result(("relation", "side", *METRICS), rows, document)
