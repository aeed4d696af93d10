"""
When each entity arrives, and each fact with it (§3.3, "Open-world Knowledge Base Completion").

The seed graph has the tenth of all entities with most facts, and others at random until it has a
given part of them all. The rest is divided at random into batches. A fact comes with the later of
its two entities, whichever file it is in: so facts of train are taken in, and facts of valid and
test can be asked for, as soon as both of their entities are there.

Within a batch most entities come together, in one update; the last few may come alone, each in an
update of its own. An arrival is numbered by its step, and each step is one update.
"""

from dataclasses import dataclass

import numpy as np

from casegraph.answering.ranking import distinct
from casegraph.errors import InvalidSettings
from casegraph.evaluation.evaluation import Files
from casegraph.graph.arrays import Counts, Flags, Ids

MOST_CONNECTED = 0.1  # of all entities are in the seed graph for the number of their facts
SEED_GRAPH = 0  # the number of its batch


@dataclass(frozen=True, slots=True)
class Plan:
    """How a graph arrives.

    start    the part of all entities that the seed graph has
    batches  in which the others come
    alone    how many entities of each batch come alone, after the others
    seed     of the random choices
    """

    start: float = 0.5
    batches: int = 10
    alone: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.start < 1:
            raise InvalidSettings("start", self.start, "more than 0, and less than 1")
        if self.batches < 1:
            raise InvalidSettings("batches", self.batches, "at least 1")
        if self.alone < 0:
            raise InvalidSettings("alone", self.alone, "at least 0")
        if self.seed < 0:
            raise InvalidSettings("seed", self.seed, "at least 0")


@dataclass(frozen=True, slots=True)
class Arrivals:
    """When the entities of a benchmark come.

    files          all its facts
    step_of        (entities,)  the step in which each entity comes
    batch_of_step  (steps,)     the batch that each step belongs to, never falling
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
        """The facts of a split that come with a step, as rows (relation, head, tail)."""
        rows = self.files.rows[split]
        step_of_facts = self.step_of[rows[:, 1:]].max(axis=1)
        arriving: Ids = rows[step_of_facts == step]
        return arriving

    def until(self, batch: int) -> Files:
        """The entities that are there after a batch, and the facts that can be."""
        return files_among(self.files, self._batch_of() <= batch)

    def batch_of_entities(self, batch: int) -> Counts:
        """The batch of each entity that is there after a batch, in the order of `until`."""
        batch_of = self._batch_of()
        return batch_of[batch_of <= batch]

    def _batch_of(self) -> Counts:
        return self.batch_of_step[self.step_of]


def arrivals(files: Files, source: str, plan: Plan) -> Arrivals:
    """When entities come, by a plan; `source` is the split whose facts say which have most."""
    entities = len(files.entities)
    degrees = np.bincount(files.rows[source][:, 1:].ravel(), minlength=entities)
    most_first = np.argsort(-degrees, kind="stable")  # equal ones in the order of names
    in_seed_graph = round(plan.start * entities)
    connected = min(round(MOST_CONNECTED * entities), in_seed_graph)

    random = np.random.default_rng(plan.seed)
    others = random.permutation(np.sort(most_first[connected:]))
    chosen = others[: in_seed_graph - connected]
    steps = [np.concatenate([most_first[:connected], chosen])]
    batch_of_step = [SEED_GRAPH]
    newcomers = np.array_split(others[len(chosen) :], plan.batches)
    for batch, coming in enumerate(newcomers, start=1):
        together = max(len(coming) - plan.alone, 0)
        steps.append(coming[:together])
        steps += [coming[place : place + 1] for place in range(together, len(coming))]
        batch_of_step += [batch] * (len(coming) - together + 1)

    step_of = np.zeros(entities, dtype=np.int64)
    for step, coming in enumerate(steps):
        step_of[coming] = step
    return Arrivals(files, step_of, np.array(batch_of_step))


def files_among(files: Files, is_there: Flags) -> Files:
    """The facts of all files whose entities are both there, and no other names of entities."""
    place_of = np.cumsum(is_there, dtype=np.int32) - 1
    kept_names = [files.entities[place] for place in np.flatnonzero(is_there).tolist()]
    kept_rows = {}
    for name, rows in files.rows.items():
        relation, head, tail = rows[is_there[rows[:, 1:]].all(axis=1)].T
        moved = np.stack([relation, place_of[head], place_of[tail]], axis=1)
        kept_rows[name] = distinct(moved.astype(np.int32))
    return Files(kept_names, files.relations, kept_rows)
