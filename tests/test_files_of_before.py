"""Files that an earlier casegraph wrote are opened, hold the same, and answer the same."""

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from tests.files_of_before.make import AWKWARD, FAMILY, said

from casegraph.answering.state import State
from casegraph.casebase import CaseBase
from casegraph.errors import IncompatibleFile
from casegraph.execution.shard_files import read_part
from casegraph.storage.store.checking import check, salvage
from casegraph.storage.store.store import CaseStore

FILES = Path(__file__).parent / "files_of_before"
EXPECTED: dict[str, Any] = json.loads(
    (FILES / "expected.json").read_text(encoding="utf-8")
)


def plain(value: object) -> Any:
    """A value as JSON gives it back."""
    return json.loads(json.dumps(value))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    copytree(FILES / "store", tmp_path / "store")
    return tmp_path / "store"


def assert_holds(cases: CaseBase, facts: object) -> None:
    """It has these facts, and answers as a new case base with the same facts."""
    assert plain(sorted(cases.graph.facts())) == facts
    fresh = CaseBase()
    # Names that are no longer taken in, such as an empty one, come from the file only.
    fresh._start_with(State.of(cases.graph.copy(), fresh.settings))
    assert said(cases) == said(fresh)
    assert cases.settings == fresh.settings


def test_a_store_of_before_says_the_same(
    store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reader = CaseStore.open(store, read_only=True)
    assert_holds(reader, EXPECTED["store"]["facts"])
    history = [[event.sequence, event.sign, event.fact] for event in reader.history()]
    assert plain(history) == EXPECTED["history"]
    assert not any(finding.damaged for finding in check(store))
    assert plain(salvage(store).facts) == EXPECTED["store"]["facts"]
    assert caplog.messages == []


def test_a_store_of_before_goes_on(store: Path) -> None:
    with CaseStore.open(store) as writer:
        assert_holds(writer, EXPECTED["store"]["facts"])
        writer.update(add=[("a", "new", "fact")])
        writer.compact()
    with CaseStore.open(store) as writer:
        writer.update(retract=[("a", "new", "fact")])
        assert_holds(writer, EXPECTED["store"]["facts"])
    assert CaseStore.open(store, as_of=1).sequence == 1


def test_a_case_file_of_before_holds_the_same_and_is_saved_as_now(
    tmp_path: Path,
) -> None:
    cases = CaseBase.load(FILES / "family.case")
    assert sorted(cases.graph.facts()) == sorted(FAMILY + AWKWARD)
    # Hits are taken over.
    assert cases.state.statistics.longest == cases.settings.max_length
    # What paths reach is counted again, by slot.
    assert not cases.state.statistics.counted
    assert_holds(cases, EXPECTED["case file"]["facts"])
    cases.save(tmp_path / "again.case")
    assert_holds(CaseBase.load(tmp_path / "again.case"), EXPECTED["case file"]["facts"])


@pytest.mark.parametrize("name", ["hits.npz", "counts.npz"])
def test_counts_of_shards_of_before_are_refused(name: str) -> None:
    """They do not say which path types were walked, and are quickly counted again."""
    with pytest.raises(IncompatibleFile, match=r"has format 1, .* reads format 3"):
        read_part(FILES / name)
