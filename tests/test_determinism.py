"""The same facts give the same bytes, whatever their order, batches, threads, hash seed,
and what was there before.
"""

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest
from tests.strategies import Fact, random_facts, shuffled

from casegraph.answering.results.answer import Answer
from casegraph.casebase import CaseBase
from casegraph.settings import Settings

CHOSEN = {
    "default": Settings(),
    "paper's clusters": Settings.paper("WN18RR").but(
        max_length=2, threshold=0.6, path_types=5, neighbours=4
    ),
    "cbr": Settings.cbr("FB122").but(path_types=7),
}
FACTS = random_facts(Random(41), entities=20, relations=3, facts=60)
ENTITIES = sorted({name for head, _, tail in FACTS for name in (head, tail)})
RELATIONS = sorted({relation for _, relation, _ in FACTS})


def answers_in_bytes(cases: CaseBase) -> bytes:
    """Answers to every question, explanations of the best, scores of facts,
    and who is similar to whom.
    """
    said: list[object] = []
    for name in ENTITIES[::2]:
        for relation in RELATIONS:
            for answers in (
                cases.ask(name, relation),
                cases.ask_head(relation, name, top=-1, known="exclude"),
            ):
                said.append(answers.as_dict())
                said += [explained(cases, answer) for answer in answers[:1]]
        for near in cases.similar(name, top=5):
            shared = [str(fact) for fact in near.shared]
            said.append((near.entity, near.similarity, shared))
    said.append(cases.score(sorted(FACTS)))
    return json.dumps(said, allow_nan=False).encode()


def explained(cases: CaseBase, answer: Answer) -> object:
    explanation = cases.explain(answer)
    return explanation.as_dict(), explanation.text(), explanation._repr_html_()


def in_batches(facts: list[Fact], size: int, settings: Settings) -> CaseBase:
    cases = CaseBase(settings)
    for start in range(0, len(facts), size):
        cases.update(add=facts[start : start + size])
    return cases


@pytest.fixture(scope="module")
def expected() -> dict[str, bytes]:
    return {
        name: answers_in_bytes(in_batches(sorted(FACTS), len(FACTS), settings))
        for name, settings in CHOSEN.items()
    }


@pytest.mark.parametrize("name", CHOSEN)
def test_the_answers_are_worth_comparing(name: str, expected: dict[str, bytes]) -> None:
    assert expected[name].count(b'"share"') > 60


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize(("seed", "size"), [(1, 1_000), (2, 1_000), (3, 17), (4, 1)])
def test_the_order_and_the_batches_of_facts_change_no_byte(
    name: str, seed: int, size: int, expected: dict[str, bytes]
) -> None:
    cases = in_batches(shuffled(Random(seed), FACTS), size, CHOSEN[name])
    assert answers_in_bytes(cases) == expected[name]


@pytest.mark.parametrize("name", CHOSEN)
def test_facts_that_came_and_went_change_no_byte(
    name: str, expected: dict[str, bytes]
) -> None:
    random = Random(43)
    others = random_facts(random, entities=30, relations=5, facts=60)
    passing = [fact for fact in others if fact not in FACTS]
    cases = in_batches(shuffled(random, FACTS[:25] + passing), 30, CHOSEN[name])
    cases.ask("e0", "r0")
    cases.update(add=FACTS[20:], retract=passing[:15])
    cases.prepare()
    cases.update(retract=[*passing[10:], *FACTS[:5]])
    cases.update(add=FACTS[:5])
    assert answers_in_bytes(cases) == expected[name]


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_the_number_of_threads_changes_no_byte(
    name: str, threads: str, expected: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CASEGRAPH_THREADS", threads)
    cases = in_batches(FACTS, len(FACTS), CHOSEN[name])
    assert answers_in_bytes(cases) == expected[name]
    questions = [(entity, relation) for entity in ENTITIES for relation in RELATIONS]
    assert [cases.ask(*question) for question in questions] == cases.ask_many(questions)


@pytest.mark.parametrize("seed", ["0", "1"])
def test_the_hash_seed_changes_no_byte(seed: str, expected: dict[str, bytes]) -> None:
    program = "from tests import test_determinism as t; [print(t.digest(n)) for n in t.CHOSEN]"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[1],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == [
        sha256(said).hexdigest() for said in expected.values()
    ]


def digest(name: str) -> str:
    """Of the answers from facts in the order of a set, which the hash seed decides."""
    cases = in_batches(list(set(FACTS)), 50, CHOSEN[name])
    return sha256(answers_in_bytes(cases)).hexdigest()
