"""
Embeddings in the paper's stream (§3.3), and offline: how trained systems handle new entities.

A model is trained on the seed graph, and then on the facts of each batch. Variants differ in where
the embedding of a new entity begins, in whether older embeddings may still move, and in how many
older facts are trained on again. All variants share the model of the seed graph, which is kept in a
file.

Records have the form of `experiments.stream`, so that both can be drawn in one picture.
"""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from benchmarks.experiments.embeddings import (
    Embedding,
    Lesson,
    Trained,
    Training,
    asked_for,
    replayed,
)
from casegraph.batch.resumption import Resumable
from casegraph.errors import IncompatibleFile, InvalidArgument
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import read_files
from casegraph.experiments.arrivals import SEED_GRAPH, Arrivals, Plan, arrivals
from casegraph.experiments.journal import Record, read_records
from casegraph.experiments.stream_questions import (
    TEST,
    asked_after,
    digest_of,
    metrics_of,
)
from casegraph.graph.arrays import Counts
from casegraph.running import Show, quiet

VALID = "valid"


@dataclass(frozen=True, slots=True)
class Variant:
    """How a model learns newcomers, which are the new entities of a batch.

    placed  whether the embedding of a newcomer begins where its neighbours suggest (RotatE+),
            or else at random
    frozen  whether older entities keep their embeddings (RotatE-Freeze)
    replay  the share of older facts that are trained on again with each batch
    """

    placed: bool = False
    frozen: bool = False
    replay: float = 0.0

    def name(self, model: str) -> str:
        """The name in the paper, with the percentage of older facts."""
        plus = "+" if self.placed else ""
        freeze = "-Freeze" if self.frozen else ""
        percentage = round(100 * self.replay)
        return f"{model}{plus}{freeze}-{percentage}%"


VARIANTS = (
    Variant(replay=0.1),
    Variant(placed=True, replay=0.1),
    Variant(frozen=True, replay=0.1),
    Variant(),
    Variant(replay=0.3),
    Variant(placed=True, replay=0.3),
    Variant(frozen=True, replay=0.3),
)


def embedding_stream(
    benchmark: Benchmark,
    plan: Plan,
    variant: Variant,
    training: Training,
    folder: Path,
    show: Show = quiet,
) -> list[Record]:
    """Train a model on a stream; a record for each batch is written to a file in `folder`.

    If an earlier call with the same arguments was interrupted, continue its file. Returns all
    records.
    """
    if variant.placed and training.model != "RotatE":
        raise InvalidArgument(
            "placed", training.model, "RotatE, which alone has rotations"
        )
    files = read_files(benchmark, TEST, benchmark.graph, show)
    arriving = arrivals(files, benchmark.graph, plan)
    name = benchmark.folder.resolve().name
    system = variant.name(training.model)
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{name}.{system}.seed{plan.seed}.jsonl"
    wanted = {
        "plan": asdict(plan),
        "variant": asdict(variant),
        "training": asdict(training),
    }
    seed_model = _kept_model(folder, f"{name}.{training.model}.seed{plan.seed}", wanted)

    with Resumable(out, digest_of(files, wanted)) as file:
        learner = _Learner(arriving, benchmark.graph, variant, training, show)
        for batch in range(SEED_GRAPH, arriving.batches + 1):
            show(f"batches of {system}", batch, arriving.batches + 1)
            is_seed = batch == SEED_GRAPH
            model = seed_model if is_seed else out.with_suffix(f".batch{batch}.npz")
            if batch < file.done:
                if batch == file.done - 1:
                    learner.embedding.load(_existing(model))
                continue
            trained = learner.learn(batch, model)
            record = {
                "benchmark": name,
                "system": system,
                "seed": plan.seed,
                "batch": batch,
                "entities": learner.entities(batch),
                "trained": trained._asdict(),
                "training": asdict(training),
                "metrics": {"online": learner.metrics(batch)},
            }
            file.write(json.dumps(record).encode() + b"\n")
            if batch > SEED_GRAPH + 1:
                model_before = out.with_suffix(f".batch{batch - 1}.npz")
                model_before.unlink(missing_ok=True)
    return read_records(out)


def offline(
    benchmark: Benchmark, training: Training, folder: Path, show: Show = quiet
) -> Record:
    """Train a model on a whole benchmark, and ask for its test facts; the record is kept in a file.

    If an earlier call with the same arguments was interrupted, continue from the last evaluation on
    valid.
    """
    files = read_files(benchmark, TEST, benchmark.graph, show)
    # All arrive in the first step.
    step_of = np.zeros(len(files.entities), dtype=np.int64)
    arriving = Arrivals(files, step_of, batch_of_step=np.array([SEED_GRAPH]))
    name = benchmark.folder.resolve().name
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{name}.{training.model}.offline.jsonl"
    wanted = {"training": asdict(training)}
    model = _kept_model(folder, f"{name}.{training.model}.offline", wanted)
    with Resumable(out, digest_of(files, wanted)) as file:
        if not file.done:
            learner = _Learner(arriving, benchmark.graph, Variant(), training, show)
            trained = learner.learn(SEED_GRAPH, model)
            record = {
                "benchmark": name,
                "system": f"{training.model}, offline",
                "trained": trained._asdict(),
                "training": asdict(training),
                "metrics": {"online": learner.metrics(SEED_GRAPH)},
            }
            file.write(json.dumps(record).encode() + b"\n")
    return read_records(out)[0]


class _Learner:
    """A model that learns batch after batch; entities are numbered in the order of arrival."""

    def __init__(
        self,
        arriving: Arrivals,
        source: str,
        variant: Variant,
        training: Training,
        show: Show,
    ) -> None:
        self._arriving = arriving
        self._variant = variant
        self._show = show
        batch_of = arriving.batch_of()
        order = np.argsort(batch_of, kind="stable")
        self._batch_of = batch_of[order]  # of each entity, by its number
        self._number_of = np.empty(len(order), dtype=np.int64)
        self._number_of[order] = np.arange(len(order))
        files = arriving.files
        self._facts = self._numbered(source)
        self._valid = self._numbered(VALID) if VALID in files.rows else self._facts[:0]
        self._known = np.concatenate([self._numbered(split) for split in files.rows])
        self._random = np.random.default_rng(training.seed)
        self.embedding = Embedding(training, len(files.entities), len(files.relations))

    def entities(self, batch: int) -> int:
        """How many entities are there after a batch."""
        return int(np.searchsorted(self._batch_of, batch, side="right"))

    def learn(self, batch: int, model: Path) -> Trained:
        """Train on a batch; the model is written to a file, or read from it if it exists."""
        if model.exists():
            return self.embedding.load(model)
        before = 0 if batch == SEED_GRAPH else self.entities(batch - 1)
        now = self.entities(batch)
        new_facts = self._between(self._facts, before, now)
        older_facts = self._between(self._facts, 0, before)
        if self._variant.placed and before:
            self.embedding.place_newcomers(new_facts, before, now)
        has_new_fact = np.zeros(now, dtype=np.bool)
        has_new_fact[new_facts[:, [0, 2]]] = True
        again = replayed(older_facts, has_new_fact, self._variant.replay, self._random)
        lesson = Lesson(
            facts=np.concatenate([new_facts, again]),
            valid=self._between(self._valid, 0, now),
            known=self._between(self._known, 0, now),
            entities=now,
            frozen=before if self._variant.frozen else 0,
        )
        progress = model.with_suffix(".progress.npz")
        trained = self.embedding.train(lesson, progress, self._show)
        self.embedding.save(model, trained)
        progress.unlink(missing_ok=True)
        return trained

    def metrics(self, batch: int) -> Record:
        """How well test facts are answered after a batch."""
        asked = asked_after(self._arriving, batch, None)
        is_there = self._arriving.batch_of() <= batch
        number_of_place = self._number_of[is_there]
        rows = asked.questions.rows.copy()
        rows[:, 1:] = number_of_place[rows[:, 1:]]

        # The embedding ranks sorted rows; its ranks are put back into the order of the questions.
        entities = self.entities(batch)
        known = asked_for(self._between(self._known, 0, entities))
        order = np.lexsort(rows.T[::-1])
        ranks = self.embedding.ranks(rows[order], known, entities)
        original_order = np.argsort(order)
        return metrics_of(asked, ranks[original_order])

    def _numbered(self, split: str | Path) -> Counts:
        """The facts of a split as rows (head, relation, tail) of numbers."""
        relation, head, tail = self._arriving.files.rows[split].astype(np.int64).T
        return np.stack(
            [self._number_of[head], relation, self._number_of[tail]], axis=1
        )

    def _between(self, facts: Counts, before: int, now: int) -> Counts:
        """The facts that arrived while the number of entities grew from `before` to `now`."""
        later_entity = facts[:, [0, 2]].max(axis=1)
        has_arrived = (later_entity >= before) & (later_entity < now)
        arrived: Counts = facts[has_arrived]
        return arrived


def _kept_model(folder: Path, name: str, wanted: Record) -> Path:
    """The file of the model of a seed graph; it does not depend on the variant, as all share it."""
    shared = {part: value for part, value in wanted.items() if part != "variant"}
    shared_json = json.dumps(shared, sort_keys=True)
    digest = sha256(shared_json.encode()).hexdigest()
    return folder / f"{name}.{digest[:8]}.npz"


def _existing(model: Path) -> Path:
    if not model.exists():
        problem = (
            "is gone, without which the stream cannot go on; begin it in another folder"
        )
        raise IncompatibleFile(str(model), problem)
    return model
