"""Questions are sorted by what the graph knows of the entity asked about and of the answer."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest
from tests.commands import run
from tests.strategies import random_facts

from casegraph import Benchmark, Evaluation, evaluate

FACTS = random_facts(Random(8), entities=25, relations=3, facts=120)
TRAIN, TEST = FACTS[:-20], FACTS[-20:]


@pytest.fixture(scope="module")
def done() -> Evaluation:
    return evaluate(Benchmark.of(train=TRAIN, test=TEST))


def test_every_question_is_in_one_cell_and_in_one_group(done: Evaluation) -> None:
    cells = done.cells[:4]
    groups = done.cells[4:]
    assert sum(cell.questions for cell in cells) == len(done.questions)
    assert sum(group.questions for group in groups) == len(done.questions)
    mrr = np.mean(1 / done.ranks.realistic)
    for parts in (cells, groups):
        total = sum(part.questions * part.mrr for part in parts)
        assert total / len(done.questions) == pytest.approx(mrr)


def test_a_cell_holds_the_questions_that_its_name_says(done: Evaluation) -> None:
    expected = dict.fromkeys(
        ((True, True), (True, False), (False, True), (False, False)), 0
    )
    for head, relation, tail in TEST:
        tails = [fact for fact in TRAIN if fact[:2] == (head, relation)]
        heads = [fact for fact in TRAIN if fact[1:] == (relation, tail)]
        is_tail = any(fact[1:] == (relation, tail) for fact in TRAIN)
        is_head = any(fact[:2] == (head, relation) for fact in TRAIN)
        expected[bool(tails), is_tail] += 1
        expected[bool(heads), is_head] += 1
    assert [cell.questions for cell in done.cells[:4]] == list(expected.values())


def test_the_command_prints_them() -> None:
    printed = run("evaluate", "world", "--cells", "--no-tune").stdout
    assert "lacks the relation, familiar answer" in printed
    document = json.loads(
        run("evaluate", "world", "--no-tune", "--format", "json").stdout
    )
    assert len(document["cells"]) == 10
