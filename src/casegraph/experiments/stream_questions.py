"""
The questions after a batch of a stream, and how well they are answered.

Every test fact whose two entities are there is asked for, and ranked among the entities that are
there; other answers that are facts in some split are filtered out. Case bases and embeddings are
asked the same questions.
"""

import json
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from casegraph.answering.ranks import Ranks
from casegraph.evaluation.evaluation import Files, Questions, directed, questions_of
from casegraph.evaluation.ranking import metrics
from casegraph.experiments.arrivals import Arrivals
from casegraph.experiments.journal import Record
from casegraph.graph.arrays import Counts, Flags, Ids

TEST = "test"


class Asked(NamedTuple):
    """The questions after a batch.

    known   rows (direction, entity, target): the facts to filter out
    groups  which questions belong to each group of facts: by the name of a split, then by "all"
            for all its facts, or "new" for those that arrived with the batch
    """

    questions: Questions
    known: Ids
    groups: dict[str, dict[str, Flags]]


def asked_after(arriving: Arrivals, batch: int, limit: int | None) -> Asked:
    """What to ask after a batch: for all test facts, or for `limit` of them, spread evenly."""
    files = arriving.until(batch)
    questions = questions_of(files, TEST, "both", limit)
    batch_of = arriving.batch_of_entities(batch)
    batch_of_questions = batch_of[questions.rows[:, 1:]].max(axis=1)
    is_new = batch_of_questions == batch

    groups = {}
    for split, facts in files.rows.items():
        if str(split).startswith(TEST):
            rows = directed(facts, "both")
            is_of_split = _is_among(questions.rows, rows, len(files.entities))
            groups[str(split)] = {"all": is_of_split, "new": is_of_split & is_new}
    return Asked(questions, directed(files.known, "both"), groups)


def metrics_of(asked: Asked, ranks: Ranks) -> Record:
    """The number of questions in each group, and their metrics over both sides."""
    found: Record = {}
    for split, groups in asked.groups.items():
        found[split] = {}
        for group, is_chosen in groups.items():
            record: Record = {"questions": int(is_chosen.sum())}
            of_group = metrics(ranks[is_chosen], asked.questions.is_head[is_chosen])
            for name, value in of_group.items():
                if name.startswith("both."):
                    record[name] = value
            found[split][group] = record
    return found


def digest_of(files: Files, wanted: Record) -> str:
    """A digest of everything that the records of a stream depend on: the facts, and the options."""
    wanted_json = json.dumps(wanted, sort_keys=True)
    hashed = sha256(wanted_json.encode())
    for name in (*files.entities, *files.relations):
        hashed.update(name.encode(errors="surrogatepass") + b"\n")
    for split, rows in files.rows.items():
        hashed.update(f"{split} {len(rows)}".encode())
        hashed.update(rows.astype("<i4").tobytes())
    return hashed.hexdigest()


def _is_among(rows: Ids, others: Ids, entities: int) -> Flags:
    """Whether each row (direction, entity, target) is one of the others."""

    def as_numbers(table: Ids) -> Counts:
        direction, entity, target = table.astype(np.int64).T
        return np.asarray((direction * entities + entity) * entities + target)

    return np.isin(as_numbers(rows), as_numbers(others))
