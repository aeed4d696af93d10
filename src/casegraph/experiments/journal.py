"""
What experiments write: a record for each step, as a line of JSON.

A record of a stream has the metrics after a batch as

    record["metrics"][which][split][group][name]

where `which` is "online" or "oracle", the split is a part of test, and the group is "all" for all
facts that can be asked for, or "new" for those that arrived with the batch.
"""

import json
from pathlib import Path
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, Any]
MRR = "both.realistic.inverse_harmonic_mean_rank"


def read_records(path: Path) -> list[Record]:
    """The records in a file."""
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def mrr_of(
    record: Record, split: str, group: str, which: str = "online"
) -> float | None:
    """The MRR after a batch; None if there were no facts to ask for."""
    groups = record["metrics"].get(which, {}).get(split, {})
    found = groups.get(group, {}).get(MRR)
    return None if found is None else float(found)
