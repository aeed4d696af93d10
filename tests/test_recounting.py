"""After any history the counts are those of a case base built
from the surviving facts in one go.
"""

from random import Random

import numpy as np
import pytest
from tests.histories import with_names

from casegraph import kernels
from casegraph.casebase import CaseBase
from casegraph.graph.graph import Graph
from casegraph.settings import Settings

COLUMNS = ("types", "hits", "reached", "right", "reached_open", "right_open")

Fact = tuple[str, str, str]


def some_fact(random: Random, entities: int = 7, relations: int = 3) -> Fact:
    return (
        f"e{random.randrange(entities)}",
        f"r{random.randrange(relations)}",
        f"e{random.randrange(entities)}",
    )


def rebuilt(cases: CaseBase, facts: set[Fact]) -> CaseBase:
    """A case base of the same facts under the same ids, that has never counted anything before."""
    other = with_names(cases.settings, cases.graph.entities.names, cases.graph.relations.names)
    other.update(add=sorted(facts))
    return other


def assert_same_counts(cases: CaseBase, other: CaseBase, relation: int) -> None:
    mine, theirs = (
        cases.state.statistics.everyone(relation),
        other.state.statistics.everyone(relation),
    )
    for column in COLUMNS:
        assert np.array_equal(getattr(mine, column), getattr(theirs, column)), column


def live_through(random: Random, settings: Settings, steps: int) -> int:
    """Add and retract a few facts at a time, asking now and then.

    Returns how many counts were brought up to date.
    """
    cases, kept_up = CaseBase(settings), 0
    facts = {some_fact(random) for _ in range(random.randint(2, 14))}
    cases.update(add=sorted(facts))
    for _ in range(steps):
        counted = random.sample(
            range(cases.graph.directions), random.randint(0, cases.graph.directions)
        )
        for relation in counted:
            cases.state.statistics.everyone(relation)
        gone = random.sample(sorted(facts), min(len(facts), random.randint(0, 2)))
        come = [some_fact(random) for _ in range(random.randint(0, 2))]
        assert not cases.update(add=come, retract=gone).anew
        facts = (facts - set(gone)) | set(come)
        other = rebuilt(cases, facts)
        assert set(cases.graph.facts()) == facts
        for relation in random.sample(
            range(other.graph.directions), min(3, other.graph.directions)
        ):
            kept_up += cases.state.statistics.is_kept(relation)
            assert_same_counts(cases, other, relation)
    return kept_up


@pytest.mark.parametrize("max_length", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("support", [1, 2])
def test_counts_after_any_history_are_those_of_a_rebuild(max_length: int, support: int) -> None:
    random = Random(100 * max_length + support)
    settings = Settings(max_length=max_length, support=support)
    kept_up = sum(live_through(random, settings, steps=4) for _ in range(30))
    assert kept_up > 100, "the counts were made anew and not kept up"


def test_answers_after_any_history_are_those_of_a_rebuild() -> None:
    random = Random(7)
    for settings in (Settings(), Settings.paper("WN18RR").but(max_length=3)):
        for _ in range(15):
            cases, facts = CaseBase(settings), {some_fact(random) for _ in range(14)}
            cases.update(add=sorted(facts))
            for _ in range(4):
                head, relation, _ = some_fact(random)
                gone, come = random.sample(sorted(facts), 2), [some_fact(random)]
                if relation in cases.graph.relations:
                    cases.ask(head, relation)
                cases.update(add=come, retract=gone)
                facts = (facts - set(gone)) | set(come)
                other = rebuilt(cases, facts)
                if relation in other.graph.relations:
                    assert cases.ask(head, relation, top=-1) == other.ask(head, relation, top=-1)


def test_a_large_change_is_counted_again_and_says_so() -> None:
    cases = CaseBase()
    cases.update(add=[("a", "r", "b")])
    assert cases.update(add=[(f"e{i}", "r", f"e{i + 1}") for i in range(400)]).anew


def test_an_update_leaves_who_still_holds_the_old_cases_alone() -> None:
    cases = CaseBase()
    cases.update(add=[("a", "r", "b"), ("b", "s", "c"), ("a", "t", "c")])
    held = cases.state
    before = {
        relation: held.statistics.everyone(relation) for relation in range(held.graph.directions)
    }
    cases.update(add=[("c", "r", "a")], retract=[("a", "t", "c")])
    for relation, counts in before.items():
        for column in COLUMNS:
            assert np.array_equal(
                getattr(held.statistics.everyone(relation), column), getattr(counts, column)
            )
    assert ("a", "t", "c") in held.graph
    assert ("c", "r", "a") not in held.graph


def test_the_cycles_through_an_edge_are_what_hits_lose_without_it() -> None:
    random = Random(3)
    for _ in range(200):
        n, facts = (
            random.randint(1, 5),
            sorted({some_fact(random) for _ in range(random.randint(2, 16))}),
        )
        fact = random.choice(facts)
        graph = Graph.of(facts)
        lost = hits_of(graph, n)
        for key, hits in hits_of(graph.without([fact]), n).items():
            lost[key] -= hits
        head, relation, tail = (
            graph.entities.find(fact[0]),
            graph.relations.find(fact[1]),
            graph.entities.find(fact[2]),
        )
        assert head is not None
        assert relation is not None
        assert tail is not None
        labels, types, hits_, entities, _ = kernels.cycles_through(
            graph.kernel, head, 2 * relation, tail, n, n
        )
        found = {
            (r, t): hits
            for r, t, hits in zip(labels.tolist(), types.tolist(), hits_.tolist(), strict=True)
        }
        assert found == {key: hits for key, hits in lost.items() if hits}
        before, after = own_hits(graph, n), own_hits(graph.without([fact]), n)
        assert entities.tolist() == sorted({row[0] for row, _ in before.items() ^ after.items()})


def own_hits(graph: Graph, n: int) -> dict[tuple[int, int, int], int]:
    """The hits of every entity alone, by entity, relation and path type."""
    own = np.arange(len(graph.entities), dtype=np.int32)
    columns = kernels.closed_paths(
        graph.kernel, own, own, np.zeros(0, dtype=np.bool), n, n, 2, np.zeros(2, dtype=np.int64)
    )
    return {
        (e, r, t): hits
        for e, r, t, hits in zip(*(column.tolist() for column in columns), strict=True)
    }


def hits_of(graph: Graph, n: int) -> dict[tuple[int, int], int]:
    everyone = np.arange(len(graph.entities), dtype=np.int32)
    columns = kernels.closed_paths(
        graph.kernel,
        everyone,
        np.full_like(everyone, -1),
        np.zeros(0, dtype=np.bool),
        n,
        n,
        2,
        np.zeros(2, dtype=np.int64),
    )
    return {
        (r, t): hits for _, r, t, hits in zip(*(column.tolist() for column in columns), strict=True)
    }
