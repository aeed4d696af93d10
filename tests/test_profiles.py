from collections import defaultdict
from itertools import product
from random import Random

import pytest
from hypothesis import given
from tests import oracle
from tests.strategies import (
    Fact,
    Step,
    fact_lists,
    histories,
    profiles_of,
    random_facts,
    relation_in_oracle,
    surviving,
)

from casegraph.casebase import CaseBase
from casegraph.graph.arrays import Ids
from casegraph.graph.graph import Graph
from casegraph.similarity.profiles import NONE, Profiles, reshaped_entities


def kept_up_to_date(history: list[Step], graph: Graph) -> Profiles:
    """Profiles that followed a history step by step, looking only at the entities that changed."""
    profiles = Profiles()
    follow(history, graph, profiles)
    return profiles


def follow(history: list[Step], graph: Graph, profiles: Profiles) -> None:
    """Let a graph and its profiles go through a history, looking only at entities that changed."""
    for doing, named in history:
        change = graph.add(named) if doing == "add" else graph.retract(named)
        profiles.refresh(graph, change.entities)


def by_relations(graph: Graph, profiles: Profiles) -> dict[frozenset[object], set[str]]:
    """Who has which set of relations, in names."""
    having = {}
    for profile in profiles.nonempty():
        relations = profiles.relations(profile).tolist()
        own = frozenset(relation_in_oracle(graph, relation) for relation in relations)
        having[own] = {
            graph.entities[entity] for entity in profiles.members(profile).tolist()
        }
    return having


def expected(facts: oracle.Facts) -> dict[frozenset[object], set[str]]:
    found: dict[frozenset[object], set[str]] = {}
    for entity in oracle.entities(facts):
        found.setdefault(oracle.profile(facts, entity), set()).add(entity)
    return found


@given(histories())
def test_profiles_after_any_history_are_those_of_the_facts_that_survive_it(
    history: list[Step],
) -> None:
    graph = Graph()
    profiles = kept_up_to_date(history, graph)
    fresh = Graph.of(surviving(history))
    assert by_relations(graph, profiles) == by_relations(fresh, profiles_of(fresh))
    assert by_relations(graph, profiles) == expected(
        oracle.both_ways(surviving(history))
    )
    assert len(profiles) == len(list(profiles.nonempty()))


@given(histories(), histories())
def test_profiles_and_their_copy_can_each_go_on(
    history: list[Step], more: list[Step]
) -> None:
    graph = Graph()
    profiles = kept_up_to_date(history, graph)
    before = by_relations(graph, profiles)
    copy = profiles.copy()
    other = graph.copy()
    follow(more, other, copy)
    assert by_relations(graph, profiles) == before
    assert by_relations(other, copy) == expected(oracle.both_ways(other.facts()))
    gone = graph.retract(sorted(surviving(history)))
    profiles.refresh(graph, gone.entities)
    assert len(profiles) == 0
    assert by_relations(other, copy) == expected(oracle.both_ways(other.facts()))


@pytest.mark.parametrize("entities", [30, 63, 64, 200])
def test_profiles_of_few_and_of_many_entities_at_once_are_the_oracles(
    entities: int,
) -> None:
    facts = random_facts(
        Random(entities), entities=entities, relations=5, facts=3 * entities
    )
    graph = Graph.of(facts)
    assert by_relations(graph, profiles_of(graph)) == expected(oracle.both_ways(facts))


@given(histories())
def test_every_entity_is_a_member_of_its_own_profile_and_of_no_other(
    history: list[Step],
) -> None:
    graph = Graph()
    profiles = kept_up_to_date(history, graph)
    profiles_of_member = defaultdict[int, list[int]](list)
    for profile in profiles.nonempty():
        for entity in profiles.members(profile).tolist():
            profiles_of_member[entity].append(profile)
    for entity in range(len(graph.entities)):
        own = profiles.of(entity)
        assert profiles_of_member[entity] == ([] if own == NONE else [own])
    assert profiles.of(len(graph.entities)) == NONE


@given(histories())
def test_reshaped_entities_are_those_whose_profile_changed(history: list[Step]) -> None:
    graph = Graph()
    before = oracle.both_ways([])
    for doing, named in history:
        graph_before = graph.copy()
        change = graph.add(named) if doing == "add" else graph.retract(named)
        after = oracle.both_ways(graph.facts())
        reshaped = reshaped_entities(graph_before, graph, change.entities)
        expected_changes = []
        for entity, name in enumerate(graph.entities.names):
            if oracle.profile(before, name) != oracle.profile(after, name):
                expected_changes.append(entity)
        assert reshaped.tolist() == expected_changes
        before = after


@given(fact_lists(least=1))
def test_similarity_is_the_cosine_of_the_oracle(added: list[Fact]) -> None:
    graph = Graph.of(added)
    facts = oracle.both_ways(added)
    profiles = profiles_of(graph)
    for (one, name), (other, other_name) in product(
        enumerate(graph.entities.names), repeat=2
    ):
        similarity = profiles.similarity(profiles.of(one), profiles.of(other))
        assert similarity == oracle.similarity(facts, name, other_name)


@given(fact_lists(least=1))
def test_what_profiles_have_in_common_is_counted_for_all_at_once(
    added: list[Fact],
) -> None:
    graph = Graph.of(added)
    profiles = profiles_of(graph)
    sets = [
        set(profiles.relations(profile).tolist()) for profile in profiles.nonempty()
    ]
    assert profiles.sizes().tolist() == list(map(len, sets))
    for profile in profiles.nonempty():
        common = [len(sets[profile] & other) for other in sets]
        assert profiles.common(profile).tolist() == common
    for relation in range(graph.directions):
        having = [profile for profile, own in enumerate(sets) if relation in own]
        assert profiles.having(relation).tolist() == having


def test_updates_and_questions_by_default_settings_need_no_profiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_self: Profiles, _graph: Graph, _entities: Ids) -> None:
        raise AssertionError("profiles are made")

    monkeypatch.setattr(Profiles, "refresh", refuse)
    cases = CaseBase()
    cases.update(add=[("a", "r", "b"), ("b", "s", "a")])
    assert cases.update(add=[("a", "t", "c")]).reshaped == 2
    cases.ask("a", "r")
