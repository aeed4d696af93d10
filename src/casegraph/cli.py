"""
The `casegraph` command: each command parses, makes a public call, and returns what to print.

Everything heavy is imported inside the commands, so that `--help` is instant. Our own errors become one line and exit
code 1 in one place, the group; commands never catch.
"""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

import errno
import os
import sys
from functools import wraps
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from casegraph import __version__
from casegraph.errors import CasegraphError
from casegraph.printing import (
    ALL,
    TIES,
    Result,
    answered,
    choice,
    counted,
    demo_text,
    evaluated,
    explained,
    note,
    progress,
    reasons,
    with_format,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from casegraph.settings import Settings

    Chosen = Callable[[str], Settings | None]

SETTINGS = ("default", "paper", "cbr", "no-clusters", "one-cluster")
DATASETS = ("WN18RR", "FB122", "NELL-995")
TOLD = ("John von Neumann", "Albert Einstein", "Marie Curie", "Kyoto", "Emmy Noether", "Ernest Rutherford")


def main() -> None:
    """The entry point; what is printed is UTF-8 wherever it goes."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    cli(prog_name="casegraph")


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
        except click.FileError as error:
            _fail(ctx, f"{error.ui_filename}: {error.message.lower()}", 1)
        except OSError as error:
            if error.filename is None or error.errno == errno.EPIPE:
                raise
            _fail(ctx, f"{error.filename}: {(error.strerror or '').lower()}", 1)


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that choose settings, as one function of the source."""

    @click.option("--settings", type=click.Choice(SETTINGS), help="Ours (default), the paper's, or a baseline's.")
    @click.option("--dataset", type=click.Choice(DATASETS), help="Whose settings in the paper; else by the folder.")
    @click.option("--max-length", type=int, metavar="N", help="The longest path, from 1 to 5.")
    @wraps(command)
    def choosing(settings: str | None, dataset: str | None, max_length: int | None, **options: object) -> None:
        def chosen(source: str) -> Settings | None:
            from casegraph.sources import settings_named

            return settings_named(settings, dataset, max_length, source)

        command(chosen=chosen, **options)

    return choosing


top = click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, help="How many to print.")
head = click.option("--head", is_flag=True, help="Ask for the head instead: (?, RELATION, ENTITY).")


@click.group(cls=Commands, context_settings={"max_content_width": 100})
@click.option(
    "--threads", type=click.IntRange(min=1), envvar="CASEGRAPH_THREADS", help="How many; else all processors."
)
@click.version_option(__version__)
def cli(threads: int | None) -> None:
    """Complete knowledge graphs by precedent: answers with reasons.

    A SOURCE is a file of facts (.tsv or .csv, packed by gzip or not; - for standard input), the folder of a benchmark,
    a case base that was saved, or the word world for the bundled graph.

    \b
    Example:
        casegraph demo
    """
    if threads is not None:
        os.environ["CASEGRAPH_THREADS"] = str(threads)


@cli.command()
@with_format
def demo() -> Result:
    """Ask the bundled graph for facts that were held back from it.

    \b
    Example:
        casegraph demo
    """
    from casegraph import world
    from casegraph.sources import case_base

    cases, rows = case_base("world"), []
    for fact in world.questions():
        answers = cases.ask(fact.head, fact.relation, top=-1, known="exclude")
        rank = next((answer.rank for answer in answers if answer.entity == fact.tail), None)
        rows.append((*fact, rank, answers[0].entity, answers[0].score))
    columns = ("asked", "relation", "held_back", "rank", "best", "score")
    return Result(columns, rows, text=lambda: demo_text(cases, rows, TOLD))


@cli.command()
@click.argument("source")
@click.argument("entity")
@click.argument("relation")
@top
@head
@choice("--known", ("mark", "exclude"), "What to do with answers that are facts already.")
@click.option("--candidates", type=click.File("rb"), help="The only answers to consider, one a line.")
@click.option("--explain", is_flag=True, help="Say why, for every answer.")
@with_settings
@with_format
def ask(source: str, entity: str, relation: str, chosen: Chosen, **asked: Any) -> Result:  # noqa: ANN401
    """Answer the question (ENTITY, RELATION, ?).

    \b
    Example:
        casegraph ask world "John von Neumann" "died in" --known exclude --top 3
    """
    from casegraph.sources import case_base

    cases, is_explained = case_base(source, chosen(source), relation, [entity]), asked.pop("explain")
    if only := asked["candidates"]:
        asked["candidates"] = only.read().decode(errors="surrogateescape").splitlines()
    answers = cases.ask_head(relation, entity, **asked) if asked.pop("head") else cases.ask(entity, relation, **asked)
    if answers.note:
        note(answers.note)
    return explained(answers, map(cases.explain, answers)) if is_explained else answered(answers)


@cli.command()
@click.argument("source")
@click.argument("entity")
@click.argument("relation")
@click.argument("answer")
@head
@with_settings
@with_format
def explain(source: str, entity: str, relation: str, answer: str, *, head: bool, chosen: Chosen) -> Result:
    """Say why ANSWER is an answer to (ENTITY, RELATION, ?).

    \b
    Example:
        casegraph explain world "John von Neumann" "died in" "Washington, D.C."
    """
    from casegraph.sources import case_base

    cases = case_base(source, chosen(source), relation, [entity, answer])
    answers = cases.ask_head(relation, entity, top=-1) if head else cases.ask(entity, relation, top=-1)
    found = [one for one in answers if one.entity == answer]
    if not found:
        raise CasegraphError(f"{answer!r} was not reached by {answers.question}: no path type or precedent leads there")
    return reasons(cases.explain(found[0]))


@cli.command()
@click.argument("source")
@click.argument("entity")
@click.argument("relation", required=False)
@top
@with_format
def similar(source: str, entity: str, relation: str | None, top: int) -> Result:
    """List the entities most like ENTITY; with RELATION, of those that have it.

    \b
    Example:
        casegraph similar world "John von Neumann" "died in" --top 5
    """
    from casegraph.sources import case_base

    near = case_base(source).similar(entity, relation, top)
    return Result(("entity", "similarity", "shared"), [(one.entity, one.similarity, one.shared) for one in near])


@cli.command()
@click.argument("folder")
@click.option("--split", default="test", show_default=True, help="The facts to ask for.")
@click.option("--graph", metavar="FILE", help="The facts to answer from, a file or a split; else graph or train.")
@choice("--sides", ("both", "head", "tail"), "Which end of a fact to ask for.")
@choice("--ties", tuple(TIES), "The rank among equal scores: the mean, or as in the paper's own code.")
@click.option("--limit", type=int, metavar="N", help="Ask for so many facts only, spread evenly over the split.")
@click.option("--per-relation", is_flag=True, help="Print the metrics of every relation too.")
@with_settings
@with_format
def evaluate(folder: str, graph: str | None, ties: str, chosen: Chosen, **asked: Any) -> Result:  # noqa: ANN401
    """Ask for the facts of a benchmark's split, and rank the answers.

    \b
    Example:
        casegraph evaluate WN18RR --settings paper --max-length 3 --ties original
    """
    from casegraph.evaluation.completion import evaluate as experiment
    from casegraph.evaluation.datasets import SPLITS, Benchmark
    from casegraph.settings import Settings

    per_relation, source = asked.pop("per_relation"), graph if graph is None or graph in SPLITS else Path(graph)
    with progress() as show:
        done = experiment(Benchmark.open(folder), chosen(folder) or Settings(), graph_split=source, show=show, **asked)
    took = ", ".join(f"{name} {phase.seconds:.1f} s" for name, phase in done.phases.items())
    note(f"{took}; {done.queries_per_second:,.0f} queries/s; {done.phases['rank'].peak_memory / 1e6:,.0f} MB at most")
    return evaluated(done, ties, by_relation=per_relation)


@cli.command()
@click.argument("sources", nargs=-1, required=True)
@click.option("--columns", metavar="A,B,C", help="The names in the header of the columns to read.")
@click.option("--header/--no-header", default=None, help="Whether the first line is a header; else by its words.")
@choice("--on-error", ("stop", "skip"), "At a line that is no fact.")
@click.option("--refused", type=click.File("wb"), metavar="FILE", help="Where to write the lines that are skipped.")
@with_format
def facts(sources: tuple[str, ...], columns: str | None, **options: Any) -> Result:  # noqa: ANN401
    """Read files of facts and count what each adds to those before it.

    \b
    Example:
        casegraph facts people.tsv places.csv --on-error skip --refused refused.tsv
    """
    from casegraph.facts import read_facts
    from casegraph.graph import Graph

    graph, rows = Graph(), list[tuple[Any, ...]]()
    for source in sources:
        entities, relations = len(graph.entities), len(graph.relations)
        reading = read_facts(source, columns=columns.split(",") if columns is not None else None, **options)
        with progress() as show:
            change = graph.add(counted(reading, show))
        new = len(graph.entities) - entities, len(graph.relations) - relations
        rows.append((source, len(change.added), change.repeated, reading.skipped, *new))
    if len(rows) > 1:
        rows.append((ALL, *(sum(row[place] for row in rows) for place in range(1, 6))))
    return Result(("source", "facts", "duplicates", "skipped", "entities", "relations"), rows)


@cli.command()
@click.argument("source")
@click.argument("file")
@with_settings
@with_format
def save(source: str, file: str, chosen: Chosen) -> Result:
    """Count everything that questions need, and write it to FILE as a case base.

    \b
    Example:
        casegraph save world world.case
    """
    from casegraph.sources import case_base

    cases = case_base(source, chosen(source))
    with progress() as show:
        cases.prepare(show=show)
    cases.save(file)
    size = len(cases.graph), len(cases.graph.entities), len(cases.graph.relations)
    return Result(("file", "facts", "entities", "relations"), [(file, *size)])


def _fail(ctx: click.Context, problem: str, code: int) -> NoReturn:
    note(problem)
    ctx.exit(code)
