"""
Jobs: work that takes longer than a request, run one at a time, with progress and a result.

A job works on the state that was current when it began. Its result is two files, JSON lines and
CSV, in a folder that is deleted when the service ends.
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import chain, islice
from pathlib import Path
from secrets import token_urlsafe
from shutil import rmtree
from tempfile import mkdtemp
from threading import Event, Lock
from time import monotonic
from typing import Any

from casegraph.batch.audit import audit
from casegraph.batch.completion import Wanted, complete
from casegraph.batch.proposals import ProposalTable, write_proposals
from casegraph.batch.restrictions import ANY_RELATION, Row
from casegraph.batch.resumption import remove_finished
from casegraph.casebase import CaseBase
from casegraph.errors import CasegraphError
from casegraph.formats.tables import write_table
from casegraph.service.limits import Limits
from casegraph.service.models import AuditJob, CompleteJob, Job, JobState
from casegraph.service.problems import Refused

KEPT = 32  # jobs that have ended
TOLD_EVERY = 0.2  # seconds between two messages about the progress of a job
FORMATS = {"jsonl": "application/jsonl", "csv": "text/csv"}

Tell = Callable[[Job], None]


class Cancelled(Exception):
    """A job was cancelled while it worked."""


@dataclass
class Work:
    """A job and its progress."""

    job: str
    wanted: CompleteJob | AuditJob
    folder: Path
    state: JobState = "waiting"
    doing: str = ""
    done: int = 0
    total: int = 0
    rows: int | None = None
    problem: str = ""
    sequence: int = 0
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    finished: datetime | None = None
    cancelled: Event = field(default_factory=Event)

    def file(self, form: str) -> Path:
        """The file of its result."""
        return self.folder / f"{self.job}.{form}"

    def seen(self) -> Job:
        """The job as a client sees it."""
        return Job(
            job=self.job,
            kind=self.wanted.kind,
            state=self.state,
            doing=self.doing,
            done=self.done,
            total=self.total,
            rows=self.rows,
            problem=self.problem,
            sequence=self.sequence,
            started=self.started.isoformat(),
            finished=None if self.finished is None else self.finished.isoformat(),
        )


class JobRunner:
    """All jobs of a service.

    tell  is called with a job when it makes progress; from any thread
    """

    def __init__(self, limits: Limits, tell: Tell) -> None:
        self._limits = limits
        self._tell = tell
        self._folder: Path | None = None  # made for the first job
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="casegraph-job")
        self._jobs: dict[str, Work] = {}
        self._turn = Lock()

    def close(self) -> None:
        """Cancel everything, and remove the results."""
        for work in list(self._jobs.values()):
            work.cancelled.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._folder is not None:
            rmtree(self._folder, ignore_errors=True)

    def start(self, wanted: CompleteJob | AuditJob, now: Callable[[], CaseBase]) -> Job:
        """Start a job, or queue it; `Refused` if too many wait already."""
        with self._turn:
            waiting = [work for work in self._jobs.values() if work.finished is None]
            if len(waiting) >= self._limits.jobs:
                message = f"{len(waiting)} jobs are waiting already; come back when one is done"
                raise Refused(HTTPStatus.TOO_MANY_REQUESTS, message)
            self._forget_oldest()
            if self._folder is None:
                self._folder = Path(mkdtemp(prefix="casegraph-jobs-"))
            work = Work(token_urlsafe(9), wanted, self._folder)
            self._jobs[work.job] = work
        self._pool.submit(self._run, work, now)
        return work.seen()

    def all(self) -> list[Job]:
        """All jobs, the newest first."""
        return [work.seen() for work in reversed(list(self._jobs.values()))]

    def get(self, job: str) -> Work:
        """A job by its number; `Refused` if there is none."""
        work = self._jobs.get(job)
        if work is None:
            raise Refused(HTTPStatus.NOT_FOUND, f"no job has the number {job[:40]!r}")
        return work

    def finished(self, job: str) -> Work:
        """A job that is done; `Refused` if it is not."""
        work = self.get(job)
        if work.state != "done":
            raise Refused(
                HTTPStatus.CONFLICT, f"the job is {work.state}, so it has no result"
            )
        return work

    def cancel(self, job: str) -> Job:
        """Cancel a job that waits or runs; one that has ended is not changed."""
        work = self.get(job)
        work.cancelled.set()
        if work.state == "waiting":
            self._end(work, "cancelled")
        return work.seen()

    def rows(self, job: str, first: int, count: int) -> list[dict[str, Any]]:
        """`count` rows of a result from `first` on."""
        file = self.finished(job).file("jsonl")
        with file.open(encoding="utf-8") as lines:
            return [json.loads(line) for line in islice(lines, first, first + count)]

    def _forget_oldest(self) -> None:
        """Forget the oldest jobs that have ended, so that there is room for one more."""
        ended = [work for work in self._jobs.values() if work.finished is not None]
        too_many = max(0, len(ended) + 1 - KEPT)
        for work in ended[:too_many]:
            for form in FORMATS:
                work.file(form).unlink(missing_ok=True)
            del self._jobs[work.job]

    def _run(self, work: Work, now: Callable[[], CaseBase]) -> None:
        if work.cancelled.is_set():
            return
        cases = now()
        work.sequence = cases.state.sequence
        work.state = "running"
        self._tell(work.seen())
        try:
            if isinstance(work.wanted, CompleteJob):
                self._complete(work, work.wanted, cases)
            else:
                self._audit(work, work.wanted, cases)
        except Cancelled:
            self._end(work, "cancelled")
        except CasegraphError as error:
            self._end(work, "failed", str(error))
        except Exception:
            self._end(
                work, "failed", "something went wrong; the log of the service has it"
            )
            raise
        else:
            self._end(work, "done")

    def _end(self, work: Work, state: JobState, problem: str = "") -> None:
        work.state = state
        work.problem = problem
        work.finished = datetime.now(UTC)
        self._tell(work.seen())

    def _show(self, work: Work) -> Callable[[str, int, int], None]:
        """A function that records progress, and raises `Cancelled` if the job was cancelled."""
        told = 0.0

        def show(doing: str, done: int, total: int) -> None:
            nonlocal told
            if work.cancelled.is_set():
                raise Cancelled
            work.doing = doing
            work.done = done
            work.total = total
            now = monotonic()
            if now >= told + TOLD_EVERY:
                told = now
                self._tell(work.seen())

        return show

    def _complete(self, work: Work, wanted: CompleteJob, cases: CaseBase) -> None:
        what = Wanted(
            relations=tuple(cases.relation(name) for name in wanted.relations),
            heads=tuple(cases.entity(name) for name in wanted.heads),
            tails=tuple(cases.entity(name) for name in wanted.tails),
            entities=tuple(cases.entity(name) for name in wanted.entities),
            candidates=_named_pairs(cases, wanted.candidates),
            exclude=_named_pairs(cases, wanted.exclude),
            lacking=wanted.lacking,
            min_probability=wanted.min_probability,
            top=wanted.top,
            of_type=wanted.of_type,
            best=wanted.best,
            at_most=wanted.at_most,
        )
        show = self._show(work)
        lines = work.folder / f"{work.job}.lines"
        try:
            complete(cases, lines, what, show=show)
            table = ProposalTable(
                cases,
                lines,
                best=wanted.best,
                at_most=wanted.at_most,
                explain=wanted.explain,
                show=show,
            )
            work.rows = write_proposals(table, work.file("jsonl"), "jsonl")
        finally:
            remove_finished(lines)
        _write_csv(work)

    def _audit(self, work: Work, wanted: AuditJob, cases: CaseBase) -> None:
        show = self._show(work)
        relations = tuple(cases.relation(name) for name in wanted.relations)
        found = audit(
            cases,
            relations=relations,
            top=wanted.top,
            explain=wanted.explain,
            show=show,
        )
        records = [finding.as_dict() for finding in found]
        columns = list(records[0]) if records else []
        rows = (tuple(record.values()) for record in records)
        work.rows = write_table(work.file("jsonl"), "jsonl", columns, rows)
        _write_csv(work)


def _named_pairs(cases: CaseBase, pairs: list[list[str]]) -> tuple[Row, ...]:
    """Pairs, with a relation or without, as the graph calls them."""
    rows = []
    for head, *relation, tail in pairs:
        between = cases.relation(relation[0]) if relation else ANY_RELATION
        rows.append((cases.entity(head), between, cases.entity(tail)))
    return tuple(rows)


def _write_csv(work: Work) -> None:
    """Write the result of a job again, as a table for a spreadsheet."""
    with work.file("jsonl").open(encoding="utf-8") as lines:
        records: Iterator[dict[str, Any]] = map(json.loads, lines)
        first = next(records, None)
        if first is None:
            write_table(work.file("csv"), "csv", (), ())
            return
        rows = (list(record.values()) for record in chain([first], records))
        write_table(work.file("csv"), "csv", list(first), rows)
