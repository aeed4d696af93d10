"""The pictures of streams are drawn from their lines, and are the same for the same lines."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks.experiments import pictures

from casegraph.experiments.journal import MRR, Record, mrr_of

# Matplotlib warns of its own affairs.
pytestmark = pytest.mark.filterwarnings("default")
pytest.importorskip("matplotlib", reason="Matplotlib is not installed")


def line(benchmark: str, system: str, seed: int, batch: int) -> Record:
    """A line of a stream, with made-up figures."""
    step = {
        "seconds": 0.5 + batch,
        "counting_seconds": 1.0,
        "answer_seconds": 1.0,
        "new_entities": 5,
        "reshaped": 9,
        "moved": 8,
    }
    groups = {"all": {MRR: 0.4 + 0.01 * seed}, "new": {MRR: 0.3} if batch else {}}
    metrics = {"online": {"test": groups, "testI": groups}}
    clusters = {}
    if system == "paper-grinch":
        metrics["oracle"] = metrics["online"]
        clusters["clusters"] = {"online": 7, "oracle": 7}
    return {
        **clusters,
        "benchmark": benchmark,
        "system": system,
        "seed": seed,
        "batch": batch,
        "entities": 100 + 10 * batch,
        "newcomers": 10,
        "update": step,
        "alone": [step] if batch else [],
        "rebuild": {"seconds": 20.0},
        "metrics": metrics,
    }


SYSTEMS = ("default", "paper-grinch", "RotatE-10%", "RotatE+-30%", "RotatE-Freeze-10%")
LINES = [
    line(benchmark, system, seed, batch)
    for benchmark in ("FB122", "WN18RR")
    for system in SYSTEMS
    for seed in range(2)
    for batch in range(4)
]


def texts(path: Path) -> list[str]:
    found = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
    return [(element.text or "").strip() for element in found]


def test_figure_3_has_eight_panels_and_every_system(tmp_path: Path) -> None:
    path = tmp_path / "mrr.svg"
    pictures.mrr_over_batches(LINES, path)
    seen = texts(path)
    assert seen.count("batch") == 4
    assert {"FB122 test-I, all facts so far", "FB122 test-I, new facts"} <= set(seen)
    assert {"WN18RR, all facts so far", "WN18RR, new facts"} <= set(seen)
    assert {"casegraph", "RotatE", "RotatE+", "RotatE-Freeze"} <= set(seen)
    axes = [
        group
        for group in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}g")
        if group.get("id", "").startswith("axes_")
    ]
    assert len(axes) == 8


def test_what_was_not_run_is_not_drawn(tmp_path: Path) -> None:
    path = tmp_path / "mrr.svg"
    some = [
        one
        for one in LINES
        if one["benchmark"] == "FB122" and "30%" not in one["system"]
    ]
    pictures.mrr_over_batches(some, path)
    assert not any("WN18RR" in text or "30%" in text for text in texts(path))


def test_what_was_reached_offline_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "mrr.svg"
    offline = {
        "benchmark": "FB122",
        "system": "RotatE, offline",
        "metrics": LINES[0]["metrics"],
    }
    pictures.mrr_over_batches(LINES, path, [offline])
    assert {"RotatE offline, in the paper", "RotatE offline, trained here"} <= set(
        texts(path)
    )


def test_the_other_pictures_say_what_their_lines_are(tmp_path: Path) -> None:
    pictures.work_over_batches(LINES, ("FB122", "WN18RR"), tmp_path / "work.svg")
    assert {"new entities", "FB122", "WN18RR"} <= set(texts(tmp_path / "work.svg"))
    pictures.seconds_over_batches(LINES, ("FB122", "WN18RR"), tmp_path / "seconds.svg")
    assert {"rebuild", "processor time", "10 s"} <= set(texts(tmp_path / "seconds.svg"))


def test_the_same_lines_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        pictures.mrr_over_batches(LINES, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_what_changed_is_told_from_what_came() -> None:
    record = line("FB122", "paper-grinch", 0, 1)
    assert pictures.reshaped(record) == 2 * (9 - 5)
    assert pictures.moved(record) == 2 * (8 - 5)
    assert pictures.moved(line("FB122", "default", 0, 1)) is None
    assert pictures.newcomer_seconds(record) == 2.5
    assert pictures.newcomer_seconds(line("FB122", "default", 0, 0)) is None
    assert mrr_of(record, "test", "new") == 0.3
    assert mrr_of(line("FB122", "default", 0, 0), "test", "new") is None
