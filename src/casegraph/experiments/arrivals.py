"""
When each entity arrives, and each fact with it (§3.3, "Open-world Knowledge Base Completion").

The seed graph has the tenth of all entities with most facts, and others chosen at random until it
has a given share of all entities. The rest is divided at random into batches. A fact arrives with
the later of its two entities, in every split: as soon as both entities are there, a fact of train
is added, and a fact of valid or test can be asked for.

Most entities of a batch arrive together, in one update; the last few may arrive alone, each in an
update of its own. Each update is a *step*, and steps are numbered.
"""

from dataclasses import dataclass

import numpy as np

from casegraph.answering.ranks import distinct
from casegraph.errors import InvalidArgument
from casegraph.evaluation.evaluation import Files
from casegraph.graph.arrays import Counts, Flags, Ids

# The share of entities that are in the seed graph because of their many facts.
MOST_CONNECTED = 0.1
SEED_GRAPH = 0  # the batch number of the seed graph


@dataclass(frozen=True, slots=True)
class Plan:
    """How a graph arrives.

    start    the share of all entities that are in the seed graph
    batches  the number of batches in which the other entities arrive
    alone    how many entities of each batch arrive alone, after the others
    seed     the seed of the random choices
    """

    start: float = 0.5
    batches: int = 10
    alone: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.start < 1:
            raise InvalidArgument("start", self.start, "more than 0, and less than 1")
        if self.batches < 1:
            raise InvalidArgument("batches", self.batches, "at least 1")
        if self.alone < 0:
            raise InvalidArgument("alone", self.alone, "at least 0")
        if self.seed < 0:
            raise InvalidArgument("seed", self.seed, "at least 0")


@dataclass(frozen=True, slots=True)
class Arrivals:
    """When the entities of a benchmark arrive.

    files          all facts of the benchmark
    step_of        (entities,)  the step in which each entity arrives
    batch_of_step  (steps,)     the batch that each step belongs to, in ascending order
    """

    files: Files
    step_of: Counts
    batch_of_step: Counts

    @property
    def batches(self) -> int:
        """How many batches come after the seed graph."""
        return int(self.batch_of_step[-1])

    def steps(self, batch: int) -> list[int]:
        """The steps of a batch, in order."""
        found: list[int] = np.flatnonzero(self.batch_of_step == batch).tolist()
        return found

    def facts(self, split: str, step: int) -> Ids:
        """The facts of a split that arrive in a step, as rows (relation, head, tail)."""
        rows = self.files.rows[split]
        heads_and_tails = rows[:, 1:]
        step_of_facts = self.step_of[heads_and_tails].max(axis=1)
        arriving: Ids = rows[step_of_facts == step]
        return arriving

    def until(self, batch: int) -> Files:
        """The entities that are there after a batch, and the facts among them."""
        return files_among(self.files, self.batch_of() <= batch)

    def batch_of_entities(self, batch: int) -> Counts:
        """The batch of each entity that is there after a batch, in the order of `until`."""
        batch_of = self.batch_of()
        return batch_of[batch_of <= batch]

    def batch_of(self) -> Counts:
        """The batch in which each entity arrives: (entities,)."""
        return self.batch_of_step[self.step_of]


def arrivals(files: Files, source: str, plan: Plan) -> Arrivals:
    """When entities arrive according to a plan.

    source  the split in which the facts of each entity are counted
    """
    entities = len(files.entities)
    heads_and_tails = files.rows[source][:, 1:]
    degrees = np.bincount(heads_and_tails.ravel(), minlength=entities)
    most_first = np.argsort(-degrees, kind="stable")  # equal ones in the order of names
    in_seed_graph = round(plan.start * entities)
    most_connected = min(round(MOST_CONNECTED * entities), in_seed_graph)

    random = np.random.default_rng(plan.seed)
    others = random.permutation(np.sort(most_first[most_connected:]))
    others_in_seed_graph = in_seed_graph - most_connected
    seed_graph = [most_first[:most_connected], others[:others_in_seed_graph]]
    newcomers = np.array_split(others[others_in_seed_graph:], plan.batches)

    steps = [np.concatenate(seed_graph)]
    batch_of_step = [SEED_GRAPH]
    for batch, arriving in enumerate(newcomers, start=1):
        together = max(len(arriving) - plan.alone, 0)
        each_alone = [
            arriving[place : place + 1] for place in range(together, len(arriving))
        ]
        steps += [arriving[:together], *each_alone]
        batch_of_step += [batch] * (1 + len(each_alone))

    step_of = np.zeros(entities, dtype=np.int64)
    for step, arriving in enumerate(steps):
        step_of[arriving] = step
    return Arrivals(files, step_of, np.array(batch_of_step))


def files_among(files: Files, is_there: Flags) -> Files:
    """Only the entities that are there, and the facts of all splits among them."""
    kept = np.flatnonzero(is_there).tolist()
    kept_names = [files.entities[place] for place in kept]
    new_place = np.cumsum(is_there, dtype=np.int32) - 1  # of each entity that is there

    kept_rows = {}
    for name, rows in files.rows.items():
        is_kept = is_there[rows[:, 1:]].all(axis=1)
        relation, head, tail = rows[is_kept].T
        moved = np.stack([relation, new_place[head], new_place[tail]], axis=1)
        kept_rows[name] = distinct(moved.astype(np.int32))
    return Files(kept_names, files.relations, kept_rows)
