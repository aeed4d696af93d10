"""Proposals are the most believed pairs of both directions, interruptions leave no trace,
and files of names and pairs mean what they say.
"""

import csv
import errno
import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from time import sleep
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st
from tests.commands import assert_refused, process, records, run
from tests.crashing import Failing, calls_through
from tests.strategies import Fact, fact_lists, random_facts, shuffled, some_settings

from casegraph import world
from casegraph.answering.state import State
from casegraph.batch import completion, pair_lists
from casegraph.batch.completion import Wanted, better_explained, complete
from casegraph.batch.proposals import (
    Concentration,
    ProposalTable,
    effective_number,
    write_proposals,
)
from casegraph.casebase import CaseBase
from casegraph.errors import (
    CasegraphError,
    IncompatibleFile,
    InvalidArgument,
    UnknownName,
    UnreadableFile,
)
from casegraph.execution.executor import Here, Result, Task, Work
from casegraph.formats.registry import read_facts
from casegraph.formats.writing import write_facts
from casegraph.graph.descriptions import Description
from casegraph.graph.directions import backward, forward
from casegraph.settings import Settings

FACTS = random_facts(Random(83), entities=12, relations=3, facts=50)
ALL = Wanted(min_probability=0, top=100)
MILLIONTH = 1.1e-6  # probabilities are rounded


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


def fact_of(record: dict[str, Any]) -> Fact:
    return record["head"], record["relation"], record["tail"]


def worth_of(record: dict[str, Any]) -> float:
    """What proposals are ordered by."""
    if record["probability"] is not None:
        return float(record["probability"])
    return float(max(record["tail_score"], record["head_score"]))


def order_of(record: dict[str, Any]) -> tuple[str, float, str, str]:
    return record["relation"], -worth_of(record), record["head"], record["tail"]


def asked_one_by_one(
    cases: CaseBase, facts: list[Fact], top: int
) -> dict[Fact, dict[str, Any]]:
    """The first new answers to every question worth asking, each pair once."""
    graph = cases.graph
    loops = {relation for head, relation, tail in facts if head == tail}
    found: dict[Fact, dict[str, Any]] = {}
    scores: dict[tuple[Fact, str], float] = {}
    chosen = set()
    for relation in graph.relations.names:
        number = graph.relations.find(relation)
        assert number is not None
        if not len(graph.rows(forward(number))):
            continue
        for side, direction in (
            ("tail", forward(number)),
            ("head", backward(number)),
        ):
            worth_asking = set(cases.state.profiles.worth_asking(direction).tolist())
            for name in graph.entities.names:
                ask = cases.ask if side == "tail" else _heads(cases)
                given = ask(name, relation, -1, known="exclude")
                new = [
                    answer
                    for answer in given
                    if answer.entity != name or relation in loops
                ]
                for place, answer in enumerate(new):
                    pair = (name, answer.entity)
                    head, tail = pair if side == "tail" else pair[::-1]
                    fact = (head, relation, tail)
                    scores[fact, side] = answer.score
                    found.setdefault(fact, {"probability": answer.probability})
                    if place < top and graph.entities.find(name) in worth_asking:
                        chosen.add(fact)
    for fact, record in found.items():
        record["tail_score"] = scores.get((fact, "tail"), 0.0)
        record["head_score"] = scores.get((fact, "head"), 0.0)
    return {fact: found[fact] for fact in chosen}


def _heads(cases: CaseBase) -> Any:
    def ask(name: str, relation: str, top: int, **options: Any) -> Any:
        return cases.ask_head(relation, name, top, **options)

    return ask


@example_settings(max_examples=30)
@given(
    fact_lists(least=1),
    fact_lists(most=4),
    some_settings(),
    st.sampled_from([1, 2, 100]),
    st.randoms(use_true_random=False),
)
def test_the_lines_are_the_first_new_answers_of_both_directions_each_pair_once(
    tmp_path_factory: pytest.TempPathFactory,
    facts: list[Fact],
    gone: list[Fact],
    settings: Settings,
    top: int,
    random: Random,
) -> None:
    cases = case_base(facts, settings)
    lived = case_base(shuffled(random, {*facts, *gone}), settings)
    lived.update(retract=set(gone) - set(facts))
    folder = tmp_path_factory.mktemp("complete")
    wanted = replace(ALL, top=top)
    written = lines(lived, wanted, folder)
    assert written == lines(cases, wanted, folder)
    assert written == sorted(written, key=order_of)

    expected = asked_one_by_one(cases, facts, top)
    assert len(written) == len(expected)
    for record in written:
        same = expected[fact_of(record)]
        assert record["tail_score"] == pytest.approx(same["tail_score"])
        assert record["head_score"] == pytest.approx(same["head_score"])
        assert record["probability"] == pytest.approx(
            same["probability"], abs=MILLIONTH
        )
        assert record["exact"]


@example_settings(max_examples=20)
@given(
    fact_lists(least=6, most=20),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.01, 0.05, 0.3]),
    st.sampled_from([None, 1, 4]),
)
def test_pairs_that_are_left_out_unscored_would_not_have_been_kept(
    tmp_path_factory: pytest.TempPathFactory,
    facts: list[Fact],
    top: int,
    least: float,
    best: int | None,
) -> None:
    cases = case_base(facts)
    folder = tmp_path_factory.mktemp("complete")
    every = lines(cases, replace(ALL, top=top), folder)
    wanted = replace(ALL, top=top, min_probability=least, best=best)
    expected = []
    for relation in sorted({record["relation"] for record in every}):
        probable = [
            record
            for record in every
            if record["relation"] == relation and record["probability"] >= least
        ]
        expected += probable[:best]
    assert lines(cases, wanted, folder) == expected


def test_what_is_kept_is_as_wanted(tmp_path: Path) -> None:
    cases = case_base(FACTS)
    every = lines(cases, ALL, tmp_path)

    def kept(**wanted: Any) -> list[dict[str, Any]]:
        return lines(cases, replace(ALL, **wanted), tmp_path)

    assert kept(relations=("r2", "r0")) == [
        record for record in every if record["relation"] in ("r0", "r2")
    ]
    some = ("e3", "e1", "e3")
    assert kept(heads=some) == [record for record in every if record["head"] in some]
    assert kept(tails=some) == [record for record in every if record["tail"] in some]
    assert kept(entities=some) == [
        record for record in every if {record["head"], record["tail"]} & set(some)
    ]
    assert kept(heads=some, tails=("e2",)) == [
        record for record in every if record["head"] in some and record["tail"] == "e2"
    ]
    having = {(head, relation) for head, relation, _ in FACTS}
    lacking = [
        record for record in every if (record["head"], record["relation"]) not in having
    ]
    assert 0 < len(lacking) < len(every)
    assert kept(lacking=True) == lacking
    middle = sorted(record["probability"] for record in every)[len(every) // 2]
    probable = [record for record in every if record["probability"] >= middle]
    assert 0 < len(probable) < len(every)
    assert kept(min_probability=middle) == probable


def test_only_candidates_are_proposed_and_what_is_excluded_never(
    tmp_path: Path,
) -> None:
    cases = case_base(FACTS)
    every = lines(cases, ALL, tmp_path)
    candidates = (("e1", "", "e2"), ("e3", "r1", "e4"), ("e5", "", "e1"), FACTS[0])

    def is_named(record: dict[str, Any]) -> bool:
        head, relation, tail = fact_of(record)
        return {(head, "", tail), (head, relation, tail)} & set(candidates) != set()

    named = [record for record in every if is_named(record)]
    assert named
    # All candidates are looked at, however few answers to a question are.
    wanted = replace(ALL, top=1)
    assert lines(cases, replace(wanted, candidates=candidates), tmp_path) == named
    others = [record for record in every if not is_named(record)]
    assert lines(cases, replace(ALL, exclude=candidates), tmp_path) == others


def test_what_is_excluded_makes_room_for_the_next(tmp_path: Path) -> None:
    cases = case_base(FACTS)
    wanted = Wanted(min_probability=0, top=1, relations=("r0",))
    seen = set[Fact]()
    for _ in range(3):
        found = lines(cases, replace(wanted, exclude=tuple(sorted(seen))), tmp_path)
        new = {fact_of(record) for record in found}
        assert new
        assert not new & seen
        seen |= new


def test_an_entity_is_proposed_at_most_so_often(tmp_path: Path) -> None:
    cases = case_base(FACTS)
    every = lines(cases, ALL, tmp_path)
    kept = lines(cases, replace(ALL, at_most=2), tmp_path)
    expected = []
    for relation in ("r0", "r1", "r2"):
        used = Counter[str]()
        for record in every:
            pair = {record["head"], record["tail"]}
            is_free = all(used[entity] < 2 for entity in pair)
            if record["relation"] == relation and is_free:
                used.update(pair)
                expected.append(record)
    assert kept == expected

    file = tmp_path / "out.jsonl"
    table = ProposalTable(cases, file, best=10, at_most=2)
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows()]
    total = Counter[str]()
    for row in rows:
        total.update({row["head"], row["tail"]})
    assert max(total.values()) == 2
    best = max(expected, key=worth_of)
    assert fact_of(rows[0]) == fact_of(best)


def test_the_best_are_the_most_believed_of_all_relations(tmp_path: Path) -> None:
    cases = case_base(FACTS)
    every = lines(cases, ALL, tmp_path)
    lines(cases, replace(ALL, best=7), tmp_path)
    table = ProposalTable(cases, tmp_path / "out.jsonl", best=7)
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows()]
    by_worth = sorted(every, key=lambda record: (-worth_of(record), order_of(record)))
    assert rows == by_worth[:7]
    assert table.concentration.proposed == 7


def test_a_table_of_the_best_has_labels_and_can_be_read_as_facts(
    tmp_path: Path,
) -> None:
    def proposal(tail: str, probability: float | None, score: float) -> str:
        scores = {"probability": probability, "tail_score": score, "head_score": 0.5}
        fact = {"head": "a", "relation": "r", "tail": tail}
        return json.dumps({**fact, **scores, "exact": True})

    cases = CaseBase()
    cases.update(add=[("a", "r", "b")], describe=[Description("b", "Bee")])
    given = [proposal("b", 0.2, 9.0), proposal("c", 0.9, 1.0), proposal("d", 0.9, 2.0)]
    (tmp_path / "lines").write_text("\n".join(given), encoding="utf-8")
    best = ProposalTable(cases, tmp_path / "lines", best=3)
    assert write_proposals(best, tmp_path / "best.csv", "csv") == 3
    with (tmp_path / "best.csv").open(encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["tail"] for row in table] == ["c", "d", "b"]
    assert list(table[0])[:4] == ["head_label", "relation_label", "tail_label", "head"]
    assert table[2]["tail_label"] == "Bee"
    assert next(read_facts(tmp_path / "best.csv")) == ("a", "r", "c")

    given = [proposal("b", None, 1.0), proposal("c", None, 2.0)]
    (tmp_path / "lines").write_text("\n".join(given), encoding="utf-8")
    best = ProposalTable(cases, tmp_path / "lines", best=1)
    write_proposals(best, tmp_path / "sums.csv", "csv")
    assert [fact.tail for fact in read_facts(tmp_path / "sums.csv")] == ["c"]


def test_the_reason_is_the_main_one_of_the_question(tmp_path: Path) -> None:
    cases = case_base(FACTS)
    explained = lines(cases, replace(ALL, top=1, explain=True), tmp_path)
    assert explained
    for record in explained:
        answer = better_explained(record)
        given = (
            cases.ask_head(record["relation"], record["tail"], -1)
            if answer.inverse
            else cases.ask(record["head"], record["relation"], -1)
        )
        best = next(other for other in given if other.entity == answer.entity)
        main_reason = cases.explain(best).main_reason
        assert main_reason is not None
        assert record["reason"] == main_reason.sentence


@pytest.mark.parametrize(
    ("head_score", "inverse"), [(0.0, False), (9.0, False), (11.0, True)]
)
def test_the_head_is_asked_about_unless_the_tail_says_much_more(
    head_score: float, inverse: bool
) -> None:
    scores = {"probability": 0.5, "tail_score": 1.0, "head_score": head_score}
    answer = better_explained({"head": "a", "relation": "r", "tail": "b", **scores})
    assert answer.inverse == inverse
    assert (answer.asked, answer.entity) == (("b", "a") if inverse else ("a", "b"))
    assert answer.score == (head_score if inverse else 1.0)


def test_tails_are_of_a_type(tmp_path: Path) -> None:
    cases = case_base(FACTS)
    cases.update(describe=[Description(name, types=("Rare",)) for name in ("e1", "e4")])
    rare = lines(cases, replace(ALL, of_type="Rare"), tmp_path)
    assert rare == lines(cases, replace(ALL, tails=("e4", "e1")), tmp_path)
    assert rare


def test_an_entity_is_not_proposed_as_its_own_unless_some_are(tmp_path: Path) -> None:
    facts = [(f"p{n}", "knows", f"p{n + 1}") for n in range(6)]
    facts += [(f"p{n}", "likes", "x") for n in range(6)]
    without = lines(case_base(facts), replace(ALL, relations=("knows",)), tmp_path)
    assert without
    assert all(record["head"] != record["tail"] for record in without)
    with_loops = [*facts, ("p1", "knows", "p1"), ("p2", "knows", "p2")]
    wanted = replace(ALL, relations=("knows",))
    found = lines(case_base(with_loops), wanted, tmp_path)
    assert any(record["head"] == record["tail"] for record in found)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [([], 0.0), ([3], 1.0), ([2, 2, 2], 3.0), ([0, 5, 5], 2.0), ([98, 1, 1], 1.1184)],
)
def test_the_effective_number_is_how_many_equals_are_as_spread_out(
    counts: list[int], expected: float
) -> None:
    assert effective_number(counts) == pytest.approx(expected, abs=1e-4)


def test_a_summary_says_how_concentrated_a_list_is() -> None:
    listed = [{"head": f"h{n}", "tail": "t" if n < 9 else "u"} for n in range(10)]
    words = "10 proposals: 10 heads (effectively 10.0), 2 tails (effectively 1.4)"
    assert str(Concentration.of(listed)) == words
    assert str(Concentration.of([])) == "0 proposals: 0 heads, 0 tails"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_lists, "QUESTIONS_AT_ONCE", 5)
    monkeypatch.setattr(pair_lists, "PAIRS_AT_ONCE", 7)
    monkeypatch.setattr(completion, "LINES_AT_ONCE", 3)


def test_the_sizes_of_tasks_change_nothing(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    wanted = Wanted(min_probability=0.001, top=2, best=20, explain=True)
    whole = lines(case_base(FACTS), wanted, tmp_path)
    request.getfixturevalue("small")
    assert lines(case_base(FACTS), wanted, tmp_path) == whole


@pytest.mark.usefixtures("small")
def test_a_file_cut_short_anywhere_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    cases = case_base(FACTS)
    wanted = Wanted(min_probability=0, top=1, best=2, relations=("r1", "r2"))
    done = complete(cases, file, wanted)
    whole = file.read_bytes()
    noted = beside(file).read_bytes()
    assert whole.count(b"\n") == 4
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
    """Breaks off after so many tasks."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.done = 0

    def each(
        self, cases: State, work: Work[Task, Result], tasks: Iterable[Task]
    ) -> Iterator[Result]:
        for result in super().each(cases, work, tasks):
            if self.done == self.after:
                raise KeyboardInterrupt
            self.done += 1
            yield result


@pytest.mark.usefixtures("small")
def test_no_relation_is_asked_about_twice_after_an_interruption(tmp_path: Path) -> None:
    cases = case_base(FACTS)
    counted = Interrupted(10_000)
    done = complete(cases, tmp_path / "whole", ALL, counted)
    of_first = Interrupted(10_000)
    complete(cases, tmp_path / "one", replace(ALL, relations=("r0",)), of_first)
    again = case_base(shuffled(Random(5), FACTS))
    # In the first relation, right after it, and in the second.
    for after in (1, of_first.done, of_first.done + 1):
        parts = tmp_path / f"parts {after}"
        with pytest.raises(KeyboardInterrupt):
            complete(cases, parts, ALL, Interrupted(after))
        second = Interrupted(10_000)
        assert complete(again, parts, ALL, second) == done
        finished = of_first.done if after >= of_first.done else 0
        assert second.done == counted.done - finished
        assert parts.read_bytes() == (tmp_path / "whole").read_bytes()
        assert complete(cases, parts, ALL, Interrupted(0)) == done


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
    arguments = ["complete", "world", "--min-probability", "0", "--out"]
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
        (FACTS, Settings(missing=0.2), ALL),
        (FACTS, Settings(), replace(ALL, top=99)),
        (FACTS, Settings(), replace(ALL, relations=("r0",))),
        (FACTS, Settings(), replace(ALL, exclude=(("e1", "", "e2"),))),
    ],
    ids=["facts", "settings", "missing", "top", "relations", "exclude"],
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
    "a head that is not there": (
        {"heads": ("who",)},
        UnknownName,
        "no entity is named 'who'",
    ),
    "a candidate that is not there": (
        {"candidates": (("e1", "r9", "e2"),)},
        UnknownName,
        "no relation is named 'r9'",
    ),
    "more than certain": (
        {"min_probability": 1.5},
        InvalidArgument,
        "min_probability is 1.5; expected from 0 to 1",
    ),
    "nothing to keep": ({"top": 0}, InvalidArgument, "top is 0; expected at least 1"),
    "never": ({"at_most": 0}, InvalidArgument, "at_most is 0; expected at least 1"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_wanted_is_refused(kind: str, tmp_path: Path) -> None:
    wanted, error, words = REFUSED[kind]
    with pytest.raises(error, match=words):
        complete(case_base(FACTS), tmp_path / "out", Wanted(**wanted))
    assert list(tmp_path.iterdir()) == []


def test_settings_without_belief_take_no_threshold(tmp_path: Path) -> None:
    cases = case_base(FACTS, Settings.paper("FB122"))
    with pytest.raises(InvalidArgument, match="these settings give no probability"):
        complete(cases, tmp_path / "out", Wanted())
    written = lines(cases, ALL, tmp_path)
    assert {record["probability"] for record in written} == {None}
    assert written == sorted(written, key=order_of)
    best = ProposalTable(cases, tmp_path / "out.jsonl", best=5)
    rows = [dict(zip(best.columns, row, strict=True)) for row in best.rows()]
    assert rows[0]["tail_score"] + rows[0]["head_score"] > 0
    assert list(map(worth_of, rows)) == sorted(map(worth_of, written))[:-6:-1]


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="cannot be written"):
        complete(case_base(FACTS), tmp_path / "nowhere" / "out", ALL)


def test_without_a_file_the_best_are_printed() -> None:
    shown = run("complete", "world", "--relations", "citizen of", "--lacking")
    assert shown.exit_code == 0, shown.stderr
    header, first, *others = shown.stdout.splitlines()
    assert header.split() == ["head", "relation", "tail", "probability", "reason"]
    assert "citizen of" in first
    assert len(others) == 19
    assert shown.stderr.startswith("casegraph: 20 proposals: 6 heads (effectively ")

    printed = records("complete", "world", "--best", "30", "--at-most", "1")
    probabilities = [record["probability"] for record in printed]
    assert probabilities == sorted(probabilities, reverse=True)
    named = [name for record in printed for name in (record["head"], record["tail"])]
    assert len(printed) == 30
    assert len(set(named)) == 60
    assert {"tail_score", "head_score", "exact", "reason", "precedents"} < set(
        printed[0]
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_facts(FACTS, "facts.tsv")
    return tmp_path


def proposals_of(*options: str) -> list[dict[str, Any]]:
    found = records("complete", "facts.tsv", "--best", "1000", *options)
    for record in found:
        del record["reason"], record["precedents"]
    return found


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("marked", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_files_of_names_and_pairs_are_read_as_files_of_facts_are(
    marked: str, end: str
) -> None:
    every = proposals_of()
    chosen = every[3]
    head, relation, tail = fact_of(chosen)

    def file(*rows: str) -> str:
        text = marked + end.join([*rows, "", ""])
        Path("given.tsv").write_bytes(text.encode())
        return "given.tsv"

    heads = proposals_of("--heads", file(head, "e1"))
    assert heads == [record for record in every if record["head"] in (head, "e1")]
    tails = proposals_of("--tails", file(tail))
    assert tails == [record for record in every if record["tail"] == tail]
    either = proposals_of("--entities", file(tail))
    assert either == [
        record for record in every if tail in (record["head"], record["tail"])
    ]
    pair = [
        record for record in every if (record["head"], record["tail"]) == (head, tail)
    ]
    assert proposals_of("--candidates", file(f"{head}\t{tail}")) == pair
    fact = file(f"{head}\t{relation}\t{tail}")
    assert proposals_of("--candidates", fact) == [chosen]
    assert proposals_of("--exclude", fact) == [
        record for record in every if record != chosen
    ]


@pytest.mark.usefixtures("here")
def test_proposals_that_were_written_before_can_be_excluded() -> None:
    proposing = ["complete", "facts.tsv", "--best", "5", "--out"]
    every = {fact_of(record) for record in proposals_of()}
    for ending in ("csv", "tsv", "jsonl"):
        assert run(*proposing, f"old.{ending}").exit_code == 0
        others = {
            fact_of(record) for record in proposals_of("--exclude", f"old.{ending}")
        }
        assert len(every - others) == 5


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "option", ["--heads", "--tails", "--entities", "--candidates", "--exclude"]
)
def test_a_file_that_names_nothing_is_refused(option: str) -> None:
    for content in ("", "\n\r\n"):
        Path("empty.tsv").write_text(content)
        refused = run("complete", "facts.tsv", option, "empty.tsv")
        assert_refused(refused, "empty.tsv: is empty")
    is_pairs = option in ("--candidates", "--exclude")
    Path("wrong.tsv").write_text("e1\te2\nwho\twhom\n" if is_pairs else "e1\nwho\n")
    told = run("complete", "facts.tsv", option, "wrong.tsv")
    assert told.exit_code == 0, told.stderr
    unknown = "2 names: 'who', 'whom'" if is_pairs else "1 name: 'who'"
    assert f"wrong.tsv: the graph does not have {unknown}\n" in told.stderr

    many = [f"who{number}" for number in range(5)]
    rows = [f"{name}\te1" for name in many] if is_pairs else many
    Path("wrong.tsv").write_text("\n".join(rows))
    refused = run("complete", "facts.tsv", option, "wrong.tsv")
    assert_refused(
        refused,
        "wrong.tsv: the graph has nothing of this: 'who0', 'who1', 'who2' and 2 more",
    )


@pytest.mark.usefixtures("here")
def test_a_line_that_is_no_name_or_pair_is_refused() -> None:
    Path("names.tsv").write_text("e1\ne2\te3\n")
    refused = run("complete", "facts.tsv", "--heads", "names.tsv")
    assert_refused(refused, "names.tsv:2: expected one name a line, found 2 fields")
    Path("pairs.tsv").write_text("e1\te2\ne3\tr1\te4\n")
    refused = run("complete", "facts.tsv", "--candidates", "pairs.tsv")
    assert_refused(refused, "pairs.tsv:2: expected 'head<TAB>tail' as before, found 3")
    Path("latin.tsv").write_bytes(b"caf\xe9\n")
    refused = run("complete", "facts.tsv", "--tails", "latin.tsv")
    assert_refused(refused, "latin.tsv:1: expected UTF-8")


@pytest.mark.usefixtures("here")
def test_one_direction_does_not_hide_what_the_other_shows() -> None:
    cases = case_base(list(world.facts()))
    for record in records("complete", "world", "--best", "40"):
        tails = cases.ask(record["head"], record["relation"], -1, known="exclude")
        heads = cases.ask_head(record["relation"], record["tail"], -1, known="exclude")
        of_tail = {answer.entity: answer.probability for answer in tails}
        of_head = {answer.entity: answer.probability for answer in heads}
        assert of_tail.get(record["tail"], record["probability"]) == pytest.approx(
            record["probability"], abs=MILLIONTH
        )
        assert of_head.get(record["head"], record["probability"]) == pytest.approx(
            record["probability"], abs=MILLIONTH
        )
