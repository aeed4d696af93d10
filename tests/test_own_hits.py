"""The hits of one relation, found from its own edges: those of counting the whole graph."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import oracle
from tests.histories import Fact, by_name
from tests.strategies import (
    Step,
    fact_lists,
    histories,
    path_type_in_oracle,
    relation_in_oracle,
    shuffled,
    surviving,
)

from casegraph import kernels
from casegraph.casebase import CaseBase
from casegraph.execution.shards import (
    Shard,
    count_hits,
    count_reach,
    keep,
    merged,
    with_hits,
)
from casegraph.graph.arrays import Counts
from casegraph.graph.edges import edges_from_keys, key
from casegraph.graph.graph import Graph
from casegraph.running import quiet
from casegraph.settings import Settings
from casegraph.statistics import own_hits as module
from casegraph.statistics.counts import Counting
from casegraph.statistics.own_hits import limited_hits, own_hits, with_length


@pytest.fixture
def every_graph_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGE", 0)


def by_type(
    graph: Graph, types: Counts, hits: Counts, n: int
) -> Counter[tuple[object, ...]]:
    named = [path_type_in_oracle(graph, number, n) for number in types.tolist()]
    return Counter(dict(zip(named, hits.tolist(), strict=True)))


@given(fact_lists(most=16), st.integers(1, 5))
def test_the_edges_of_a_relation_tell_all_its_hits(facts: list[Fact], n: int) -> None:
    graph = Graph.of(facts)
    both = oracle.both_ways(facts)
    for relation in range(graph.directions):
        own = own_hits(graph, relation, Settings(max_length=n), quiet)
        name = relation_in_oracle(graph, relation)
        expected = oracle.hits(both, oracle.entities(both), name, n)
        assert own.longest == n
        assert by_type(graph, own.types, own.hits, n) == expected


@given(fact_lists(most=20), st.integers(1, 5), st.integers(0, 3))
def test_they_are_those_of_the_whole_graph_whichever_end_an_edge_is_walked_from(
    facts: list[Fact], n: int, seed: int
) -> None:
    graph = Graph.of(facts)
    everyone = np.arange(len(graph.entities), dtype=np.int32)
    whole = Counting(graph, Settings(max_length=n)).cycles(everyone)
    weights = np.random.default_rng(seed).integers(0, 3, len(everyone))
    counters = np.zeros(2, dtype=np.int64)
    for relation in range(graph.directions):
        types, hits, is_too_much = kernels.relation_hits(
            graph.kernel, relation, weights, n, n, (1 << 40, 1 << 20), 2, counters
        )
        own = whole.relations == relation
        assert not is_too_much
        assert types.tolist() == whole.types[own].tolist()
        assert hits.tolist() == whole.hits[own].tolist()


def random_edges(
    random: np.random.Generator, entities: int, directions: int
) -> list[Counts]:
    """Edges (head, tail) of every other direction, with hubs and loops."""
    of_directions = []
    for _ in range(0, directions, 2):
        hubs = random.integers(0, 3, 2 * entities)
        others = random.integers(0, entities, (2, 2 * entities))
        heads = np.concatenate([hubs, others[0]])
        tails = np.concatenate([others[1], others[0][::-1]])
        of_directions.append(np.stack([heads, tails], axis=1))
    return of_directions


def kernel_graph(edges: list[Counts], apart: int, entities: int) -> kernels.Graph:
    """A graph of these edges in which the ids of entities are so far apart."""
    directions = []
    for of_direction in edges:
        for columns in (of_direction, of_direction[:, ::-1]):
            heads, tails = (apart * columns).astype(np.int32).T
            keys = kernels.distinct_keys(key(heads, tails))
            directions.append(kernels.Edges.of(*edges_from_keys(keys)))
    return kernels.Graph(apart * entities, directions)


@pytest.mark.parametrize("longest", [1, 2])
@pytest.mark.parametrize("apart", [1, 3, 1 << 12, 1 << 17])
def test_hits_do_not_depend_on_how_far_apart_ids_are(apart: int, longest: int) -> None:
    directions = 6
    entities = 20 if apart > 3 else 700
    edges = random_edges(np.random.default_rng(apart), entities, directions)
    dense = kernel_graph(edges, 1, entities)
    everyone = np.arange(entities, dtype=np.int32)
    counters = np.zeros(2, dtype=np.int64)
    anything = 1 << 60, 1 << 40
    relations, types, hits, _ = kernels.cycles(
        dense, everyone, everyone, longest, anything, 1, counters
    )
    graph = kernel_graph(edges, apart, entities)
    degrees = kernels.degrees(graph, 1)
    for relation in range(directions):
        for threads in (1, 2):
            own_types, own_hits, _ = kernels.relation_hits(
                graph, relation, degrees, longest, longest, anything, threads, counters
            )
            is_own = relations == relation
            assert own_types.tolist() == types[is_own].tolist()
            assert own_hits.tolist() == hits[is_own].tolist()


@given(
    fact_lists(least=1, most=20),
    st.integers(1, 4),
    st.integers(1, 60),
    st.integers(0, 9),
)
def test_what_is_left_out_does_not_depend_on_ids_nor_on_how_it_was_counted(
    facts: list[Fact], n: int, counting: int, seed: int
) -> None:
    settings = Settings(max_length=n, counting=counting)
    graph = Graph.of(facts)
    other = Graph.of(shuffled(Random(seed), facts))
    everyone = np.arange(len(graph.entities), dtype=np.int32)
    whole = Counting(graph, settings.but(counting=1 << 40)).cycles(everyone)
    for relation in range(graph.directions):
        own = own_hits(graph, relation, settings, quiet)
        name = graph.relation_name(relation)
        names = [
            other.relation_name(direction) for direction in range(other.directions)
        ]
        elsewhere = own_hits(other, names.index(name), settings, quiet)
        assert own.longest == elsewhere.longest
        assert by_type(graph, own.types, own.hits, n) == by_type(
            other, elsewhere.types, elsewhere.hits, n
        )
        is_own = whole.relations == relation
        cut = limited_hits(
            graph, relation, settings, whole.types[is_own], whole.hits[is_own]
        )
        again = with_length(graph, relation, settings, own._replace(longest=-1))
        for same in (cut, again):
            assert same.longest == own.longest
            assert same.types.tolist() == own.types.tolist()
            assert same.hits.tolist() == own.hits.tolist()


def test_less_is_counted_the_less_work_is_allowed() -> None:
    facts = [(f"e{k}", f"r{k % 3}", f"e{k * 7 % 20}") for k in range(60)]
    graph = Graph.of(facts)
    longest = [
        own_hits(graph, 0, Settings(max_length=3, counting=counting), quiet).longest
        for counting in (1, 100, 10_000, 1_000_000)
    ]
    assert longest == sorted(longest)
    assert longest[0] == 0
    assert longest[-1] == 3


@pytest.mark.usefixtures("every_graph_is_large")
@pytest.mark.parametrize(
    "settings",
    [Settings(support=1), Settings.paper("WN18RR").but(max_length=2, neighbours=3)],
    ids=["default", "paper"],
)
def test_a_large_graph_answers_as_any_other(settings: Settings) -> None:
    random = Random(1)
    facts = sorted(
        {
            (
                f"e{random.randrange(12)}",
                f"r{random.randrange(3)}",
                f"e{random.randrange(12)}",
            )
            for _ in range(40)
        }
    )
    large = CaseBase(settings)
    large.update(add=facts)
    asked_one_by_one = by_name(large)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "LARGE", 1 << 25)
        usual = CaseBase(settings)
        usual.update(add=facts)
        assert by_name(usual) == asked_one_by_one


@pytest.mark.usefixtures("every_graph_is_large")
def test_after_any_history_a_large_graph_is_that_of_the_facts_that_survive() -> None:
    @given(histories(), st.integers(1, 200))
    def holds(history: list[Step], counting: int) -> None:
        settings = Settings(max_length=2, support=1, counting=counting)
        cases = CaseBase(settings)
        for doing, facts in history:
            cases.update(
                add=facts if doing == "add" else (),
                retract=facts if doing != "add" else (),
            )
            cases.prepare()
        fresh = CaseBase(settings)
        fresh.update(add=sorted(surviving(history)))
        assert by_name(cases) == by_name(fresh)

    holds()


@pytest.mark.usefixtures("every_graph_is_large")
@given(fact_lists(least=1, most=20), st.integers(1, 200))
def test_shards_of_a_large_graph_add_up(facts: list[Fact], counting: int) -> None:
    cases = CaseBase(Settings(max_length=2, support=1, counting=counting))
    cases.update(add=facts)
    state = cases.state
    hits = merged([count_hits(state, shard) for shard in Shard.all(2)])
    given_hits = with_hits(state, hits)
    relations = list(range(state.graph.directions))
    reach = merged(
        [count_reach(given_hits, (shard, relations)) for shard in Shard.all(3)]
    )
    other = CaseBase(cases.settings)
    other.update(add=facts)
    keep(other.state, reach)
    assert by_name(other) == by_name(cases)
    for relation in relations:
        assert other.state.statistics.exact(relation) == state.statistics.exact(
            relation
        )


@pytest.mark.usefixtures("every_graph_is_large")
@given(fact_lists(least=1, most=20), st.integers(1, 200))
def test_a_large_graph_is_read_from_a_file_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, facts: list[Fact], counting: int
) -> None:
    file = tmp_path_factory.mktemp("large") / "graph.case"
    cases = CaseBase(Settings(max_length=2, support=1, counting=counting))
    cases.update(add=facts)
    cases.prepare()
    cases.save(file)
    read = CaseBase.load(file)
    assert by_name(read) == by_name(cases)
    for relation in range(cases.graph.directions):
        exact = read.state.statistics.exact(relation)
        assert exact == cases.state.statistics.exact(relation)
