"""Files that an earlier casegraph wrote are opened, hold the same, and answer the same."""

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from tests.files_of_before.make import AWKWARD, FAMILY, said

from casegraph.answering.state import State
from casegraph.casebase import CaseBase
from casegraph.execution.shard_files import read_part
from casegraph.execution.shards import keep, with_hits
from casegraph.storage.store.checking import check, salvage
from casegraph.storage.store.store import CaseStore

FILES = Path(__file__).parent / "files_of_before"
EXPECTED: dict[str, Any] = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


def plain(value: object) -> Any:  # noqa: ANN401
    """A value as JSON gives it back."""
    return json.loads(json.dumps(value))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    copytree(FILES / "store", tmp_path / "store")
    return tmp_path / "store"


def test_a_store_of_before_says_the_same(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    reader = CaseStore.open(store, read_only=True)
    assert plain(said(reader)) == EXPECTED["store"]
    history = [[event.sequence, event.sign, event.fact] for event in reader.history()]
    assert plain(history) == EXPECTED["history"]
    assert not any(finding.damaged for finding in check(store))
    assert plain(salvage(store).facts) == EXPECTED["store"]["facts"]
    assert caplog.messages == []


def test_a_store_of_before_goes_on(store: Path) -> None:
    with CaseStore.open(store) as writer:
        assert plain(said(writer)) == EXPECTED["store"]
        writer.update(add=[("a", "new", "fact")])
        writer.compact()
    with CaseStore.open(store) as writer:
        writer.update(retract=[("a", "new", "fact")])
        assert plain(said(writer)) == EXPECTED["store"]
    assert CaseStore.open(store, as_of=1).sequence == 1


def test_a_case_file_of_before_says_the_same_and_is_saved_with_a_digest(tmp_path: Path) -> None:
    cases = CaseBase.load(FILES / "family.case")
    assert plain(said(cases)) == EXPECTED["case file"]
    assert sorted(cases.graph.facts()) == sorted(FAMILY + AWKWARD)
    assert cases.state.statistics.counted
    cases.save(tmp_path / "again.case")
    assert plain(said(CaseBase.load(tmp_path / "again.case"))) == EXPECTED["case file"]


def test_counts_of_before_are_those_of_the_facts() -> None:
    # Names that are no longer taken in, such as an empty one, come from the file only.
    saved = CaseBase.load(FILES / "family.case")
    state = State.of(saved.graph.copy(), saved.settings)
    cases = CaseBase(saved.settings)
    cases._start_with(state)
    assert not state.statistics.counted
    hits = read_part(FILES / "hits.npz")
    counts = read_part(FILES / "counts.npz")
    assert with_hits(cases.state, hits).statistics.longest == cases.settings.max_length
    keep(cases.state, counts)
    assert sorted(cases.state.statistics.counted) == list(range(cases.graph.directions))
    assert plain(said(cases)) == EXPECTED["case file"]
