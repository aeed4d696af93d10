"""From the arguments of a command, a source of facts and settings, to a case base."""

from __future__ import annotations

import json
import logging
from dataclasses import fields
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from casegraph.casebase import CaseBase
from casegraph.cli.counted_files import WORTH_KEEPING, keep, kept_case, load_kept
from casegraph.cli.output import note
from casegraph.cli.progress import counted, progress
from casegraph.errors import CasegraphError, InvalidArgument, UnknownName
from casegraph.evaluation.datasets import ENDINGS, Benchmark
from casegraph.formats.name_files import read_names
from casegraph.formats.registry import read_facts
from casegraph.settings import PAPER, Settings
from casegraph.storage.store.restoring import is_store
from casegraph.storage.store.store import CaseStore
from casegraph.world import facts as world_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from casegraph.cli.reader import Read
    from casegraph.graph.descriptions import Description
    from casegraph.graph.facts import Fact
    from casegraph.running import Show


logger = logging.getLogger(__name__)
NAMES_FILES = (
    "entity_names",
    "relation_names",
    "entity2text",
    "relation2text",
)  # in benchmarks
TOO_LONG = 3.0  # seconds of counting for a question to a store
ZIP = b"PK\3\4"  # what a saved case base begins with


def case_base(
    source: str,
    settings: Settings | None = None,
    relation: str | None = None,
    entities: Sequence[str] = (),
    *,
    as_of: int | None = None,
    read: Read | None = None,
) -> CaseBase:
    """The case base of a source, ready for a question.

    relation  what questions about this relation need is counted; None: nothing
    entities  names that must be known, else an error
    as_of     of a store, the update after which to answer
    read      how to read the source if it is a file of facts
    """
    with progress() as show:
        stored = _store(source, settings, as_of)
        started = monotonic()
        if stored is not None:
            prepared = _prepared(stored, relation, entities, show)
            if monotonic() - started >= TOO_LONG:
                note(
                    f"{source}: had to count; 'casegraph compact {source}' does so once for all"
                )
            return prepared
        is_given_ready = source == "world" or _is_saved(Path(source))
        kept = None if is_given_ready else kept_case(source, settings, read)
        cases = load_kept(kept) or _read(source, settings, read, show)
        logger.info("%s: %s, %.1f s", source, cases, monotonic() - started)
        before = cases.state.statistics.counted.keys() | set()
        prepared = _prepared(cases, relation, entities, show)
        is_more = prepared.state.statistics.counted.keys() != before
        if is_more and monotonic() - started >= WORTH_KEEPING:
            keep(prepared, kept)
    return prepared


def _prepared(
    cases: CaseBase, relation: str | None, entities: Sequence[str], show: Show
) -> CaseBase:
    """The same case base, with what a question needs: names that are known, and counts."""
    for name in entities:
        cases.entity(name)
    if relation is not None:
        started = monotonic()
        cases.prepare([relation], show)
        logger.info("counted what %r needs, %.1f s", relation, monotonic() - started)
    return cases


def settings_named(
    name: str | None,
    dataset: str | None,
    max_length: int | None,
    source: str,
    changed: Sequence[str] = (),
) -> Settings | None:
    """The settings that were chosen for a source; None if none were.

    changed  single settings, each as NAME=VALUE
    """
    if name is None and max_length is None and not changed:
        return None
    named = (
        Settings()
        if name in (None, "default")
        else _of_the_paper(name, dataset, source)
    )
    values = dict(_setting(text) for text in changed)
    if max_length is not None:
        values["max_length"] = max_length
    return named.but(**values) if values else named


def _of_the_paper(name: str, dataset: str | None, source: str) -> Settings:
    """The settings of an experiment in the paper, which differ from data set to data set."""
    chosen = dataset or _dataset(source)
    if chosen is None:
        known = ", ".join(PAPER)
        raise CasegraphError(
            f"{source}: is not one of the paper's data sets; say whose settings are meant "
            f"with --dataset (one of {known})"
        )
    paper = Settings.paper(chosen)
    by_name = {
        "paper": paper,
        "published": Settings.published(chosen),
        "cbr": Settings.cbr(chosen),
        "no-clusters": paper.but(clustering="entity"),
        "one-cluster": paper.but(clustering="everyone"),
    }
    return by_name[name]


def _setting(text: str) -> tuple[str, Any]:
    """A setting that was given as NAME=VALUE."""
    name, mark, value = text.partition("=")
    known = [field.name for field in fields(Settings)]
    if not mark:
        raise InvalidArgument(
            "set", text, f"NAME=VALUE, where NAME is one of {', '.join(known)}"
        )
    if name not in known:
        raise UnknownName("setting", name, known)
    try:
        return name, json.loads(value.lower())  # a number, true, false or null
    except ValueError:
        return name, None if value.lower() == "none" else value


class Content(NamedTuple):
    """What a source holds: facts, and descriptions of entities.

    described  to be read after the facts, since both may be in the same file
    """

    facts: Iterable[Fact]
    described: Iterable[Description]


def content_of(source: str, read: Read | None = None) -> Content:
    """What a source holds; `read` says how to read it if it is a file of facts."""
    content = _content(source, read)
    if read is None or read.names is None:
        return content
    more_described = read_names(read.names, read.options.get("encoding"))
    return content._replace(described=chain(content.described, more_described))


def _content(source: str, read: Read | None) -> Content:
    path = Path(source)
    if source == "world":
        return Content(world_facts(), ())
    if is_store(path):
        store = CaseStore.open(path, read_only=True)
        return Content(store.graph.facts(), store.descriptions)
    if path.is_dir():
        benchmark = Benchmark.open(path)
        return Content(benchmark.facts(benchmark.graph), names_in(path))
    if _is_saved(path):
        cases = CaseBase.load(path)
        return Content(cases.graph.facts(), cases.descriptions)
    facts = read_facts(source) if read is None else read(source)
    return Content(facts, facts.described)


def names_in(folder: Path) -> Iterator[Description]:
    """The labels of entities and relations, from files in the folder of a benchmark."""
    for stem in NAMES_FILES:
        files = [folder / (stem + ending) for ending in ENDINGS]
        for file in filter(Path.is_file, files):
            yield from read_names(file)


def _store(
    source: str, settings: Settings | None, as_of: int | None
) -> CaseStore | None:
    if is_store(Path(source)):
        return CaseStore.open(source, settings, read_only=True, as_of=as_of)
    if as_of is not None:
        raise CasegraphError(
            f"{source}: has no past, as only a store has one; make one with 'casegraph build'"
        )
    return None


def _read(
    source: str, settings: Settings | None, read: Read | None, show: Show
) -> CaseBase:
    if source != "world" and _is_saved(Path(source)):
        saved = CaseBase.load(source)
        if settings in (None, saved.settings):
            return saved
    cases = CaseBase(settings)
    content = content_of(source, read)
    cases.update(add=counted(content.facts, show), describe=content.described)
    return cases


def _is_saved(path: Path) -> bool:
    """Whether a file is named like a saved case base, or begins like one."""
    if path.suffix == ".case":
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(ZIP)) == ZIP


def _dataset(source: str) -> str | None:
    """The data set of the paper that a folder or its parent is named after, or None."""
    path = Path(source).resolve()
    for part in (path.name, path.parent.name):
        for name in PAPER:
            if part.startswith(name):
                return name
    return None
