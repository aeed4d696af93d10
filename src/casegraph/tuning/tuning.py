"""
Tuning: ask a graph for facts that it has, or that are given, and choose what answers best.

The graph is counted once, and the questions about a sample of facts (`sample`) are ranked with each
alternative of `grid`. The maximal path length is chosen first, then how to combine evidence
(`choice`), the same for all relations. Then scores are calibrated to probabilities (`calibration`).

The choice depends only on the facts, not on their order or on a clock.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from casegraph.answering.state import State
from casegraph.errors import InvalidSettings
from casegraph.graph.arrays import Floats, Ids
from casegraph.graph.graph import Graph
from casegraph.running import Show, quiet
from casegraph.settings import Combination, Tuning
from casegraph.tuning import grid
from casegraph.tuning.calibration import calibrated
from casegraph.tuning.choice import best_unless_by_chance, better, better_so_far
from casegraph.tuning.questions import FirstAnswers, Questions
from casegraph.tuning.sample import LEAST_FACTS, LEAST_GIVEN, affordable, given_sample, own_sample

TO_CHOOSE_BY = 400  # questions
LEAST_TO_CHOOSE_BY = 100  # where fewer can be afforded, the usual combination stays
FIRST_ROUND = 100  # questions by which alternatives are compared first
MOST_WAYS = grid.LONGEST + len(grid.DISCOUNTS) + len(grid.KIND_WEIGHTS) + 1  # to rank questions


def tuned(
    state: State,
    *,
    held_out: Iterable[tuple[str, str, str]] | None = None,
    keep_length: bool = False,
    show: Show = quiet,
) -> State:
    """The same state with settings that are tuned to its graph; untuned if that is too small.

    held_out     facts to ask for, which the graph does not have; if none are given, or too few, a
                 sample of its own facts is asked for
    keep_length  whether to keep `max_length`

    What was counted is kept where it is the same by the settings that are chosen.
    """
    settings = state.settings.but(tuning=None)
    graph = state.graph
    if not settings.can_be_tuned:
        raise InvalidSettings("settings", settings.combination, "settings that can be tuned")
    if len(graph) < LEAST_FACTS:
        return state.answering_by(settings)

    sample, in_graph = _sample(graph, held_out)
    to_choose_by = int(affordable(graph) * TO_CHOOSE_BY)
    can_choose = to_choose_by >= LEAST_TO_CHOOSE_BY
    lengths = [settings.max_length] if keep_length else grid.lengths(graph)
    if not can_choose and not keep_length:
        lengths = [min(grid.USUAL_LENGTH, max(lengths))]
    counted = state.answering_by(settings.but(max_length=max(lengths)))
    questions = Questions.of(counted, sample, in_graph=in_graph)
    counted.statistics.prepare(np.unique(questions.directions).tolist(), show)

    bench = Bench(questions, show)
    if can_choose:
        count = min(to_choose_by, len(questions))
        combination = best_combination(bench, best_length(bench, lengths, count), count)
    else:
        combination = replace(counted.settings.combined, longest=max(lengths))
    answers = bench.answers(combination, len(questions))
    curves = calibrated(questions.observed(answers))
    show("tuning", MOST_WAYS, MOST_WAYS)
    if curves is None:
        return state.answering_by(settings)

    tuning = Tuning(
        combination=combination,
        calibrations=curves.by_known,
        missing=curves.missing,
        facts=len(graph),
        sample=len(sample),
        held_out=not in_graph,
    )
    return counted.answering_by(settings.but(max_length=combination.longest, tuning=tuning))


def _sample(graph: Graph, held_out: Iterable[tuple[str, str, str]] | None) -> tuple[Ids, bool]:
    """The facts to ask for, and whether they are facts of the graph."""
    if held_out is not None:
        given = given_sample(graph, held_out)
        if len(given) >= LEAST_GIVEN:
            return given, False
    return own_sample(graph), True


class Bench:
    """Answers the same questions by several combinations of evidence, each as far as needed."""

    def __init__(self, questions: Questions, show: Show) -> None:
        self.questions = questions
        self._show = show
        self._answers: dict[Combination, list[FirstAnswers]] = {}
        self._asked: dict[Combination, int] = {}

    def answers(self, combination: Combination, count: int) -> FirstAnswers:
        """The first answers to so many of the questions at least."""
        parts = self._answers.setdefault(combination, [])
        asked = self._asked.get(combination, 0)
        if asked < count:
            more = self.questions.part(asked, count)
            parts.append(more.first_answers(combination).moved(asked))
            self._asked[combination] = count
            self._show("tuning", len(self._answers), MOST_WAYS)
        return FirstAnswers.joined(parts)

    def ranks(self, combination: Combination, count: int) -> Floats:
        """The reciprocal ranks of the answers asked for, of so many questions."""
        return self.questions.reciprocal_ranks(self.answers(combination, count))[:count]


def best_length(bench: Bench, lengths: list[int], count: int) -> Combination:
    """The combination of the settings with the length of paths that answers best.

    count  of questions to choose by

    The usual length stays unless another is clearly better.
    """
    combined = bench.questions.state.settings.combined
    by_length = [replace(combined, longest=length) for length in lengths]
    usual = lengths.index(min(grid.USUAL_LENGTH, max(lengths)))
    ranks = [bench.ranks(combination, count) for combination in by_length]
    return by_length[best_unless_by_chance(ranks, usual)]


def best_combination(bench: Bench, usual: Combination, count: int) -> Combination:
    """The best way to combine evidence; the usual way stays unless another is surely better.

    One for all relations: on FB122 the sample misleads single relations.

    count  of questions to choose by

    A race: each round has twice the questions of the one before, and a way that is not better than
    the usual by then takes no part in the next.
    """
    variants = grid.variants(usual, held_out=not bench.questions.in_graph)
    left = variants
    asked = FIRST_ROUND
    while left and asked < count:
        ranks = {variant: bench.ranks(variant, asked) for variant in left}
        left = better_so_far(bench.ranks(usual, asked), ranks)
        asked *= 2
    ranks_to_the_end = [bench.ranks(variant, count) for variant in left]
    best = better(bench.ranks(usual, count), ranks_to_the_end, comparisons=len(variants))
    return usual if best is None else left[best]
