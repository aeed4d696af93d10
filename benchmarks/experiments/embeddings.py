"""
Embeddings to compare with, by PyKEEN and PyTorch (`scripts/pykeen` installs them).

PyKEEN has the models and their losses. The training loop is here, because a stream needs what
PyKEEN's loops do not offer: entities that have not arrived yet are not drawn as negatives, and
earlier embeddings can be frozen. Every fact is two questions, one for its tail and one for its
head; the questions of a training batch share their negatives. Training stops early when the MRR on
valid no longer improves, as in the paper, and the best parameters are kept.

Entities are numbered in the order of arrival, so those that are there are the first ones.
Parameters are kept in files of arrays, so that training can continue after an interruption. The
state of the optimizer is not kept, so it warms up again.
"""

from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.experiments.embedding_scores import (
    BY_DIRECTION,
    BY_DISTANCE,
    Scoring,
    Theirs,
)
from casegraph.answering.ranks import Ranks, distinct
from casegraph.disk import atomic_write
from casegraph.graph.arrays import Counts, Flags, Floats, Ids, rows_with, run_bounds
from casegraph.graph.directions import backward, direction_count, forward
from casegraph.running import Show, quiet

MODELS = ("TransE", "DistMult", "ComplEx", "ConvE", "RotatE")
TIMES_AS_LIKELY = 10.0  # how much more likely facts near newcomers are trained on again
MARGIN = 9.0  # of the loss of distances
SCORES_AT_ONCE = 1 << 21  # at most this many scores are held in memory


@dataclass(frozen=True, slots=True)
class Training:
    """How a model is trained.

    model          one of `MODELS`
    dimension      of the embeddings; a complex number counts as one dimension
    epochs         the most epochs
    batch          the number of questions in a training batch
    negatives      the number of wrong answers, which a batch shares
    learning_rate  of Adam
    every          the number of epochs between two evaluations on valid
    patience       how many evaluations without improvement end the training
    valid          how many facts of valid an evaluation asks for
    seed           of everything that is random
    threads        of PyTorch
    """

    model: str = "RotatE"
    dimension: int = 64
    epochs: int = 60
    batch: int = 1024
    negatives: int = 128
    learning_rate: float = 0.02
    every: int = 5
    patience: int = 2
    valid: int = 500
    seed: int = 0
    threads: int = 1


class Lesson(NamedTuple):
    """What to train on, as rows (head, relation, tail), and what must not change.

    facts     the facts to train on
    valid     the facts that decide when to stop
    known     the facts of all splits, to filter out; only of entities that are there
    entities  the number of entities that are there
    frozen    this many entities, the first ones, keep their embeddings
    """

    facts: Counts
    valid: Counts
    known: Counts
    entities: int
    frozen: int = 0


class Trained(NamedTuple):
    """What training took, and how well the model answers.

    seconds    processor time
    valid_mrr  the best MRR on the facts that decide when to stop
    """

    epochs: int
    seconds: float
    valid_mrr: float


class Embedding:
    """A model of PyKEEN for all entities and relations, many of which may arrive later."""

    def __init__(self, training: Training, entities: int, relations: int) -> None:
        torch = import_module("torch")
        triples = import_module("pykeen.triples")
        models = import_module("pykeen.models")
        torch.set_num_threads(training.threads)
        torch.manual_seed(training.seed)
        self.training = training
        self._torch = torch
        self._random = np.random.default_rng(training.seed)
        if training.model in BY_DIRECTION:
            relations = direction_count(relations)
        factory = triples.CoreTriplesFactory(
            mapped_triples=torch.zeros((1, 3), dtype=torch.long),
            num_entities=entities,
            num_relations=relations,
        )
        self.model: Theirs = models.model_resolver.make(
            training.model,
            triples_factory=factory,
            embedding_dim=training.dimension,
            loss=_loss(training.model),
            random_seed=training.seed,
            **_options(training.model),
        )
        self.model.reset_parameters_()
        self._scoring = Scoring(torch, training.model, self.model)

    def train(
        self, lesson: Lesson, progress: Path | None = None, show: Show = quiet
    ) -> Trained:
        """Train until facts of valid are no longer answered better.

        The model is not evaluated before the first epochs: learning newcomers disturbs what was
        learned before, so the MRR on valid may be best without any training.

        progress  a file that keeps what is needed to continue; written after every evaluation
        """
        training = self.training
        started = process_time()
        best = _Best(self.model)
        epoch = 0
        if progress is not None and progress.exists():
            epoch, seconds_before = best.load(progress)
            started -= seconds_before
        questions = asked_for(lesson.facts)
        optimizer = self._torch.optim.Adam(
            self.model.parameters(), lr=training.learning_rate, fused=True
        )
        while epoch < training.epochs and best.since < training.patience:
            for _ in range(training.every):
                self._epoch(questions, lesson, optimizer)
            epoch += training.every
            best.look(self._valid_mrr(lesson))
            if progress is not None:
                best.save(progress, epoch, process_time() - started)
            show(f"training {training.model}", epoch, training.epochs)
        best.restore()
        return Trained(epoch, process_time() - started, best.mrr)

    def ranks(self, rows: Ids, known: Ids, entities: int) -> Ranks:
        """The filtered rank of each target among the first entities.

        rows, known  sorted rows (direction, entity, target)
        """
        better = np.empty(len(rows))
        equal = np.empty(len(rows))
        known_keys = _keys(known, entities)
        question_bounds = run_bounds(_keys(rows, entities))
        # The first row of each, and its end.
        questions = list(pairwise(question_bounds))
        at_once = max(1, SCORES_AT_ONCE // entities)
        for first in range(0, len(questions), at_once):
            some = questions[first : first + at_once]
            first_rows = rows[[start for start, _ in some]]
            all_scores = self._scores(first_rows, entities)
            keys = _keys(first_rows, entities).tolist()
            for (start, end), key, scores in zip(some, keys, all_scores, strict=True):
                answers = known[rows_with(key, known_keys), 2]
                is_rival = np.ones(entities, dtype=np.bool)
                is_rival[answers] = False
                rivals = scores[is_rival]
                for row in range(start, end):
                    own = scores[rows[row, 2]]
                    better[row] = np.count_nonzero(rivals > own)
                    equal[row] = np.count_nonzero(rivals == own)
        optimistic = 1 + better
        pessimistic = optimistic + equal
        return Ranks(optimistic, pessimistic, original=(optimistic + pessimistic) / 2)

    def place_newcomers(self, facts: Counts, first: int, entities: int) -> None:
        """RotatE+: put each newcomer where its facts with older entities suggest (§3.3).

        facts     rows (head, relation, tail)
        first     the first newcomer
        entities  the number of entities, with the newcomers

        A newcomer gets the mean of the embeddings of its older neighbours, each rotated by the
        relation; rotated back where the newcomer is the head. A newcomer without older neighbours
        keeps its random embedding.
        """
        torch = self._torch
        head_column = 0
        tail_column = 2
        with torch.no_grad():
            entity_embedding = self.model.entity_representations[0]
            relation_embedding = self.model.relation_representations[0]
            newcomers = entities - first
            sums = torch.zeros((newcomers, *entity_embedding.shape), dtype=torch.cfloat)
            counts = torch.zeros(newcomers)
            for own, other in ((tail_column, head_column), (head_column, tail_column)):
                is_with_older = (facts[:, own] >= first) & (facts[:, other] < first)
                some = torch.from_numpy(facts[is_with_older])
                rotations = relation_embedding(some[:, 1])
                if own == head_column:
                    rotations = rotations.conj()
                suggested = entity_embedding(some[:, other]) * rotations
                places = some[:, own] - first
                sums.index_add_(0, places, suggested)
                counts.index_add_(0, places, torch.ones(len(some)))

            has_neighbour = counts > 0
            means = sums[has_neighbour] / counts[has_neighbour, None]
            placed = first + torch.nonzero(has_neighbour).ravel()
            weight = _entity_weight(self.model)
            weight.data[placed] = torch.view_as_real(means).reshape(len(means), -1)

    def save(self, path: Path, trained: Trained) -> None:
        """Write the parameters to a file of arrays, and what training took."""
        with atomic_write(path) as file:
            numbers = np.array(trained, dtype=np.float64)
            np.savez(
                file, allow_pickle=False, trained=numbers, **_parameters(self.model)
            )

    def load(self, path: Path) -> Trained:
        """Read the parameters from a file that `save` wrote; returns what training took."""
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        epochs, seconds, valid_mrr = arrays.pop("trained").tolist()
        _set_parameters(self.model, arrays)
        return Trained(int(epochs), seconds, valid_mrr)

    def _epoch(self, questions: Ids, lesson: Lesson, optimizer: Theirs) -> None:
        """Train on every question (direction, entity, target) once, in random order."""
        training = self.training
        self.model.train()
        order = self._random.permutation(len(questions))
        for start in range(0, len(order), training.batch):
            some = questions[order[start : start + training.batch]]
            wrong = self._random.integers(lesson.entities, size=training.negatives)
            optimizer.zero_grad()
            loss = self._loss_of(some, wrong) + self.model.collect_regularization_term()
            loss.backward()
            if lesson.frozen:
                _entity_weight(self.model).grad[: lesson.frozen] = 0
            optimizer.step()
            self.model.post_parameter_update()

    def _loss_of(self, questions: Ids, wrong: Counts) -> Theirs:
        """The loss of some questions (direction, entity, target) that share wrong answers."""
        scoring = self._scoring
        vectors = scoring.questions(questions)
        own = scoring.of_own(vectors, scoring.answers(questions[:, 2]))
        of_wrong = scoring.of_all(vectors, scoring.answers(wrong))
        return self.model.loss.process_slcwa_scores(own[:, None], of_wrong)

    def _valid_mrr(self, lesson: Lesson) -> float:
        """The MRR of some facts of valid, on both sides; 0 if there are none."""
        kept = min(self.training.valid, len(lesson.valid))
        if not kept:
            return 0.0
        places = np.arange(kept) * len(lesson.valid) // kept
        rows = asked_for(lesson.valid[places])
        ranks = self.ranks(rows, asked_for(lesson.known), lesson.entities)
        return float(np.mean(1 / ranks.realistic))

    def _scores(self, questions: Ids, entities: int) -> list[Floats]:
        """The scores of the first entities as answers of each question (direction, entity)."""
        self.model.eval()
        with self._torch.no_grad():
            question_vectors = self._scoring.questions(questions)
            answer_vectors = self._scoring.answers(np.arange(entities))
            scores = self._scoring.of_all(question_vectors, answer_vectors)
        return list(scores.numpy())


class _Best:
    """The parameters that answered facts of valid best so far.

    since  the number of evaluations since then
    """

    def __init__(self, model: Theirs) -> None:
        self._model = model
        self._kept = _parameters(model)
        self.mrr = -1.0
        self.since = 0

    def look(self, mrr: float) -> None:
        """Keep the parameters if their MRR on valid is better than ever."""
        if mrr > self.mrr:
            self._kept = _parameters(self._model)
            self.mrr = mrr
            self.since = 0
        else:
            self.since += 1

    def restore(self) -> None:
        """Give the model its best parameters."""
        _set_parameters(self._model, self._kept)

    def save(self, path: Path, epoch: int, seconds: float) -> None:
        """Write the current and the best parameters, and how far training is."""
        now = {f"now.{name}": array for name, array in _parameters(self._model).items()}
        best = {f"best.{name}": array for name, array in self._kept.items()}
        numbers = np.array([epoch, seconds, self.mrr, self.since])
        with atomic_write(path) as file:
            np.savez(file, allow_pickle=False, progress=numbers, **now, **best)

    def load(self, path: Path) -> tuple[int, float]:
        """Read what `save` wrote; returns the epoch, and the seconds it took."""
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        epoch, seconds, self.mrr, since = arrays.pop("progress").tolist()
        self.since = int(since)
        _set_parameters(self._model, _with_prefix(arrays, "now."))
        self._kept = _with_prefix(arrays, "best.")
        return int(epoch), seconds


def asked_for(facts: Counts) -> Ids:
    """Facts (head, relation, tail) as sorted rows (direction, entity, target), both sides."""
    head, relation, tail = facts.T
    for_tails = np.stack([forward(relation), head, tail], axis=1)
    for_heads = np.stack([backward(relation), tail, head], axis=1)
    rows = np.concatenate([for_tails, for_heads])
    return distinct(rows.astype(np.int32))


def replayed(
    facts: Counts, near: Flags, share: float, random: np.random.Generator
) -> Counts:
    """Some facts that were trained on before; those near newcomers are ten times as likely.

    near   (entities,)  whether each entity has a fact in common with a newcomer
    share  of the facts, how many to draw
    """
    wanted = round(share * len(facts))
    if not wanted:
        return facts[:0]
    is_near = near[facts[:, 0]] | near[facts[:, 2]]
    weights = np.where(is_near, TIMES_AS_LIKELY, 1.0)
    probabilities = weights / weights.sum()
    places = random.choice(len(facts), wanted, replace=False, p=probabilities)
    return facts[np.sort(places)]


def _keys(rows: Ids, entities: int) -> Counts:
    """The question of each row, direction and entity, as one number."""
    return rows[:, 0].astype(np.int64) * entities + rows[:, 1]


def _loss(model: str) -> Theirs:
    losses = import_module("pykeen.losses")
    if model in BY_DISTANCE:
        return losses.NSSALoss(margin=MARGIN, adversarial_temperature=1.0)
    return losses.InfoNCELoss(margin=0.0, log_adversarial_temperature=0.0)


def _options(model: str) -> dict[str, Any]:
    """Options that differ from PyKEEN's defaults.

    Its TransE normalises the embeddings of entities to length 1, less than the margin of the loss.
    """
    if model == "TransE":
        return {"scoring_fct_norm": 2, "entity_constrainer": None}
    return {}


def _entity_weight(model: Theirs) -> Theirs:
    """The parameter that holds the embeddings of entities."""
    weights = list(model.entity_representations[0].parameters())
    return weights[0]


def _parameters(model: Theirs) -> dict[str, Any]:
    parameters = {}
    for name, tensor in model.state_dict().items():
        parameters[name] = tensor.detach().numpy().copy()
    return parameters


def _set_parameters(model: Theirs, arrays: dict[str, Any]) -> None:
    torch = import_module("torch")
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    model.load_state_dict(tensors)


def _with_prefix(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
