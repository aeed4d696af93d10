"""
Tuning: ask a graph for facts that it has, or that are given, and choose what answers best.

The graph is counted once, and the questions about a sample of facts (`sample`) are ranked with each
alternative of `grid`. The maximal path length is chosen first, then which answers to allow
(`choice`), the same for all relations. Then belief is fitted to facts and open pairs (`fitting`).

The choice depends only on the facts, not on their order, on a clock, or on where the questions are
asked: an executor (`execution.executor`) asks them, and their answers come back in a fixed order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from casegraph.answering.state import State
from casegraph.errors import InvalidArgument
from casegraph.execution.executor import HERE, Executor
from casegraph.graph.arrays import Floats, Ids
from casegraph.graph.graph import Graph
from casegraph.running import Show, quiet
from casegraph.settings import Belief, Combination, Tuning
from casegraph.tuning import grid
from casegraph.tuning.choice import best_unless_by_chance, better, better_so_far
from casegraph.tuning.fitting import fitted
from casegraph.tuning.pairs import examples
from casegraph.tuning.questions import FirstAnswers, Questions, Task, first_answers
from casegraph.tuning.sample import (
    LEAST_FACTS,
    LEAST_GIVEN,
    affordable,
    given_sample,
    own_sample,
)

TO_CHOOSE_BY = 400  # questions
LEAST_TO_CHOOSE_BY = 100  # where fewer can be afforded, the usual combination stays
FIRST_ROUND = 100  # questions by which alternatives are compared first
MOST_WAYS = grid.LONGEST + 1  # to rank questions


def tuned(
    state: State,
    *,
    held_out: Iterable[tuple[str, str, str]] | None = None,
    keep_length: bool = False,
    executor: Executor = HERE,
    show: Show = quiet,
) -> State:
    """The same state with settings that are tuned to its graph; untuned if that is too small.

    held_out     facts to ask for, which the graph does not have; if none are given, or too few, a
                 sample of its own facts is asked for
    keep_length  whether to keep `max_length`
    executor     where to count and to ask

    What was counted is kept where it is the same by the settings that are chosen.
    """
    settings = state.settings.but(tuning=None)
    if not settings.can_be_tuned:
        raise InvalidArgument(
            "settings", settings.combination, "settings that can be tuned"
        )
    graph = state.graph
    untuned = state.answering_by(settings)
    if len(graph) < LEAST_FACTS:
        return untuned
    sample, in_graph = _sample(graph, held_out)
    if not len(sample):
        return untuned

    to_choose_by = int(affordable(graph) * TO_CHOOSE_BY)
    can_choose = to_choose_by >= LEAST_TO_CHOOSE_BY
    if keep_length:
        lengths = [settings.max_length]
    elif can_choose:
        lengths = grid.lengths(graph)
    else:
        lengths = [grid.USUAL_LENGTH]

    counted_settings = settings.but(max_length=max(lengths))
    counted = state.answering_by(counted_settings)
    questions = Questions.of(sample, in_graph=in_graph)
    directions = np.unique(questions.directions)
    executor.count(counted, directions.tolist(), show)

    bench = Bench(counted, questions, executor, show)
    if can_choose:
        count = min(to_choose_by, len(questions))
        usual = best_length(bench, lengths, count)
        combination = best_combination(bench, usual, count)
    else:
        usual = grid.scaled(counted.settings.combined, graph)
        combination = replace(usual, longest=max(lengths))
    tuning = Tuning(
        combination=combination,
        belief=Belief(),
        facts=len(graph),
        sample=len(sample),
        held_out=not in_graph,
    )
    chosen = settings.but(max_length=combination.longest, tuning=tuning)
    state_to_fit = counted.answering_by(chosen)
    executor.count(state_to_fit, list(range(graph.directions)), show)
    belief = fitted(examples(state_to_fit, sample, in_graph, executor))
    show("tuning", MOST_WAYS, MOST_WAYS)
    return state_to_fit.answering_by(chosen.but(tuning=replace(tuning, belief=belief)))


def _sample(
    graph: Graph, held_out: Iterable[tuple[str, str, str]] | None
) -> tuple[Ids, bool]:
    """The facts to ask for, and whether they are facts of the graph."""
    if held_out is not None:
        given = given_sample(graph, held_out)
        if len(given) >= LEAST_GIVEN:
            return given, False
    return own_sample(graph), True


class Bench:
    """Asks a state the same questions by several combinations of evidence, each as far as needed.

    executor  where to ask
    """

    def __init__(
        self, state: State, questions: Questions, executor: Executor, show: Show
    ) -> None:
        self.state = state
        self.questions = questions
        self._executor = executor
        self._show = show
        self._asked: dict[Combination, int] = {}
        self._answers: dict[Combination, list[FirstAnswers]] = {}

    def ranks(self, combinations: Sequence[Combination], count: int) -> list[Floats]:
        """The reciprocal ranks of the answers asked for, of so many questions."""
        self._ask(combinations, count)
        ranks = []
        for combination in combinations:
            given = FirstAnswers.joined(self._answers[combination])
            of_all = self.questions.reciprocal_ranks(given)
            ranks.append(of_all[:count])
        return ranks

    def _ask(self, combinations: Sequence[Combination], count: int) -> None:
        """Ask so many of the questions by each combination, but none a second time.

        All of this is one call of the executor, as each makes it wait for the last task.
        """
        tasks = []
        for combination in combinations:
            asked = self._asked.get(combination, 0)
            if asked < count:
                self._asked[combination] = count
                for part in self.questions.in_parts(self.state.graph, asked, count):
                    tasks.append(Task(combination, part))

        results = self._executor.each(self.state, first_answers, tasks)
        for task, found in zip(tasks, results, strict=True):
            parts = self._answers.setdefault(task.combination, [])
            parts.append(found)
            self._show("tuning", len(self._answers), MOST_WAYS)


def best_length(bench: Bench, lengths: list[int], count: int) -> Combination:
    """The combination of the settings with the length of paths that answers best.

    lengths  to choose from; the first stays unless another is clearly better
    count    of questions to choose by
    """
    combined = grid.scaled(bench.state.settings.combined, bench.state.graph)
    by_length = [replace(combined, longest=length) for length in lengths]
    ranks = bench.ranks(by_length, count)
    best = best_unless_by_chance(ranks, usual=0)
    return by_length[best]


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
        usual_ranks, *other_ranks = bench.ranks([usual, *left], asked)
        ranks_of_each = dict(zip(left, other_ranks, strict=True))
        left = better_so_far(usual_ranks, ranks_of_each)
        asked *= 2
    usual_ranks, *other_ranks = bench.ranks([usual, *left], count)
    best = better(usual_ranks, other_ranks, comparisons=len(variants))
    return usual if best is None else left[best]
