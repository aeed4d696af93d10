"""
Embeddings to compare with, by PyKEEN and PyTorch (the extra `experiments`).

PyKEEN has the models and their losses. How they are trained is here, since a stream wants what its
training loops do not have: entities that are not there yet are not drawn as wrong answers, and what
was trained before can be kept as it is. Every fact is two questions, one for its tail and one for
its head; the questions of a step share their wrong answers. Training stops when facts of valid are
no longer answered better, as in the paper; the parameters that answered them best are kept.

Entities are numbered in the order in which they come, so those that are there are the first ones.
Parameters are kept in files of arrays, so that training goes on after an interruption; of the
optimizer nothing is kept, so it warms up again then.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from casegraph.answering.ranking import Ranks, distinct
from casegraph.errors import CasegraphError
from casegraph.experiments.embedding_scores import BY_DIRECTION, BY_DISTANCE, Scoring, Theirs
from casegraph.graph.arrays import Counts, Flags, Floats, Ids, run_bounds
from casegraph.running import Show, quiet
from casegraph.storage.disk import atomic_write

MODELS = ("TransE", "DistMult", "ComplEx", "ConvE", "RotatE")
TIMES_AS_LIKELY = 10.0  # facts near newcomers, to be trained on again
MARGIN = 9.0  # of losses of distances
SCORES_AT_ONCE = 1 << 21  # scores of a part of the questions


@dataclass(frozen=True, slots=True)
class Training:
    """How a model is trained.

    model          one of `MODELS`
    dimension      of the embeddings; of complex ones half as many numbers would do
    epochs         at most
    batch          questions that are trained together
    negatives      wrong answers, which they share
    learning_rate  of Adam
    every          so many epochs facts of valid are asked for
    patience       how often they may be answered no better before training stops
    valid          how many facts of valid are asked for
    seed           of all that is random
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
    """What to train on, as rows (head, relation, tail), and what must stay as it is.

    facts     to train on
    valid     to stop by
    known     all facts of all files, to pass over; those of entities that are there
    entities  how many are there
    frozen    the first so many keep their embeddings
    """

    facts: Counts
    valid: Counts
    known: Counts
    entities: int
    frozen: int = 0


class Trained(NamedTuple):
    """What training took, and came to.

    seconds    of the processor
    valid_mrr  the MRR on the facts of valid that it was stopped by
    """

    epochs: int
    seconds: float
    valid_mrr: float


class Embedding:
    """A model of PyKEEN for a number of entities and relations, many of which may come later."""

    def __init__(self, training: Training, entities: int, relations: int) -> None:
        torch = _imported("torch")
        triples = _imported("pykeen.triples")
        torch.set_num_threads(training.threads)
        torch.manual_seed(training.seed)
        self.training = training
        self._torch = torch
        self._random = np.random.default_rng(training.seed)
        factory = triples.CoreTriplesFactory(
            mapped_triples=torch.zeros((1, 3), dtype=torch.long),
            num_entities=entities,
            num_relations=2 * relations if training.model in BY_DIRECTION else relations,
        )
        self.model: Theirs = _imported("pykeen.models").model_resolver.make(
            training.model,
            triples_factory=factory,
            embedding_dim=training.dimension,
            loss=_loss(training.model),
            random_seed=training.seed,
            **_options(training.model),
        )
        self.model.reset_parameters_()
        self._scoring = Scoring(torch, training.model, self.model)

    def train(self, lesson: Lesson, progress: Path | None = None, show: Show = quiet) -> Trained:
        """Train until facts of valid are no longer answered better.

        The first look comes after some epochs, since newcomers should be trained at all: to take
        them in disturbs what was learned before, so without them valid may be answered better.

        progress  a file to keep, after every look at valid, what is needed to go on from there
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
        """The rank of each target among the first entities, other known answers passed over.

        rows, known  sorted rows (direction, entity, target)
        """
        better = np.empty(len(rows))
        equal = np.empty(len(rows))
        known_keys = _keys(known, entities)
        runs = list(pairwise(run_bounds(_keys(rows, entities))))  # of one question each
        at_once = max(1, SCORES_AT_ONCE // entities)
        for first in range(0, len(runs), at_once):
            some = runs[first : first + at_once]
            questions = rows[[start for start, _ in some]]
            keys = _keys(questions, entities)
            low = np.searchsorted(known_keys, keys)
            high = np.searchsorted(known_keys, keys + 1)
            for place, scores in enumerate(self._scores(questions, entities)):
                is_rival = np.ones(entities, dtype=np.bool)
                is_rival[known[low[place] : high[place], 2]] = False
                rivals = scores[is_rival]
                for row in range(*some[place]):
                    own = scores[rows[row, 2]]
                    better[row] = np.count_nonzero(rivals > own)
                    equal[row] = np.count_nonzero(rivals == own)
        optimistic = 1 + better
        pessimistic = optimistic + equal
        return Ranks(optimistic, pessimistic, original=(optimistic + pessimistic) / 2)

    def place_newcomers(self, facts: Counts, first: int, entities: int) -> None:
        """RotatE+: a newcomer is put where the facts with those before it would have it.

        first     the first newcomer
        entities  how many there are with the newcomers

        The mean of the rotated embeddings of its neighbours (§3.3); where it is the head, rotated
        back. A newcomer without a neighbour that was there before stays where it is, at random.
        """
        torch = self._torch
        with torch.no_grad():
            of_entities = self.model.entity_representations[0]
            of_relations = self.model.relation_representations[0]
            sums = torch.zeros((entities - first, *of_entities.shape), dtype=torch.cfloat)
            numbers = torch.zeros(entities - first)
            for newcomer, neighbour, back in ((2, 0, False), (0, 2, True)):
                is_placed = (facts[:, newcomer] >= first) & (facts[:, neighbour] < first)
                some = torch.from_numpy(facts[is_placed])
                rotation = of_relations(some[:, 1])
                placed = of_entities(some[:, neighbour]) * (rotation.conj() if back else rotation)
                sums.index_add_(0, some[:, newcomer] - first, placed)
                numbers.index_add_(0, some[:, newcomer] - first, torch.ones(len(some)))
            has_neighbour = numbers > 0
            means = sums[has_neighbour] / numbers[has_neighbour, None]
            weight = _entity_weight(self.model)
            places = first + torch.nonzero(has_neighbour).ravel()
            weight.data[places] = torch.view_as_real(means).reshape(len(means), -1)

    def save(self, path: Path, trained: Trained) -> None:
        """Write the parameters to a file of arrays, with what training them took."""
        with atomic_write(path) as file:
            numbers = np.array(trained, dtype=np.float64)
            np.savez(file, allow_pickle=False, trained=numbers, **_parameters(self.model))

    def load(self, path: Path) -> Trained:
        """Take the parameters of a file that `save` wrote; returns what training them took."""
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        epochs, seconds, valid_mrr = arrays.pop("trained").tolist()
        _take(self.model, arrays)
        return Trained(int(epochs), seconds, valid_mrr)

    def _epoch(self, questions: Ids, lesson: Lesson, optimizer: Theirs) -> None:
        """Ask every question (direction, entity, target) once, in random order."""
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
        """How well some facts of valid are answered, on both sides; 0 if there are none."""
        kept = min(self.training.valid, len(lesson.valid))
        if not kept:
            return 0.0
        places = np.arange(kept) * len(lesson.valid) // kept
        rows = asked_for(lesson.valid[places])
        ranks = self.ranks(rows, asked_for(lesson.known), lesson.entities)
        return float(np.mean(1 / ranks.realistic))

    def _scores(self, questions: Ids, entities: int) -> list[Floats]:
        """What the first entities score as answers of each question (direction, entity)."""
        self.model.eval()
        with self._torch.no_grad():
            vectors = self._scoring.questions(questions)
            found = self._scoring.of_all(vectors, self._scoring.answers(np.arange(entities)))
        return list(found.numpy())


class _Best:
    """The parameters that answered facts of valid best so far.

    since  how often they were not answered better, since then
    """

    def __init__(self, model: Theirs) -> None:
        self._model = model
        self._kept = _parameters(model)
        self.mrr = -1.0
        self.since = 0

    def look(self, mrr: float) -> None:
        """Keep the parameters if facts of valid are answered better than ever."""
        if mrr > self.mrr:
            self._kept = _parameters(self._model)
            self.mrr = mrr
            self.since = 0
        else:
            self.since += 1

    def restore(self) -> None:
        """Give the model its best parameters."""
        _take(self._model, self._kept)

    def save(self, path: Path, epoch: int, seconds: float) -> None:
        """Write the parameters of now and the best ones, how far training is, and what it took."""
        now = {f"now.{name}": array for name, array in _parameters(self._model).items()}
        best = {f"best.{name}": array for name, array in self._kept.items()}
        numbers = np.array([epoch, seconds, self.mrr, self.since])
        with atomic_write(path) as file:
            np.savez(file, allow_pickle=False, progress=numbers, **now, **best)

    def load(self, path: Path) -> tuple[int, float]:
        """Go on from what `save` wrote; returns the epoch, and the seconds it took."""
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        epoch, seconds, self.mrr, since = arrays.pop("progress").tolist()
        self.since = int(since)
        _take(self._model, _with_prefix(arrays, "now."))
        self._kept = _with_prefix(arrays, "best.")
        return int(epoch), seconds


def asked_for(facts: Counts) -> Ids:
    """Facts (head, relation, tail) as sorted rows (direction, entity, target), both sides."""
    head, relation, tail = facts.T
    for_tails = np.stack([2 * relation, head, tail], axis=1)
    for_heads = np.stack([2 * relation + 1, tail, head], axis=1)
    return distinct(np.concatenate([for_tails, for_heads]).astype(np.int32))


def replayed(facts: Counts, newcomers: Flags, part: float, random: np.random.Generator) -> Counts:
    """Some facts that were trained on before; those near newcomers are ten times as likely.

    newcomers  by entity, whether it has a fact in common with a newcomer
    part       how many of the facts to draw
    """
    wanted = round(part * len(facts))
    if not wanted:
        return facts[:0]
    is_near = newcomers[facts[:, 0]] | newcomers[facts[:, 2]]
    chance = np.where(is_near, TIMES_AS_LIKELY, 1.0)
    places = random.choice(len(facts), wanted, replace=False, p=chance / chance.sum())
    return facts[np.sort(places)]


def _keys(rows: Ids, entities: int) -> Counts:
    """Direction and entity as one number."""
    return rows[:, 0].astype(np.int64) * entities + rows[:, 1]


def _loss(model: str) -> Theirs:
    losses = _imported("pykeen.losses")
    if model in BY_DISTANCE:
        return losses.NSSALoss(margin=MARGIN, adversarial_temperature=1.0)
    return losses.InfoNCELoss(margin=0.0, log_adversarial_temperature=0.0)


def _options(model: str) -> dict[str, Any]:
    """What is different from PyKEEN's model of the name.

    Its TransE holds all entities at distance 1 from the middle, closer than the margin of the loss.
    """
    if model == "TransE":
        return {"scoring_fct_norm": 2, "entity_constrainer": None}
    return {}


def _entity_weight(model: Theirs) -> Theirs:
    """The parameter that holds the embeddings of entities."""
    weights = list(model.entity_representations[0].parameters())
    return weights[0]


def _parameters(model: Theirs) -> dict[str, Any]:
    return {name: tensor.detach().numpy().copy() for name, tensor in model.state_dict().items()}


def _take(model: Theirs, arrays: dict[str, Any]) -> None:
    torch = _imported("torch")
    model.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})


def _with_prefix(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _imported(name: str) -> Theirs:
    """A module of PyKEEN or torch; an error that says what to install if there is none."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        advice = "install it with \"pip install 'casegraph[experiments]'\""
        raise CasegraphError(f"embeddings need {name.partition('.')[0]}; {advice}") from error
