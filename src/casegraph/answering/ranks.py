"""
Ranks of targets among all candidates, with known answers filtered out (§3.3).

A rank counts from 1, among all entities that are asked about. Entities with the same score share a
range of ranks: the optimistic rank is its first, the pessimistic its last, the realistic the mean
of both. An entity that was not reached scores 0, so a target that was not reached ties with all of
them and ranks in their middle. `original` is the rank that the paper's code computes.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from casegraph.answering.query import Standings, standings
from casegraph.answering.state import State
from casegraph.graph.arrays import Counts, Flags, Floats, Ids
from casegraph.settings import Combination


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where each target ranks; parallel arrays.

    optimistic   (targets,)  before all candidates with the same score
    pessimistic  (targets,)  after all of them
    original     (targets,)  among them in the order in which they were found; infinite for a target
                             that was not reached
    """

    optimistic: Floats
    pessimistic: Floats
    original: Floats

    def __len__(self) -> int:
        return len(self.optimistic)

    def __getitem__(self, rows: Counts | Flags) -> "Ranks":
        return Ranks(self.optimistic[rows], self.pessimistic[rows], self.original[rows])

    @property
    def realistic(self) -> Floats:
        """The mean of the optimistic and the pessimistic rank."""
        return (self.optimistic + self.pessimistic) / 2

    @classmethod
    def joined(cls, parts: "list[Ranks]") -> "Ranks":
        """The ranks of all parts, one part after the other."""
        return cls(
            np.concatenate([part.optimistic for part in parts]),
            np.concatenate([part.pessimistic for part in parts]),
            np.concatenate([part.original for part in parts]),
        )


class Targets(NamedTuple):
    """A task: what to rank for one relation.

    relation  its id, a direction; None if the graph does not have it
    asked     rows (entity, target) of ids: the questions and the answers to rank
    known     rows (entity, target): all answers that count as known, those of `asked` included;
              they are skipped when another answer is ranked
    among     how many entities there are; those that the graph has not seen have ids beyond its own
    """

    relation: int | None
    asked: Ids
    known: Ids
    among: int


def filtered_ranks(
    state: State, targets: Targets, combination: Combination | None = None
) -> Ranks:
    """The rank of each target, in the order asked; other known answers are filtered out.

    combination  how to combine evidence; by default, as the settings say
    """
    order = np.lexsort(targets.asked.T[::-1])  # by entity, then by target
    asked = targets.asked[order]
    is_of_asked = np.isin(targets.known[:, 0], asked[:, 0])
    known = distinct(targets.known[is_of_asked])

    # The targets of entity i are between offsets i and i + 1, and so are its known answers.
    entities, starts = np.unique(asked[:, 0], return_index=True)
    offsets = np.append(starts, len(asked))
    known_starts = np.searchsorted(known[:, 0], entities)
    known_offsets = np.append(known_starts, len(known))
    others_of_entity = targets.among - np.diff(known_offsets)
    others = np.repeat(others_of_entity, np.diff(offsets))

    back_in_order = np.argsort(order)
    if targets.relation is None:
        return unreached(others)[back_in_order]

    is_seen = entities < len(state.graph.entities)
    seen_entities = np.where(is_seen, entities, -1).astype(np.int32)
    standing = standings(
        state,
        (targets.relation, seen_entities),
        targets=(offsets, asked[:, 1].copy()),
        known=(known_offsets, known[:, 1].copy()),
        combination=combination,
    )
    return ranks(standing, others)[back_in_order]


def ranks(standing: Standings, others: Counts) -> Ranks:
    """The rank of each target.

    standing  (targets,) each  how the target compares with the candidates that are not skipped
    others    (targets,)       how many entities, reached or not, compete with the target
    """
    is_reached = standing.score > 0
    equal = np.where(is_reached, standing.equal, others - standing.better)
    first = standing.better.astype(np.float64) + 1
    return Ranks(
        optimistic=first,
        pessimistic=first + equal,
        original=np.where(is_reached, first + standing.earlier, np.inf),
    )


def unreached(others: Counts) -> Ranks:
    """The rank of each target if nothing was reached, so that all entities tie."""
    first = np.ones(len(others))
    never = np.full(len(others), np.inf)
    return Ranks(optimistic=first, pessimistic=first + others, original=never)


def distinct(rows: Ids) -> Ids:
    """The distinct rows, sorted by their first column, then by the second, and so on."""
    rows = rows[np.lexsort(rows.T[::-1])]
    is_new = np.ones(len(rows), dtype=np.bool_)
    is_new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return rows[is_new]
