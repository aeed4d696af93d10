"""Proposals are the answers worth keeping, interruptions leave no trace,
and audits find wrong facts.
"""

import errno
import json
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from time import sleep
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st
from tests.commands import process, run
from tests.crashing import Failing, calls_through
from tests.strategies import Fact, fact_lists, random_facts, shuffled, some_settings

from casegraph import world
from casegraph.answering.query import answers
from casegraph.answering.state import State
from casegraph.batch import completion
from casegraph.batch.audit import audit, because
from casegraph.batch.completion import Wanted, complete
from casegraph.casebase import CaseBase
from casegraph.errors import (
    CasegraphError,
    IncompatibleFile,
    InvalidSettings,
    UnknownName,
    UnreadableFile,
)
from casegraph.execution.executor import Here, Result, Task, Work
from casegraph.graph.arrays import ids
from casegraph.graph.directions import forward
from casegraph.settings import Settings

FACTS = random_facts(Random(83), entities=12, relations=3, facts=50)
ALL = Wanted(min_probability=0, top=100, heads=True)


def case_base(facts: list[Fact], settings: Settings | None = None) -> CaseBase:
    cases = CaseBase(settings)
    cases.update(add=facts)
    return cases


def lines(cases: CaseBase, wanted: Wanted, folder: Path) -> list[dict[str, Any]]:
    file = folder / "out.jsonl"
    for old in (file, beside(file)):
        old.unlink(missing_ok=True)
    complete(cases, file, wanted)
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def beside(file: Path) -> Path:
    return file.with_name(file.name + ".progress")


@example_settings(max_examples=30)
@given(
    fact_lists(least=1),
    fact_lists(most=4),
    some_settings(),
    st.randoms(use_true_random=False),
)
def test_the_lines_are_the_new_answers_to_every_question_but_habits(
    tmp_path_factory: pytest.TempPathFactory,
    facts: list[Fact],
    gone: list[Fact],
    settings: Settings,
    random: Random,
) -> None:
    cases = case_base(facts, settings)
    found = dict[tuple[str, str, str], list[tuple[str, float, int]]]()
    lived = case_base(shuffled(random, {*facts, *gone}), settings)
    lived.update(retract=set(gone) - set(facts))
    folder = tmp_path_factory.mktemp("complete")
    written = lines(lived, ALL, folder)
    assert written == lines(cases, ALL, folder)
    for one in written:
        side = one["asked"]
        entity = one["head"] if side == "tail" else one["tail"]
        question = (one["relation"], side, entity)
        found.setdefault(question, []).append((one[side], one["score"], one["rank"]))
    assert list(found) == sorted(
        found, key=lambda key: (key[0], key[1] == "head", key[2])
    )

    for relation in sorted(cases.graph.relations.names):
        for name in cases.graph.entities.names:
            tails = cases.ask(name, relation, top=100, known="exclude")
            heads = cases.ask_head(relation, name, top=100, known="exclude")
            for side, best in (("tail", tails), ("head", heads)):
                expected = [(one.entity, one.score, one.rank) for one in best]
                if (relation, side, name) in found or not expected:
                    assert found.get((relation, side, name), []) == expected
                else:
                    reasons = [reason for one in best for reason in cases.explain(one)]
                    assert {reason.kind for reason in reasons} == {"habit"}


def test_what_is_kept_is_as_wanted(tmp_path: Path) -> None:
    cases = case_base(FACTS)
    everything = lines(cases, ALL, tmp_path)
    tails = [one for one in everything if one["asked"] == "tail"]
    best_two = [one for one in tails if one["rank"] <= 2]
    assert lines(cases, Wanted(min_probability=0, top=2), tmp_path) == best_two
    probable = [one for one in tails if one["probability"] >= 0.2]
    assert 0 < len(probable) < len(tails)
    assert lines(cases, Wanted(min_probability=0.2, top=100), tmp_path) == probable
    some = Wanted(
        min_probability=0, top=100, relations=("r2", "r0"), entities=("e3", "e1", "e3")
    )
    of_relations = [one for one in tails if one["relation"] in ("r0", "r2")]
    kept = [one for one in of_relations if one["head"] in ("e1", "e3")]
    assert lines(cases, some, tmp_path) == kept
    having = {(head, relation) for head, relation, _ in FACTS}
    new = [one for one in tails if (one["head"], one["relation"]) not in having]
    assert (
        lines(cases, Wanted(min_probability=0, top=100, lacking=True), tmp_path) == new
    )
    explained = lines(cases, Wanted(min_probability=0, top=2, explain=True), tmp_path)
    assert explained
    for one in explained:
        given = cases.ask(one["head"], one["relation"], 50)
        best = next(answer for answer in given if answer.entity == one["tail"])
        assert one["reason"] == cases.explain(best).reasons[0].sentence(best)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "AT_ONCE", 5)


@pytest.mark.usefixtures("small")
def test_a_file_cut_short_anywhere_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    cases = case_base(FACTS)
    wanted = Wanted(min_probability=0.3, top=1, relations=("r1", "r2"))
    done = complete(cases, file, wanted)
    whole = file.read_bytes()
    noted = beside(file).read_bytes()
    assert whole.count(b"\n") > 3
    for size in range(len(whole) + 1):
        file.write_bytes(whole[:size])
        assert complete(cases, file, wanted) == done
        assert file.read_bytes() == whole
        assert beside(file).read_bytes() == noted
    for size in range(len(noted) + 1):
        beside(file).write_bytes(noted[:size])
        assert complete(cases, file, wanted) == done
        assert file.read_bytes() == whole
        assert beside(file).read_bytes() == noted


class Interrupted(Here):
    """Breaks off after so many batches."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.asked = 0

    def each(
        self, cases: State, work: Work[Task, Result], tasks: Iterable[Task]
    ) -> Iterator[Result]:
        for result in super().each(cases, work, tasks):
            if self.asked == self.after:
                raise KeyboardInterrupt
            self.asked += 1
            yield result


@pytest.mark.usefixtures("small")
def test_no_question_is_asked_twice_after_an_interruption(tmp_path: Path) -> None:
    cases = case_base(FACTS)
    counted = Interrupted(10_000)
    done = complete(cases, tmp_path / "whole", ALL, counted)
    first = Interrupted(3)
    second = Interrupted(10_000)
    with pytest.raises(KeyboardInterrupt):
        complete(cases, tmp_path / "parts", ALL, first)
    assert (
        complete(case_base(shuffled(Random(5), FACTS)), tmp_path / "parts", ALL, second)
        == done
    )
    assert first.asked + second.asked == counted.asked > 6
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    assert complete(cases, tmp_path / "parts", ALL, Interrupted(0)) == done


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("point", range(2, 9))
def test_a_full_disk_is_an_error_in_one_sentence_and_gone_on_with_when_there_is_room(
    point: int, tmp_path: Path
) -> None:
    cases = case_base(FACTS)
    done = complete(cases, tmp_path / "whole", ALL)
    full = Failing(point, errno.ENOSPC, sticky=True, halfway=point % 2 == 1)
    with calls_through(full), pytest.raises(UnreadableFile) as raised:
        complete(cases, tmp_path / "parts", ALL)
    problem = f"cannot be written ({os.strerror(errno.ENOSPC)})"
    advice = "make room, and run the same again to go on"
    assert str(raised.value) == f"{tmp_path / 'parts'}: {problem}; {advice}"
    assert complete(cases, tmp_path / "parts", ALL) == done
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_process_that_is_killed_is_gone_on_with(tmp_path: Path) -> None:
    arguments = ["complete", "world", "--min-probability", "0", "--heads", "--out"]
    killed = tmp_path / "killed"
    whole = tmp_path / "whole"
    with subprocess.Popen(process(*arguments, killed)) as running:
        while not killed.exists() or killed.stat().st_size == 0:
            sleep(0.01)
        os.kill(running.pid, signal.SIGKILL)
    cut = killed.stat().st_size
    for file in (killed, whole):
        assert run(*arguments, file).exit_code == 0
    assert killed.read_bytes() == whole.read_bytes()
    assert cut < whole.stat().st_size


@pytest.mark.parametrize(
    ("facts", "settings", "wanted"),
    [
        (FACTS[1:], Settings(), ALL),
        (FACTS, Settings(habit=0.2), ALL),
        (FACTS, Settings(), Wanted(min_probability=0, top=99, heads=True)),
        (
            FACTS,
            Settings(),
            Wanted(min_probability=0, top=100, heads=True, relations=("r0",)),
        ),
    ],
    ids=["facts", "settings", "top", "relations"],
)
def test_a_file_begun_for_something_else_is_refused_and_left_alone(
    facts: list[Fact], settings: Settings, wanted: Wanted, tmp_path: Path
) -> None:
    file = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        complete(case_base(FACTS), file, ALL, Interrupted(1))
    before = file.read_bytes(), beside(file).read_bytes()
    with pytest.raises(
        IncompatibleFile,
        match="was begun from other facts, settings or options; give the same",
    ):
        complete(case_base(facts, settings), file, wanted)
    assert (file.read_bytes(), beside(file).read_bytes()) == before


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine\n")
    with pytest.raises(
        IncompatibleFile,
        match="is there, but not unfinished; remove it, or choose another file",
    ):
        complete(case_base(FACTS), tmp_path / "out", ALL)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [
        ("out", "mine\n")
    ]


REFUSED: dict[str, tuple[dict[str, Any], type[CasegraphError], str]] = {
    "a relation that is not there": (
        {"relations": ("r9",)},
        UnknownName,
        "no relation is named 'r9'",
    ),
    "an entity that is not there": (
        {"entities": ("who",)},
        UnknownName,
        "no entity is named 'who'",
    ),
    "more than certain": (
        {"min_probability": 1.5},
        InvalidSettings,
        "min_probability is 1.5; expected from 0 to 1",
    ),
    "nothing to keep": ({"top": 0}, InvalidSettings, "top is 0; expected at least 1"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_wanted_is_refused(kind: str, tmp_path: Path) -> None:
    wanted, error, words = REFUSED[kind]
    with pytest.raises(error, match=words):
        complete(case_base(FACTS), tmp_path / "out", Wanted(**wanted))
    assert list(tmp_path.iterdir()) == []


def test_settings_without_probabilities_take_no_threshold(tmp_path: Path) -> None:
    cases = case_base(FACTS, Settings.paper("FB122"))
    with pytest.raises(InvalidSettings, match="these settings give no probability"):
        complete(cases, tmp_path / "out", Wanted())
    written = lines(cases, Wanted(min_probability=0), tmp_path)
    assert {one["probability"] for one in written} == {None}


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="cannot be written"):
        complete(case_base(FACTS), tmp_path / "nowhere" / "out", ALL)


def test_an_audit_scores_each_fact_as_if_it_were_missing() -> None:
    cases = case_base(FACTS)
    found = audit(cases, top=1_000)
    facts = [(one.head, one.relation, one.tail) for one in found]
    doubts = [one.doubt for one in found]
    assert sorted(facts) == sorted(FACTS)
    assert doubts == sorted(doubts, reverse=True)
    assert [one.score for one in found] == cases.score(facts)
    for one in found:
        assert one.instead != one.tail
        assert one.instead_known == ((one.head, one.relation, one.instead) in FACTS)
        instead = (
            completion.uncalibrated_probability(cases.settings, one.instead_score) or 0
        )
        assert one.doubt == (1 - (one.probability or 0)) * instead
    assert audit(cases, top=7) == found[:7]
    of_one_relation = [one for one in found if one.relation == "r1"]
    assert audit(cases, relations=("r1",), top=1_000) == of_one_relation
    assert audit(case_base(shuffled(Random(2), FACTS)), top=1_000) == found


def test_an_audit_asks_as_if_the_fact_were_missing() -> None:
    cases = case_base(FACTS).state
    differs = 0
    for one in audit(case_base(FACTS), top=1_000):
        head = ids([cases.graph.entities.find(one.head) or 0])
        tail = ids([cases.graph.entities.find(one.tail) or 0])
        relation = forward(cases.graph.relations.find(one.relation) or 0)
        (missing,) = answers(cases, relation, head, top=-1, hidden=tail)
        (known,) = answers(cases, relation, head, top=-1, hidden=ids([-1]))
        other = missing.entities != tail
        assert one.instead == cases.graph.entities[int(missing.entities[other][0])]
        assert one.instead_score == missing.scores[other][0]
        assert one.rank is None or one.rank <= 1 + sum(missing.scores > one.score)
        differs += missing.scores[other][0] != known.scores[known.entities != tail][0]
    assert differs > 5


def test_an_audit_finds_facts_that_were_planted() -> None:
    planted = [
        ("London", "city in", "Japan"),
        ("Niels Bohr", "citizen of", "Brazil"),
        ("Max Planck", "citizen of", "Japan"),
        ("Alan Turing", "studied at", "Kyoto University"),
    ]
    cases = case_base([*world.facts(), *planted])
    found = audit(cases, top=20)
    assert set(planted) <= {(one.head, one.relation, one.tail) for one in found}
    # Two facts that are true, and unlikely, are doubted more than this one.
    (london,) = (one for one in found[:3] if one.head == "London")
    assert london.instead == "United Kingdom"
    assert london.instead_known
    for_fact, for_other = because(cases, london)
    assert "4 of all 359 others asked “city in” have the answer Japan" in for_fact
    assert for_other[0].startswith("capital⁻¹: right ")
