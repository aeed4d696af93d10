"""What counting costs, in seconds of one processor:
digest, hits and reach of paths of up to two steps.

Run: scripts/bench scaling SOURCE …
Prints a table; with --shards N only the first of N shards is counted.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from casegraph.cli.loader import case_base
from casegraph.execution.shard_files import write_part
from casegraph.execution.shards import Shard, count_hits, count_reach, with_hits
from casegraph.settings import Settings
from casegraph.statistics.counts import having

T = TypeVar("T")
COLUMNS = (
    "facts",
    "entities",
    "digest s",
    "hits s",
    "reach s",
    "path types",
    "file MB",
)


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What work gives, and the seconds of processor time it took."""
    started = time.process_time()
    return work(), time.process_time() - started


def measure(source: str, shard: Shard) -> tuple[float, ...]:
    """Count one shard of a source."""
    cases = case_base(source, Settings(max_length=2)).state
    _, digesting = timed(lambda: cases.digest)
    relations = list(range(cases.graph.directions))
    entities = shard.share(cases.graph, having(cases.graph, relations))
    hits, first = timed(lambda: count_hits(cases, shard))
    only_hits = replace(hits, shard=Shard(1, 1))  # as if the other shards had no hits
    given = with_hits(cases, only_hits)
    reach, second = timed(lambda: count_reach(given, (shard, relations)))
    assert reach.columns["right"].sum() > 0
    with TemporaryDirectory() as folder:
        file = Path(folder, "reach.npz")
        write_part(reach, file)
        megabytes = file.stat().st_size / 1e6
    sizes = len(cases.graph), len(entities)
    return *sizes, digesting, first, second, len(reach.types), megabytes


def main() -> None:
    """A line for each source."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", default=["world"])
    parser.add_argument("--shards", type=int, default=1)
    arguments = parser.parse_args()
    print(" ".join(name.rjust(13) for name in COLUMNS), " source")
    for source in arguments.sources:
        row = measure(source, Shard(1, arguments.shards))
        cells = []
        for value in row:
            form = "," if isinstance(value, int) else ",.2f"
            cells.append(format(value, form).rjust(13))
        print(" ".join(cells), f" {source}", flush=True)


if __name__ == "__main__":
    main()
