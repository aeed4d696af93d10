"""
Published data sets by name: their contents, their sources, and where they are on this machine.

The tables `datasets.tsv` and `dataset_files.tsv` beside this module list the data sets, and for
each that can be downloaded its files with size, SHA-256 and address. A data set without files has
no public source known to hold exactly these facts; its `source` says why.

A data set is looked for in this order, and the first folder found is used:

1. the name as a path
2. the folder that the environment variable CASEGRAPH_DATA names
3. the cache, to which `evaluation.downloads` downloads
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from casegraph.errors import NotABenchmark, UnknownName
from casegraph.folders import DATA_VARIABLE, data_folders

_HERE = Path(__file__).parent
_DATASETS = _HERE / "datasets.tsv"
_FILES = _HERE / "dataset_files.tsv"


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a data set as it is published.

    size    in bytes
    sha256  of its content, in hexadecimal digits
    """

    name: str
    size: int
    sha256: str
    url: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A published data set.

    facts, entities, relations  the number of each, over all splits
    content                     what it is about, and who published it
    source                      where it can be downloaded, or why it cannot
    files                       what to download; none if it cannot be downloaded
    """

    name: str
    facts: int
    entities: int
    relations: int
    content: str
    source: str
    files: tuple[RemoteFile, ...]


@cache
def catalogue() -> dict[str, Dataset]:
    """All data sets by name."""
    files: dict[str, list[RemoteFile]] = {}
    for name, file, size, sha256, url in _rows(_FILES):
        files.setdefault(name, []).append(RemoteFile(file, int(size), sha256, url))

    datasets = {}
    for name, facts, entities, relations, content, source in _rows(_DATASETS):
        datasets[name] = Dataset(
            name=name,
            facts=int(facts),
            entities=int(entities),
            relations=int(relations),
            content=content,
            source=source,
            files=tuple(files.get(name, ())),
        )
    return datasets


def dataset(name: str) -> Dataset:
    """The data set of this name; `UnknownName` if there is none."""
    known = catalogue()
    if name not in known:
        raise UnknownName("data set", name, known)
    return known[name]


def located(name: str | Path) -> Path:
    """The folder of a data set, given by name or by path.

    `NotABenchmark` if it is a data set that is not on this machine. Any other path is returned
    unchanged, whether it exists or not.
    """
    path = Path(name)
    names_by_folded = {known.casefold(): known for known in catalogue()}
    known_name = names_by_folded.get(str(name).casefold())
    if path.exists() or known_name is None:
        return path
    found = find(known_name)
    if found is not None:
        return found
    if catalogue()[known_name].files:
        advice = f"fetch it with 'casegraph datasets fetch {known_name}'"
    else:
        advice = f"put it into a folder, and name that in {DATA_VARIABLE}"
    raise NotABenchmark(known_name, f"the data set is not on this machine; {advice}")


def find(name: str) -> Path | None:
    """The folder of a data set on this machine, given by name; None if there is none."""
    for folder in data_folders():
        candidate = folder / name
        if candidate.is_dir():
            return candidate
    return None


def _rows(table: Path) -> Iterator[list[str]]:
    """The rows of a table after its header."""
    _, *lines = table.read_text(encoding="utf-8").splitlines()
    for line in lines:
        yield line.split("\t")
