"""What was counted of a file is kept and found again, and is never what another file would give."""

from pathlib import Path
from typing import Any

import pytest

from casegraph import CaseBase, world, write_facts
from casegraph.cli import counted_files, loader
from casegraph.cli.reader import Read
from casegraph.settings import Settings


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CASEGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(loader, "WORTH_KEEPING", 0.0)
    return tmp_path / "cache"


def kept(cache: Path) -> list[str]:
    return sorted(file.name for file in cache.glob("*"))


@pytest.fixture
def file(tmp_path: Path) -> str:
    write_facts(world.facts(), tmp_path / "facts.tsv")
    return str(tmp_path / "facts.tsv")


def test_the_second_question_finds_what_the_first_has_counted(
    cache: Path, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = loader.case_base(file, relation="spouse")
    assert len(kept(cache)) == 1

    def read_again(*given: Any) -> CaseBase:
        raise AssertionError

    monkeypatch.setattr(loader, "_read", read_again)
    second = loader.case_base(file, relation="spouse")
    assert second.ask("Marie Curie", "spouse") == first.ask("Marie Curie", "spouse")
    assert (
        second.state.statistics.counted.keys() == first.state.statistics.counted.keys()
    )
    loader.case_base(file, relation="born in")
    assert len(kept(cache)) == 1
    both = loader.case_base(file).state.statistics.counted
    assert len(both) > len(first.state.statistics.counted)


def test_another_file_setting_or_option_is_counted_anew(cache: Path, file: str) -> None:
    loader.case_base(file, relation="spouse")
    loader.case_base(file, Settings(max_length=2), relation="spouse")
    loader.case_base(file, relation="spouse", read=Read(None, {"header": False}))
    assert len(kept(cache)) == 3
    write_facts([*world.facts(), ("x", "spouse", "y")], file)
    assert ("x", "spouse", "y") in loader.case_base(file, relation="spouse").graph
    assert len(kept(cache)) == 4


def test_a_damaged_or_missing_cache_does_not_matter(cache: Path, file: str) -> None:
    expected = loader.case_base(file, relation="spouse").ask("Marie Curie", "spouse")
    (cache / kept(cache)[0]).write_bytes(b"damaged")
    assert (
        loader.case_base(file, relation="spouse").ask("Marie Curie", "spouse")
        == expected
    )


def test_only_so_many_are_kept(
    cache: Path, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted_files, "MOST_KEPT", 2)
    for length in (1, 2, 3):
        loader.case_base(file, Settings(max_length=length), relation="spouse")
    assert len(kept(cache)) == 2


def test_nothing_is_kept_if_that_is_wanted_or_was_quick(
    cache: Path, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "WORTH_KEEPING", 1000.0)
    loader.case_base(file, relation="spouse")
    monkeypatch.setattr(loader, "WORTH_KEEPING", 0.0)
    monkeypatch.setenv("CASEGRAPH_CACHE", "")
    loader.case_base(file, relation="spouse")
    loader.case_base("world", relation="spouse")
    assert kept(cache) == []
