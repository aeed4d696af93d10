"""
How strongly the evidence supports a pair (head, relation, tail), whichever way one asks.

Of the evidence that ranks answers (`answering.query`), this keeps what is the same from both ends:

    tail_paths    the paths from head to tail, by the path types of the relation
    head_paths    the paths from tail to head, by the path types of the inverse relation
    precedents    the head resembles known heads of the tail
    answers       the tail resembles known tails of the head

Paths are loop-free and can be walked from either end. So all pairs with the same head, or all with
the same tail, are looked at together. Only a few of the nearest entities take part in each
regression, since there is one for each pair of a question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.answering.cache import PerState
from casegraph.answering.query import (
    UNKNOWN,
    RelationQuery,
    list_for_leave_one_out,
    query_options,
)
from casegraph.graph.directions import inverse
from casegraph.running import threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from casegraph.answering.state import State
    from casegraph.graph.arrays import Floats, Ids

NEAREST = 64  # entities in a regression


class Pairs(NamedTuple):
    """Pairs of one relation, as ids: (heads[i], relation, tails[i]).

    relation   its forward direction
    are_facts  whether the graph has them; each is treated as if it did not
    """

    relation: int
    heads: Ids
    tails: Ids
    are_facts: bool = False


class PairStrengths(NamedTuple):
    """What supports each pair, as parallel arrays: see above."""

    tail_paths: Floats
    head_paths: Floats
    precedents: Floats
    answers: Floats


def pair_strengths(state: State, pairs: Pairs) -> PairStrengths:
    """What supports each pair."""
    ahead = pairs.relation
    back = inverse(ahead)
    heads, tails = pairs.heads, pairs.tails
    is_by_head = len(np.unique(heads)) <= len(np.unique(tails))
    start, end = (heads, tails) if is_by_head else (tails, heads)
    ahead_from_start = pair_query(state, ahead, backwards=not is_by_head)
    back_from_start = pair_query(state, back, backwards=is_by_head)

    def of(
        kernel: Callable[..., Floats], query: RelationQuery, asked: Ids, found: Ids
    ) -> Floats:
        return _strengths(state, kernel, query, asked, found, are_facts=pairs.are_facts)

    return PairStrengths(
        tail_paths=of(kernels.path_strengths, ahead_from_start, start, end),
        head_paths=of(kernels.path_strengths, back_from_start, start, end),
        precedents=of(
            kernels.precedent_strengths, pair_query(state, ahead), heads, tails
        ),
        answers=of(kernels.precedent_strengths, pair_query(state, back), tails, heads),
    )


def pair_query(
    state: State, relation: int, *, backwards: bool = False
) -> RelationQuery:
    """What to walk for pairs of a relation; backwards from the answers."""
    return _pair_query(state, relation, backwards)


@PerState
def _pair_query(state: State, relation: int, backwards: bool) -> RelationQuery:
    combination = state.settings.combined
    options = query_options(state.settings, combination)
    options.backwards = backwards
    options.linked = True
    options.loop_free = True
    options.habit = 0
    options.nearest = min(options.nearest, NEAREST)
    lists = list_for_leave_one_out(state, relation, combination.longest)
    start = inverse(relation) if backwards else relation
    kernel = kernels.RelationQuery(
        state.graph.kernel,
        start,
        lists.arrays,
        options,
        state.graph.entities.ranks(),
        lists.fewer,
    )
    return RelationQuery.of_one_list((lists, kernel), 0)


def _strengths(
    state: State,
    kernel: Callable[..., Floats],
    query: RelationQuery,
    entities: Ids,
    targets: Ids,
    *,
    are_facts: bool,
) -> Floats:
    """What a kernel says of each target; targets of the same entity are asked about together.

    are_facts  whether each target is a known answer, to be treated as unknown
    """
    order = np.lexsort((targets, entities))
    asked = entities[order]
    wanted = targets[order]
    if are_facts:
        starts = np.arange(len(asked))
    else:
        starts = np.flatnonzero(np.diff(asked, prepend=UNKNOWN - 1))
    hidden = wanted if are_facts else np.full(len(starts), UNKNOWN, dtype=np.int32)
    strengths = np.empty(len(targets))
    strengths[order] = kernel(
        query.kernel,
        asked[starts],
        np.zeros(len(starts), dtype=np.int32),
        hidden,
        state.workspaces,
        np.append(starts, len(asked)),
        wanted,
        threads(),
    )
    return strengths
