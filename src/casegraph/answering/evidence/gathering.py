"""Gather the evidence for some answers of a query, all in one pass of the kernels."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.answering.evidence.context import AnswerContext, Piece, Weighted
from casegraph.answering.query import UNKNOWN, relation_query
from casegraph.graph.arrays import ids

if TYPE_CHECKING:
    from casegraph.answering.state import State
    from casegraph.graph.arrays import Ids
    from casegraph.graph.graph import Query


class AnswerEvidence(NamedTuple):
    """All pieces of evidence for one answer, in no particular order."""

    context: AnswerContext
    pieces: list[Piece]


def gathered_evidence(
    state: State, query: Query, found: Ids, hidden: int = UNKNOWN
) -> list[AnswerEvidence]:
    """The evidence for each of the entities `found`.

    hidden  a known answer to be treated as unknown, or -1
    """
    entity = ids([query.entity])
    lists, kernel, list_of_each = relation_query(
        state, query.relation, entity, hides=hidden != UNKNOWN
    )
    offsets, columns = kernels.evidence(
        kernel, entity, list_of_each, ids([hidden]), state.workspaces, found
    )
    kind, _, _, *others = (column.tolist() for column in columns)
    pieces = [Piece(*row) for row in zip(kind, *others, strict=True)]

    nearest = Weighted(ids(), np.zeros(0))
    if state.settings.precedents and query.entity != UNKNOWN:
        nearest = Weighted(
            *kernels.nearest_entities(kernel, query.entity, hidden, state.workspaces)
        )

    gathered = []
    for answer, (start, end) in zip(
        found.tolist(), pairwise(offsets.tolist()), strict=True
    ):
        context = AnswerContext(state, query, answer, hidden, nearest, lists, kernel)
        gathered.append(AnswerEvidence(context, pieces[start:end]))
    return gathered
