"""
Lifelong learning (LKGE): a graph in snapshots, asked again about all earlier snapshots.

After each snapshot the test sets of all snapshots so far are asked for, as by Cui et al. (2023).
What was learned first may be forgotten later: the *backward transfer* of a test set is how much its
MRR grows from its own snapshot to the last; it is negative where something was forgotten.

Ranks follow two protocols, since the published one is unusual:

    then  as in the code of the benchmark's authors: the test set of snapshot j is ranked among the
          entities of snapshots up to j, filtered by the facts of splits up to j
    now   among all entities so far, filtered by the facts of all splits so far
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from time import process_time

import numpy as np

from benchmarks.experiments.candidates import answers_in, mrr_and_hits, scored
from casegraph.answering.ranks import distinct
from casegraph.batch.resumption import Resumable
from casegraph.casebase import CaseBase
from casegraph.errors import NotABenchmark
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import (
    Files,
    Questions,
    directed,
    ids_of_entities,
    ids_of_relations,
    questions_of,
    read_files,
    rows_of_relation,
)
from casegraph.experiments.journal import Record, read_records
from casegraph.experiments.stream_questions import digest_of
from casegraph.graph.arrays import Counts, Flags, Floats, Ids
from casegraph.running import Show, quiet
from casegraph.settings import Settings

FILES = ("train", "valid", "test")
PROTOCOLS = ("then", "now")


@dataclass(frozen=True, slots=True)
class Snapshots:
    """A benchmark in snapshots.

    files        the splits of all snapshots, such as "test3"
    snapshot_of  (entities,)  the first snapshot that has each entity
    count        the number of snapshots
    """

    files: Files
    snapshot_of: Counts
    count: int

    @classmethod
    def open(cls, folder: Path, show: Show = quiet) -> "Snapshots":
        """The snapshots in the folders 0, 1, 2 and so on."""
        splits = {}
        count = 0
        while (folder / str(count)).is_dir():
            snapshot = Benchmark.open(folder / str(count))
            for name in FILES:
                if name not in snapshot.splits:
                    problem = f"expected a file for the split {name!r}"
                    raise NotABenchmark(str(snapshot.folder), problem)
                splits[f"{name}{count}"] = snapshot.splits[name]
            count += 1
        if not count:
            raise NotABenchmark(
                str(folder), "expected folders 0, 1, 2 and so on, found none"
            )

        files = read_files(Benchmark(folder, splits), "test0", "train0", show)
        snapshot_of = np.full(len(files.entities), count)
        for number in reversed(range(count)):
            for name in FILES:
                snapshot_of[files.rows[f"{name}{number}"][:, 1:]] = number
        return cls(files, snapshot_of, count)

    def known(self, last: int) -> Ids:
        """The facts of all splits up to a snapshot, as rows (direction, entity, target)."""
        splits = [f"{name}{number}" for name in FILES for number in range(last + 1)]
        rows = np.concatenate([self.files.rows[split] for split in splits])
        return directed(distinct(rows), "both")


def lifelong(
    folder: Path,
    settings: Settings,
    out: Path,
    limit: int | None = None,
    show: Show = quiet,
) -> list[Record]:
    """Add snapshot after snapshot; a record for each test set after each snapshot.

    out    a file to which each record is written at once
    limit  how many facts of a test set to ask for, spread evenly; None: all

    If an earlier call with the same arguments was interrupted, continue its file. Returns all
    records.
    """
    snapshots = Snapshots.open(folder, show)
    wanted = {"settings": asdict(settings), "limit": limit}
    cases = CaseBase(settings)
    with Resumable(out, digest_of(snapshots.files, wanted)) as file:
        for now in range(snapshots.count):
            started = process_time()
            cases.update(add=snapshots.files.facts(f"train{now}"))
            if file.done >= _sets(now + 1):
                continue  # an earlier call has asked for all test sets after this snapshot
            cases.prepare(show=show)
            seconds = process_time() - started
            for then in range(file.done - _sets(now), now + 1):
                show("test sets of snapshots", file.done, _sets(snapshots.count))
                questions = questions_of(snapshots.files, f"test{then}", "both", limit)
                ranks = _ranks(cases, snapshots, questions, then, now)
                record = {
                    "snapshot": now,
                    "test_set": then,
                    "facts": len(cases.graph),
                    "entities": int(np.count_nonzero(snapshots.snapshot_of <= now)),
                    "questions": len(questions),
                    "seconds": seconds,
                    **{
                        protocol: mrr_and_hits(ranks[protocol])
                        for protocol in PROTOCOLS
                    },
                }
                file.write(json.dumps(record).encode() + b"\n")
        show("test sets of snapshots", file.done, _sets(snapshots.count))
    return read_records(out)


def summary(records: list[Record]) -> dict[str, dict[str, float]]:
    """For each protocol, the mean metrics of all test sets after the last snapshot.

    backward_transfer  the mean of how much the MRR of a test set grew since its own snapshot
    """
    last = max(record["snapshot"] for record in records)
    found = {}
    for protocol in PROTOCOLS:
        at_last = [record[protocol] for record in records if record["snapshot"] == last]
        means = {name: fmean(record[name] for record in at_last) for name in at_last[0]}
        gained = []
        for record in records:
            if record["snapshot"] == record["test_set"] < last:
                later = at_last[record["test_set"]]["mrr"]
                gained.append(later - record[protocol]["mrr"])
        found[protocol] = {
            **means,
            "backward_transfer": fmean(gained) if gained else 0.0,
        }
    return found


def _ranks(
    cases: CaseBase, snapshots: Snapshots, questions: Questions, then: int, now: int
) -> dict[str, Floats]:
    """The rank of each answer by each protocol, for the test set of one snapshot."""
    state = cases.state
    ids = ids_of_entities(state, questions.entities)
    worlds = {
        "then": _World.of(snapshots, ids, then),
        "now": _World.of(snapshots, ids, now),
    }
    ranks: dict[str, list[float]] = {protocol: [] for protocol in PROTOCOLS}
    for direction, relation in ids_of_relations(state, questions).items():
        asked = distinct(ids[rows_of_relation(questions.rows, direction)])
        of_now = worlds["now"].known_of(direction)
        of_then = worlds["then"].known_of(direction)
        for question in scored(state, relation, asked, of_now, len(ids)):
            known_then = answers_in(of_then, question.entity)
            asked_then = question._replace(known=known_then)
            rivals = {
                "now": question.unknown_among(worlds["now"].is_there),
                "then": asked_then.unknown_among(worlds["then"].is_there),
            }
            for target in question.targets.tolist():
                for protocol in PROTOCOLS:
                    ranks[protocol].append(question.rank(target, rivals[protocol]))
    return {protocol: np.array(found) for protocol, found in ranks.items()}


@dataclass(frozen=True, slots=True)
class _World:
    """What is known up to a snapshot, by the ids of a graph.

    ids       (entities,)  the id of each entity of the files
    is_there  (entities,)  whether the entity with each id has arrived
    known     rows (direction, entity, target) with the numbers of entities in the files
    """

    ids: Ids
    is_there: Flags
    known: Ids

    @classmethod
    def of(cls, snapshots: Snapshots, ids: Ids, last: int) -> "_World":
        is_there = np.zeros(len(ids), dtype=np.bool)
        is_there[ids[snapshots.snapshot_of <= last]] = True
        return cls(ids, is_there, snapshots.known(last))

    def known_of(self, direction: int) -> Ids:
        """The known rows (entity, target) of a direction, as ids, sorted."""
        rows = rows_of_relation(self.known, direction)
        return distinct(self.ids[rows])


def _sets(snapshots: int) -> int:
    """The number of test sets that are asked for after this many snapshots, in all."""
    return snapshots * (snapshots + 1) // 2
