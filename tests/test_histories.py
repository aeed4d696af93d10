"""After any history of adding and retracting, everything is as in a case base built
from the surviving facts in one go.

`CASEGRAPH_DEEP=1` lives through ten times as much: over 200,000 steps.
"""

import os
from collections.abc import Callable
from functools import cache
from itertools import product
from random import Random
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.histories import EXACT, Fact, Life, Portrait, by_name, lived, portrait
from tests.strategies import ENTITIES, RELATIONS, facts

from casegraph.answering import query as answering
from casegraph.casebase import CaseBase
from casegraph.graph.arrays import ids
from casegraph.graph.graph import Graph
from casegraph.settings import Settings
from casegraph.statistics import cluster_updates
from casegraph.statistics import incremental as recounting

DEEP = bool(os.environ.get("CASEGRAPH_DEEP"))
STEPS = 100
LIVES = 400 if DEEP else 40  # of so many steps, for each of the settings
FEW = [f"e{number}" for number in range(3)], [f"r{number}" for number in range(2)]
CHANGES = [
    (doing, fact)
    for doing in ("add", "retract")
    for fact in product(FEW[0], FEW[1], FEW[0])
]
# Of a short history: any change, or a fact about one entity or about two.
FIRST = CHANGES if DEEP else CHANGES[:2]


def name_of(settings: Settings) -> str:
    return f"{settings.weight}-{settings.clustering}-{settings.max_length}"


@pytest.mark.parametrize("settings", EXACT, ids=name_of)
@pytest.mark.parametrize("part", range(4))
def test_every_step_of_a_history_leaves_what_a_rebuild_makes(
    settings: Settings, part: int
) -> None:
    kept = 0
    for seed in range(part, LIVES, 4):
        life = lived(Random(seed), STEPS, settings)
        kept += life.kept
        shuffled = Random(seed).sample(sorted(life.facts), len(life.facts))
        other = CaseBase(settings)
        other.update(add=shuffled)
        assert by_name(life.cases) == by_name(other)
    assert kept >= LIVES // 4 * STEPS * 4, "counts were made anew and not kept up"


def test_counts_are_exact_given_clusters_that_follow_every_change() -> None:
    kept = sum(
        lived(Random(seed), STEPS, EXACT[2].but(clustering="grinch")).kept
        for seed in range(LIVES // 10)
    )
    assert kept >= LIVES // 10 * STEPS * 4, "counts were made anew and not kept up"


@pytest.mark.parametrize("settings", EXACT if DEEP else EXACT[1:2], ids=name_of)
@pytest.mark.parametrize(
    "first", FIRST, ids=lambda change: "-".join((change[0], *change[1]))
)
def test_every_short_history_leaves_what_a_rebuild_makes(
    settings: Settings, first: tuple[str, Fact]
) -> None:
    @cache
    def expected(known: frozenset[Fact]) -> Portrait:
        life = Life(settings, *FEW)
        life.facts = set(known)
        return portrait(life.rebuilt().state)

    def live_on(life: Life, change: tuple[str, Fact], more: int) -> None:
        doing, fact = change
        later = life.branch()
        later.change(**{doing: [fact]})
        assert later.differences(expected(frozenset(later.facts))) == []
        for following in CHANGES if more else []:
            live_on(later, following, more - 1)

    live_on(Life(settings, *FEW), first, 2)


class Lives(RuleBasedStateMachine):
    """Hypothesis looks for a history that goes wrong, and shortens it."""

    def __init__(self) -> None:
        super().__init__()
        self.lives = [
            Life(settings, ENTITIES, RELATIONS) for settings in (EXACT[0], EXACT[2])
        ]

    @rule(
        come=st.lists(facts, max_size=3),
        places=st.lists(st.integers(0, 99), max_size=2),
        entities=st.lists(st.sampled_from(ENTITIES), max_size=1),
    )
    def change(self, come: list[Fact], places: list[int], entities: list[str]) -> None:
        """Some facts come; some that are there go, and now and then all of an entity."""
        for life in self.lives:
            known = sorted(life.facts)
            gone = [known[place % len(known)] for place in places if known]
            life.change(come, [*gone, *entities])

    @invariant()
    def nothing_differs_from_a_rebuild(self) -> None:
        for life in self.lives:
            assert life.differences() == []


TestLives = Lives.TestCase
TestLives.settings = hypothesis_settings(
    max_examples=1000 if DEEP else 20, stateful_step_count=25, deadline=None
)


def keep_retracted(
    original: Callable[..., Any], before: Graph, after: Graph, change: Any
) -> Any:
    """A missing decrement: hits of facts that went are not subtracted."""
    return (
        (row, sign, graph)
        for row, sign, graph in original(before, after, change)
        if sign > 0
    )


def only_where_hits_change(
    original: Callable[..., Any], types: Any, changed: Any, n: int
) -> Any:
    """The paper's precision: tries are those from before, unless the path type is new."""
    return np.zeros(len(types), dtype=np.bool)


def in_order_of_arrival(
    original: Callable[..., Any], graph: Graph, types: Any, n: int
) -> Any:
    """An unsorted tie: equal weights in the order of ids."""
    return types


def not_noticed(original: Callable[..., Any], self: Graph, earlier: Graph) -> list[int]:
    """A relation changes, and nobody notices."""
    return []


def one_side_only(original: Callable[..., Any], *asked: Any) -> Any:
    """Paths that cross a changed edge near their end are forgotten."""
    starts, _ = original(*asked)
    return starts, recounting.EntityTypePairs.from_keys([])


def no_slot_flips(*_: Any) -> Any:
    """It is forgotten that the slot of an end opens or is taken."""
    return ids()


@pytest.mark.parametrize(
    ("where", "name", "bug", "settings"),
    [
        (recounting, "_entities_with_other_slots", no_slot_flips, EXACT[0]),
        (recounting, "_edge_by_edge", keep_retracted, EXACT[0]),
        (cluster_updates, "follows", only_where_hits_change, EXACT[2]),
        (Graph, "changed_since", not_noticed, EXACT[2]),
        (
            answering,
            "name_order",
            in_order_of_arrival,
            EXACT[1].but(support=1, path_types=1, precedents=False),
        ),
        (recounting, "_affected_endpoints", one_side_only, EXACT[0]),
    ],
    ids=[
        "slot flip forgotten",
        "missing decrement",
        "approximate precision",
        "change not noticed",
        "unsorted tie",
        "forgotten ends",
    ],
)
def test_a_bug_put_in_on_purpose_is_caught(
    monkeypatch: pytest.MonkeyPatch,
    where: object,
    name: str,
    bug: Callable[..., Any],
    settings: Settings,
) -> None:
    original = getattr(where, name)
    monkeypatch.setattr(where, name, lambda *asked: bug(original, *asked))
    with pytest.raises(AssertionError):
        live_and_compare(settings)


def live_and_compare(settings: Settings) -> None:
    for seed in range(20):
        life = lived(Random(seed), STEPS, settings)
        other = CaseBase(settings)
        other.update(add=sorted(life.facts, reverse=True))
        assert by_name(life.cases) == by_name(other)
