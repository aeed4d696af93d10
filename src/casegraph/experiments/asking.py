"""
What is asked after a batch of a stream, and how well it was answered.

Every fact of test whose two entities are there is asked for, and ranked among the entities that are
there; every other answer that some file knows is passed over. Whatever answers, a case base or an
embedding, is asked the same.
"""

import json
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from casegraph.answering.ranking import Ranks
from casegraph.evaluation.evaluation import Files, Questions, directed, questions_of
from casegraph.evaluation.ranking import metrics
from casegraph.experiments.arrivals import Arrivals
from casegraph.experiments.records import Record
from casegraph.graph.arrays import Counts, Flags, Ids

TEST = "test"


class Asked(NamedTuple):
    """The questions after a batch.

    known   rows (direction, entity, target): the facts to pass over
    groups  which questions belong to each group of facts, by the name of a split, then by
            whether all of them are asked for or those that came with the batch
    """

    questions: Questions
    known: Ids
    groups: dict[str, dict[str, Flags]]


def asked_after(arriving: Arrivals, batch: int, limit: int | None) -> Asked:
    """What to ask after a batch; if limited, for only so many facts, spread evenly."""
    files = arriving.until(batch)
    questions = questions_of(files, TEST, "both", limit)
    batch_of = arriving.batch_of_entities(batch)
    is_new = batch_of[questions.rows[:, 1:]].max(axis=1) == batch
    groups = {}
    for split, rows in files.rows.items():
        if str(split).startswith(TEST):
            is_inside = _is_among(questions.rows, directed(rows, "both"), len(files.entities))
            groups[str(split)] = {"all": is_inside, "new": is_inside & is_new}
    return Asked(questions, directed(files.known, "both"), groups)


def metrics_of(asked: Asked, ranks: Ranks) -> Record:
    """The metrics of each group of questions over both sides, with how many there are."""
    is_head = asked.questions.is_head
    found: Record = {}
    for split, groups in asked.groups.items():
        found[split] = {}
        for group, chosen in groups.items():
            of_group = metrics(ranks[chosen], is_head[chosen])
            of_both = {name: value for name, value in of_group.items() if name.startswith("both.")}
            found[split][group] = {"questions": int(chosen.sum()), **of_both}
    return found


def digest_of(files: Files, wanted: Record) -> str:
    """A digest of all that the lines of a stream depend on: the facts, and what is wanted."""
    hashed = sha256(json.dumps(wanted, sort_keys=True).encode())
    for name in (*files.entities, *files.relations):
        hashed.update(name.encode(errors="surrogatepass") + b"\n")
    for split, rows in files.rows.items():
        hashed.update(f"{split} {len(rows)}".encode())
        hashed.update(rows.astype("<i4").tobytes())
    return hashed.hexdigest()


def _is_among(rows: Ids, others: Ids, entities: int) -> Flags:
    """Which rows (direction, entity, target) are among others."""

    def as_numbers(some: Ids) -> Counts:
        direction, entity, target = some.astype(np.int64).T
        return np.asarray((direction * entities + entity) * entities + target)

    return np.isin(as_numbers(rows), as_numbers(others))
