"""Ranks and metrics are those of PyKEEN's evaluator, which is given the same scores
and does its own filtering.
"""

from typing import Any, TypeAlias

import numpy as np
import pytest

from casegraph import CaseBase, Fact, Settings
from casegraph.evaluation.catalogue import find, located
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import Evaluation, evaluate

# PyKEEN and what it imports warn of their own affairs.
pytestmark = pytest.mark.filterwarnings("default")
torch = pytest.importorskip("torch", reason="PyKEEN is not installed")
pykeen = pytest.importorskip(
    "pykeen.evaluation.evaluator", reason="PyKEEN is not installed"
)
Evaluator = pytest.importorskip(
    "pykeen.evaluation", reason="PyKEEN is not installed"
).RankBasedEvaluator

# What PyKEEN and torch make; neither need be installed where types are checked.
Theirs: TypeAlias = Any

SETTINGS = Settings(max_length=2)
RANKS = ("realistic", "optimistic", "pessimistic")
needs_data = pytest.mark.skipif(
    find("UMLS") is None, reason="the benchmark data is not on this machine"
)


@pytest.fixture(scope="module")
def ours() -> Evaluation:
    return evaluate(Benchmark.open(located("UMLS")), SETTINGS)


@pytest.fixture(scope="module")
def theirs(ours: Evaluation) -> Theirs:
    """PyKEEN's evaluator, fed with the scores of every question, heads first."""
    evaluator = Evaluator(filtered=True, clear_on_finalize=False)
    known = torch.tensor(
        rows_of(
            ours,
            [fact for split in ("train", "valid", "test") for fact in facts(split)],
        )
    )
    for side in ("head", "tail"):
        asked = np.flatnonzero(ours.questions.is_head == (side == "head")).tolist()
        feed(
            evaluator,
            side,
            scores(ours, asked),
            known,
            rows_of(ours, [ours.questions.fact(row) for row in asked]),
        )
    return evaluator


@needs_data
@pytest.mark.parametrize("side", ["head", "tail"])
@pytest.mark.parametrize("ties", RANKS)
def test_ranks_are_equal(
    ours: Evaluation, theirs: Theirs, side: str, ties: str
) -> None:
    expected = np.concatenate(theirs.ranks[side, ties])
    assert len(expected) == 661
    found = getattr(ours.ranks, ties)[ours.questions.is_head == (side == "head")]
    np.testing.assert_array_equal(found, expected)


@needs_data
def test_metrics_are_equal(ours: Evaluation, theirs: Theirs) -> None:
    # It keeps realistic ranks, and would divide them, in single precision.
    for batches in theirs.ranks.values():
        batches[:] = [batch.astype(np.float64) for batch in batches]
    expected = theirs.finalize().to_flat_dict()
    shared = [name for name in ours.metrics if ".original." not in name]
    assert len(shared) == 3 * 3 * 6
    for name in shared:
        assert ours.metrics[name] == pytest.approx(expected[name], abs=1e-9), name


def facts(split: str) -> list[Fact]:
    return list(Benchmark.open(located("UMLS")).facts(split))


def rows_of(ours: Evaluation, named: list[Fact]) -> list[list[int]]:
    entities = {name: place for place, name in enumerate(ours.questions.entities)}
    relations = {name: place for place, name in enumerate(ours.questions.relations)}
    return [
        [entities[head], relations[relation], entities[tail]]
        for head, relation, tail in named
    ]


def scores(ours: Evaluation, asked: list[int]) -> Theirs:
    """What every entity scores as the target of each question, 0 where it is not reached."""
    cases = CaseBase(SETTINGS)
    cases.update(add=facts("train"))
    cases.prepare()
    place = {name: place for place, name in enumerate(ours.questions.entities)}
    table = torch.zeros((len(asked), len(place)), dtype=torch.float64)
    for row, question in enumerate(asked):
        head, relation, tail = ours.questions.fact(question)
        is_head = ours.questions.is_head[question]
        for answer in (
            cases.ask_head(relation, tail, top=-1)
            if is_head
            else cases.ask(head, relation, top=-1)
        ):
            table[row, place[answer.entity]] = answer.score
    return table


def feed(
    evaluator: Theirs, side: str, table: Theirs, known: Theirs, asked: list[list[int]]
) -> None:
    """As PyKEEN's own loop does: filter all known answers, put the target back, rank it."""
    batch = torch.tensor(asked)
    column = 0 if side == "head" else 2
    place = torch.arange(len(batch))
    targets = table[place, batch[:, column]]
    positives, _ = pykeen.create_sparse_positive_filter_(
        hrt_batch=batch, all_pos_triples=known, filter_col=column
    )
    filtered = pykeen.filter_scores_(scores=table, filter_batch=positives)
    filtered[place, batch[:, column]] = targets
    evaluator.process_scores_(
        hrt_batch=batch, target=side, scores=filtered, true_scores=targets[:, None]
    )
