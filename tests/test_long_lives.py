"""However long it lives, it holds no more than at the start, and says what a rebuild says.

Names that come and go are the exception: they stay in memory until a store is compacted.

Sizes are asserted, and not times: what an update takes follows from what it goes through,
and `scripts/bench lives` prints both. The deep tier lives longer.
"""

import gc
from itertools import chain
from pathlib import Path

import pytest
from tests.conftest import Tally
from tests.lives import LIVES, NEW
from tests.measuring import Size, size_of
from tests.saying import DEEP, SETTINGS, facts_of, questions_about, rebuilt, said

from casegraph import CaseBase, CaseStore, Settings
from casegraph.statistics.backlog import MAX_BASELINES

UPDATES = 5_000 if DEEP else 600
# The sizes of so many updates, early and late, are compared; each is measured so often.
WINDOW = 60
EVERY = 10
GROWTH = 1.5  # times the early size
# Those that counts may have to catch up from, the present one, and one under way.
GRAPHS = MAX_BASELINES + 2
NAMES = 64  # beside as many as live, after compacting
PASSING = ["new entities", "new relations"]  # lives in which names come and go
CLUSTERED = {
    "hac": SETTINGS["paper"],
    "grinch": SETTINGS["paper"].but(clustering="grinch"),
}

every_life = pytest.mark.parametrize("name", list(LIVES))


def lived(cases: CaseBase, name: str) -> tuple[list[Size], list[Size]]:
    """The sizes of a case base early and late in its life."""
    life = LIVES[name]
    early = list[Size]()
    late = list[Size]()
    life.begin(cases)
    for number, update in enumerate(life.updates(cases)):
        is_early = WINDOW <= number <= 2 * WINDOW
        is_late = number >= UPDATES - WINDOW
        if number % EVERY == 0 and (is_early or is_late):
            sizes = early if is_early else late
            sizes.append(size_of(cases, type(cases.graph), NEW))
        if number == UPDATES:
            break
        update()
    return early, late


def assert_bounded(
    cases: CaseBase, name: str, early: list[Size], late: list[Size]
) -> None:
    """Nothing has piled up: bytes, graphs, names."""
    graphs = max(size.graphs for size in early + late)
    assert graphs <= GRAPHS, f"{graphs} graphs are held"
    if name in PASSING:
        if not isinstance(cases, CaseStore):
            return
        cases.compact()
        late = [size_of(cases, type(cases.graph), NEW)]

    before = max(size.bytes for size in early)
    after = max(size.bytes for size in late)
    grown = f"{before:,} bytes have become {after:,} after {UPDATES:,} updates"
    assert after <= GROWTH * before, grown
    living = set(chain.from_iterable(facts_of(cases)))
    names = max(size.names for size in late)
    assert names <= len(living) + NAMES, (
        f"{names} names that came and went are held, beside {len(living)} that live"
    )


def assert_says_what_a_rebuild_says(cases: CaseBase, other: CaseBase) -> None:
    facts = sorted(facts_of(cases))
    entities = sorted({fact[0] for fact in facts})
    relations = sorted({fact[1] for fact in facts})
    questions = questions_about(
        other, entities[:: max(1, len(entities) // 6)], relations[:12]
    )
    assert facts == sorted(facts_of(other))
    assert said(cases, questions) == said(other, questions)


def graphs_alive(cases: CaseBase) -> int:
    """How many graphs there are, whoever holds them."""
    gc.collect()
    return sum(isinstance(one, type(cases.graph)) for one in gc.get_objects())


@every_life
def test_a_case_base_holds_no_more_late_in_its_life_and_says_what_a_rebuild_says(
    name: str, tally: Tally
) -> None:
    cases = CaseBase()
    before = graphs_alive(cases)
    assert_bounded(cases, name, *lived(cases, name))
    assert graphs_alive(cases) <= before + GRAPHS
    assert_says_what_a_rebuild_says(cases, rebuilt(facts_of(cases)))
    tally("updates of long lives", UPDATES)


@pytest.mark.parametrize(
    "name", [name for name in LIVES if DEEP or not name.startswith("asked")]
)
def test_a_store_holds_no_more_late_in_its_life_and_opens_as_it_was(
    name: str, memory_folder: Path, tally: Tally
) -> None:
    with CaseStore.open(memory_folder / "store") as store:
        assert_bounded(store, name, *lived(store, name))
        assert store.sequence == UPDATES + 1
        assert_says_what_a_rebuild_says(store, rebuilt(facts_of(store)))
        again = CaseStore.open(memory_folder / "store", read_only=True)
        assert_says_what_a_rebuild_says(store, again)
    tally("updates of long lives", UPDATES)


@pytest.mark.parametrize("name", PASSING)
@pytest.mark.parametrize("settings", list(CLUSTERED.values()), ids=list(CLUSTERED))
def test_clusters_hold_no_more_late_in_their_life_and_are_found_again_from_the_updates(
    settings: Settings, name: str, memory_folder: Path, tally: Tally
) -> None:
    with CaseStore.open(memory_folder / "store", settings) as store:
        assert_bounded(store, name, *lived(store, name))
        again = CaseStore.open(memory_folder / "store", read_only=True)
        assert_says_what_a_rebuild_says(store, again)
        if settings.clustering == "hac":  # which depends on the facts alone
            assert_says_what_a_rebuild_says(store, rebuilt(facts_of(store), settings))
    tally("updates of long lives", UPDATES)
