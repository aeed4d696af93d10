"""How fast files become facts, facts become a graph, and names are found among many."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from casegraph import CaseBase, read_facts, write_facts
from casegraph.graph.graph import Graph

FACTS = 200_000
ENDINGS = ["tsv", "csv", "jsonl", "nt", "parquet"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    random = Random(0)
    facts = []
    for _ in range(FACTS):
        head, tail = random.randrange(40_000), random.randrange(40_000)
        relation = random.randrange(40)
        facts.append((f"http://e.org/{head}", f"http://e.org/r{relation}", f"http://e.org/{tail}"))
    for ending in ENDINGS:
        write_facts(facts, folder / f"facts.{ending}")
    return folder


@pytest.mark.parametrize("ending", ENDINGS)
def test_reading(benchmark: Any, files: Path, ending: str) -> None:  # noqa: ANN401
    def read() -> int:
        return sum(1 for _ in read_facts(files / f"facts.{ending}"))

    assert benchmark.pedantic(read, rounds=3) == FACTS
    benchmark.extra_info["facts_per_second"] = FACTS / benchmark.stats["min"]


@pytest.mark.parametrize("ending", ["tsv", "nt"])
def test_reading_into_a_graph(benchmark: Any, files: Path, ending: str) -> None:  # noqa: ANN401
    def load() -> int:
        return len(Graph.of(read_facts(files / f"facts.{ending}")))

    assert FACTS * 0.99 < benchmark.pedantic(load, rounds=3) <= FACTS
    benchmark.extra_info["facts_per_second"] = FACTS / benchmark.stats["min"]


@pytest.mark.parametrize("names", [10_000, 100_000, 1_000_000])
def test_search(benchmark: Any, names: int) -> None:  # noqa: ANN401
    cases = CaseBase()
    cases.update(add=[(f"entity number {n}", "r", f"entity number {n // 9}") for n in range(names)])
    cases.search("number")  # makes the text that is searched
    found = benchmark(cases.search, f"number {names - 1}")
    assert found[0].entity == f"entity number {names - 1}"
