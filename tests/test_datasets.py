import gzip
from pathlib import Path

import pytest

from casegraph.errors import NotABenchmark
from casegraph.evaluation.datasets import DATASETS, Benchmark
from casegraph.folders import data_folders

DATA = next(
    (folder for folder in data_folders() if (folder / "WN18RR").is_dir()),
    Path("nowhere"),
)
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the benchmark data is not on this machine"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.txt").write_text("a\tr\tb\nb\tr\tc\n")
    (tmp_path / "valid.tsv").write_text("c\tr\td\n")
    (tmp_path / "test.txt.gz").write_bytes(gzip.compress(b"d\tr\te\n"))
    return tmp_path


def test_a_benchmark_has_the_splits_whose_files_are_there(folder: Path) -> None:
    benchmark = Benchmark.open(folder)
    assert list(benchmark.splits) == ["train", "valid", "test"]
    assert benchmark.folder == folder
    assert {split: len(list(benchmark.facts(split))) for split in benchmark.splits} == {
        "train": 2,
        "valid": 1,
        "test": 1,
    }


@pytest.mark.parametrize(
    "name",
    ["dev", "testI.txt", "testII.txt.gz", "graph.tsv", "full_graph.tsv.gz", "valid.gz"],
)
def test_a_split_may_have_any_ending(tmp_path: Path, name: str) -> None:
    fact = b"a\tr\tb\n"
    (tmp_path / "train").write_bytes(fact)
    (tmp_path / name).write_bytes(gzip.compress(fact) if name.endswith(".gz") else fact)
    assert list(
        Benchmark.open(str(tmp_path)).facts(name.split(".", maxsplit=1)[0])
    ) == [("a", "r", "b")]


@pytest.mark.parametrize(
    "name",
    [
        "entity_names.txt",
        "relation_names.txt.gz",
        "rules.txt",
        "test_negatives.txt",
        "train2id.txt",
        "test.csv",
    ],
)
def test_other_files_are_no_splits(folder: Path, name: str) -> None:
    (folder / name).write_text("not a fact\n")
    assert list(Benchmark.open(folder).splits) == ["train", "valid", "test"]


def test_a_folder_called_like_a_split_is_no_split(folder: Path) -> None:
    (folder / "dev").mkdir()
    assert "dev" not in Benchmark.open(folder).splits


def test_the_graph_to_answer_from_is_the_graph_where_there_is_one(folder: Path) -> None:
    assert Benchmark.open(folder).graph == "train"
    (folder / "graph.txt").write_text("a\tr\tb\n")
    assert Benchmark.open(folder).graph == "graph"


def test_a_graph_does_without_train(tmp_path: Path) -> None:
    (tmp_path / "graph.txt").write_text("a\tr\tb\n")
    assert Benchmark.open(tmp_path).splits == {"graph": tmp_path / "graph.txt"}


@pytest.mark.parametrize(
    ("name", "found"), [("nell", f"nothing ({DATASETS})"), ("train.txt", "a file")]
)
def test_what_is_no_folder_is_no_benchmark(name: str, found: str, folder: Path) -> None:
    place = folder / name
    with pytest.raises(NotABenchmark) as raised:
        Benchmark.open(place)
    assert (
        str(raised.value)
        == f"{place}: expected a folder with a train file, found {found}"
    )


EXPECTED = "expected a train file such as train.txt or train.tsv.gz, or a graph file"


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([], "an empty folder"),
        (["test.txt", "rules.txt"], "rules.txt, test.txt"),
        (
            [f"{letter}.txt" for letter in "gfedcba"],
            "a.txt, b.txt, c.txt, d.txt, e.txt and 2 more",
        ),
    ],
    ids=["empty", "only test", "many files"],
)
def test_a_folder_without_train_says_what_it_has(
    tmp_path: Path, names: list[str], found: str
) -> None:
    for name in names:
        (tmp_path / name).write_text("a\tr\tb\n")
    with pytest.raises(NotABenchmark) as raised:
        Benchmark.open(tmp_path)
    advice = "if they are files of facts, name them, not their folder"
    assert str(raised.value) == f"{tmp_path}: {EXPECTED}, found {found}; {advice}"


def test_a_split_that_is_missing_is_named_with_those_that_are_not(folder: Path) -> None:
    with pytest.raises(NotABenchmark) as raised:
        Benchmark.open(folder).facts("testI")
    assert (
        str(raised.value)
        == f"{folder}: expected a file for the split 'testI', found only train, valid, test"
    )


def test_two_files_for_one_split_are_refused(folder: Path) -> None:
    (folder / "train.tsv").write_text("a\tr\tb\n")
    with pytest.raises(NotABenchmark) as raised:
        Benchmark.open(folder)
    found = "found train.txt and train.tsv; remove all but one"
    assert (
        str(raised.value)
        == f"{folder}: expected one file for the split 'train', {found}"
    )


@needs_data
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("UMLS", {"train": 5216, "valid": 652, "test": 661}),
        ("Nations", {"train": 1592, "valid": 199, "test": 201}),
        ("WN18RR", {"train": 86835, "valid": 3034, "test": 3134}),
        (
            "FB122",
            {
                "train": 91638,
                "valid": 9595,
                "test": 11243,
                "testI": 5057,
                "testII": 6186,
            },
        ),
        ("CoDEx-S", {"train": 32888, "valid": 1827, "test": 1828}),
        ("LKGE-ENTITY/4", {"train": 28394, "valid": 9466, "test": 9466}),
        (
            "NELL-995/minerva",
            {
                "train": 8747,
                "test": 2818,
                "dev": 543,
                "graph": 149678,
                "full_graph": 154213,
            },
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_published_benchmarks_have_their_published_sizes(
    name: str, sizes: dict[str, int]
) -> None:
    benchmark = Benchmark.open(DATA / name)
    assert {
        split: sum(1 for _ in benchmark.facts(split)) for split in benchmark.splits
    } == sizes


@needs_data
def test_every_published_benchmark_folder_opens() -> None:
    folders = sorted({file.parent for file in DATA.rglob("train.txt.gz")})
    assert len(folders) > 20
    for folder in folders:
        assert {"train", "test"} <= set(Benchmark.open(folder).splits)


@needs_data
def test_minerva_answers_from_its_graph() -> None:
    assert Benchmark.open(DATA / "NELL-995" / "minerva").graph == "graph"
