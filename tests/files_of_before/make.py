"""
Writes the files of this folder and what they hold, with the casegraph that runs it.

`README.md` says which commit they were made with. They are never made again: they stand for the
files that users have.
"""

import json
import sys
from pathlib import Path
from shutil import rmtree

from casegraph import CaseBase, CaseStore
from casegraph.execution.shard_files import write_part
from casegraph.execution.shards import Shard, count_hits, count_reach, merged, with_hits

FAMILY = [
    ("Ada", "parent of", "Ben"),
    ("Ada", "parent of", "Cléo"),
    ("Ben", "parent of", "Δanaë"),
    ("Ben", "sibling of", "Cléo"),
    ("Cléo", "sibling of", "Ben"),
    ("Cléo", "aunt of", "Δanaë"),
    ("Eve", "parent of", "Fay"),
    ("Eve", "parent of", "Gus"),
    ("Fay", "sibling of", "Gus"),
    ("Gus", "sibling of", "Fay"),
    ("Fay", "parent of", "Hal"),
]
AWKWARD = [
    ("", "r⁻¹", "\t\n\0"),
    ("𝔸", " r ", "\u202e"),
    ("\ud800", "r⁻¹", "a/../b"),
    ("a/../b", "r⁻¹", "=1+1"),
]
QUESTIONS = [
    ("Gus", "aunt of"),
    ("Fay", "sibling of"),
    ("Ada", "parent of"),
    ("a/../b", "r⁻¹"),
]


def said(cases: CaseBase) -> dict[str, object]:
    """All facts, and the answers to some questions."""
    answers = {
        json.dumps(question): [
            (answer.entity, answer.score) for answer in cases.ask(*question)
        ]
        for question in QUESTIONS
    }
    return {"facts": sorted(cases.graph.facts()), "answers": answers}


def make(folder: Path) -> None:
    """Write a store, a case file, two files of counts, and what they say."""
    rmtree(folder / "store", ignore_errors=True)
    with CaseStore.open(folder / "store") as store:
        store.update(add=FAMILY[:8])
        store.update(add=AWKWARD, retract=FAMILY[:1])
        store.compact()
        store.update(add=FAMILY)
        store.update(retract=["𝔸"], add=[("Ida", "parent of", "Eve")])
        history = [
            [event.sequence, event.sign, list(event.fact)] for event in store.history()
        ]
        in_store = said(store)
    (folder / "store" / "lock").write_text("process 1 (make.py)", encoding="utf-8")

    cases = CaseBase()
    cases.update(add=FAMILY + AWKWARD)
    everything = list(range(cases.graph.directions))
    hits = merged(count_hits(cases.cases, shard) for shard in Shard.all(2))  # type: ignore[attr-defined]
    reach = count_reach(with_hits(cases.cases, hits), (Shard(1, 1), everything))  # type: ignore[attr-defined]
    write_part(hits, folder / "hits.npz")
    write_part(reach, folder / "counts.npz")
    cases.prepare()
    cases.save(folder / "family.case")

    expected = {"store": in_store, "history": history, "case file": said(cases)}
    (folder / "expected.json").write_text(
        json.dumps(expected, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    make(Path(sys.argv[1]))
