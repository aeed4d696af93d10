"""Data sets by name: the table is true of the files at hand,
and they are found in the order promised.
"""

import gzip
import json
import re
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.test_datasets import DATA, needs_data

from casegraph.cli import cli
from casegraph.errors import NotABenchmark, UnknownName
from casegraph.evaluation.catalogue import (
    catalogue,
    dataset,
    find,
    located,
)
from casegraph.evaluation.datasets import SPLITS, Benchmark
from casegraph.folders import cache_folder, data_folders, download_folder


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The places to look, empty: the folder we are in, CASEGRAPH_DATA, the cache."""
    found = {name: tmp_path / name for name in ("here", "chosen", "home")}
    for folder in found.values():
        folder.mkdir()
    monkeypatch.chdir(found["here"])
    monkeypatch.setenv("CASEGRAPH_DATA", str(found["chosen"]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(found["home"]))
    monkeypatch.setenv("LOCALAPPDATA", str(found["home"]))
    monkeypatch.setenv("HOME", str(found["home"]))
    return found


def put(folder: Path, name: str) -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "train.txt").write_text("a\tr\tb\n")
    (folder / name / "test.txt").write_text("a\tr\tb\n")
    return folder / name


def test_every_address_is_https_and_every_file_is_a_split() -> None:
    names = []
    for data in catalogue().values():
        assert data.facts > 0
        assert data.content
        assert data.source
        for file in data.files:
            names.append((data.name, file.name))
            assert file.url.startswith("https://")
            assert file.name.removesuffix(".txt") in SPLITS
            assert re.fullmatch("[0-9a-f]{64}", file.sha256)
    assert len(names) == len(set(names)) > 50


def test_a_data_set_that_cannot_be_downloaded_says_why() -> None:
    assert dataset("Hetionet-part").files == ()
    assert "published nowhere" in dataset("Hetionet-part").source


@pytest.mark.skipif(
    not (DATA / "README.md").is_file(),
    reason="the files that the table was made from are not here",
)
def test_the_catalogue_is_true_of_the_files_at_hand() -> None:
    readme = (DATA / "README.md").read_text()
    for data in catalogue().values():
        splits = Benchmark.open(DATA / data.name).splits
        for file in data.files:
            split = splits[file.name.removesuffix(".txt")]
            assert isinstance(split, Path)
            packed = split.read_bytes()
            content = gzip.decompress(packed)
            assert sha256(packed).hexdigest() in readme
            assert len(content) == file.size
            assert sha256(content).hexdigest() == file.sha256


@needs_data
@pytest.mark.parametrize(
    "name", ["UMLS", "Nations", "Countries-S2", "GraIL/nell_v1_ind"]
)
def test_the_catalogue_counts_what_is_there(name: str) -> None:
    benchmark = Benchmark.open(DATA / name)
    facts = {fact for split in benchmark.splits for fact in benchmark.facts(split)}
    entities = {entity for head, _, tail in facts for entity in (head, tail)}
    relations = {relation for _, relation, _ in facts}
    data = dataset(name)
    assert len(facts) == data.facts
    assert len(entities) == data.entities
    assert len(relations) == data.relations


def test_a_data_set_is_looked_for_in_the_order_promised(
    places: dict[str, Path],
) -> None:
    assert find("UMLS") is None
    for folder in (cache_folder() / "data", places["chosen"]):
        assert (
            located(put(folder, "UMLS").relative_to(folder))
            == find("UMLS")
            == folder / "UMLS"
        )
    put(places["here"], "UMLS")
    assert located("UMLS") == Path("UMLS")


def test_downloads_go_where_the_variable_says_else_to_the_cache(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert download_folder() == places["chosen"]
    assert data_folders() == [places["chosen"], cache_folder() / "data"]
    monkeypatch.delenv("CASEGRAPH_DATA")
    assert download_folder() == cache_folder() / "data"
    assert cache_folder().is_relative_to(places["home"])


def test_a_data_set_that_is_not_there_says_how_to_get_it(
    places: dict[str, Path],
) -> None:
    with pytest.raises(
        NotABenchmark, match="fetch it with 'casegraph datasets fetch GraIL/fb237_v1'"
    ):
        located("GraIL/fb237_v1")
    with pytest.raises(
        NotABenchmark, match="put it into a folder, and name that in CASEGRAPH_DATA"
    ):
        located("Hetionet-part")


def test_what_is_no_data_set_is_a_path(places: dict[str, Path]) -> None:
    assert located("some/folder") == Path("some/folder")
    with pytest.raises(
        UnknownName, match="no data set is named 'WN18R'; did you mean 'WN18RR'"
    ):
        dataset("WN18R")


def test_evaluate_finds_a_data_set_by_name(places: dict[str, Path]) -> None:
    put(places["chosen"], "UMLS")
    result = CliRunner().invoke(cli, ["evaluate", "UMLS", "--format", "json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["benchmark"] == "UMLS"


def test_data_sets_are_listed_with_where_they_are(places: dict[str, Path]) -> None:
    put(places["chosen"], "UMLS")
    result = CliRunner().invoke(cli, ["datasets", "--format", "json"])
    listed = {row["name"]: row for row in json.loads(result.stdout)}
    assert list(listed) == list(catalogue())
    assert listed["UMLS"]["found"] == str(places["chosen"] / "UMLS")
    assert listed["Nations"]["found"] is None
    assert listed["Nations"]["download"]
    assert not listed["Hetionet-part"]["download"]
