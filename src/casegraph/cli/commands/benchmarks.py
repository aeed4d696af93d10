"""Commands for published data sets: datasets, datasets fetch."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from typing import get_args

import click

from casegraph.cli.group import cli
from casegraph.cli.output import Format, Result, choice, note, print_result, with_format
from casegraph.cli.progress import progress

COLUMNS = ("name", "facts", "entities", "relations", "found", "download")


@cli.group(invoke_without_command=True)
@choice("--format", get_args(Format), "How to print.")
@click.pass_context
def datasets(context: click.Context, format: Format) -> None:  # noqa: A002
    """List published data sets, how large they are, and where they are on this machine.

    A data set that is found can be given by its name: casegraph evaluate WN18RR. It is looked for
    in the folder that CASEGRAPH_DATA names, and in the cache.

    \b
    Example:
        casegraph datasets
    """
    if context.invoked_subcommand is None:
        print_result(_listed(), format)


@datasets.command()
@click.argument("name")
@with_format
def fetch(name: str) -> Result:
    """Download the data set NAME into the folder that CASEGRAPH_DATA names, else into the cache.

    Size and SHA-256 of every file are checked; a download that is not as published is not kept.

    \b
    Example:
        casegraph datasets fetch WN18RR
    """
    from casegraph.evaluation.catalogue import dataset, find
    from casegraph.evaluation.downloads import fetch as download
    from casegraph.folders import download_folder

    chosen = dataset(name)
    folder = find(name)
    if folder is not None:
        note(f"{name} is there already")
    else:
        with progress() as show:
            folder = download(chosen, download_folder(), show)
    return Result(("name", "facts", "folder"), [(name, chosen.facts, str(folder))])


def _listed() -> Result:
    from casegraph.evaluation.catalogue import catalogue, find

    rows = []
    documents = []
    for dataset in catalogue().values():
        found = find(dataset.name)
        folder = None if found is None else str(found)
        can_be_fetched = bool(dataset.files)
        sizes = (dataset.facts, dataset.entities, dataset.relations)
        rows.append((dataset.name, *sizes, folder, can_be_fetched))
        documents.append(
            {
                "name": dataset.name,
                "facts": dataset.facts,
                "entities": dataset.entities,
                "relations": dataset.relations,
                "content": dataset.content,
                "source": dataset.source,
                "found": folder,
                "download": can_be_fetched,
            }
        )
    return Result(COLUMNS, rows, documents)
