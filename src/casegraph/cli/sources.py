"""What the commands are given: a source of facts and the name of settings become a case base."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from casegraph.casebase import CaseBase
from casegraph.cli.progress import counted, progress
from casegraph.errors import CasegraphError, UnknownName
from casegraph.evaluation.datasets import Benchmark
from casegraph.graph.facts import read_facts
from casegraph.settings import PAPER, Settings
from casegraph.storage.store.restoring import is_store
from casegraph.storage.store.store import CaseStore
from casegraph.world import facts as world_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from casegraph.graph.facts import Fact
    from casegraph.running import Show


ZIP = b"PK\3\4"  # what a saved case base begins with


def case_base(
    source: str,
    settings: Settings | None = None,
    relation: str | None = None,
    entities: Sequence[str] = (),
    *,
    as_of: int | None = None,
) -> CaseBase:
    """The case base of a source; the entities must be known, and the relation is counted.

    as_of  of a store, the update after which to answer
    """
    with progress() as show:
        cases = _store(source, settings, as_of) or _read(source, settings, show)
        for name in entities:
            if cases.graph.entities.find(name) is None:
                raise UnknownName("entity", name, cases.graph.entities.names)
        if relation is not None:
            cases.prepare([relation], show)
    return cases


def settings_named(
    name: str | None, dataset: str | None, max_length: int | None, source: str
) -> Settings | None:
    """The settings that were chosen for a source; None if none were."""
    if name is None and max_length is None:
        return None
    dataset = dataset or _dataset(source)
    paper = Settings.paper(dataset)
    by_name = {
        "default": Settings(),
        "paper": paper,
        "cbr": Settings.cbr(dataset),
        "no-clusters": paper.but(clustering="entity"),
        "one-cluster": paper.but(clustering="everyone"),
    }
    named = by_name[name or "default"]
    if max_length is None:
        return named
    return named.but(max_length=max_length)


def facts_of(source: str, read: Callable[[str], Iterable[Fact]] = read_facts) -> Iterable[Fact]:
    """The facts of a source; `read` reads it if it is a file of facts."""
    path = Path(source)
    if source == "world":
        return world_facts()
    if is_store(path):
        return CaseStore.open(path, read_only=True).graph.facts()
    if path.is_dir():
        benchmark = Benchmark.open(path)
        return benchmark.facts(benchmark.graph)
    if _is_saved(path):
        return CaseBase.load(path).graph.facts()
    return read(source)


def _store(source: str, settings: Settings | None, as_of: int | None) -> CaseStore | None:
    if is_store(Path(source)):
        return CaseStore.open(source, settings, read_only=True, as_of=as_of)
    if as_of is not None:
        raise CasegraphError(
            f"{source}: has no past, as only a store has one; make one with 'casegraph build'"
        )
    return None


def _read(source: str, settings: Settings | None, show: Show) -> CaseBase:
    if source != "world" and _is_saved(Path(source)):
        saved = CaseBase.load(source)
        if settings in (None, saved.settings):
            return saved
    cases = CaseBase(settings)
    cases.update(add=counted(facts_of(source), show))
    return cases


def _is_saved(path: Path) -> bool:
    """Whether a file is called a case base, or begins like one."""
    if path.suffix == ".case":
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(ZIP)) == ZIP


def _dataset(source: str) -> str:
    """The data set of the paper that a folder or its parent is named for;
    else one with short paths.
    """
    path = Path(source).resolve()
    for part in (path.name, path.parent.name):
        for name in PAPER:
            if part.startswith(name):
                return name
    return "FB122"
