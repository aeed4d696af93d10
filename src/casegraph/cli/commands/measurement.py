"""Commands that measure and prepare: trust, evaluate, facts, split, save."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from casegraph.cli.group import cli
from casegraph.cli.options import (
    relations,
    tune,
    with_columns,
    with_executor,
    with_reading,
    with_settings,
)
from casegraph.cli.output import ALL, Result, choice, escaped, note, with_format
from casegraph.cli.progress import counted, progress
from casegraph.errors import IncompatibleFile, several

if TYPE_CHECKING:
    from casegraph.cli.options import Chosen
    from casegraph.cli.reader import Read
    from casegraph.evaluation.datasets import Benchmark
    from casegraph.evaluation.evaluation import Evaluation
    from casegraph.execution.executor import Executor
    from casegraph.formats.reading import Facts
    from casegraph.graph.change import Change
    from casegraph.graph.graph import Graph

INTO = "Where to write train.txt, valid.txt and test.txt."
BOOTSTRAP = "Print a 95% interval of the MRR, by N bootstrap draws."
RANKS = "Where to write the rank of every question: .csv, .tsv, .jsonl, .parquet."
HELD_OUT = "Tune on validation facts that are not asked for, if there are; or on the graph's own."
PLOT = "Plot MRR per relation and ranks: .svg."
CELLS = "Print the MRR by what the graph knows of entity and answer, instead of the metrics."
PLOT_TRUST = "Plot what was right against the stated probability: .svg."
NO_FACTS = "no facts: give a file of nodes together with a file of edges"
LABELS_SHOWN = 3  # of a file
RELATIONS_SHOWN = 10
TIES = {"mean": "realistic", "original": "original"}  # our names, and PyKEEN's
METRICS = {
    "mrr": "inverse_harmonic_mean_rank",
    "hits_at_1": "hits_at_1",
    "hits_at_3": "hits_at_3",
    "hits_at_5": "hits_at_5",
    "hits_at_10": "hits_at_10",
}


@cli.command()
@click.argument("source")
@relations
@click.option(
    "--share",
    type=click.FloatRange(min=0, max=1, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    metavar="P",
    help="The share of the facts to hold out.",
)
@click.option("--plot", type=Path, metavar="FILE", help=PLOT_TRUST)
@with_executor
@with_columns
@with_settings
@with_format
def trust(
    source: str,
    *,
    relations: tuple[str, ...],
    share: float,
    plot: Path | None,
    executor: Executor,
    read: Read,
    chosen: Chosen,
) -> Result:
    """Measure how good the facts are that would be proposed for SOURCE.

    A tenth of its facts is held out, the rest is tuned, and new facts are proposed, as 'casegraph
    complete' does. Right are those that were held out. SOURCE is not changed.

    \b
    Example:
        casegraph trust world
        casegraph trust world --relations "citizen of" --plot trust.svg
    """
    from casegraph.cli.loader import case_base
    from casegraph.evaluation.trust import Measured
    from casegraph.evaluation.trust import trust as measure

    _check_picture(plot)
    cases = case_base(source, chosen(source), read=read)
    with progress() as show:
        done = measure(
            cases,
            [cases.relation(name) for name in relations],
            share=share,
            keep_length=chosen.length_is_given,
            executor=executor,
            show=show,
        )
    left = done.facts - done.held_out
    note(
        f"{done.held_out:,} of {several(done.facts, 'fact')} held out: {done.held_out / left:.2f} "
        f"for each that is left; tuning estimates that {done.missing:.2f} are missing; "
        "those that were not held out count as wrong"
    )
    if done.asked < done.questions:
        note(
            f"asked only {done.asked:,} of {done.questions:,} questions, chosen by their names; "
            "all of them would give a longer list, with more right at its beginning"
        )
    for own in done.reliability:
        pairs = several(own.pairs, "pair")
        note(f"stated {own.stated:.3f}, right {own.observed:.3f}: {pairs}")
    if plot is not None:
        plot.write_text(done.svg(), encoding="utf-8")
    rows = [tuple(own) for own in (done.overall, *done.by_relation)]
    return Result(Measured._fields, rows, done.as_dict())


@cli.command()
@click.argument("folder", metavar="SOURCE")
@click.option(
    "--split", default="test", show_default=True, help="The split to ask for."
)
@click.option(
    "--graph",
    metavar="FILE",
    help="The facts to answer from: a file, store or split; by default graph or train.",
)
@choice("--sides", ("both", "head", "tail"), "Which end of the facts to ask for.")
@choice(
    "--ties",
    tuple(TIES),
    "The rank among equal scores: the mean, or as in the paper's own code.",
)
@click.option(
    "--limit",
    type=int,
    metavar="N",
    help="Ask for only N facts, spread evenly over the split.",
)
@relations
@click.option("--ranks", type=Path, metavar="FILE", help=RANKS)
@click.option("--bootstrap", type=click.IntRange(min=1), metavar="N", help=BOOTSTRAP)
@click.option(
    "--per-relation", is_flag=True, help="Also print the metrics of every relation."
)
@click.option("--cells", is_flag=True, help=CELLS)
@tune
@click.option("--held-out/--no-held-out", default=True, help=HELD_OUT)
@click.option("--plot", type=Path, metavar="FILE", help=PLOT)
@with_executor
@with_settings
@with_format
def evaluate(  # noqa: PLR0913  (one for each option)
    folder: str,
    *,
    graph: str | None,
    ties: str,
    per_relation: bool,
    ranks: Path | None,
    bootstrap: int | None,
    cells: bool,
    plot: Path | None,
    tune: bool,
    chosen: Chosen,
    **asked: Any,  # noqa: ANN401  (what `evaluation.evaluate` takes)
) -> Result:
    """Ask for the facts of a split, rank the answers, and print the metrics.

    SOURCE is a folder with a file for each split, or the name of a data set
    (see casegraph datasets). Or it is a file of facts or a store: a tenth of its
    facts is then asked for, chosen by their names, and the others answer.

    \b
    Example:
        casegraph evaluate WN18RR --settings paper --max-length 3 --ties original
        casegraph evaluate world --relations "citizen of"
    """
    from casegraph.evaluation.cells import Cell
    from casegraph.evaluation.datasets import SPLITS
    from casegraph.evaluation.evaluation import evaluate as experiment
    from casegraph.formats.tables import table_format, write_table
    from casegraph.settings import Settings

    _check_picture(plot)
    form = "" if ranks is None else table_format(ranks)
    source: str | Path | None = graph
    if graph is not None and graph not in SPLITS:
        source = Path(graph)
    settings = chosen(folder) or Settings()
    with progress() as show:
        done = experiment(
            _benchmark(folder),
            settings,
            graph_split=source,
            tune=tune and settings.can_be_tuned,
            keep_length=chosen.length_is_given,
            show=show,
            **asked,
        )
    took = ", ".join(
        f"{name} {phase.seconds:.1f} s" for name, phase in done.phases.items()
    )
    memory = done.phases["rank"].peak_memory / 1e6
    note(f"{took}; {done.queries_per_second:,.0f} queries/s; {memory:,.0f} MB at most")
    if plot is not None:
        plot.write_text(done.svg(), encoding="utf-8")
    if ranks is not None:
        records = done.records()
        columns = tuple(records[0])
        write_table(
            ranks, form, columns, [tuple(record.values()) for record in records]
        )
    result = _metrics(done, ties, by_relation=per_relation)
    if cells:
        return Result(Cell._fields, list(map(tuple, done.cells)), result.document)
    if bootstrap is not None:
        interval = done.mrr_interval(bootstrap, TIES[ties])
        result.document["summary"]["mrr_interval"] = [interval.low, interval.high]
        within = f"{interval.low:.4f} to {interval.high:.4f}"
        note(f"MRR {interval.mean:.4f}, within {within} in 95% of {bootstrap:,} draws")
    return result


@cli.command()
@click.argument("sources", nargs=-1, required=True)
@with_reading
@with_format
def facts(sources: tuple[str, ...], read: Read) -> Result:
    """Preview how files of facts are read, and what each adds to those before it.

    \b
    Example:
        casegraph facts people.tsv
        casegraph facts people.tsv places.csv --on-error skip
    """
    from casegraph.graph.graph import Graph

    columns = (
        "source",
        "facts",
        "duplicates",
        "skipped",
        "entities",
        "relations",
        "labels",
    )
    graph = Graph()
    rows: list[tuple[Any, ...]] = []
    previews = []
    for source in sources:
        entities_before = len(graph.entities)
        relations_before = len(graph.relations)
        reading = read(source)
        with progress() as show:
            change = graph.add(counted(reading, show))
        row = (
            source,
            len(change.added),
            change.repeated,
            reading.skipped,
            len(graph.entities) - entities_before,
            len(graph.relations) - relations_before,
            len(reading.described),
        )
        rows.append(row)
        record = dict(zip(columns, row, strict=True))
        previews.append(_preview(record, reading, graph, change))

    document = [preview.document for preview in previews]
    text = "\n\n".join(preview.text for preview in previews)
    if len(rows) > 1:
        sums = [sum(row[place] for row in rows) for place in range(1, len(columns))]
        rows.append((ALL, *sums))
        entities = several(len(graph.entities), "entity")
        text += f"\n\n{ALL}\n  {several(len(graph), 'fact')}, {entities}"
    return Result(columns, rows, document, text=lambda: escaped(text, kept="\n"))


class Preview(NamedTuple):
    """How a file was understood, for JSON and as text."""

    document: dict[str, Any]
    text: str


def _preview(
    row: dict[str, Any], reading: Facts, graph: Graph, change: Change
) -> Preview:
    """What a file says: its columns, its most frequent relations with an example, some labels."""
    from casegraph.graph.descriptions import short_name

    relations = _most_frequent(graph, change)
    document = {
        **row,
        "columns": reading.columns,
        "left_out": dict(reading.left_out),
        "most_frequent": [frequent._asdict() for frequent in relations],
    }

    counts = several(row["facts"], "fact")
    if row["duplicates"]:
        counts += f" and {row['duplicates']:,} repeated"
    new_entities = several(row["entities"], "new entity")
    new = f"{new_entities}, {several(row['relations'], 'new relation')}"
    lines = [row["source"], f"  {counts}; {new}" if relations else f"  {NO_FACTS}"]
    if reading.columns:
        lines.append(f"  {reading.columns}")
    labels = [said.label for said in reading.described if said.label]
    if labels:
        some = ", ".join(labels[:LABELS_SHOWN])
        lines.append(f"  {several(len(labels), 'label')}, such as {some}")
    if row["skipped"]:
        lines.append(f"  {several(row['skipped'], 'line')} skipped")
    for what, number in reading.left_out.items():
        lines.append(f"  {what} left out: {number:,}")
    for frequent in relations[:RELATIONS_SHOWN]:
        name = short_name(frequent.relation)
        lines.append(f"  {frequent.facts:9,}  {name}: {frequent.example}")
    if relations[RELATIONS_SHOWN:]:
        lines.append(f"  and {len(relations) - RELATIONS_SHOWN:,} more relations")
    return Preview(document, "\n".join(lines))


class Frequent(NamedTuple):
    """A relation of a file, how many facts there have it, and one of them."""

    relation: str
    facts: int
    example: str


def _most_frequent(graph: Graph, change: Change) -> list[Frequent]:
    """The relations of facts that were added, the most frequent first."""
    import numpy as np

    from casegraph.errors import shortened
    from casegraph.graph.descriptions import short_name
    from casegraph.graph.directions import relation_of

    relations = relation_of(change.added[:, 1])
    found, first, numbers = np.unique(relations, return_index=True, return_counts=True)
    frequent = []
    for relation, place, number in zip(
        found.tolist(), first.tolist(), numbers.tolist(), strict=True
    ):
        head, _, tail = change.added[place].tolist()
        names = [short_name(graph.entities[end]) for end in (head, tail)]
        example = shortened(" → ".join(names))
        frequent.append(Frequent(graph.relations[relation], number, example))
    return sorted(frequent, key=lambda relation: (-relation.facts, relation.relation))


@cli.command()
@click.argument("source")
@click.option("--into", "folder", type=Path, required=True, metavar="FOLDER", help=INTO)
@click.option(
    "--valid",
    type=float,
    default=0.1,
    show_default=True,
    metavar="P",
    help="Its share of the facts.",
)
@click.option(
    "--test",
    type=float,
    default=0.1,
    show_default=True,
    metavar="P",
    help="Its share of the facts.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The random seed.")
@with_columns
@with_format
def split(
    source: str, *, folder: Path, valid: float, test: float, seed: int, read: Read
) -> Result:
    """Split the facts of SOURCE into train, valid and test, for 'casegraph evaluate'.

    Every entity and relation of valid and test is in train. The same facts and seed give the same
    files.

    \b
    Example:
        casegraph split world --into benchmark --test 0.05
    """
    from casegraph.cli.loader import content_of
    from casegraph.evaluation.splitting import split as divided
    from casegraph.formats.writing import write_facts
    from casegraph.graph.facts import Fact

    if folder.exists() and any(folder.iterdir()):
        raise IncompatibleFile(str(folder), "is not empty; choose another folder")
    with progress() as show:
        facts = counted(content_of(source, read).facts, show)
        parts = divided(map(Fact._make, facts), valid=valid, test=test, seed=seed)
    folder.mkdir(exist_ok=True)
    rows = []
    for name, part in parts._asdict().items():
        write_facts(part, folder / f"{name}.txt")
        rows.append((str(folder / f"{name}.txt"), len(part)))
    return Result(("file", "facts"), rows)


@cli.command()
@click.argument("source")
@click.argument("file")
@click.option(
    "--counts",
    type=Path,
    metavar="COUNTS",
    help="Counts that were made by count and merge.",
)
@click.option("--tune", is_flag=True, help="Tune first; see casegraph tune.")
@with_executor
@with_columns
@with_settings
@with_format
def save(
    source: str,
    file: str,
    *,
    counts: Path | None,
    tune: bool,
    executor: Executor,
    read: Read,
    chosen: Chosen,
) -> Result:
    """Count what questions need, and save the case base to FILE.

    \b
    Example:
        casegraph save world world.case
    """
    from casegraph.cli.loader import case_base
    from casegraph.execution.shard_files import read_part
    from casegraph.execution.shards import keep

    cases = case_base(source, chosen(source), read=read)
    if counts is not None:
        keep(cases.state, read_part(counts))
    with progress() as show:
        if tune:
            cases.tune(show, keep_length=chosen.length_is_given, executor=executor)
        executor.count(cases.state, list(range(cases.graph.directions)), show)
    cases.save(file)
    row = (
        file,
        len(cases.graph),
        len(cases.graph.entities),
        len(cases.graph.relations),
    )
    return Result(("file", "facts", "entities", "relations"), [row])


def _check_picture(file: Path | None) -> None:
    if file is not None and file.suffix != ".svg":
        raise IncompatibleFile(str(file), "pictures are SVG; let its name end in .svg")


def _benchmark(source: str) -> Benchmark:
    """The benchmark in a folder, or made of a source that is not split."""
    from casegraph.cli.loader import content_of
    from casegraph.evaluation.catalogue import located
    from casegraph.evaluation.datasets import Benchmark
    from casegraph.evaluation.evaluation import benchmark_of
    from casegraph.storage.store.restoring import is_store

    path = located(source)
    is_bundled = source == "world" and not path.exists()
    if is_bundled or path.is_file() or is_store(path):
        return benchmark_of(path.name, content_of(str(path)).facts)
    return Benchmark.open(path)


def _metrics(evaluation: Evaluation, ties: str, *, by_relation: bool) -> Result:
    """The metrics of an experiment by a rule for ties, on each side that was asked for."""
    sides = (
        ("both", "head", "tail") if evaluation.sides == "both" else (evaluation.sides,)
    )
    metrics_of = {ALL: evaluation.metrics}
    asked = {ALL: len(evaluation.questions)}
    if by_relation:
        metrics_of |= evaluation.by_relation
        asked |= evaluation.questions_by_relation

    rows = []
    for relation, metrics in metrics_of.items():
        for side in sides:
            values = [
                metrics[f"{side}.{TIES[ties]}.{name}"] for name in METRICS.values()
            ]
            # Every fact is asked from both sides.
            is_half = len(sides) > 1 and side != "both"
            number = asked[relation] // 2 if is_half else asked[relation]
            rows.append((relation, side, number, *values))

    first_values = rows[0][3:]
    summary = {"ties": ties, **dict(zip(METRICS, first_values, strict=True))}
    document = {"summary": summary, **evaluation.as_dict(by_relation=by_relation)}
    columns = ("relation", "side", "questions", *METRICS)
    shown = tuple(column for column in columns if column != "hits_at_5")
    return Result(columns, rows, document, shown=shown)
