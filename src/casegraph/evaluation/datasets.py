"""
Benchmarks: a folder with a file of facts for each split, or the facts of each split themselves.

The file of a split has one of the names in `SPLITS`, with or without .txt or .tsv, optionally
gzipped. Other files in the folder (names of entities, rules, negatives) are ignored.
`evaluation.catalogue` finds published benchmarks by name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from casegraph.errors import NotABenchmark
from casegraph.formats.python_objects import Rows, facts_in
from casegraph.formats.registry import read_facts
from casegraph.graph.facts import Fact

SPLITS = ("train", "valid", "test", "dev", "testI", "testII", "graph", "full_graph")
VALIDATION = ("valid", "dev")
ENDINGS = ("", ".txt", ".tsv", ".gz", ".txt.gz", ".tsv.gz")
LISTED = 5  # how many files of a folder an error message names
DATASETS = "'casegraph datasets' lists data sets that are known by name"


@dataclass(frozen=True)
class Benchmark:
    """Facts, split for an experiment.

    folder  where they are; for facts in memory, only a name
    splits  the file of each split, or its facts
    """

    folder: Path
    splits: Mapping[str, Path | Sequence[Fact]]

    @classmethod
    def open(cls, folder: str | Path) -> "Benchmark":
        """The benchmark in `folder`, which must have a file for `train` or for `graph`."""
        folder = Path(folder)
        if not folder.is_dir():
            found = "a file" if folder.exists() else f"nothing ({DATASETS})"
            problem = f"expected a folder with a train file, found {found}"
            raise NotABenchmark(str(folder), problem)

        splits = {}
        for split in SPLITS:
            file = _file_of(split, folder)
            if file is not None:
                splits[split] = file
        if "train" not in splits and "graph" not in splits:
            expected = "a train file such as train.txt or train.tsv.gz, or a graph file"
            advice = "if they are files of facts, name them, not their folder"
            problem = f"expected {expected}, found {_contents(folder)}; {advice}"
            raise NotABenchmark(str(folder), problem)
        return cls(folder, splits)

    @classmethod
    def of(cls, *, name: str = "facts", **splits: Rows) -> "Benchmark":
        """A benchmark of facts in memory: frames, arrays, lists of rows.

        name    its name
        splits  the facts of each split: `train` (or `graph`), `test`, and perhaps others

        >>> from casegraph import Benchmark, evaluate
        >>> born = [(f"person {n}", "born in", f"city {n % 3}") for n in range(30)]
        >>> live = [(f"person {n}", "lives in", f"city {n % 3}") for n in range(30)]
        >>> done = evaluate(Benchmark.of(train=born + live[3:], test=live[:3]), sides="tail")
        >>> done.metrics["tail.realistic.hits_at_1"]
        1.0
        """
        has_unknown = not set(splits) <= set(SPLITS)
        has_graph = "train" in splits or "graph" in splits
        if has_unknown or not has_graph:
            expected = f"splits among {', '.join(SPLITS)}, and train or graph"
            found = ", ".join(splits) or "none"
            raise NotABenchmark(name, f"expected {expected}; found {found}")
        facts_of = {split: list(facts_in(facts)) for split, facts in splits.items()}
        return cls(Path(name), facts_of)

    def __repr__(self) -> str:
        return f"<Benchmark {self.name}: {', '.join(self.splits)}>"

    @property
    def validation(self) -> str | None:
        """The split of validation facts, if there is one."""
        for split in VALIDATION:
            if split in self.splits:
                return split
        return None

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.resolve().name

    @property
    def graph(self) -> str:
        """The split to answer from: `graph` if it exists (then `train` has only queries)."""
        return "graph" if "graph" in self.splits else "train"

    def facts(self, split: str) -> Iterable[Fact]:
        """The facts of a split."""
        if split not in self.splits:
            found = ", ".join(self.splits)
            problem = f"expected a file for the split {split!r}, found only {found}"
            raise NotABenchmark(str(self.folder), problem)
        facts = self.splits[split]
        return read_facts(facts) if isinstance(facts, Path) else facts


def _file_of(split: str, folder: Path) -> Path | None:
    """The file of a split; None if there is none, and an error if there are several."""
    candidates = [folder / (split + ending) for ending in ENDINGS]
    files = [file for file in candidates if file.is_file()]
    if len(files) > 1:
        found = " and ".join(file.name for file in files)
        problem = f"expected one file for the split {split!r}, found {found}; remove all but one"
        raise NotABenchmark(str(folder), problem)
    return files[0] if files else None


def _contents(folder: Path) -> str:
    """The first files of a folder, for an error message."""
    names = sorted(file.name for file in folder.iterdir())
    if not names:
        return "an empty folder"
    listed = ", ".join(names[:LISTED])
    if len(names) > LISTED:
        listed += f" and {len(names) - LISTED} more"
    return listed
