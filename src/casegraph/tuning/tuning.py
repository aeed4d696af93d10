"""
Tuning: hold out facts of a graph, ask for them, and choose the settings that answer best.

A sample of facts is held out (`sample`), the rest is counted once, and the questions about the
sample are ranked with each alternative of `grid`. The maximal path length is chosen first, then how
to combine evidence (`choice`), the same for all relations. Then scores are calibrated to
probabilities (`calibration`).

The choice depends only on the facts, not on their order or on a clock.
"""

from dataclasses import replace

import numpy as np

from casegraph.answering.state import State
from casegraph.errors import InvalidSettings
from casegraph.graph.arrays import Floats
from casegraph.graph.graph import Graph
from casegraph.running import Show, quiet
from casegraph.settings import Combination, Settings, Tuning
from casegraph.tuning import grid
from casegraph.tuning.calibration import calibrated
from casegraph.tuning.choice import best_unless_by_chance, better
from casegraph.tuning.questions import Questions
from casegraph.tuning.sample import LEAST_FACTS, affordable, held_out

TO_CHOOSE_BY = 600  # facts of the sample; each is asked for with every alternative
LEAST_TO_CHOOSE_BY = 100  # where fewer can be afforded, the usual combination stays
MOST_WAYS = grid.LONGEST + len(grid.DISCOUNTS) + len(grid.KIND_WEIGHTS)  # to rank the questions


def tuned(
    graph: Graph, settings: Settings, *, keep_length: bool = False, show: Show = quiet
) -> Settings:
    """The settings tuned to a graph; unchanged if the graph is too small.

    keep_length  whether to keep `max_length`
    """
    if not settings.can_be_tuned:
        raise InvalidSettings("settings", settings.combination, "settings that can be tuned")
    if len(graph) < LEAST_FACTS:
        return settings.but(tuning=None)

    sample = held_out(graph)
    lengths = [settings.max_length] if keep_length else grid.lengths(sample.rest)
    to_choose_by = int(affordable(graph) * TO_CHOOSE_BY)
    can_choose = to_choose_by >= LEAST_TO_CHOOSE_BY
    if not can_choose and not keep_length:
        lengths = [min(grid.USUAL_LENGTH, max(lengths))]
    state = State.of(sample.rest, settings.but(max_length=max(lengths), tuning=None))
    questions = Questions.of(graph, sample.facts)
    state.statistics.prepare(np.unique(questions.directions).tolist(), show)

    if can_choose:
        bench = Bench(state, questions.first(2 * to_choose_by), show)
        combination = best_combination(bench, best_length(bench, lengths))
    else:
        combination = replace(state.settings.combined, longest=max(lengths))

    observed = questions.observed(state, combination)
    curves = calibrated(observed)
    show("tuning", MOST_WAYS, MOST_WAYS)
    if curves is None:
        return settings.but(tuning=None)

    tuning = Tuning(
        combination=combination,
        calibrations=curves.by_known,
        missing=curves.missing,
        facts=len(graph),
        sample=len(sample.facts),
    )
    return settings.but(max_length=combination.longest, tuning=tuning)


class Bench:
    """Ranks the same questions with several alternatives."""

    def __init__(self, state: State, questions: Questions, show: Show) -> None:
        self.state = state
        self.questions = questions
        self._show = show
        self._ranks: dict[Combination, Floats] = {}

    def ranks(self, combination: Combination) -> Floats:
        """The reciprocal rank of each held-out answer."""
        if combination not in self._ranks:
            self._ranks[combination] = self.questions.reciprocal_ranks(self.state, combination)
            self._show("tuning", len(self._ranks), MOST_WAYS)
        return self._ranks[combination]


def best_length(bench: Bench, lengths: list[int]) -> Combination:
    """The combination of the settings with the length of paths that answers best.

    The usual length stays unless another is clearly better.
    """
    combined = bench.state.settings.combined
    by_length = [replace(combined, longest=length) for length in lengths]
    usual = lengths.index(min(grid.USUAL_LENGTH, max(lengths)))
    ranks = [bench.ranks(combination) for combination in by_length]
    return by_length[best_unless_by_chance(ranks, usual)]


def best_combination(bench: Bench, usual: Combination) -> Combination:
    """The best way to combine evidence; the usual way stays unless another is surely better.

    One for all relations: on FB122 the sample misleads single relations.
    """
    variants = grid.variants(usual)
    ranks = [bench.ranks(variant) for variant in variants]
    best = better(bench.ranks(usual), ranks, comparisons=len(variants))
    return usual if best is None else variants[best]
