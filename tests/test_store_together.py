"""Updates that are made together are those made one after the other, and are as safe."""

from __future__ import annotations

import os
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import Fact, fact_lists

from casegraph import CaseStore, disk
from casegraph.errors import (
    CasegraphError,
    MalformedFact,
    ReadOnlyStore,
    UnreadableFile,
)
from casegraph.storage.store.checking import check
from casegraph.storage.store.store import PlannedUpdate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from casegraph.answering.state import State

MALFORMED = PlannedUpdate(add=[("a", "b", "line\nend")])
wanted_updates = st.builds(
    PlannedUpdate, add=fact_lists(), retract=fact_lists()
) | st.just(MALFORMED)


def three(name: str) -> list[PlannedUpdate]:
    return [
        PlannedUpdate(add=[(f"{name} {number}", "is", "new")]) for number in range(3)
    ]


@settings(max_examples=30)
@given(st.lists(wanted_updates, max_size=6))
def test_updates_together_are_those_one_after_the_other(
    updates: list[PlannedUpdate],
) -> None:
    with TemporaryDirectory() as folder, CaseStore.open(f"{folder}/alone") as alone:
        with CaseStore.open(f"{folder}/together") as store:
            made = store.update_all(updates)
            for wanted, one in zip(updates, made, strict=True):
                if wanted is MALFORMED:
                    assert isinstance(one, MalformedFact)
                    continue
                assert not isinstance(one, CasegraphError)
                assert one.update == alone.update(wanted.add, wanted.retract)
                assert one.state.sequence == alone.sequence
            assert store.state.digest == alone.state.digest
            assert events_of(store) == events_of(alone)
        with CaseStore.open(f"{folder}/together", read_only=True) as found:
            assert found.state.digest == alone.state.digest


def events_of(store: CaseStore) -> list[tuple[int, str, Fact]]:
    """What happened, but for the times."""
    return [(event.sequence, event.sign, event.fact) for event in store.history()]


def test_questions_are_answered_from_updates_when_they_are_written_and_all_is_ready(
    tmp_path: Path,
) -> None:
    seen = []

    @contextmanager
    def meanwhile(state: State) -> Iterator[None]:
        seen.append((state.sequence, store.sequence))
        yield
        with CaseStore.open(tmp_path / "store", read_only=True) as on_disk:
            seen.append((on_disk.sequence, store.sequence))

    with CaseStore.open(tmp_path / "store") as store:
        store.update_all(three("x"), meanwhile)
        assert seen == [(3, 0), (3, 0)]
        assert store.sequence == 3
        store.update_all(three("x"), meanwhile)  # nothing is new, so nothing is written
        assert len(seen) == 2


def test_many_updates_are_flushed_as_often_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[None] = []
    with CaseStore.open(tmp_path / "store") as store:
        flush = os.fsync
        monkeypatch.setattr(os, "fsync", lambda file: flushed.append(flush(file)))
        store.update_all(three("x"))
    assert len(flushed) == 2


@pytest.mark.parametrize("complete", range(4))
def test_an_interrupt_leaves_the_updates_that_are_complete(
    complete: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with CaseStore.open(tmp_path / "store") as store:
        written: list[bytes] = []
        write = disk.write_all

        def interrupted(file: int, content: bytes) -> None:
            written.append(content)
            if len(written) == complete + 1:
                write(file, content[:-1])
                raise KeyboardInterrupt
            write(file, content)

        with monkeypatch.context() as patched:
            patched.setattr(disk, "write_all", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.update_all(three("x"))
        assert store.sequence == complete
        store.update_all(three("y"))  # memory and disk agree, so it goes on
        facts = set(store.graph.facts())
    kept = {fact.head for fact in facts if fact.head.startswith("x")}
    assert kept == {f"x {number}" for number in range(complete)}
    with CaseStore.open(tmp_path / "store", read_only=True) as found:
        assert set(found.graph.facts()) == facts
    assert not any(finding.damaged for finding in check(tmp_path / "store"))


def test_if_the_disk_fails_none_of_them_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: int) -> None:
        raise OSError(5, "input/output error")

    with CaseStore.open(tmp_path / "store") as store:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", failing)
            with pytest.raises(UnreadableFile):
                store.update_all(three("x"))
        assert store.sequence == 0
        with pytest.raises(ReadOnlyStore):
            store.update_all(three("y"))
