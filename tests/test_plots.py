"""Pictures of experiments, and experiments on facts that a program holds."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.commands import assert_refused, run

from casegraph import Benchmark, NotABenchmark, evaluate, write_facts
from casegraph.evaluation.plots import (
    FURTHEST_RANK,
    MOST_RELATIONS,
    Bar,
    Bin,
    picture,
    ranks_panel,
    relations_panel,
    reliability_panel,
)
from casegraph.graph.facts import Fact

SVG = "{http://www.w3.org/2000/svg}"


def people(number: int = 60) -> dict[str, Any]:
    """Who was born somewhere lives there."""
    born = [Fact(f"person {n}", "born in", f"city {n % 3}") for n in range(number)]
    live = [Fact(f"person {n}", "lives <in>", f"city {n % 3}") for n in range(number)]
    return {"train": born + live[6:], "valid": live[:3], "test": live[3:6]}


def test_every_panel_is_xml_whatever_the_names_are() -> None:
    bars = [Bar(f'<r{n}>&"' * 9, n, n / 99) for n in range(99)]
    panels = [
        relations_panel(bars),
        ranks_panel(np.array([1.0, 2.5, 40.0, 1e6])),
        reliability_panel([Bin(3, 0.2, 0.5), Bin(1, 0.9, 1.0)], 0.3),
    ]
    tree = ElementTree.fromstring(picture(panels))
    titles = [title.text for title in tree.iter(f"{SVG}title")]
    assert len(list(tree.iter(f"{SVG}rect"))) == MOST_RELATIONS + 1  # and the ground
    assert titles[0] == f"{bars[-1].name}: MRR {bars[-1].mrr:.4f}, 98 questions"
    assert len(list(tree.iter(f"{SVG}circle"))) == 2


def test_the_line_of_ranks_rises_to_the_part_that_is_near_enough() -> None:
    tree = ElementTree.fromstring(
        picture([ranks_panel(np.array([1.0, 1.0, 10.0, 1e9]))])
    )
    line = list(tree.iter(f"{SVG}polyline"))[-1]
    heights = [float(point.split(",")[1]) for point in line.get("points", "").split()]
    assert heights == sorted(heights, reverse=True)
    assert (heights[0], heights[-1]) == (
        250.0,
        150.0,
    )  # a half, and three quarters, of 400
    assert f"{FURTHEST_RANK:,}" in [text.text for text in tree.iter(f"{SVG}text")]


def test_an_experiment_takes_what_a_program_holds() -> None:
    splits = people()
    array = np.array(splits["train"])
    done = evaluate(
        Benchmark.of(name="people", **{**splits, "train": array}), sides="tail"
    )
    assert done.metrics["tail.realistic.hits_at_1"] == 1.0
    assert done.benchmark == "people"
    assert len(done.to_arrow()) == 3
    assert done.svg().count("<g transform") == 4  # two panels


def test_an_experiment_takes_frames() -> None:
    frames = {}
    pyarrow = pytest.importorskip("pyarrow")
    for split, facts in people().items():
        heads, relations, tails = zip(*facts, strict=True)
        frames[split] = pyarrow.table(
            {"head": heads, "relation": relations, "tail": tails}
        )
    of_lists = evaluate(Benchmark.of(**people()))
    assert evaluate(Benchmark.of(**frames)).metrics == of_lists.metrics


@pytest.mark.parametrize("splits", [{}, {"test": []}, {"train": [], "tests": []}])
def test_splits_that_are_none_are_refused(splits: dict[str, Any]) -> None:
    with pytest.raises(NotABenchmark, match="expected splits among train, valid"):
        Benchmark.of(**splits)


def test_a_split_without_facts_is_refused() -> None:
    with pytest.raises(NotABenchmark, match="expected facts in the split 'test'"):
        evaluate(Benchmark.of(train=people()["train"], test=[]))


def test_evaluate_draws_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people").mkdir()
    for split, facts in people().items():
        write_facts(facts, f"people/{split}.txt")
    assert_refused(
        run("evaluate", "people", "--plot", "p.png"), "p.png: pictures are SVG"
    )
    assert run("evaluate", "people", "--plot", "p.svg").exit_code == 0
    tree = ElementTree.parse("p.svg")
    assert len(tree.getroot().findall(f"{SVG}g")) == 2
