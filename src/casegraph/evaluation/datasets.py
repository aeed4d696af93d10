"""
Benchmark splits: a folder with one file of facts for each.

A split is a file called by one of the names in `SPLITS`, alone or with .txt or .tsv, packed by gzip or not.
Other files of the folder (names of entities, rules, negatives) are left alone.
"""

from dataclasses import dataclass
from pathlib import Path

from casegraph.errors import NotABenchmark
from casegraph.graph.facts import Facts, read_facts

SPLITS = ("train", "valid", "test", "dev", "testI", "testII", "graph", "full_graph")
ENDINGS = ("", ".txt", ".tsv", ".gz", ".txt.gz", ".tsv.gz")
LISTED = 5  # files of a folder that a message names


@dataclass(frozen=True)
class Benchmark:
    """A folder of facts, split for an experiment."""

    folder: Path
    splits: dict[str, Path]

    @classmethod
    def open(cls, folder: str | Path) -> "Benchmark":
        """The benchmark in `folder`, which must have a file of train facts, or a `graph`."""
        folder = Path(folder)
        if not folder.is_dir():
            found = "a file" if folder.exists() else "nothing"
            raise NotABenchmark(str(folder), f"expected a folder with a train file, found {found}")
        splits = {split: file for split in SPLITS for file in _files(folder, split)}
        if "train" not in splits and "graph" not in splits:
            expected = "a train file such as train.txt or train.tsv.gz, or a graph file"
            raise NotABenchmark(str(folder), f"expected {expected}, found {_contents(folder)}")
        return cls(folder, splits)

    @property
    def graph(self) -> str:
        """The split to answer from: `graph` where there is one, as `train` then has only queries."""
        return "graph" if "graph" in self.splits else "train"

    def facts(self, split: str) -> Facts:
        """The facts of a split."""
        if split not in self.splits:
            found = ", ".join(self.splits)
            raise NotABenchmark(str(self.folder), f"expected a file for the split {split!r}, found only {found}")
        return read_facts(self.splits[split])


def _files(folder: Path, split: str) -> list[Path]:
    files = [folder / (split + ending) for ending in ENDINGS if (folder / (split + ending)).is_file()]
    if len(files) > 1:
        found = " and ".join(file.name for file in files)
        raise NotABenchmark(
            str(folder),
            f"expected one file for the split {split!r}, found {found}; remove all but one",
        )
    return files


def _contents(folder: Path) -> str:
    names = sorted(file.name for file in folder.iterdir())
    others = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + others or "an empty folder"
