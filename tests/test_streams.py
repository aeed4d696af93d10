"""Streams of changes become updates as they come; readers follow; others may write in between."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import run
from tests.saying import stored_facts

from casegraph import CaseStore, MalformedFact, ReadOnlyStore
from casegraph.cli.streams import batches_of
from casegraph.formats.reading import Reading

FACT = ("a", "r", "b")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with CaseStore.open(tmp_path / "store") as made:
        made.update(add=[FACT])
    return tmp_path / "store"


changes = st.lists(
    st.tuples(
        st.sampled_from("+-"),
        st.sampled_from("ab"),
        st.just("r"),
        st.sampled_from("ab"),
    )
)


@given(changes, st.integers(1, 4))
def test_batches_of_a_stream_do_what_each_line_would(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, ...]], every: int
) -> None:
    file = tmp_path_factory.mktemp("stream") / "changes.tsv"
    file.write_text("".join("\t".join(line) + "\n" for line in lines))
    expected: set[tuple[str, ...]] = set()
    for sign, *fact in lines:
        if sign == "+":
            expected.add(tuple(fact))
        else:
            expected.discard(tuple(fact))
    found: set[tuple[str, ...]] = set()
    for batch in batches_of(str(file), Reading(str(file)), every, None):
        assert 0 < batch.lines <= every
        found = (found - set(batch.retracted)) | set(batch.added)
    assert found == expected


def test_a_stream_is_written_in_updates_and_may_retract(store: Path) -> None:
    lines = "x\tr\ty\n+\tx\tr\tz\n-\ta\tr\tb\n+\tx\ts\tz\n-\tx\tr\ty\n"
    done = run("add", store, "-", "--every", "2", "--format", "tsv", given=lines)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[1].split("\t") == ["4", "3", "5"]
    assert stored_facts(store) == {("x", "r", "z"), ("x", "s", "z")}
    assert "update 3: 1 fact added, 1 fact retracted" in done.stderr


def test_what_came_before_a_bad_line_is_kept(store: Path) -> None:
    done = run("add", store, "-", "--every", "10", given="x\tr\ty\n*\ta\tr\tb\n")
    assert done.exit_code == 1
    assert "-:2: expected head<TAB>relation<TAB>tail" in done.stderr
    assert stored_facts(store) == {FACT, ("x", "r", "y")}
    skipped = run(
        "add", store, "-", "--every", "10", "--on-error", "skip", given="bad\nx\tr\tq\n"
    )
    assert skipped.exit_code == 0
    assert ("x", "r", "q") in stored_facts(store)


def test_a_line_does_not_wait_for_others_longer_than_it_should() -> None:
    reading, writing = os.pipe()
    with (
        os.fdopen(reading, "rb") as stream,
        os.fdopen(writing, "wb", buffering=0) as lines,
    ):
        found = batches_of(stream, Reading("stream"), None, 0.05)
        lines.write(b"a\tr\tb\n")
        assert next(found).added == [FACT]
        lines.write(b"-\ta\tr\tb\n")
        assert next(found).retracted == [FACT]
        lines.close()
        assert list(found) == []


def test_an_error_of_the_stream_comes_after_its_lines() -> None:
    stream = io.BytesIO(b"a\tr\tb\n\xff\n")
    found = batches_of(stream, Reading("stream"), 5, None)
    assert next(found).added == [FACT]
    with pytest.raises(MalformedFact, match="stream:2: expected UTF-8"):
        next(found)


def test_others_may_write_between_two_batches(store: Path) -> None:
    streaming = CaseStore.open(store)
    streaming.close()
    with CaseStore.open(store) as other:
        other.update(add=[("other", "r", "b")], retract=[FACT])
    streaming.reopen()
    assert ("other", "r", "b") in streaming.graph
    assert FACT not in streaming.graph
    streaming.update(add=[("mine", "r", "b")])
    streaming.reopen()  # it is open: nothing to do
    streaming.close()
    assert stored_facts(store) == {("other", "r", "b"), ("mine", "r", "b")}
    with pytest.raises(ReadOnlyStore):
        streaming.update(add=[FACT])


def test_a_store_can_be_reopened_after_its_history_was_forgotten(store: Path) -> None:
    streaming = CaseStore.open(store)
    streaming.close()
    with CaseStore.open(store) as other:
        other.update(add=[("other", "r", "b")])
        other.compact(forget_history=True)
    streaming.reopen()
    streaming.update(add=[("mine", "r", "b")])
    streaming.close()
    assert stored_facts(store) == {FACT, ("other", "r", "b"), ("mine", "r", "b")}


def test_a_reader_follows_when_it_is_refreshed(store: Path) -> None:
    reader = CaseStore.open(store, read_only=True)
    then = CaseStore.open(store, read_only=True, as_of=1)
    with CaseStore.open(store) as writer:
        writer.update(add=[("c", "r", "b")])
        assert ("c", "r", "b") not in reader.graph
        assert reader.refresh() == 1
        assert reader.sequence == 2
        assert ("c", "r", "b") in reader.graph
        for up_to_date in (reader, writer, then):
            assert up_to_date.refresh() == 0
        writer.update(retract=["a"])
        writer.compact(forget_history=True)
        assert reader.refresh() > 0
        assert set(reader.graph.facts()) == set(writer.graph.facts())
        assert len(list(reader.history())) == 1
    assert FACT in then.graph


def test_what_is_watched_can_be_given_to_another_store(
    store: Path, tmp_path: Path
) -> None:
    with CaseStore.open(store) as writer:
        writer.update(add=[("c", "r", "b")], retract=[FACT])
    watched = run("watch", store, "--since", "0", "--for", "0")
    assert watched.stdout == "+\ta\tr\tb\n-\ta\tr\tb\n+\tc\tr\tb\n"
    with CaseStore.open(tmp_path / "copy"):
        pass
    copied = run("add", tmp_path / "copy", "-", "--every", "100", given=watched.stdout)
    assert copied.exit_code == 0, copied.stderr
    assert stored_facts(tmp_path / "copy") == stored_facts(store)


def test_changes_are_seen_as_they_come(store: Path) -> None:
    def write() -> None:
        time.sleep(0.2)
        with CaseStore.open(store) as writer:
            writer.update(add=[("new", "r", "b")])

    thread = Thread(target=write)
    thread.start()
    watched = run("watch", store, "--for", "2")
    thread.join()
    assert watched.stdout == "+\tnew\tr\tb\n"


@pytest.mark.skipif(os.name == "nt", reason="interrupts are sent as signals of POSIX")
def test_an_interrupt_loses_nothing_that_was_acknowledged(store: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "casegraph",
        "add",
        str(store),
        "-",
        "--every",
        "1",
    ]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(b"x\tr\ty\n")
    process.stdin.flush()
    assert b"update 2" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.stdin.close()
    assert process.wait(timeout=20) in (0, 130)
    process.stderr.close()
    assert process.stdout is not None
    process.stdout.close()
    assert ("x", "r", "y") in stored_facts(store)
