"""A store is a case base that is still there when it is opened again;
and what its folder, lock and history promise.
"""

import copy
import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from random import Random
from shutil import copytree, rmtree
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st
from tests.saying import facts_of, stored_facts
from tests.strategies import (
    Fact,
    Step,
    histories,
    random_facts,
    some_settings,
    surviving,
)
from tests.test_store_faults import named_counts

from casegraph import disk
from casegraph.answering.state import Update
from casegraph.casebase import CaseBase
from casegraph.errors import (
    CasegraphError,
    DamagedStore,
    IncompatibleFile,
    InvalidArgument,
    ReadOnlyStore,
    StoreInUse,
    UnreadableFile,
)
from casegraph.graph.descriptions import Description
from casegraph.settings import Settings
from casegraph.similarity.clusters.assignment import depends_on_history
from casegraph.storage.store import generations, records, store
from casegraph.storage.store.checking import check, salvage
from casegraph.storage.store.log import LogWriter
from casegraph.storage.store.records import EncodedNames, Record
from casegraph.storage.store.restoring import read_log
from casegraph.storage.store.store import CaseStore
from casegraph.summary import summary

FACTS = random_facts(Random(5), entities=9, relations=3, facts=70)[:30]
NOTHING = np.empty((0, 3), dtype=np.int32)
PAPER = Settings.paper("WN18RR").but(max_length=3)


def built(facts: set[Fact] | list[Fact], settings: Settings | None = None) -> CaseBase:
    cases = CaseBase(settings)
    cases.update(add=sorted(facts))
    return cases


def said(cases: CaseBase) -> list[Any]:
    """Every fact, and the answers to questions about each."""
    facts = sorted(cases.graph.facts())
    asked = []
    for head, relation, tail in facts:
        asked.append(cases.ask(head, relation, top=-1))
        asked.append(cases.ask_head(relation, tail, top=-1))
    return [facts, asked]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with a generation, updates after it, and nobody who writes."""
    with CaseStore.open(tmp_path / "store") as made:
        made.update(add=FACTS[:10])
        made.compact()
        made.update(add=FACTS[10:20], retract=FACTS[:2])
        made.update(add=FACTS[20:])
    return tmp_path / "store"


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_store_opens_whose_only_fact_of_a_relation_came_and_went(
    tmp_path: Path,
) -> None:
    with CaseStore.open(tmp_path / "store") as made:
        made.update(add=[("a", "r", "b")])
        made.update(retract=[("a", "r", "b")])
    with CaseStore.open(tmp_path / "store") as again:
        assert list(again.graph.facts()) == []
        assert again.sequence == 2
        again.update(add=[("a", "r", "c")])
    assert stored_facts(tmp_path / "store") == {("a", "r", "c")}


def test_names_that_came_and_went_are_dropped_when_they_outnumber_the_others(
    tmp_path: Path,
) -> None:
    with CaseStore.open(tmp_path / "store") as made:
        made.update(add=[("a", "r", "b"), ("a", "r", "c")])
        passing = [(f"typing error {number}", "new", "b") for number in range(80)]
        made.update(add=passing)
        reader = CaseStore.open(tmp_path / "store", read_only=True)
        made.update(retract=passing)
        assert "typing error 0" in made.graph.entities
        expected = said(made)
        made.compact()
        assert set(made.graph.entities.names) == {"a", "b", "c"}
        assert said(made) == expected
        made.update(add=[("c", "another relation", "b")])
        reader.refresh()
        assert said(reader) == said(made)
    facts = {("a", "r", "b"), ("a", "r", "c"), ("c", "another relation", "b")}
    assert stored_facts(tmp_path / "store") == facts
    assert CaseStore.open(tmp_path / "store", as_of=2).sequence == 2
    assert not any(finding.damaged for finding in check(tmp_path / "store"))


@example_settings(max_examples=30)
@given(
    histories(),
    some_settings(),
    st.lists(st.sampled_from(["", "close", "ask", "compact", "forget"]), max_size=8),
)
def test_after_any_history_a_store_is_the_case_base_of_the_facts_that_survive(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[Step],
    settings: Settings,
    between: list[str],
) -> None:
    place = tmp_path_factory.mktemp("any") / "store"
    opened = CaseStore.open(place, settings)
    after_each = between + [""] * len(history)
    for (doing, named), then in zip(history, after_each, strict=False):
        opened.update(**{doing: named})  # type: ignore[arg-type]
        if then == "ask" and named and doing == "add":
            opened.ask(*named[0][:2])
        elif then in ("compact", "forget"):
            opened.compact(forget_history=then == "forget")
        elif then == "close":
            opened.close()
            opened = CaseStore.open(place)
    lived = said(opened)
    opened.close()
    fresh = built(surviving(history), settings)
    with CaseStore.open(place) as again:
        assert again.settings == settings
        assert said(again) == lived
        assert depends_on_history(settings) or said(again) == said(fresh)
        assert named_counts(again) == named_counts(fresh)
    assert not any(finding.damaged for finding in check(place))


@example_settings(max_examples=20)
@given(histories())
def test_a_store_can_be_opened_as_of_any_update(
    tmp_path_factory: pytest.TempPathFactory, history: list[Step]
) -> None:
    place = tmp_path_factory.mktemp("past") / "store"
    past = [set[Fact]()]
    with CaseStore.open(place) as opened:
        for number, (doing, named) in enumerate(history):
            before = opened.sequence
            opened.update(**{doing: named})  # type: ignore[arg-type]
            past += [set(opened.graph.facts())] * (opened.sequence - before)
            if number == 3:
                opened.compact()
    for sequence, facts in enumerate(past):
        then = CaseStore.open(place, as_of=sequence)
        assert set(then.graph.facts()) == facts
        assert then.sequence == sequence
    for wrong in (-1, len(past)):
        with pytest.raises(InvalidArgument, match="as_of is"):
            CaseStore.open(place, as_of=wrong)


@example_settings(max_examples=20)
@given(histories())
def test_the_history_says_at_which_update_every_fact_came_and_went(
    tmp_path_factory: pytest.TempPathFactory, history: list[Step]
) -> None:
    with CaseStore.open(tmp_path_factory.mktemp("history") / "store") as opened:
        for doing, named in history:
            opened.update(**{doing: named})  # type: ignore[arg-type]
        events = list(opened.history())
        facts = set[Fact]()
        for event in events:
            then = CaseStore.open(opened.folder, as_of=event.sequence)
            if event.sign == "+":
                assert event.fact not in facts
                assert event.fact in then.graph
                facts.add(event.fact)
            else:
                assert event.fact not in then.graph
                facts.remove(event.fact)
        assert facts == surviving(history)
        for since in range(opened.sequence + 1):
            later = [event for event in events if event.sequence > since]
            assert list(opened.history(since)) == later


def test_an_update_that_changes_nothing_has_no_number(folder: Path) -> None:
    with CaseStore.open(folder) as opened:
        assert opened.sequence == 3
        assert (
            opened.update(add=FACTS[20:21], retract=[("no", "such", "fact")]).repeated
            == 1
        )
        assert opened.update() == Update()
        assert opened.sequence == 3


def test_a_note_is_kept_with_its_update_and_changes_nothing_else(
    tmp_path: Path,
) -> None:
    fact = ("Einstein", "born in", "Ulm")

    def what_happened(store: CaseStore) -> list[tuple[int, str, Fact]]:
        return [(event.sequence, event.sign, event.fact) for event in store.history()]

    with (
        CaseStore.open(tmp_path / "noted") as noted,
        CaseStore.open(tmp_path / "plain") as plain,
    ):
        for store in (noted, plain):
            store.update(
                add=[fact], describe=[Description("Einstein", "Albert", ("Person",))]
            )
        noted.update(
            retract=[fact], note=lambda done: f"{done.retracted} went".encode()
        )
        plain.update(retract=[fact])
        noted.update(retract=[fact], note=lambda _: b"changes nothing")
        noted.update(add=[fact], note=lambda done: b"\0" * done.added)
        plain.update(add=[fact])
    with (
        CaseStore.open(tmp_path / "noted") as noted,
        CaseStore.open(tmp_path / "plain") as plain,
    ):
        noted.compact()
        assert list(noted.notes()) == [(2, b"1 went"), (3, b"\0")]
        assert list(plain.notes()) == []
        assert noted.state.digest == plain.state.digest
        assert what_happened(noted) == what_happened(plain)


def test_odd_names_are_kept(tmp_path: Path) -> None:
    odd = [
        ("\x85.", "ä⁻¹", "\x0b\0"),
        ("𝔸", " r ", "\u202e"),
        ("\ud800", "ä⁻¹", "x" * 100_000),
    ]
    for number, fact in enumerate(odd):
        with CaseStore.open(tmp_path / "store") as opened:
            opened.update(add=[fact])
            if number == 1:
                opened.compact()
    assert stored_facts(tmp_path / "store") == set(odd)


def test_a_second_writer_is_refused_and_told_who_writes(folder: Path) -> None:
    program = f"from casegraph import CaseStore; CaseStore.open({str(folder)!r})"
    with CaseStore.open(folder) as opened:
        refused = subprocess.run(
            [sys.executable, "-c", program], check=False, capture_output=True, text=True
        )
        message = refused.stderr.splitlines()[-1]
        assert (
            f"StoreInUse: {folder}: is being written by process {os.getpid()} ("
            in message
        )
        assert message.endswith("); wait for it or stop it")
        opened.update(add=[("still", "can", "write")])
    CaseStore.open(folder).close()


def test_a_process_that_already_writes_is_not_told_to_wait_for_itself(
    folder: Path,
) -> None:
    with CaseStore.open(folder):
        for place in (folder, folder.parent / "." / folder.name):
            with pytest.raises(StoreInUse) as raised:
                CaseStore.open(place)
            problem = "is already open for writing in this process; close it first"
            assert str(raised.value) == f"{place}: {problem}"
    CaseStore.open(folder).close()


def test_the_lock_of_a_process_that_was_killed_is_free(folder: Path) -> None:
    program = (
        "import os; from casegraph import CaseStore; "
        f"store = CaseStore.open({str(folder)!r}); os.abort()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True
    )
    assert done.returncode != 0
    CaseStore.open(folder).close()


def test_readers_see_the_state_they_opened_whatever_a_writer_does(folder: Path) -> None:
    with CaseStore.open(folder) as opened:
        readers = []
        for number, fact in enumerate(FACTS[:8]):
            readers.append((CaseStore.open(folder, read_only=True), said(opened)))
            opened.update(retract=[fact], add=[("new", "r0", fact[0])])
            if number % 3 == 0:
                opened.compact(forget_history=number == 3)
        for reader, expected in readers:
            assert said(reader) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_reader_finds_a_whole_state_at_any_time(folder: Path) -> None:
    program = f"""if True:
        from casegraph import CaseStore
        with CaseStore.open({str(folder)!r}) as store:
            print(flush=True)
            for number in range(60):
                store.update(add=[("a", "r0", f"b{{number}}"), ("c", "r1", f"b{{number}}")])
                if number % 10 == 5:
                    store.compact(forget_history=number % 20 == 5)
    """
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        seen = []
        while writer.poll() is None:
            facts = stored_facts(folder)
            first = {tail for head, _, tail in facts if head == "a"}
            second = {tail for head, _, tail in facts if head == "c"}
            assert first == second == {f"b{number}" for number in range(len(first))}
            seen.append(len(first))
    assert writer.returncode == 0
    assert seen
    assert seen == sorted(seen)


def test_reading_writes_nothing_even_where_it_could_not(folder: Path) -> None:
    before = contents(folder)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        reader = CaseStore.open(folder, read_only=True)
        reader.ask(*FACTS[5][:2])
        assert list(reader.history())
        assert summary(reader)
        assert check(folder)
        assert contents(folder) == before
    finally:
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755)


def test_a_store_that_is_open_for_reading_cannot_be_changed(folder: Path) -> None:
    reader = CaseStore.open(folder, read_only=True)
    for change in (lambda: reader.update(add=[("a", "new", "b")]), reader.compact):
        with pytest.raises(
            ReadOnlyStore,
            match="was opened for reading only; open it again for writing",
        ):
            change()
    assert "a" not in reader.graph.entities
    with CaseStore.open(folder) as opened:
        pass
    with pytest.raises(ReadOnlyStore, match="is closed; open it again"):
        opened.update(add=[("a", "new", "b")])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_cannot_write(folder: Path) -> None:
    program = f"""if True:
        import os
        from casegraph import CaseStore, ReadOnlyStore
        store = CaseStore.open({str(folder)!r})
        if os.fork() == 0:
            try:
                store.update(add=[("from", "the", "child")])
            except ReadOnlyStore as error:
                print(error, flush=True)
            os._exit(0)
        os.wait()
        store.update(add=[("from", "the", "parent")])
    """
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert "was opened for writing by another process" in done.stdout
    graph = CaseStore.open(folder, read_only=True).graph
    assert ("from", "the", "parent") in graph
    assert ("from", "the", "child") not in graph


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_process_can_open_again_what_it_closed_while_a_process_that_it_forked_goes_on(
    folder: Path,
) -> None:
    program = f"""if True:
        import os
        from casegraph import CaseStore
        store = CaseStore.open({str(folder)!r})
        wait, go = os.pipe()
        if os.fork() == 0:
            os.close(go)
            os.read(wait, 1)
            store.close()
            os._exit(0)
        store.close()
        again = CaseStore.open({str(folder)!r})
        os.close(go)
        os.wait()
        again.update(add=[("from", "the", "parent")])
        try:
            CaseStore.open({str(folder)!r})
        except Exception as error:
            print(type(error).__name__)
    """
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert ("from", "the", "parent") in CaseStore.open(folder, read_only=True).graph
    assert done.stdout == "StoreInUse\n", (
        "the forked process has let go of the lock of the other"
    )


def test_a_copy_that_does_not_know_the_last_update_writes_nothing(folder: Path) -> None:
    store = CaseStore.open(folder)
    older = copy.copy(store)
    store.update(add=[("an", "acknowledged", "update")])
    expected = facts_of(store)
    for change in (
        lambda: older.update(add=[("by", "the", "copy")]),
        older.compact,
        lambda: older.compact(forget_history=True),
    ):
        with pytest.raises(ReadOnlyStore, match="open it again"):
            change()
    assert ("by", "the", "copy") not in older.graph
    assert stored_facts(folder) == expected
    with CaseStore.open(folder) as again:
        assert facts_of(again) == expected
    assert not any(finding.damaged for finding in check(folder))


@pytest.mark.parametrize("happened", ["moved", "removed", "replaced"])
def test_nothing_is_acknowledged_by_a_store_whose_folder_is_not_there_any_more(
    happened: str, folder: Path
) -> None:
    store = CaseStore.open(folder)
    store.update(add=[("an", "acknowledged", "update")])
    expected = facts_of(store)
    elsewhere = folder.with_name("elsewhere")
    folder.rename(elsewhere)
    if happened == "removed":
        rmtree(elsewhere)
    elif happened == "replaced":
        copytree(elsewhere, folder)
    with pytest.raises(
        ReadOnlyStore, match="its log, which was moved or removed; open it again"
    ):
        store.update(add=[("kept", "by", "nobody")])
    with pytest.raises(ReadOnlyStore, match="open it again"):
        store.compact()
    assert facts_of(store) == expected
    if happened != "removed":
        place = folder if happened == "replaced" else elsewhere
        with CaseStore.open(place) as again:
            assert facts_of(again) == expected


@pytest.mark.parametrize("change", ["compact", "forget history", "close", "reopen"])
def test_what_shows_progress_or_brings_facts_cannot_change_the_store(
    change: str, folder: Path
) -> None:
    store = CaseStore.open(folder)
    expected = facts_of(store)
    told = list[CasegraphError]()

    def nested(*_: object, **__: object) -> None:
        try:
            if change in ("close", "reopen"):
                getattr(store, change)()
            else:
                store.update(add=[("by", "the", "callback")])
        except CasegraphError as error:
            told.append(error)

    def facts() -> Iterator[Fact]:
        nested()
        yield "outer", "r0", "fact"

    if change in ("compact", "forget history"):
        store.compact(nested, forget_history=change == "forget history")
    else:
        store.update(add=facts())
        expected = expected | {("outer", "r0", "fact")}
    assert told
    assert all("cannot be changed while it is changing" in str(error) for error in told)
    assert facts_of(store) == expected
    store.update(add=[("a", "later", "fact")])
    assert stored_facts(folder) == expected | {("a", "later", "fact")}


def test_settings_are_kept_and_those_given_hold_while_the_store_is_open(
    tmp_path: Path,
) -> None:
    with CaseStore.open(tmp_path / "store", PAPER) as opened:
        opened.update(add=FACTS)
        opened.compact()
        paper = said(opened)
    assert said(CaseStore.open(tmp_path / "store", read_only=True)) == paper
    other = CaseStore.open(tmp_path / "store", Settings(), read_only=True)
    assert said(other) == said(built(FACTS))
    with CaseStore.open(tmp_path / "store", Settings()) as opened:
        opened.compact()
    again = CaseStore.open(tmp_path / "store", read_only=True)
    assert again.settings == PAPER
    assert said(again) == paper


def test_counts_come_from_the_generation_and_are_made_anew_if_it_is_of_another_version(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with CaseStore.open(folder) as opened:
        opened.compact()
        expected = named_counts(opened)
    counted = CaseStore.open(folder, read_only=True)
    assert set(counted.state.statistics.counted) == set(range(counted.graph.directions))
    assert named_counts(counted) == expected
    monkeypatch.setattr(generations, "FORMAT", generations.FORMAT + 1)
    later = CaseStore.open(folder, read_only=True)
    assert later.state.statistics.counted == {}
    assert later.graph.directions > 0
    assert named_counts(later) == expected
    with CaseStore.open(folder) as opened:
        opened.compact()
    again = CaseStore.open(folder, read_only=True)
    assert set(again.state.statistics.counted) == set(range(later.graph.directions))


def test_a_writer_makes_a_generation_when_there_is_much_to_replay(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MOST_REPLAYED", 1)
    before = [path.name for path in generations.generation_paths(folder)]
    CaseStore.open(folder).close()
    after = [path.name for path in generations.generation_paths(folder)]
    assert before == ["generation-000001"]
    assert after == ["generation-000002"]


def test_an_unfinished_update_is_cut_off_and_reported(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = folder / "log-000000"
    whole = log.read_bytes()
    log.write_bytes(whole + whole[600:700])
    assert CaseStore.open(folder, read_only=True).torn == 100
    assert "100 bytes of an unfinished update, which the next writer cuts off" in str(
        check(folder)
    )
    assert ("bytes of an unfinished update", "", 100) in summary(
        CaseStore.open(folder, read_only=True)
    )
    assert log.stat().st_size == len(whole) + 100
    assert caplog.messages == []
    with CaseStore.open(folder) as opened:
        assert opened.torn == 100
    assert caplog.messages == [
        f"{folder}: cut off 100 bytes of an update that was not finished"
    ]
    assert log.read_bytes() == whole


def test_a_log_that_ends_before_what_was_acknowledged_is_refused(folder: Path) -> None:
    log = folder / "log-000000"
    log.write_bytes(log.read_bytes()[:-1])
    for read_only in (True, False):
        with pytest.raises(DamagedStore) as raised:
            CaseStore.open(folder, read_only=read_only)
        assert raised.value.file == str(log)
        problem = (
            "update 3 cannot be read, and 3 were acknowledged; run 'casegraph check'"
        )
        assert problem in str(raised.value)
    assert [finding.damaged for finding in check(folder)] == [False, True, False]
    facts, lost, _ = salvage(folder)
    assert set(facts) == set(FACTS[2:20])
    assert lost == ["update 3"]


def test_what_follows_a_damaged_update_is_saved(folder: Path, tmp_path: Path) -> None:
    CaseStore.open(tmp_path / "empty").close()
    in_the_first_update = (tmp_path / "empty" / "log-000000").stat().st_size + 50
    with CaseStore.open(folder) as opened:
        opened.update(add=[("x", "s", "y")])
    log = folder / "log-000000"
    generations.remove_others(folder, log)
    content = bytearray(log.read_bytes())
    content[in_the_first_update] ^= 1
    log.write_bytes(content)
    with pytest.raises(
        DamagedStore, match="update 1 cannot be read, and 4 were acknowledged"
    ) as raised:
        CaseStore.open(folder)
    assert raised.value.offset < in_the_first_update
    facts, lost, _ = salvage(folder)
    assert set(facts) == {*FACTS[10:], ("x", "s", "y")}
    assert lost == ["update 1"]


def test_an_update_of_another_history_is_not_taken_for_the_next(
    folder: Path, tmp_path: Path
) -> None:
    copytree(folder, tmp_path / "copy")
    log = folder / "log-000000"
    log_of_copy = tmp_path / "copy" / "log-000000"
    with CaseStore.open(folder) as opened:
        opened.update(add=[("original", "r0", "first")])
    with CaseStore.open(tmp_path / "copy") as opened:
        opened.update(add=[("copy", "r0", "first")])
        start_of_next = log_of_copy.stat().st_size
        opened.update(add=[("copy", "r0", "second")])
    with log.open("ab") as end_of_log:
        end_of_log.write(log_of_copy.read_bytes()[start_of_next:])
    with CaseStore.open(folder) as opened:
        assert opened.sequence == 4
        assert opened.torn > 0
        assert "copy" not in opened.graph.entities


def test_a_log_of_another_store_is_refused(folder: Path, tmp_path: Path) -> None:
    with CaseStore.open(tmp_path / "other") as other:
        other.update(add=FACTS)
    (folder / "log-000000").write_bytes(
        (tmp_path / "other" / "log-000000").read_bytes()
    )
    with pytest.raises(
        DamagedStore, match="it is of another store than 'acknowledged' beside it"
    ):
        CaseStore.open(folder)


@pytest.mark.parametrize("name", ["acknowledged", "log-000000"])
def test_a_file_that_is_missing_is_named(name: str, folder: Path) -> None:
    (folder / name).unlink()
    before = contents(folder)
    for read_only in (True, False):
        with pytest.raises(DamagedStore, match="it is missing") as raised:
            CaseStore.open(folder, read_only=read_only)
        assert raised.value.file == str(folder / name)
    assert any(finding.damaged for finding in check(folder))
    left = FACTS[2:] if name == "acknowledged" else FACTS[:10]
    assert set(salvage(folder).facts) == set(left)
    assert contents(folder).keys() - {folder / "lock"} == before.keys() - {
        folder / "lock"
    }


TWO_NAMES = EncodedNames.of(["e1", "e2"])
ONE_NAME = EncodedNames.of(["r"])
ODD = {
    "a tail that is not there": np.array([[0, 0, 2]]),
    "a head below zero": np.array([[-1, 0, 0]]),
    "a relation that is not there": np.array([[0, 1, 0]]),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("is_added", [False, True])
def test_a_record_without_the_names_of_its_facts_is_refused_however_whole_it_is(
    kind: str, is_added: bool, folder: Path
) -> None:
    retracted, added = (NOTHING, ODD[kind]) if is_added else (ODD[kind], NOTHING)
    with CaseStore.open(folder) as opened:
        record = Record(4, 0, TWO_NAMES, ONE_NAME, retracted, added)
        opened._checked_writer().append([record])
    with pytest.raises(DamagedStore, match="update 4 cannot be read"):
        CaseStore.open(folder)


@pytest.mark.parametrize("text", [b"5", b"[5]", b'[["a", "b", 5]]', b"[" * 100_000])
def test_descriptions_that_are_none_are_refused_however_whole_their_record_is(
    text: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "encoded_descriptions", lambda _: text)
    with CaseStore.open(folder) as opened:
        opened.update(describe=[Description("e1", "label")])
    with pytest.raises(DamagedStore):
        CaseStore.open(folder)
    assert any(finding.damaged for finding in check(folder))
    assert set(salvage(folder).facts) == set(FACTS[2:])


@pytest.mark.parametrize("as_of", ["2", 1.5, [1]])
def test_an_update_that_is_no_number_is_refused(as_of: object, folder: Path) -> None:
    with pytest.raises(InvalidArgument, match="expected the number of an update"):
        CaseStore.open(folder, as_of=as_of)  # type: ignore[arg-type]


@pytest.mark.parametrize(("size", "sequence"), [(-1, 1), (10**9, 1), (100, -1)])
def test_a_manifest_that_names_no_place_of_the_log_is_not_used(
    size: int, sequence: int, folder: Path
) -> None:
    path = folder / "generation-000001"
    text, _, _ = (path / "manifest").read_bytes().rpartition(b"\n")
    manifest = json.loads(text)
    store, start, *_ = manifest["of"]
    log = (folder / "log-000000").read_bytes()
    manifest["of"] = [store, start, sequence, size, records.digest(log[:size]).hex()]
    generations._write_manifest(path, manifest)
    assert stored_facts(folder) == set(FACTS[2:])
    with CaseStore.open(folder) as opened:
        opened.update(add=[("a", "later", "fact")])
    assert stored_facts(folder) == {*FACTS[2:], ("a", "later", "fact")}


def test_a_log_of_another_format_is_refused(folder: Path) -> None:
    content = bytearray((folder / "log-000000").read_bytes())
    content[14] = 9
    (folder / "log-000000").write_bytes(content)
    with pytest.raises(
        IncompatibleFile,
        match="has format 9, this casegraph reads format 2; update casegraph",
    ):
        CaseStore.open(folder)


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear reader", encoding="utf-8")
    with pytest.raises(
        IncompatibleFile, match="is neither a store nor empty; choose another folder"
    ):
        CaseStore.open(tmp_path)
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(
            UnreadableFile, match="is not a store; make one with 'casegraph build'"
        ):
            CaseStore.open(place, read_only=True)
    with pytest.raises(UnreadableFile, match="cannot be written"):
        CaseStore.open(tmp_path / "letter.txt")
    with pytest.raises(UnreadableFile, match="cannot be written"):
        CaseStore.open(tmp_path / "nowhere" / "deeper")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_forgetting_history_keeps_the_facts_and_no_other_name(folder: Path) -> None:
    with CaseStore.open(folder) as opened:
        opened.update(add=[("a secret", "r0", "told")])
        opened.update(retract=["a secret"])
        expected = said(opened)
        opened.compact(forget_history=True)
        assert said(opened) == expected
        assert opened.sequence == 6
        assert {event.sequence for event in opened.history()} == {6}
        opened.update(add=[("later", "r0", "fact")])
    assert not any(b"a secret" in content for content in contents(folder).values())
    assert said(CaseStore.open(folder, as_of=6)) == expected
    with pytest.raises(
        InvalidArgument, match="as_of is 5; expected an update from 6 to 7"
    ):
        CaseStore.open(folder, as_of=5)


def failing(
    call: str, number: int, error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let a call of the system fail from the n-th time on."""
    real = getattr(os, call)
    calls = 0

    def fail(*given: object) -> object:
        nonlocal calls
        calls += 1
        if calls >= number:
            raise OSError(error, os.strerror(error))
        return real(*given)

    monkeypatch.setattr(os, call, fail)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
@pytest.mark.parametrize(
    ("call", "number"), [("write", 1), ("write", 2), ("fsync", 1), ("fsync", 2)]
)
def test_a_write_that_fails_leaves_what_was_acknowledged_and_a_store_to_read(
    call: str, number: int, error: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with CaseStore.open(folder) as opened:
        before = said(opened)
        with monkeypatch.context() as patched:
            failing(call, number, error, patched)
            with pytest.raises(
                UnreadableFile,
                match=r"cannot be written \(.*\); .*, and open the store again",
            ):
                opened.update(add=[("a", "new", "fact")])
        assert said(opened) == before
        for change in (
            lambda: opened.update(add=[("b", "new", "fact")]),
            opened.compact,
        ):
            with pytest.raises(
                ReadOnlyStore,
                match="is read-only since it could not be written; open it again",
            ):
                change()
    with CaseStore.open(folder) as again:
        assert set(again.graph.facts()) - {("a", "new", "fact")} == set(before[0])
        again.update(add=[("b", "new", "fact")])
    assert not any(finding.damaged for finding in check(folder))


@pytest.mark.parametrize("change", ["update", "compact", "forget history", "tune"])
@pytest.mark.parametrize("by", ["open", "reopen"])
def test_after_a_failed_write_the_same_process_can_open_the_store_again(
    change: str, by: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = CaseStore.open(folder)
    changes: dict[str, Callable[[], object]] = {
        "update": lambda: opened.update(add=[("a", "new", "fact")]),
        "compact": opened.compact,
        "forget history": lambda: opened.compact(forget_history=True),
        "tune": opened.tune,
    }
    with monkeypatch.context() as patched:
        failing("fsync", 1, errno.ENOSPC, patched)
        with pytest.raises(UnreadableFile, match="open the store again"):
            changes[change]()
    assert not opened.is_writable
    if by == "reopen":
        opened.reopen()
        again = opened
    else:
        again = CaseStore.open(folder)
    again.update(add=[("b", "new", "fact")])
    expected = facts_of(again)
    assert ("b", "new", "fact") in expected
    again.close()
    assert stored_facts(folder) == expected


@pytest.mark.parametrize(
    ("call", "number"),
    [
        ("write", 1),
        ("write", 2),
        ("fsync", 1),
        ("fsync", 2),
        ("mkdir", 1),
        ("rename", 1),
    ],
)
def test_a_generation_that_cannot_be_written_changes_nothing(
    call: str, number: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with CaseStore.open(folder) as opened, monkeypatch.context() as patched:
        before = said(opened)
        failing(call, number, errno.ENOSPC, patched)
        with pytest.raises(
            UnreadableFile, match=r"generation.new: .*no space left on dev"
        ):
            opened.compact()
        assert not (folder / generations.UNFINISHED).exists()
    with CaseStore.open(folder) as again:
        assert said(again) == before
        again.compact()
    assert not any(finding.damaged for finding in check(folder))


def test_damage_to_a_generation_is_told_and_costs_only_time(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = said(CaseStore.open(folder, read_only=True))
    (folder / "generation-000001" / "edge_tails.npy").write_bytes(b"nothing")
    assert said(CaseStore.open(folder, read_only=True)) == expected
    assert "edge_tails.npy is not as it was written" in caplog.text
    assert [finding.damaged for finding in check(folder)] == [False, False, True]
    with CaseStore.open(folder) as opened:
        opened.compact()
    caplog.clear()
    assert said(CaseStore.open(folder, read_only=True)) == expected
    assert caplog.messages == []


def test_a_store_of_an_earlier_version_is_refused_with_what_to_do(
    folder: Path,
) -> None:
    log = folder / "log-000000"
    log.write_bytes(log.read_bytes().replace(b"log\n\2\0", b"log\n\1\0", 1))
    advice = (
        "has format 1, this casegraph reads format 2; 'casegraph export' with the version "
        "that wrote it, then 'casegraph build' with this one"
    )
    with pytest.raises(IncompatibleFile, match=advice):
        CaseStore.open(folder)


def test_a_manifest_that_was_changed_is_not_believed(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manifest = folder / "generation-000001" / "manifest"
    changed = manifest.read_bytes().replace(b", 0, 1, ", b", 0, 3, ")
    assert changed != manifest.read_bytes()
    manifest.write_bytes(changed)
    assert stored_facts(folder) == set(FACTS[2:])
    assert "manifest is not as it was written" in caplog.text


def test_a_generation_that_says_something_else_than_the_log_is_found_by_check(
    folder: Path, tmp_path: Path
) -> None:
    with CaseStore.open(folder) as opened:
        opened.compact()
        position = opened._checked_writer().position
        generations.write(folder, built(FACTS[:3]).state, position)
    assert "with other facts than the log has" in str(check(folder))


def test_a_file_missing_from_a_generation_is_told_and_found_by_check(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("edge_tails.npy", "manifest"):
        (folder / "generation-000001" / name).unlink()
        caplog.clear()
        assert stored_facts(folder) == set(FACTS[2:])
        assert (
            f"generation-000001: is damaged ({name} is missing), so it is not used"
            in caplog.text
        )
        assert [finding.damaged for finding in check(folder)] == [False, False, True]
    with CaseStore.open(folder) as opened:
        opened.compact()
    caplog.clear()
    assert stored_facts(folder) == set(FACTS[2:])
    assert caplog.messages == []


def test_a_generation_that_another_process_removes_meanwhile_is_no_damage(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = disk.read_file

    def removed(path: Path, *given: int) -> bytes:
        rmtree(folder / "generation-000001", ignore_errors=True)
        return real(path, *given)

    monkeypatch.setattr(generations, "read_file", removed)
    assert stored_facts(folder) == set(FACTS[2:])
    assert caplog.messages == []


REMAINS: dict[str, Callable[[Path], object]] = {
    "a damaged log": lambda folder: (folder / "log-000000").write_bytes(b"damaged"),
    "a log without its first byte": lambda folder: (folder / "log-000000").write_bytes(
        (folder / "log-000000").read_bytes()[1:]
    ),
    "an empty log": lambda folder: (folder / "log-000000").write_bytes(b""),
    "only the beginning of a log": lambda folder: os.truncate(
        folder / "log-000000", read_log(folder).first.size
    ),
    "no log": lambda folder: (folder / "log-000000").unlink(),
}


@pytest.mark.parametrize(
    ("kind", "lock"),
    # Without either, an empty folder is left, which is not known to have been a store.
    [
        pair
        for pair in product(REMAINS, ["lock", "no lock"])
        if pair != ("no log", "no lock")
    ],
)
def test_a_store_that_has_lost_what_was_acknowledged_is_never_made_anew(
    kind: str, lock: str, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    with CaseStore.open(store) as opened:
        opened.update(add=FACTS[:2])
    REMAINS[kind](store)
    (store / "acknowledged").unlink()
    if lock == "no lock":
        (store / "lock").unlink()
    before = contents(store)
    for read_only in (False, True):
        with pytest.raises(
            DamagedStore, match="acknowledged: is damaged at byte 0: it is missing"
        ):
            CaseStore.open(store, read_only=read_only)
    assert any(finding.damaged for finding in check(store))
    assert contents(store) == before


def test_a_lock_of_something_else_is_not_taken_for_an_empty_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / "lock").write_bytes(b"process 7 (casegraph build)")
    with pytest.raises(IncompatibleFile, match="is neither a store nor empty"):
        CaseStore.open(tmp_path)
    assert contents(tmp_path) == {tmp_path / "lock": b"process 7 (casegraph build)"}


@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace"])
def test_making_a_store_that_was_interrupted_is_begun_again(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = 0
    for number in range(1, 12):
        place = tmp_path / str(number)
        with monkeypatch.context() as patched:
            failing(call, number, errno.EIO, patched)
            try:
                CaseStore.open(place).close()
            except UnreadableFile:
                failures += 1
        with CaseStore.open(place) as opened:
            opened.update(add=FACTS[:2])
        assert stored_facts(place) == set(FACTS[:2])
    assert failures > 1


class Interrupts:
    """Raises KeyboardInterrupt at the n-th line or step of the interpreter within some files."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.steps = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if Path(frame.f_code.co_filename).name not in (
            "log.py",
            "disk.py",
            "contextlib.py",
        ):
            return self
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.steps += 1
            if self.steps == self.at:
                raise KeyboardInterrupt
        return self


def appended(writer: LogWriter, record: Record, interrupts: Interrupts) -> bool:
    """Whether a record was appended without an interrupt."""
    before = sys.gettrace()
    sys.settrace(interrupts)
    try:
        writer.append([record])
    except KeyboardInterrupt:
        return False
    finally:
        sys.settrace(before)
    return True


def test_an_interrupt_at_any_step_of_writing_never_lets_a_later_write_go_over_it(
    folder: Path,
) -> None:
    log = folder / "log-000000"
    at = 1
    step = 1 if os.environ.get("CASEGRAPH_DEEP") == "1" else 7
    refused = 0
    while True:
        with CaseStore.open(folder) as opened:
            writer = opened._checked_writer()
            before = log.read_bytes()
            number = opened.sequence + 1
            names = EncodedNames.of([f"n{at}"])
            record = Record(number, 0, names, EncodedNames.of(), NOTHING, NOTHING)
            is_done = appended(writer, record, Interrupts(at))
            after = log.read_bytes()
            assert after.startswith(before)
            try:
                writer.check()
                assert (len(after) > len(before)) == (
                    writer.position.sequence == number
                )
            except ReadOnlyStore as error:
                refused += 1
                advice = "was interrupted while it was being written; open it again"
                assert str(error).endswith(advice)  # noqa: PT017
                with pytest.raises(ReadOnlyStore):
                    writer.append([record])
                assert log.read_bytes() == after
        if is_done:
            break
        at += step
    assert refused > 20
    assert not any(finding.damaged for finding in check(folder))


def update_twice(opened: CaseStore, number: int) -> None:
    for fact in FACTS[:2]:
        opened.update(add=[(fact[0], "new", f"{fact[2]} {number}")])


def test_after_a_flush_that_failed_nothing_is_tried_again_on_the_same_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 4):
        flushed = list[int]()
        with CaseStore.open(folder) as opened, monkeypatch.context() as patched:

            def fail(
                file: int, number: int = number, flushed: list[int] = flushed
            ) -> None:
                flushed.append(file)
                if len(flushed) >= number:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))

            patched.setattr(os, "fsync", fail)
            with pytest.raises(UnreadableFile):
                update_twice(opened, number)
            for change in (
                lambda: opened.update(add=[("b", "new", "fact")]),
                opened.compact,
            ):
                with pytest.raises(ReadOnlyStore):
                    change()
            assert len(flushed) == number
    assert not any(finding.damaged for finding in check(folder))


EXHAUSTED = """if True:
    import resource, sys
    from casegraph import CaseBase, CaseStore, CasegraphError
    store, case_file, doing, room = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    more = [(f"x{number}", "r0", f"y{number}") for number in range(20_000)]
    opened = CaseStore.open(store) if doing in ("update", "compact") else None
    cases = CaseBase.load(case_file) if doing == "save" else None
    if doing == "compact":
        opened.prepare()
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + room, taken + room))
    try:
        if doing == "open":
            CaseStore.open(store)
        elif doing == "load":
            CaseBase.load(case_file)
        elif doing == "update":
            opened.update(add=more)
        elif doing == "compact":
            opened.compact()
        else:
            cases.save(case_file)
        print("done")
    except (MemoryError, CasegraphError) as error:
        print("refused")
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="memory is limited in another way on this system"
)
@pytest.mark.parametrize("doing", ["open", "load", "update", "compact", "save"])
def test_without_memory_nothing_on_disk_is_lost(doing: str, tmp_path: Path) -> None:
    facts = [
        (f"e{number % 5000}", f"r{number % 7}", f"e{number * 7 % 5003}")
        for number in range(20_000)
    ]
    with CaseStore.open(tmp_path / "store", Settings(max_length=1)) as opened:
        opened.update(add=facts)
        opened.save(tmp_path / "x.case")
    files = [str(tmp_path / "store"), str(tmp_path / "x.case")]
    outcomes = set()
    for room in (0, 100_000, 1_000_000, 3_000_000, 1 << 30):
        command = [sys.executable, "-c", EXHAUSTED, *files, doing, str(room)]
        outcomes.add(_outcome(command))
        assert set(facts) <= stored_facts(tmp_path / "store")
        assert set(CaseBase.load(tmp_path / "x.case").graph.facts()) == set(facts)
    # Saving and compacting may do with the memory that loading and counting have left.
    expected = {"done"} if doing in ("save", "compact") else {"done", "refused"}
    assert expected <= outcomes <= {"done", "refused", "crashed"}
    assert not any(finding.damaged for finding in check(tmp_path / "store"))


def _outcome(command: list[str]) -> str:
    """What a process with little memory printed, or "crashed".

    Without memory for its buffers, NumPy 2.4 now and then crashes while it indexes, and CPython
    3.11 unwinds one exception for ever. Neither is ours to mend: the disk has to bear both.
    """
    environment = {**os.environ, "CASEGRAPH_THREADS": "1"}
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
        )
    except subprocess.TimeoutExpired:
        return "crashed"
    if done.returncode == -signal.SIGSEGV:
        return "crashed"
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="mapped files are read from /proc")
def test_a_store_that_was_read_keeps_no_file_of_it_mapped_or_open(folder: Path) -> None:
    reader = CaseStore.open(folder, read_only=True)
    assert str(folder) not in Path("/proc/self/maps").read_text(encoding="utf-8")
    assert not any(file.is_relative_to(folder) for file in open_files())
    reader.ask(*FACTS[5][:2])


@pytest.mark.parametrize("mapped_from", [1, disk.MAPPED], ids=["mapped", "read"])
def test_a_reader_that_was_closed_still_answers_and_changes_nothing(
    mapped_from: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "MAPPED", mapped_from)
    reader = CaseStore.open(folder, read_only=True)
    expected = said(reader)
    reader.close()
    reader.close()  # once more does no harm
    with CaseStore.open(folder) as opened:
        opened.update(add=[("somebody", "new", "else")])
        opened.compact(forget_history=True)
    assert said(reader) == expected
    with pytest.raises(ReadOnlyStore, match="open it again"):
        reader.update(add=[("by", "the", "reader")])
    assert reader.refresh() > 0
    assert ("somebody", "new", "else") in reader.graph


def test_a_store_that_is_mapped_answers_when_another_process_has_replaced_its_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "MAPPED", 1)
    with CaseStore.open(folder) as opened:
        opened.compact()
    expected = said(CaseStore.open(folder, read_only=True))
    reader = CaseStore.open(folder, read_only=True)
    with CaseStore.open(folder) as opened:
        opened.update(add=[("somebody", "new", "else")])
        opened.compact(forget_history=True)
    assert said(reader) == expected
    assert said(CaseStore.open(folder, read_only=True)) != expected


def open_files() -> list[Path]:
    found = []
    for opened in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(opened.readlink())
    return found
