"""
Tuning: hold out facts of a graph, ask for them, and choose the settings that answer best.

A sample of facts is held out (`sample`), the rest is counted once, and the questions about the
sample are ranked with each alternative of `grid`. The maximal path length is chosen first, then how
to combine evidence (`choice`), the same for all relations. Then scores are calibrated to
probabilities (`calibration`).

The choice depends only on the facts, not on their order or on a clock.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from casegraph.answering.state import State
from casegraph.errors import InvalidSettings
from casegraph.graph.arrays import Floats
from casegraph.graph.directions import is_inverse, relation_of
from casegraph.graph.graph import Graph
from casegraph.running import Show, quiet
from casegraph.settings import Calibration, Combination, RelationCalibration, Settings, Tuning
from casegraph.tuning import grid
from casegraph.tuning.calibration import calibrated
from casegraph.tuning.choice import best_unless_by_chance, better
from casegraph.tuning.questions import Questions
from casegraph.tuning.sample import LEAST_FACTS, affordable, held_out

TO_CHOOSE_BY = 1_000  # facts of the sample; each is asked for with every alternative
LEAST_TO_CHOOSE_BY = 100  # where questions are slow
WAYS_OF_ROUND = len(grid.DISCOUNTS) + 2 * len(grid.KIND_WEIGHTS)
MOST_WAYS = grid.LONGEST + grid.ROUNDS * WAYS_OF_ROUND  # to rank the same questions


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
    state = State.of(sample.rest, settings.but(max_length=max(lengths), tuning=None))
    questions = Questions.of(graph, sample.facts)
    state.statistics.prepare(np.unique(questions.directions).tolist(), show)

    to_choose_by = max(LEAST_TO_CHOOSE_BY, int(affordable(graph) * TO_CHOOSE_BY))
    bench = Bench(state, questions.first(2 * to_choose_by), show)
    combination = best_combination(bench, best_length(bench, lengths))

    observed = questions.observed(state, combination)
    curves = calibrated(observed)
    show("tuning", MOST_WAYS, MOST_WAYS)
    if curves is None:
        return settings.but(tuning=None)

    tuning = Tuning(
        combination=combination,
        calibration=curves.overall,
        relations=tuple(_of_relations(graph, curves.by_direction)),
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
    chosen = usual
    for _ in range(grid.ROUNDS):
        variants = grid.variants(chosen)
        ranks = [bench.ranks(variant) for variant in variants]
        best = better(bench.ranks(chosen), ranks, comparisons=grid.ROUNDS * WAYS_OF_ROUND)
        if best is None:
            break
        chosen = variants[best]
    return chosen


def _of_relations(
    graph: Graph, calibrations: dict[int, Calibration]
) -> Iterator[RelationCalibration]:
    """The calibrations of directions, in the order of names."""
    for direction in sorted(calibrations, key=graph.relation_name):
        yield RelationCalibration(
            relation=graph.relations[relation_of(direction)],
            inverse=bool(is_inverse(direction)),
            calibration=calibrations[direction],
        )
