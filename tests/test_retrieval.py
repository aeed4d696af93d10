from collections import Counter
from itertools import product
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests import oracle
from tests.strategies import (
    Fact,
    Step,
    fact_lists,
    histories,
    profiles_of,
    random_facts,
    relation_in_oracle,
    shuffled,
    surviving,
)

from casegraph.graph.arrays import ids
from casegraph.graph.graph import Graph, Query
from casegraph.similarity.profiles import Profiles
from casegraph.similarity.retrieval import (
    contextual_entities,
    nearest,
    similar_entities,
)


def assert_agrees(
    graph: Graph, profiles: Profiles, facts: oracle.Facts, k: int
) -> None:
    """The contextual entities of every query are the oracle's, in its order."""
    living = sorted(oracle.entities(facts))
    for name, relation in product(living, range(graph.directions)):
        near = contextual_names(graph, profiles, name, relation, k)
        label = relation_in_oracle(graph, relation)
        assert near == oracle.contextual_entities(facts, name, label, k)


def contextual_names(
    graph: Graph, profiles: Profiles, name: str, relation: int, k: int
) -> list[str]:
    query = Query(graph.entities.names.index(name), relation)
    near = contextual_entities(profiles, graph, query, k).tolist()
    return [graph.entities[entity] for entity in near]


@given(fact_lists(least=1), st.integers(0, 9))
def test_contextual_entities_are_the_most_similar_that_have_the_relation(
    added: list[Fact], k: int
) -> None:
    graph = Graph.of(added)
    assert_agrees(graph, profiles_of(graph), oracle.both_ways(added), k)


@given(histories(), st.integers(1, 9))
def test_contextual_entities_depend_on_the_surviving_facts_alone(
    history: list[Step], k: int
) -> None:
    graph = Graph()
    profiles = Profiles()
    for doing, named in history:
        change = graph.add(named) if doing == "add" else graph.retract(named)
        profiles.refresh(graph, change.entities)
    assert_agrees(graph, profiles, oracle.both_ways(surviving(history)), k)


def test_contextual_entities_with_ties_do_not_depend_on_the_order_of_facts() -> None:
    random = Random(11)
    for _ in range(20):
        facts = random_facts(random, entities=30, relations=4, facts=60)
        graph = Graph.of(facts)
        other = Graph.of(shuffled(random, facts))
        assert in_names(graph, k=7) == in_names(other, k=7)


def in_names(graph: Graph, k: int) -> dict[tuple[str, str], list[str]]:
    """The contextual entities of every query."""
    profiles = profiles_of(graph)
    found = {}
    for name, relation in product(graph.entities.names, range(graph.directions)):
        query = name, graph.relation_name(relation)
        found[query] = contextual_names(graph, profiles, name, relation, k)
    return found


@given(fact_lists(least=1), st.integers(0, 9))
def test_similar_entities_are_the_most_similar_of_all(
    added: list[Fact], k: int
) -> None:
    graph = Graph.of(added)
    facts = oracle.both_ways(added)
    profiles = profiles_of(graph)
    for entity, name in enumerate(graph.entities.names):
        near = similar_entities(profiles, graph, entity, k).tolist()
        assert [graph.entities[other] for other in near] == closest(facts, name)[:k]


def closest(facts: oracle.Facts, name: str) -> list[str]:
    """All other entities, the most similar first, of equal ones those
    with more facts, then by name.
    """
    known = Counter(head for head, _, _ in facts)

    def closest_first(other: str) -> tuple[float, int, str]:
        similarity = round(oracle.similarity(facts, name, other), 12)
        return -similarity, -known[other], other

    return sorted(oracle.entities(facts) - {name}, key=closest_first)


@given(fact_lists(least=1), st.integers(0, 9))
def test_nearest_to_a_profile_are_its_own_members_and_then_the_most_similar_others(
    added: list[Fact], k: int
) -> None:
    graph = Graph.of(added)
    facts = oracle.both_ways(added)
    profiles = profiles_of(graph)
    known = Counter(head for head, _, _ in facts)
    for profile in profiles.nonempty():
        members = {
            graph.entities[entity] for entity in profiles.members(profile).tolist()
        }
        one = min(members)
        own = sorted(members, key=lambda name: (-known[name], name))
        rest = [name for name in closest(facts, one) if name not in members]
        found = nearest(profiles, graph, profile, ids(profiles.nonempty()), k).tolist()
        assert [graph.entities[entity] for entity in found] == [*own, *rest][:k]
        assert nearest(profiles, graph, profile, ids(), k).tolist() == []


def test_equally_similar_entities_are_ordered_by_facts_then_by_name() -> None:
    added = [
        ("asked", "r", "x"),
        ("z", "r", "x"),
        ("z", "r", "y"),
        ("b", "r", "x"),
        ("a", "r", "x"),
    ]
    graph = Graph.of(added)
    assert contextual_names(graph, profiles_of(graph), "asked", 0, 3) == ["z", "a", "b"]


@given(fact_lists(least=1))
def test_an_entity_without_facts_has_no_contextual_entities(added: list[Fact]) -> None:
    graph = Graph.of([*added, ("lonely", "r0", "e0")])
    graph.retract([("lonely", "r0", "e0")])
    lonely = graph.entities.names.index("lonely")
    profiles = profiles_of(graph)
    for relation in range(graph.directions):
        assert not len(contextual_entities(profiles, graph, Query(lonely, relation), 5))
    assert not len(similar_entities(profiles, graph, lonely, 5))
