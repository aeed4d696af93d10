"""
Trust: how good the facts are that would be proposed for a graph, measured on its own facts.

A tenth of the facts is held out (`splitting.hold_out`). The rest is tuned, and new facts are
proposed as `batch.completion` does: the first new answers to every question worth asking, in both
directions, joined to pairs of a head and a tail. A pair is right if it was held out. Facts that the
graph itself lacks count as wrong, although belief is in them as well: if they are as many as those
that were held out, half of what is stated comes true. `Trust.missing` is what tuning estimates that
both are together.

Measured over the pairs, ordered by belief (`answering.belief`):

    average precision  the mean, over the right pairs, of the share that is right down to there
    by degree          the average precision if pairs are ordered by (known tails of the head + 1) ×
                       (known heads of the tail + 1) instead: what popularity alone achieves
    precision at k     of the first k pairs, the share that is right
    AUROC              how often a right pair is before a wrong one
    calibration error  the mean distance between the stated probability and the share that is right,
                       over ten bins of equal width; of pairs with a probability from `LEAST_STATED`

and MRR, the mean reciprocal rank of the held-out facts in both directions, filtered. Pairs with the
same belief have no order, and no figure depends on how they are listed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from casegraph.answering.belief import known_counts
from casegraph.answering.questions import relation_of_text
from casegraph.answering.ranks import Targets, filtered_ranks
from casegraph.answering.state import State
from casegraph.batch.pair_lists import (
    Least,
    new_answers,
    questions_about,
    scored_pairs,
)
from casegraph.batch.restrictions import AllowedAnswers, pair_numbers
from casegraph.errors import CasegraphError, several
from casegraph.evaluation.plots import Bin, picture, reliability_panel
from casegraph.evaluation.splitting import SHARE, hold_out
from casegraph.execution.executor import HERE, Executor
from casegraph.frames import Tabular
from casegraph.graph.directions import forward, inverse, is_inverse, relation_of
from casegraph.running import Show, quiet
from casegraph.tuning.sample import PairDigests, affordable
from casegraph.tuning.tuning import tuned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from casegraph.casebase import CaseBase
    from casegraph.graph.arrays import Counts, Flags, Floats, Ids
    from casegraph.graph.graph import Graph

LEAST_FACTS = 100  # in smaller graphs, too few could be held out
FIRST = 20  # new answers to a question that are proposed
QUESTIONS = 50_000  # at most; if there are more, a sample is asked
RANKED = 5_000  # held-out facts at most
PRECISION_AT = (10, 50, 100)
LEAST_STATED = 0.02  # probability of pairs for which calibration is measured
TEN_BINS = tuple(number / 10 for number in range(11))
# Bounds of the bins that are shown: narrow where most pairs are.
SHOWN_BINS = (LEAST_STATED, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
EVERYTHING = "(all)"  # instead of the name of a relation


def trust(
    cases: CaseBase,
    relations: Sequence[str] = (),
    *,
    share: float = SHARE,
    keep_length: bool = False,
    executor: Executor = HERE,
    show: Show = quiet,
) -> Trust:
    """Hold out facts of a case base, which is not changed, and measure what would be proposed.

    relations    of the proposed facts; by default all. Facts of all relations are held out
    share        of the facts that is held out
    keep_length  whether tuning keeps `max_length`
    executor     where to tune, to ask and to rank
    """
    graph = cases.graph
    _check(cases)
    chosen = [forward(relation_of_text(cases.state, name)) for name in relations]
    directions = sorted(set(chosen)) or _relations_in(graph)
    held_out = hold_out(graph, share)
    if not len(held_out.rows):
        raise CasegraphError(
            "no fact can be held out: each is the only one of an entity or of a relation"
        )
    untuned = State.of(held_out.graph, cases.settings.but(tuning=None))
    state = tuned(untuned, keep_length=keep_length, executor=executor, show=show)

    questions = chosen_questions(state, directions)
    found = []
    for done, relation in enumerate(directions):
        show("proposing facts", done, len(directions))
        asked = questions.of(relation)
        executor.count(state, [relation, inverse(relation)])
        proposed = proposed_pairs(state, asked, top=FIRST, executor=executor)
        missed = _asked_about(_pairs_of(held_out.rows, relation), asked)
        reciprocal_ranks = _reciprocal_ranks(state, graph, missed, relation, executor)
        is_right = is_among(proposed, missed, len(graph.entities))
        found.append(OfRelation(proposed, is_right, len(missed), reciprocal_ranks))
    show("proposing facts", len(directions), len(directions))

    by_relation = []
    for relation, own in zip(directions, found, strict=True):
        name = graph.relations[relation_of(relation)]
        by_relation.append(_measured(name, [own]))
    stated = np.concatenate([own.proposed.probabilities for own in found])
    is_right = np.concatenate([own.is_right for own in found])
    belief = state.settings.belief
    assert belief is not None  # as the settings can be tuned
    return Trust(
        facts=len(graph),
        held_out=len(held_out.rows),
        questions=questions.total,
        asked=questions.asked,
        missing=belief.missing,
        overall=_measured(EVERYTHING, found),
        by_relation=sorted(by_relation, key=lambda own: (-own.held_out, own.relation)),
        reliability=bins(stated, is_right, SHOWN_BINS),
    )


class Measured(NamedTuple):
    """How good the proposed facts of a relation are, or of all; None where nothing can be said.

    pairs     how many were proposed
    held_out  how many facts were held out that a question was asked about
    found     how many of them are among the pairs
    """

    relation: str
    pairs: int
    held_out: int
    found: int
    average_precision: float | None
    by_degree: float | None
    p_at_10: float | None
    p_at_50: float | None
    p_at_100: float | None
    auroc: float | None
    mrr: float | None
    calibration_error: float | None


@dataclass(frozen=True)
class Trust(Tabular):
    """How good the facts are that would be proposed for a graph.

    facts        of the graph
    held_out     how many of them were held out
    questions    how many are worth asking
    asked        how many of them were asked
    missing      how many facts are missing for each that was left, held out or not, as estimated
    by_relation  those of which most facts were held out first
    reliability  stated probability and what was right, for pairs from a probability of 0.02
    """

    facts: int
    held_out: int
    questions: int
    asked: int
    missing: float
    overall: Measured
    by_relation: list[Measured]
    reliability: list[Bin]

    def __repr__(self) -> str:
        pairs = several(self.overall.pairs, "proposed fact")
        return f"<Trust: {pairs}, average precision {self.overall.average_precision}>"

    def records(self) -> list[dict[str, Any]]:
        """A row for all relations together, and one for each."""
        return [own._asdict() for own in (self.overall, *self.by_relation)]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            **asdict(self),
            "overall": self.overall._asdict(),
            "by_relation": [own._asdict() for own in self.by_relation],
            "reliability": [own._asdict() for own in self.reliability],
        }

    def svg(self) -> str:
        """A picture of the share that is right against the stated probability."""
        error = self.overall.calibration_error or 0.0
        return picture([reliability_panel(self.reliability, error)])


def _check(cases: CaseBase) -> None:
    if not cases.settings.can_be_tuned:
        raise CasegraphError(
            "these settings state no probabilities that could be checked; use the default settings"
        )
    if len(cases.graph) < LEAST_FACTS:
        found = several(len(cases.graph), "fact")
        raise CasegraphError(
            f"expected at least {LEAST_FACTS} facts, so that some can be held out; found {found}"
        )


def _relations_in(graph: Graph) -> list[int]:
    """The forward directions of the relations that have facts."""
    everything = map(forward, range(len(graph.relations)))
    return [direction for direction in everything if len(graph.rows(direction))]


# Which questions are asked


class PairQuestions(NamedTuple):
    """The questions about one relation that are asked: those about heads, and about tails."""

    relation: int
    heads: Ids
    tails: Ids


@dataclass(frozen=True, slots=True)
class ChosenQuestions:
    """The questions that are asked, of all that are worth asking."""

    by_relation: dict[int, PairQuestions]
    total: int

    @property
    def asked(self) -> int:
        """How many are asked."""
        return sum(
            len(asked.heads) + len(asked.tails) for asked in self.by_relation.values()
        )

    def of(self, relation: int) -> PairQuestions:
        """Those about a relation, given as its forward direction."""
        return self.by_relation[relation]


def chosen_questions(state: State, relations: Sequence[int]) -> ChosenQuestions:
    """The questions about these relations that are worth asking, or a sample of them."""
    worth_asking = {}
    for relation in relations:
        for direction in (relation, inverse(relation)):
            worth_asking[direction] = np.unique(state.profiles.worth_asking(direction))
    total = sum(map(len, worth_asking.values()))
    rate = affordable(state.graph) * QUESTIONS / max(total, 1)
    digests = PairDigests(state.graph)

    def chosen(direction: int) -> Ids:
        entities = worth_asking[direction]
        # Tuning asks those with the smallest digests.
        return entities[digests.of(direction, entities, entities) >= 1 - rate]

    by_relation = {
        relation: PairQuestions(relation, chosen(relation), chosen(inverse(relation)))
        for relation in relations
    }
    return ChosenQuestions(by_relation, total)


# What is proposed


class Proposed(NamedTuple):
    """Proposed pairs of one relation, as parallel arrays.

    by_degree  (known tails of the head + 1) × (known heads of the tail + 1)
    """

    relation: int
    heads: Ids
    tails: Ids
    tail_scores: Floats
    head_scores: Floats
    probabilities: Floats
    by_degree: Counts


def proposed_pairs(
    state: State,
    asked: PairQuestions,
    *,
    top: int,
    among_heads: bool = False,
    loops: bool | None = None,
    executor: Executor = HERE,
) -> Proposed:
    """The first new answers to questions about a relation in both directions, joined to pairs.

    among_heads  whether only heads are proposed that are asked about
    loops        whether an entity may be paired with itself; by default, if the relation does so
    """
    ahead = asked.relation
    back = inverse(ahead)
    allowed = AllowedAnswers(
        answers=None,
        either=None,
        pairs=None,
        excluded=np.zeros(0, dtype=np.int64),
        loops=_has_loops(state.graph, ahead) if loops is None else loops,
    )
    only_heads = allowed._replace(answers=np.sort(asked.heads) if among_heads else None)
    for_tails = questions_about(state, ahead, asked.heads, top, allowed)
    for_heads = questions_about(state, back, asked.tails, top, only_heads)
    found = scored_pairs(
        state,
        ahead,
        list(executor.each(state, new_answers, for_tails)),
        list(executor.each(state, new_answers, for_heads)),
        Least(probability=0.0, best=None),
        executor,
    )
    assert found.probability is not None  # as the settings can be tuned
    heads = found.table.heads
    tails = found.table.tails
    by_degree = (known_counts(state, ahead, heads) + 1) * (
        known_counts(state, back, tails) + 1
    )
    return Proposed(
        relation=ahead,
        heads=heads,
        tails=tails,
        tail_scores=found.table.tail_scores,
        head_scores=found.table.head_scores,
        probabilities=found.probability,
        by_degree=by_degree,
    )


def _has_loops(graph: Graph, relation: int) -> bool:
    """Whether an entity has this relation to itself."""
    heads, _, tails = graph.rows(relation).T
    return bool((heads == tails).any())


# What was held out


class OfRelation(NamedTuple):
    """What was found of one relation.

    held_out          how many facts were held out that a question was asked about
    reciprocal_ranks  of these facts, or of some, in both directions
    """

    proposed: Proposed
    is_right: Flags
    held_out: int
    reciprocal_ranks: Floats


def _pairs_of(facts: Ids, relation: int) -> Ids:
    """The columns (head, tail) of the facts of a relation."""
    pairs: Ids = facts[facts[:, 1] == relation][:, [0, 2]]
    return pairs


def _asked_about(pairs: Ids, asked: PairQuestions) -> Ids:
    """The pairs that a question was asked about."""
    is_asked = np.isin(pairs[:, 0], asked.heads) | np.isin(pairs[:, 1], asked.tails)
    return pairs[is_asked]


def is_among(proposed: Proposed, pairs: Ids, entities: int) -> Flags:
    """Whether each proposed pair is one of these pairs of ids.

    entities  how many the graph has
    """
    wanted = pair_numbers(pairs[:, 0], pairs[:, 1], entities)
    found = pair_numbers(proposed.heads, proposed.tails, entities)
    return np.isin(found, wanted)


def _reciprocal_ranks(
    state: State, whole: Graph, missed: Ids, relation: int, executor: Executor
) -> Floats:
    """The reciprocal ranks of held-out facts in both directions, filtered.

    whole  the graph with all facts
    """
    if not len(missed):
        return np.zeros(0)
    some = missed[: max(int(affordable(state.graph) * RANKED), 1)]  # by digest
    tasks = []
    for direction in (relation, inverse(relation)):
        asked = some[:, ::-1] if is_inverse(direction) else some
        known = whole.rows(direction)[:, [0, 2]]
        tasks.append(
            Targets(direction, asked.copy(), known, whole.entities_with_facts())
        )
    ranks = [found.realistic for found in executor.each(state, filtered_ranks, tasks)]
    return 1 / np.concatenate(ranks)


def _measured(name: str, parts: list[OfRelation]) -> Measured:
    """The figures of one relation or of several."""
    stated = np.concatenate([part.proposed.probabilities for part in parts])
    by_degree = np.concatenate([part.proposed.by_degree for part in parts])
    is_right = np.concatenate([part.is_right for part in parts])
    ranks = np.concatenate([part.reciprocal_ranks for part in parts])
    is_stated = stated >= LEAST_STATED
    found = int(np.count_nonzero(is_right))
    at_10, at_50, at_100 = (precision_at(k, stated, is_right) for k in PRECISION_AT)
    return Measured(
        relation=name,
        pairs=len(stated),
        held_out=sum(part.held_out for part in parts),
        found=found,
        average_precision=average_precision(stated, is_right),
        by_degree=average_precision(by_degree.astype(np.float64), is_right),
        p_at_10=at_10,
        p_at_50=at_50,
        p_at_100=at_100,
        auroc=auroc(stated, is_right),
        mrr=fsum(ranks.tolist()) / len(ranks) if len(ranks) else None,
        calibration_error=calibration_error(stated[is_stated], is_right[is_stated]),
    )


# Figures of a list


def average_precision(
    values: Floats, is_right: Flags, weights: Floats | None = None
) -> float | None:
    """The mean precision at each right pair, in the order of falling values; None if none is right.

    weights  how often each pair counts; by default once

    Of pairs with equal values, precision is that at the last of them.
    """
    order = np.argsort(-values, kind="stable")
    counts = np.ones(len(values)) if weights is None else weights[order]
    so_far = np.cumsum(counts)
    right_so_far = np.cumsum(counts * is_right[order])
    if not len(order) or right_so_far[-1] == 0:
        return None
    ends = _ends_of_ties(values[order])
    precision = right_so_far[ends] / np.maximum(so_far[ends], 1e-12)
    right_here = np.diff(right_so_far[ends], prepend=0.0)
    return float(precision @ right_here / right_so_far[-1])


def precision_at(k: int, values: Floats, is_right: Flags) -> float | None:
    """Of the k pairs with the highest values, the share that is right; None if there are fewer.

    Where pairs with equal values compete for the last places, their mean counts.
    """
    if len(values) < k:
        return None
    last = np.partition(values, len(values) - k)[len(values) - k]
    is_surely_in = values > last
    left = k - np.count_nonzero(is_surely_in)
    right = np.count_nonzero(is_right[is_surely_in])
    return float((right + left * is_right[values == last].mean()) / k)


def auroc(values: Floats, is_right: Flags) -> float | None:
    """How often a right pair has a higher value than a wrong one; equal ones count a half."""
    right = np.count_nonzero(is_right)
    wrong = len(values) - right
    if not right or not wrong:
        return None
    _, place_of, counts = np.unique(values, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(counts) - (counts - 1) / 2
    above = mean_rank[place_of][is_right].sum() - right * (right + 1) / 2
    return float(above / (right * wrong))


def calibration_error(stated: Floats, is_right: Flags) -> float | None:
    """The expected calibration error over ten bins of equal width; None if there are no pairs."""
    if not len(stated):
        return None
    error = 0.0
    for own in bins(stated, is_right, TEN_BINS):
        error += own.pairs * abs(own.stated - own.observed) / len(stated)
    return error


def bins(stated: Floats, is_right: Flags, bounds: Sequence[float]) -> list[Bin]:
    """The pairs by stated probability; empty bins are left out, and so is what is out of bounds.

    bounds  each bin begins at one of them and ends before the next; the last includes its end
    """
    order = np.argsort(
        stated, kind="stable"
    )  # so that sums do not depend on their order
    in_order = stated[order]
    right = is_right[order]
    edges = [*bounds[:-1], np.nextafter(bounds[-1], np.inf)]
    places = np.searchsorted(in_order, edges).tolist()
    return [
        Bin(
            end - start,
            float(in_order[start:end].mean()),
            float(right[start:end].mean()),
        )
        for start, end in pairwise(places)
        if end > start
    ]


def _ends_of_ties(values: Floats) -> Counts:
    """The last place of each run of equal values."""
    return np.append(np.flatnonzero(values[1:] != values[:-1]), len(values) - 1)
