"""
Metrics (§3.3): from the ranks of targets to MRR and Hits@k.

They have PyKEEN's names.
"""

from math import fsum

import numpy as np

from casegraph.answering.ranks import Ranks
from casegraph.graph.arrays import Flags, Floats

_UNREACHED_TIE = "an answer not reached ties with all entities not reached"
TIES = {
    "realistic": f"the mean of optimistic and pessimistic; {_UNREACHED_TIE}",
    "optimistic": "before all that score the same",
    "pessimistic": "after all that score the same",
    "original": "by order of discovery; an answer not reached has no rank and counts as 0",
}
HITS = (1, 3, 5, 10)


def metrics(ranks: Ranks, is_head: Flags) -> dict[str, float]:
    """Every metric by its dotted name, such as `both.realistic.hits_at_10`.

    is_head  for each rank, whether the head of a fact was asked for

    A side that was not asked for has no metrics.
    """
    is_any = np.ones(len(ranks), dtype=np.bool_)
    sides = {"both": is_any, "head": is_head, "tail": ~is_head}
    found: dict[str, float] = {}
    for side, is_of_side in sides.items():
        if is_of_side.any():
            for name, value in _metrics_of_side(ranks[is_of_side]).items():
                found[f"{side}.{name}"] = value
    return found


def _metrics_of_side(ranks: Ranks) -> dict[str, float]:
    ranks_by_ties = {
        "realistic": ranks.realistic,
        "optimistic": ranks.optimistic,
        "pessimistic": ranks.pessimistic,
    }
    found: dict[str, float] = {}
    for ties, rank in ranks_by_ties.items():
        found |= _reciprocal_and_hits(ties, rank)
        found[f"{ties}.arithmetic_mean_rank"] = _mean(rank)
    return found | _reciprocal_and_hits("original", ranks.original)


def _reciprocal_and_hits(ties: str, rank: Floats) -> dict[str, float]:
    """MRR and Hits@k."""
    found = {f"{ties}.inverse_harmonic_mean_rank": _mean(1 / rank)}
    for k in HITS:
        hits = int(np.count_nonzero(rank <= k))
        found[f"{ties}.hits_at_{k}"] = hits / len(rank)
    return found


def _mean(values: Floats) -> float:
    """The mean; `fsum` rounds only once, so that it does not depend on the order of the values."""
    return fsum(values.tolist()) / len(values)
