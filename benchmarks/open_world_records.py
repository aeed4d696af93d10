"""
What the open-world experiments have written so far, by experiment.

Used by the page docs/open-world.md and by the check of the paper's claims.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, pstdev

from casegraph.experiments.journal import Record, mrr_of, read_records

STREAMED = ("FB122", "WN18RR")
SPLIT = {"FB122": "testI", "WN18RR": "test"}  # of which the paper draws the MRR
SPLIT_NAMES = {"testI": "test-I", "testII": "test-II", "test": "all"}
ROTATE_OFFLINE = {"FB122": 0.471, "WN18RR": 0.48}  # MRR, by the paper
DEFAULT = "default"
PAPER = "paper-grinch"
PUBLISHED = "published-grinch"
NAMES = {
    DEFAULT: "**casegraph**",
    PAPER: "the paper's settings",
    PUBLISHED: "the published prior",
}


class Kept:
    """What the experiments have written so far.

    streams  lines of streams, some of which may not have come to their end
    offline  lines of embeddings that were trained on everything at once
    """

    def __init__(self, folder: Path) -> None:
        streamed = [read_records(path) for path in sorted(folder.glob("*.seed*.jsonl"))]
        self.streams = [one for records in streamed for one in records]
        offline = [
            read_records(path) for path in sorted(folder.glob("*.offline.jsonl"))
        ]
        self.offline = [one for records in offline for one in records]
        self.changes = {
            benchmark: _read(folder / f"changes.{benchmark}.jsonl")
            for benchmark in STREAMED
        }
        self.lifelong = _whole_snapshots(_read(folder / "lifelong.jsonl"))
        self.inductive = _read(folder / "inductive.jsonl")

    def of(self, benchmark: str, system: str) -> list[Record]:
        """The lines of a stream, over all seeds."""
        return [
            record
            for record in self.streams
            if record["benchmark"] == benchmark and record["system"] == system
        ]

    def last(self, benchmark: str, system: str) -> list[Record]:
        """The lines after the last batch that was run, one for each seed that came so far."""
        found = self.of(benchmark, system)
        last = max((record["batch"] for record in found), default=0)
        return [record for record in found if record["batch"] == last]

    @property
    def batches(self) -> int:
        """How many batches a whole stream has after the seed graph."""
        return max((record["batch"] for record in self.streams), default=0)

    def embeddings(self, benchmark: str) -> list[str]:
        """The embeddings that were streamed."""
        found = {
            record["system"]
            for record in self.streams
            if record["benchmark"] == benchmark
        }
        return sorted(system for system in found if is_embedding(system))

    def ends(self, benchmark: str) -> dict[str, float]:
        """The MRR of each system after the last of all batches, on the split of the paper.

        Streams that have not come so far are left out.
        """
        systems = {
            one["system"] for one in self.streams if one["benchmark"] == benchmark
        }
        split = SPLIT[benchmark]
        found = {}
        for system in sorted(systems):
            last = self.last(benchmark, system)
            if last[0]["batch"] < self.batches:
                continue
            found[system] = fmean(
                mrr_of(record, split, "all") or 0.0 for record in last
            )
        return found

    def offline_of(self, benchmark: str, model: str) -> Record | None:
        """The line of a model that was trained on everything at once."""
        for record in self.offline:
            if (
                record["benchmark"] == benchmark
                and record["training"]["model"] == model
            ):
                return record
        return None


def is_embedding(system: str) -> bool:
    """Whether a system of a stream is an embedding: its name ends with what it replays."""
    return system.endswith("%")


def name_of(system: str) -> str:
    """What the page calls a system."""
    return NAMES.get(system, system)


def mean_and_spread(values: Sequence[float]) -> str:
    """The mean of some seeds, with the standard deviation if there are several."""
    if len(values) == 1:
        return f"{values[0]:.4f}"
    return f"{fmean(values):.4f} ± {pstdev(values):.4f}"


def _whole_snapshots(records: Sequence[Record]) -> list[Record]:
    """The records of snapshots after which all test sets so far were asked for."""
    asked = Counter(record["snapshot"] for record in records)
    return [
        record
        for record in records
        if asked[record["snapshot"]] == record["snapshot"] + 1
    ]


def _read(path: Path) -> list[Record]:
    return read_records(path) if path.exists() else []
