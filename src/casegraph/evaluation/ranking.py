"""
Ranks and metrics (§3.3): from how targets stand among the candidates to MRR and Hits@k.

A rank is 1-based and over all entities of the benchmark. Ties are a range of ranks: optimistic before all that score
the same, pessimistic after them, realistic in the middle. An answer that was not reached scores 0, as does every other
entity that was not: it ranks in the middle of the unreached. Metrics have PyKEEN's names; `original` ranks as the
paper's own code does.
"""

from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from casegraph.answering.query import Standings, standings
from casegraph.answering.state import State
from casegraph.graph.arrays import Counts, Floats, Ids

TIES = {
    "realistic": "the mean of optimistic and pessimistic; an answer not reached ties with all entities not reached",
    "optimistic": "before all that score the same",
    "pessimistic": "after all that score the same",
    "original": "by order of discovery; an answer not reached has no rank and counts as 0",
}
HITS = (1, 3, 5, 10)

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where each target ranks; parallel arrays.

    optimistic   before all that score the same
    pessimistic  after them
    original     among them in the order of discovery; infinite where the target was not reached
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
        """Several, one after the other."""
        return cls(
            np.concatenate([part.optimistic for part in parts]),
            np.concatenate([part.pessimistic for part in parts]),
            np.concatenate([part.original for part in parts]),
        )


class Targets(NamedTuple):
    """What to rank of one relation, if the graph has it.

    asked, known  rows (entity, target) of ids: what to rank, and what to pass over (all that is ranked, too)
    among         how many entities there are; those that the graph has not seen have ids beyond its own
    """

    relation: int | None
    asked: Ids
    known: Ids
    among: int


def filtered_ranks(state: State, targets: Targets) -> Ranks:
    """The ranks of targets, in the order asked; none is reached if the graph has no such relation."""
    relation, asked, known, among = targets
    order, known = np.lexsort(asked.T[::-1]), distinct(known[np.isin(known[:, 0], asked[:, 0])])
    entities, starts = np.unique(asked[order, 0], return_index=True)
    offsets, known_offsets = (
        np.append(starts, len(asked)),
        np.append(np.searchsorted(known[:, 0], entities), len(known)),
    )
    others = np.repeat(among - np.diff(known_offsets), np.diff(offsets))
    if relation is None:
        return unreached(others)[np.argsort(order)]
    seen = np.where(entities < len(state.graph.entities), entities, -1).astype(np.int32)
    ranked, passed = (offsets, asked[order, 1].copy()), (known_offsets, known[:, 1].copy())
    return ranks(standings(state, (relation, seen), ranked, passed), others)[np.argsort(order)]


def ranks(standing: Standings, others: Counts) -> Ranks:
    """The rank of each target.

    standing  how it stands among the candidates that are not passed over
    others    how many entities there are beside it that are not passed over, reached or not
    """
    reached = standing.score > 0
    equal = np.where(reached, standing.equal, others - standing.better)
    first = standing.better.astype(np.float64) + 1
    return Ranks(first, first + equal, np.where(reached, first + standing.earlier, np.inf))


def unreached(others: Counts) -> Ranks:
    """The rank of each target where nothing at all was reached."""
    first = np.ones(len(others))
    return Ranks(first, first + others, np.full(len(others), np.inf))


def distinct(rows: Ids) -> Ids:
    """The rows, sorted and each once."""
    rows = rows[np.lexsort(rows.T[::-1])]
    is_new = np.ones(len(rows), dtype=np.bool_)
    is_new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return rows[is_new]


def metrics(ranks: Ranks, is_head: Flags) -> dict[str, float]:
    """Every metric by its flat name, such as `both.realistic.hits_at_10`; a side that was not asked has none.

    is_head  for each rank, whether the head of a fact was asked for
    """
    sides = {"both": np.ones(len(ranks), dtype=np.bool_), "head": is_head, "tail": ~is_head}
    asked = {side: _by_ties(ranks[rows]) for side, rows in sides.items() if rows.any()}
    return {f"{side}.{name}": value for side, values in asked.items() for name, value in values.items()}


def _by_ties(ranks: Ranks) -> dict[str, float]:
    kinds = {"realistic": ranks.realistic, "optimistic": ranks.optimistic, "pessimistic": ranks.pessimistic}
    values: dict[str, float] = {}
    for ties, rank in kinds.items():
        values |= _reciprocal_and_hits(ties, rank)
        values[f"{ties}.arithmetic_mean_rank"] = fsum(rank.tolist()) / len(rank)
    return values | _reciprocal_and_hits("original", ranks.original)


def _reciprocal_and_hits(ties: str, rank: Floats) -> dict[str, float]:
    """MRR and Hits@k; `fsum` is exact, so that they do not depend on the order of the ranks."""
    mean = fsum((1 / rank).tolist()) / len(rank)
    hits = {f"{ties}.hits_at_{k}": int(np.count_nonzero(rank <= k)) / len(rank) for k in HITS}
    return {f"{ties}.inverse_harmonic_mean_rank": mean, **hits}
