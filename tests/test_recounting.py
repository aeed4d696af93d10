"""After any history the counts are those of a case base built
from the surviving facts in one go.
"""

from collections.abc import Iterable
from random import Random

import numpy as np
import pytest
from tests.histories import with_names
from tests.strategies import random_fact

from casegraph import kernels
from casegraph.casebase import CaseBase
from casegraph.experiments import verification
from casegraph.graph.arrays import Counts, Ids
from casegraph.graph.directions import forward
from casegraph.graph.graph import Graph
from casegraph.settings import Settings
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.statistics import incremental
from casegraph.statistics.counts import MAX_HALVES, TOO_MANY, Counting

COLUMNS = ("types", "hits", "reached", "right", "reached_open", "right_open")

Fact = tuple[str, str, str]


def some_fact(random: Random) -> Fact:
    return random_fact(random, heads=7, relations=3, tails=7)


def rebuilt(cases: CaseBase, facts: set[Fact]) -> CaseBase:
    """A case base of the same facts under the same ids, that has never counted anything before."""
    other = with_names(
        cases.settings, cases.graph.entities.names, cases.graph.relations.names
    )
    other.update(add=sorted(facts))
    return other


def assert_same_counts(cases: CaseBase, other: CaseBase, relation: int) -> None:
    mine = cases.state.statistics.everyone(relation)
    theirs = other.state.statistics.everyone(relation)
    for column in COLUMNS:
        assert np.array_equal(getattr(mine, column), getattr(theirs, column)), column


def live_through(random: Random, settings: Settings, steps: int) -> int:
    """Add and retract a few facts at a time, asking now and then.

    Returns how many counts were brought up to date.
    """
    cases = CaseBase(settings)
    kept_up = 0
    facts = {some_fact(random) for _ in range(random.randint(2, 14))}
    cases.update(add=sorted(facts))
    for _ in range(steps):
        directions = range(cases.graph.directions)
        for relation in random.sample(directions, random.randint(0, len(directions))):
            cases.state.statistics.everyone(relation)
        gone = random.sample(sorted(facts), min(len(facts), random.randint(0, 2)))
        come = [some_fact(random) for _ in range(random.randint(0, 2))]
        assert not cases.update(add=come, retract=gone).rebuilt
        facts = (facts - set(gone)) | set(come)
        other = rebuilt(cases, facts)
        assert set(cases.graph.facts()) == facts
        directions = range(other.graph.directions)
        for relation in random.sample(directions, min(3, len(directions))):
            kept_up += cases.state.statistics.is_kept(relation)
            assert_same_counts(cases, other, relation)
    return kept_up


@pytest.mark.parametrize("max_length", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("support", [1, 2])
def test_counts_after_any_history_are_those_of_a_rebuild(
    max_length: int, support: int
) -> None:
    random = Random(100 * max_length + support)
    settings = Settings(max_length=max_length, support=support)
    kept_up = sum(live_through(random, settings, steps=4) for _ in range(30))
    assert kept_up > 100, "the counts were made anew and not kept up"


def test_answers_after_any_history_are_those_of_a_rebuild() -> None:
    random = Random(7)
    compared = 0
    for settings in (Settings(), Settings.paper("WN18RR").but(max_length=3)):
        for _ in range(15):
            cases = CaseBase(settings)
            facts = {some_fact(random) for _ in range(14)}
            cases.update(add=sorted(facts))
            for _ in range(4):
                head, relation, _ = some_fact(random)
                gone = random.sample(sorted(facts), 2)
                come = [some_fact(random)]
                if relation in cases.graph.relations:
                    cases.ask(head, relation)
                cases.update(add=come, retract=gone)
                facts = (facts - set(gone)) | set(come)
                other = rebuilt(cases, facts)
                if relation in other.graph.relations:
                    found = cases.ask(head, relation, top=-1)
                    assert found == other.ask(head, relation, top=-1)
                    compared += len(found)
    assert compared > 100


@pytest.mark.parametrize("neighbours", [1, 2, 60])
def test_to_bring_clusters_up_to_date_never_counts_from_more_entities_than_a_rebuild(
    neighbours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newcomer on cycles with all others: counting from scratch takes less than following it."""
    counted_from = count_starts(monkeypatch)
    triangles = []
    for number in range(60):
        a, b, c = f"a{number}", f"b{number}", f"c{number}"
        triangles += [(a, "r", b), (b, "s", c), (c, "t", a)]
    cases = CaseBase(Settings(weight="prior", clustering="hac", max_length=3))
    cases.update(add=triangles)
    cases.prepare()

    to_newcomer = [(f"a{number}", "u", "hub") for number in range(neighbours)]
    from_newcomer = [("hub", "v", f"b{number}") for number in range(neighbours)]
    update = cases.update(add=to_newcomer + from_newcomer)
    assert not update.rebuilt
    counted_from.clear()
    cases.prepare()
    work = sum(counted_from)

    other = verification.rebuilt(cases.state)
    counted_from.clear()
    other.statistics.prepare(range(cases.graph.directions))
    assert 0 < work <= sum(counted_from)
    if neighbours == 1:
        assert work < sum(counted_from) / 4
    assert not verification.differences(cases.state, other)


def count_starts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list to which every count of paths to answers adds from how many entities it counts."""
    counted_from: list[int] = []
    hits = Counting.hits

    def hits_and_note(
        self: Counting, relations: list[int], entities: Ids, clusters: Ids, longest: int
    ) -> tuple[Ids, Ids, Counts, Counts]:
        counted_from.append(len(entities))
        return hits(self, relations, entities, clusters, longest)

    monkeypatch.setattr(Counting, "hits", hits_and_note)
    return counted_from


def test_a_large_change_is_counted_again_and_says_so() -> None:
    cases = CaseBase()
    cases.update(add=[("a", "r", "b")])
    many = [(f"e{number}", "r", f"e{number + 1}") for number in range(400)]
    assert cases.update(add=many).rebuilt


def test_an_update_leaves_who_still_holds_the_old_cases_alone() -> None:
    cases = CaseBase()
    cases.update(add=[("a", "r", "b"), ("b", "s", "c"), ("a", "t", "c")])
    held = cases.state
    directions = range(held.graph.directions)
    before = [held.statistics.everyone(relation) for relation in directions]
    cases.update(add=[("c", "r", "a")], retract=[("a", "t", "c")])
    for relation, counts in enumerate(before):
        now = held.statistics.everyone(relation)
        for column in COLUMNS:
            assert np.array_equal(getattr(now, column), getattr(counts, column))
    assert ("a", "t", "c") in held.graph
    assert ("c", "r", "a") not in held.graph


def test_a_state_counts_everyone_it_knows_however_many_names_came_later() -> None:
    facts = {("a", "r", "b"), ("b", "s", "c"), ("a", "t", "c")}
    cases = CaseBase()
    cases.update(add=sorted(facts))
    held = cases.state
    held.graph.entities.extended([f"later {number}" for number in range(1_000_000)])
    expected = rebuilt(cases, facts)
    cases.update(add=[("later 0", "r", "later 999999")])
    for relation in range(held.graph.directions):
        counts = held.statistics.everyone(relation)
        assert len(counts.types) > 0
        for column in COLUMNS:
            of_rebuilt = getattr(expected.state.statistics.everyone(relation), column)
            assert getattr(counts, column).tolist() == of_rebuilt.tolist()


def test_the_cycles_through_an_edge_are_what_hits_lose_without_it() -> None:
    random = Random(3)
    for _ in range(200):
        n = random.randint(1, 5)
        facts = sorted({some_fact(random) for _ in range(random.randint(2, 16))})
        fact = random.choice(facts)
        graph = Graph.of(facts)
        without = graph.copy()
        without.retract([fact])
        lost = hits_of(graph, n)
        for key, hits in hits_of(without, n).items():
            lost[key] -= hits
        head = graph.entities.names.index(fact[0])
        relation = forward(graph.relations.names.index(fact[1]))
        tail = graph.entities.names.index(fact[2])
        labels, types, through, entities, *_ = kernels.cycles_through(
            graph.kernel, head, relation, tail, n, n, MAX_HALVES
        )
        expected = {key: hits for key, hits in lost.items() if hits}
        assert numbers([labels, types, through]) == expected
        before = own_hits(graph, n)
        after = own_hits(without, n)
        changed = {entity for (entity, *_), _ in before.items() ^ after.items()}
        assert entities.tolist() == sorted(changed)


def star(relations: int, facts: int = 2_000) -> list[tuple[str, str, str]]:
    """One entity in all facts, of so many relations."""
    return [("hub", f"r{k % relations}", f"e{k}") for k in range(facts)]


@pytest.mark.parametrize("is_gathered", [True, False])
def test_the_work_of_an_update_does_not_grow_with_the_relations(
    is_gathered: bool,
) -> None:
    """It grows with the edges around the change, also when earlier changes are not forgotten."""
    work = {}
    for relations in (2, 1_000):
        cases = CaseBase()
        cases.update(add=star(relations))
        if is_gathered:
            cases.graph.gather_edges()
        else:
            cases.state.statistics.hits_of(0)  # which updates then follow
        spent = []
        for k in range(40):
            cases.update(add=[(f"e{k}", "r0", f"e{k + 1}")])
            graph = cases.graph
            head = graph.entities.names.index(f"e{k}")
            tail = graph.entities.names.index(f"e{k + 1}")
            *_, looked_at = kernels.cycles_through(
                graph.kernel, head, 0, tail, 3, 3, MAX_HALVES
            )
            spent.append(looked_at)
        work[relations] = sum(spent)
    assert work[1_000] < 2 * work[2]


def test_an_update_among_more_half_paths_than_fit_into_memory_counts_from_scratch() -> (
    None
):
    graph = Graph.of([*star(1, facts=20), ("e1", "r0", "e2")])
    e1, e2 = (graph.entities.names.index(name) for name in ("e1", "e2"))
    *_, cycles, _ = kernels.cycles_through(graph.kernel, e1, 0, e2, 3, 3, 5)
    assert cycles == TOO_MANY
    *_, cycles, _ = kernels.cycles_through(graph.kernel, e1, 0, e2, 3, 3, 50)
    assert cycles < TOO_MANY


def own_hits(graph: Graph, n: int) -> dict[tuple[int, ...], int]:
    """The hits of every entity alone, by entity, relation and path type."""
    everyone = np.arange(len(graph.entities), dtype=np.int32)
    return numbers(closed_paths(graph, everyone, n))


def hits_of(graph: Graph, n: int) -> dict[tuple[int, ...], int]:
    """The hits of all entities together, by relation and path type."""
    together = np.full(len(graph.entities), EVERYONE, dtype=np.int32)
    return numbers(closed_paths(graph, together, n)[1:])


def closed_paths(graph: Graph, clusters: Ids, n: int) -> tuple[Ids | Counts, ...]:
    """Columns: cluster, relation, path type, hits."""
    everyone = np.arange(len(graph.entities), dtype=np.int32)
    wanted = np.zeros(0, dtype=np.bool)
    counters = np.zeros(2, dtype=np.int64)
    return kernels.closed_paths(
        graph.kernel, everyone, clusters, wanted, n, n, 2, counters
    )


def numbers(columns: Iterable[Ids | Counts]) -> dict[tuple[int, ...], int]:
    """The last column by the columns before it."""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {tuple(key): number for *key, number in rows}


def test_counts_are_right_after_an_update_that_counts_from_scratch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = {*star(2, facts=20), ("e1", "r0", "e2")}
    cases = CaseBase(Settings(max_length=3, support=1))
    cases.update(add=sorted(facts))
    cases.prepare()
    monkeypatch.setattr(incremental, "MAX_HALVES", 5)
    assert cases.update(add=[("e2", "r1", "e3")]).rebuilt
    other = rebuilt(cases, facts | {("e2", "r1", "e3")})
    for relation in range(cases.graph.directions):
        assert_same_counts(cases, other, relation)
