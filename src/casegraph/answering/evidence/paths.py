"""Path types as evidence: walked from the query entity, they lead to the answer (equation 1)."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from casegraph.answering.evidence.fact_rows import fact_row
from casegraph.answering.evidence.kind import EvidenceKind
from casegraph.answering.query import leaves_one_out
from casegraph.answering.results.reason import Reason
from casegraph.answering.weights import estimate, with_one_fewer
from casegraph.graph.directions import inverse
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.statistics.path_types import ends_of, packed, paths_between

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import AnswerContext, Piece
    from casegraph.answering.evidence.fact_rows import FactRow
    from casegraph.statistics.counts import PathCounts
    from casegraph.statistics.path_types import Path, PathType

PATHS_SHOWN = 3
NEIGHBOURS_TRIED = 20  # the entities most like the query entity
MAX_PRECEDENTS = 5  # neighbours for which the path type was right
ANSWERS_TRIED = 8  # of a neighbour, to see whether the path type leads to one of them
MAX_PATHS = 100  # whose facts are listed
MAX_EDGES = 10_000  # looked at to find out where a path type leads a neighbour


class Paths(EvidenceKind):
    """A path type leads from the query entity to the answer."""

    name = "path"

    def reason(self, context: AnswerContext, piece: Piece, share: float) -> Reason:
        """With its counts in the slot of the answer, its prior and precision, and some paths."""
        state = context.state
        relation = context.query.relation
        path_type = context.path_type(piece)
        slot, right, reached = _right_and_reached(
            context, path_type, is_taken=bool(piece.count)
        )
        cluster = _cluster_that_weighed(context, path_type)
        estimated = estimate(state.statistics, cluster, relation, path_type)
        one_too_many = PATHS_SHOWN + 1  # to know whether there are further paths
        walked = _paths(context, context.query.entity, path_type, context.found)
        paths = [context.names(path) for path in islice(walked, one_too_many)]
        return Reason(
            kind=self.name,
            steps=context.steps(path_type),
            worth=piece.worth,
            share=share,
            count=right,
            of=reached,
            hits=estimated.hits,
            tries=estimated.tries,
            prior=estimated.prior,
            precision=estimated.precision,
            paths=tuple(paths[:PATHS_SHOWN]),
            more=len(paths) > PATHS_SHOWN,
            slot=slot,
            precedents=_precedents(context, path_type),
        )

    def statement(self, reason: Reason, asked: str, answer: str) -> str:
        """How often the path type was right: of the ends reached, or else of the walks."""
        if not reason.of and not reason.slot:
            return f"right on {reason.hits:,} of {reason.tries:,} walks"
        of_which = {
            "open": " where nobody else has the answer",
            "taken": " where somebody else has the answer too",
        }
        where = of_which.get(reason.slot, "")
        return f"right {reason.count:,} of {reason.of:,} times{where}"

    def facts(self, context: AnswerContext, piece: Piece) -> Iterator[FactRow]:
        """The facts on the paths from the query entity to the answer."""
        path_type = context.path_type(piece)
        paths = _paths(context, context.query.entity, path_type, context.found)
        for path in islice(paths, MAX_PATHS):
            for direction, (entity, other) in zip(
                path_type, pairwise(path), strict=True
            ):
                yield fact_row(entity, direction, other)

    def counterexamples(self, context: AnswerContext, piece: Piece) -> Iterator[int]:
        """Neighbours that the path type led somewhere, but to none of their answers."""
        graph = context.graph
        path_type = context.path_type(piece)
        loop_free = context.state.settings.loop_free
        for entity in _neighbours(context):
            answers = graph.answers(entity, context.query.relation)
            ends = ends_of(
                graph, entity, path_type, loop_free=loop_free, budget=MAX_EDGES
            )
            if ends and ends.isdisjoint(answers.tolist()):
                yield entity


def _precedents(context: AnswerContext, path_type: PathType) -> tuple[str, ...]:
    """Some neighbours that the path type led to one of their answers, most similar first."""
    was_right_for = (
        context.graph.entities[entity]
        for entity in _neighbours(context)
        if _leads_to_answer(context, entity, path_type)
    )
    return tuple(islice(was_right_for, MAX_PRECEDENTS))


def _neighbours(context: AnswerContext) -> list[int]:
    neighbours: list[int] = context.nearest.entities[:NEIGHBOURS_TRIED].tolist()
    return neighbours


def _right_and_reached(
    context: AnswerContext, path_type: PathType, *, is_taken: bool
) -> tuple[str, int, int]:
    """The slot whose counts weighed a path type (empty: both), and its counts right and reached."""
    settings = context.state.settings
    counts = _counts_that_weighed(context, path_type)
    row = int(np.searchsorted(counts.types, packed(path_type, settings.max_length)))
    right = int(counts.right[row])
    reached = int(counts.reached[row])
    has_slots = settings.weight == "right" and settings.slots
    if not has_slots or counts.left_out[row]:
        return "", right, reached
    right_open = int(counts.right_open[row])
    reached_open = int(counts.reached_open[row])
    if is_taken:
        return "taken", right - right_open, reached - reached_open
    return "open", right_open, reached_open


def _counts_that_weighed(context: AnswerContext, path_type: PathType) -> PathCounts:
    """Everyone's counts, less by one right end if the path type leads to a hidden answer."""
    query = context.query
    statistics = context.state.statistics
    counts = statistics.everyone(query.relation)
    hidden = context.hidden
    if (
        not leaves_one_out(context.state.settings)
        or hidden not in context.known_answers()
    ):
        return counts
    if not _leads_to(context, query.entity, path_type, hidden):
        return counts
    others_with_it = len(context.graph.answers(hidden, inverse(query.relation))) - 1
    if_open, if_taken = with_one_fewer(counts)
    return if_taken if others_with_it else if_open


def _cluster_that_weighed(context: AnswerContext, path_type: PathType) -> int:
    """The query's own cluster, if the settings weigh by it and it has hits; else everyone."""
    state = context.state
    query = context.query
    if state.settings.weight != "prior" or state.settings.neighbours is None:
        return EVERYONE
    own = int(state.clusters.entities[query.entity])
    has_hits = state.statistics.prior_hits(own, query.relation, path_type) > 0
    return own if has_hits else EVERYONE


def _leads_to_answer(context: AnswerContext, entity: int, path_type: PathType) -> bool:
    """Whether a path type leads an entity to one of its own answers."""
    answers = context.graph.answers(entity, context.query.relation).tolist()
    return any(
        _leads_to(context, entity, path_type, answer)
        for answer in answers[:ANSWERS_TRIED]
    )


def _leads_to(
    context: AnswerContext, entity: int, path_type: PathType, goal: int
) -> bool:
    """Whether there is a path of this type from an entity to the goal."""
    first_path = next(_paths(context, entity, path_type, goal), None)
    return first_path is not None


def _paths(
    context: AnswerContext, entity: int, path_type: PathType, goal: int
) -> Iterator[Path]:
    loop_free = context.state.settings.loop_free
    return paths_between(context.graph, entity, path_type, goal, loop_free=loop_free)
