"""
The pairs that belief is fitted to: known facts, and pairs that come up as answers but are no facts.

A fact counts once for each direction in which it is among the first `FIRST` new answers while it is
hidden, and so does an open pair. Open pairs are sampled twice. First, questions: as many about
entities that have the relation as about entities that might (`Profiles.worth_asking`), of each
direction in proportion. Then, of their answers, the more probable ones by the usual belief, each
with the weight that makes up for its chance to be taken. All choices go by digests of names, so
that they depend on the facts alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph.answering.belief import believed, features, features_of, pairs_of
from casegraph.answering.pair_strengths import Pairs, PairStrengths
from casegraph.answering.query import answers, standings
from casegraph.graph.directions import inverse
from casegraph.settings import Belief
from casegraph.tuning.fitting import Examples
from casegraph.tuning.sample import PairDigests, affordable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.state import State
    from casegraph.execution.executor import Executor
    from casegraph.graph.arrays import Flags, Floats, Ids

FIRST = 20  # new answers of a question that may be proposed
QUESTIONS = 2_000  # about entities that have the relation; and as many about others
PAIRS = 4_000  # open pairs that are scored in both directions, about
FLOOR = (
    0.002  # a chance that even the least probable pair has to be taken, before scaling
)
AT_ONCE = 256


class OpenQuestions(NamedTuple):
    """A task: questions about one direction, and how many each stands for."""

    direction: int
    entities: Ids
    weight: float


class OpenPairs(NamedTuple):
    """New answers to such questions, as parallel arrays."""

    direction: int
    asked: Ids
    found: Ids
    scores: Floats
    weight: float


class Described(NamedTuple):
    """Pairs and their features, and how many pairs each stands for."""

    features: Floats
    weights: Floats


def examples(state: State, facts: Ids, in_graph: bool, executor: Executor) -> Examples:
    """Facts and open pairs to fit belief to.

    facts     rows (head, relation, tail) of ids
    in_graph  whether the graph has them
    """
    stand_for = len(state.graph) / max(len(facts), 1)
    fact_tasks = list(_tasks_of_facts(facts, in_graph=in_graph))
    described = list(executor.each(state, described_facts, fact_tasks))

    digests = PairDigests(state.graph)
    tasks = list(_open_questions(state, digests))
    found = list(executor.each(state, open_pairs, tasks))
    chosen = _chosen(state, found, digests)
    described_open = list(executor.each(state, described_pairs, chosen))

    parts = [*described, *described_open]
    sizes = [len(part.weights) for part in parts]
    known = sum(len(part.weights) for part in described)
    weights = np.concatenate([part.weights for part in parts])
    weights[:known] *= stand_for
    is_fact: Flags = np.arange(sum(sizes)) < known
    counts = weights > 0
    rows = np.concatenate([part.features for part in parts])
    return Examples(rows[counts], is_fact[counts], weights[counts])


def described_facts(state: State, pairs: Pairs) -> Described:
    """Facts, as they look while they are hidden, or if they are held out, as they look.

    Each counts a half for each direction in which it comes up.
    """
    ahead = pairs.relation
    both_ways = (
        (ahead, pairs.heads, pairs.tails),
        (inverse(ahead), pairs.tails, pairs.heads),
    )
    weights = np.zeros(len(pairs.heads))
    for direction, entities, targets in both_ways:
        known = [
            np.sort(state.graph.answers(entity, direction))
            for entity in entities.tolist()
        ]
        offsets = np.cumsum([0, *map(len, known)], dtype=np.int64)
        standing = standings(
            state,
            (direction, entities),
            (np.arange(len(targets) + 1), targets),
            (offsets, np.concatenate(known)),
            hidden=targets if pairs.are_facts else None,
        )
        comes_up = (standing.better < FIRST) & (standing.score > 0)
        weights += 0.5 * comes_up
    return Described(features(state, pairs), weights)


def open_pairs(state: State, asked: OpenQuestions) -> OpenPairs:
    """The first new answers to some questions."""
    results = answers(state, asked.direction, asked.entities, top=FIRST, new_only=True)
    sizes = [len(found.entities) for found in results]
    return OpenPairs(
        direction=asked.direction,
        asked=np.repeat(asked.entities, sizes),
        found=np.concatenate([found.entities for found in results]),
        scores=np.concatenate([found.scores for found in results]),
        weight=asked.weight,
    )


class Taken(NamedTuple):
    """A task: open pairs that were taken, and their weights."""

    direction: int
    asked: Ids
    found: Ids
    weights: Floats


def described_pairs(state: State, taken: Taken) -> Described:
    """Open pairs, described both ways; each counts a half for the direction it came up in."""
    pairs = pairs_of(taken.direction, taken.asked, taken.found)
    return Described(features(state, pairs), 0.5 * taken.weights)


def _chosen(state: State, found: list[OpenPairs], digests: PairDigests) -> list[Taken]:
    """The open pairs to describe both ways."""
    usual = Belief()
    promising = []
    for part in found:
        pairs = pairs_of(part.direction, part.asked, part.found)
        nothing = np.zeros(len(part.scores))
        only_paths = PairStrengths(part.scores, part.scores, nothing, nothing)
        same_both_ways = features_of(state, pairs, only_paths)
        promising.append(believed(usual, same_both_ways) + FLOOR)
    total = sum(float(some.sum()) for some in promising)
    scale = affordable(state.graph) * PAIRS / max(total, 1e-9)

    chosen = []
    for part, promise in zip(found, promising, strict=True):
        chances = np.minimum(promise * scale, 1.0)
        is_taken = digests.of(part.direction, part.asked, part.found) < chances
        chosen.append(
            Taken(
                part.direction,
                part.asked[is_taken],
                part.found[is_taken],
                part.weight / chances[is_taken],
            )
        )
    return [taken for taken in chosen if len(taken.asked)]


def _open_questions(state: State, digests: PairDigests) -> Iterator[OpenQuestions]:
    """Questions of every direction, about entities that have the relation and about others."""
    graph = state.graph
    having = []
    others = []
    for direction in range(graph.directions):
        has_it = np.unique(graph.rows(direction)[:, 0])
        having.append(has_it)
        others.append(np.setdiff1d(state.profiles.worth_asking(direction), has_it))
    wanted = affordable(graph) * QUESTIONS
    for groups in (having, others):
        total = sum(map(len, groups))
        for direction, entities in enumerate(groups):
            if not len(entities):
                continue
            count = min(int(np.ceil(wanted * len(entities) / total)), len(entities))
            order = np.argsort(digests.of(direction, entities, entities))
            chosen = entities[order[:count]]
            for start in range(0, count, AT_ONCE):
                some = chosen[start : start + AT_ONCE].astype(np.int32)
                yield OpenQuestions(direction, some, len(entities) / count)


def _tasks_of_facts(facts: Ids, *, in_graph: bool) -> Iterator[Pairs]:
    """The facts of each relation, some at a time."""
    for direction in np.unique(facts[:, 1]).tolist():
        heads, _, tails = facts[facts[:, 1] == direction].T
        for start in range(0, len(heads), AT_ONCE):
            end = start + AT_ONCE
            yield Pairs(
                direction, heads[start:end].copy(), tails[start:end].copy(), in_graph
            )
