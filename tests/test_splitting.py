"""A split divides all facts, and asks for nothing that train does not know."""

import json
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import assert_refused, run
from tests.strategies import fact_lists

from casegraph import InvalidArgument, read_facts, world
from casegraph.evaluation.intervals import bootstrap
from casegraph.evaluation.splitting import split
from casegraph.graph.facts import Fact


@given(fact_lists(most=40), st.floats(0, 0.5), st.floats(0, 0.4), st.integers(0, 3))
def test_a_split_keeps_every_fact_and_every_name_in_train(
    facts: list[tuple[str, str, str]], valid: float, test: float, seed: int
) -> None:
    given_facts = [Fact(*fact) for fact in facts]
    parts = split(given_facts, valid=valid, test=test, seed=seed)
    assert sorted([*parts.train, *parts.valid, *parts.test]) == sorted(given_facts)
    assert len(parts.valid) <= round(valid * len(facts))
    assert len(parts.test) <= round(test * len(facts))
    known = set(chain.from_iterable(parts.train))
    asked_for = set(chain.from_iterable([*parts.valid, *parts.test]))
    assert asked_for <= known
    assert split(reversed(given_facts), valid=valid, test=test, seed=seed) == parts


def test_parts_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"valid is 0.5; expected at least 0"):
        split([], valid=0.5, test=0.5)


def test_the_bootstrap_covers_the_mean_and_shrinks_with_more_values() -> None:
    few = bootstrap(np.array([0.0, 1.0] * 10), draws=500)
    many = bootstrap(np.array([0.0, 1.0] * 1000), draws=500)
    assert few.mean == many.mean == 0.5
    assert few.low < many.low < 0.5 < many.high < few.high
    assert bootstrap(np.array([0.0, 1.0] * 10), draws=500) == few
    # Of a mean of n coin tosses, 95% lie within 1.96 · 0.5 / √n.
    assert many.high - many.low == pytest.approx(2 * 1.96 * 0.5 / 2000**0.5, rel=0.15)


def printed(*arguments: str) -> str:
    done = run(*arguments)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_a_split_can_be_evaluated_and_every_rank_written(tmp_path: Path) -> None:
    folder = str(tmp_path / "benchmark")
    rows = printed(
        "split", "world", "--into", folder, "--test", "0.02", "--format", "tsv"
    )
    assert rows.splitlines()[-1].endswith("test.txt\t75")
    assert len(list(read_facts(f"{folder}/train.txt"))) < len(world.facts())

    ranks = str(tmp_path / "ranks.jsonl")
    wanted = ["--set", "doubt=10", "--set", "path_types=none", "--format", "json"]
    more = ["--ranks", ranks, "--bootstrap", "200"]
    document = json.loads(printed("evaluate", folder, *more, *wanted))
    low, high = document["summary"]["mrr_interval"]
    assert low < document["summary"]["mrr"] < high
    settings = document["settings"]
    assert settings["doubt"] == 10
    assert settings["path_types"] is None
    lines = Path(ranks).read_text(encoding="utf-8").splitlines()
    written = [json.loads(line) for line in lines]
    assert len(written) == 2 * 75
    mrr = sum(1 / row["rank"] for row in written) / len(written)
    assert mrr == pytest.approx(
        document["metrics"]["both.realistic.inverse_harmonic_mean_rank"]
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "douby=1"], "no setting is named 'douby'; did you mean 'doubt'?"),
        (["--set", "doubt=high"], "doubt is 'high'; expected"),
        (
            ["--settings", "paper"],
            "world: is not one of the paper's data sets; say whose",
        ),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(
    options: list[str], message: str
) -> None:
    assert_refused(run("ask", "world", "Marie Curie", "spouse", *options), message)
