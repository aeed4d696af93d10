"""Entities, relations, types and the overview as response models."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from casegraph.answering.cache import PerState
from casegraph.answering.results.labels import labels_of
from casegraph.answering.state import State
from casegraph.casebase import CaseBase
from casegraph.graph.arrays import Counts, Ids
from casegraph.graph.directions import backward, forward, is_inverse, relation_of
from casegraph.graph.facts import Fact
from casegraph.graph.lookup import types_of
from casegraph.service import models
from casegraph.service.views.clusters import clustered
from casegraph.similarity.profiles import NONE

LARGEST = 8  # entities in the overview
LOOKED_AT = 2_000  # of the most prominent entities, for suggestions
TYPES_OF_ENDS = 200  # heads and tails of a relation whose types are looked at
TYPES_NAMED = 5  # of these types, the most frequent


def entity(
    cases: CaseBase, text: str, first: int, count: int, *, cluster: bool
) -> tuple[models.Entity, bool]:
    """An entity with `count` of its facts from `first` on; and whether there are more.

    cluster  whether to say which cluster it is in, which takes long for a large graph
    """
    name = cases.entity(text)
    graph = cases.graph
    own = graph.entities.find(name)
    assert own is not None
    profile = []
    for direction in range(graph.directions):
        others = graph.answers(own, direction)
        if len(others):
            relation = graph.relations[relation_of(direction)]
            inverse = bool(is_inverse(direction))
            profile.append(
                models.Group(relation=relation, inverse=inverse, count=len(others))
            )

    facts = graph.facts_of(name)
    page = facts[first : first + count]
    described = cases.descriptions.of(name)
    names = [name]
    for fact in page:
        names += fact
    for group in profile:
        names.append(group.relation)
    shown = models.Entity(
        entity=name,
        types=list(described.types),
        degree=len(facts),
        profile=sorted(
            profile, key=lambda group: (-group.count, group.relation, group.inverse)
        ),
        cluster=_cluster_of(cases, own) if cluster else None,
        facts=list(page),
        next=None,
        sequence=cases.state.sequence,
        labels=labels_of(cases.descriptions, names),
    )
    return shown, len(facts) > first + count


def _cluster_of(cases: CaseBase, own: int) -> int | None:
    is_without_facts = cases.state.is_without_facts(own)
    return None if is_without_facts else int(clustered(cases).clusters.entities[own])


def search(cases: CaseBase, words: str, top: int) -> models.SearchResponse:
    """The entities whose name or label contains these words."""
    hits = [_hit(*hit) for hit in cases.search(words, top) if hit.facts]
    return models.SearchResponse(hits=hits, sequence=cases.state.sequence)


def _hit(
    name: str, label: str, types: tuple[str, ...], facts: int
) -> models.FoundEntity:
    return models.FoundEntity(entity=name, label=label, types=list(types), facts=facts)


def relations(cases: CaseBase, first: int, count: int) -> tuple[models.Relations, bool]:
    """A page of the relations, and whether there are more."""
    all_of_them = all_relations(cases)
    page = all_of_them[first : first + count]
    names: list[str] = []
    for relation in page:
        head, name, tail = relation.example
        names += [name, head, tail]
    shown = models.Relations(
        relations=page,
        next=None,
        sequence=cases.state.sequence,
        labels=labels_of(cases.descriptions, names),
    )
    return shown, len(all_of_them) > first + count


def all_relations(cases: CaseBase) -> list[models.Relation]:
    """All relations that have facts, those with most facts first."""
    return _all_relations(cases.state)


@PerState
def _all_relations(state: State) -> list[models.Relation]:
    graph = state.graph
    found = []
    for number, name in enumerate(graph.relations.names):
        edges = graph.edges(forward(number))
        facts = len(edges.tails)
        if not facts:
            continue
        tails = graph.edges(backward(number)).heads
        head, _, tail = graph.rows(forward(number))[0].tolist()
        relation = models.Relation(
            relation=name,
            facts=facts,
            heads=len(edges.heads),
            tails=len(tails),
            per_head=facts / len(edges.heads),
            per_tail=facts / len(tails),
            example=(graph.entities[head], name, graph.entities[tail]),
            head_types=_types_among(state, edges.heads[:TYPES_OF_ENDS].tolist()),
            tail_types=_types_among(state, tails[:TYPES_OF_ENDS].tolist()),
        )
        found.append(relation)
    return sorted(found, key=lambda relation: (-relation.facts, relation.relation))


def _types_among(state: State, entities: list[int]) -> list[str]:
    """The types of entities, the most frequent first."""
    if not len(state.descriptions):
        return []
    counts = Counter[str]()
    for entity in entities:
        name = state.graph.entities[entity]
        counts.update(state.descriptions.of(name).types)
    return [type_name for type_name, _ in _most_frequent_first(counts)[:TYPES_NAMED]]


def _most_frequent_first(counts: Counter[str]) -> list[tuple[str, int]]:
    """Each name with its count, the largest count first; equal ones in the order of names."""
    return sorted(
        counts.items(),
        key=lambda name_and_count: (-name_and_count[1], name_and_count[0]),
    )


def types(cases: CaseBase) -> models.Types:
    """All types of entities, the most frequent first."""
    found = _type_counts(cases.state)[: models.MAX_ROWS]
    return models.Types(
        types=found,
        sequence=cases.state.sequence,
        labels=labels_of(cases.descriptions, (count.type for count in found)),
    )


@PerState
def _type_counts(state: State) -> list[models.TypeCount]:
    counts = Counter[str]()
    for name in state.graph.entities.names:
        counts.update(types_of(state.descriptions, name))
    ordered = _most_frequent_first(counts)
    return [models.TypeCount(type=name, entities=count) for name, count in ordered]


class Overview:
    """What the overview needs of the facts; it is made once for each state."""

    def __init__(self, state: State) -> None:
        graph = state.graph
        degrees = graph.degrees()
        self.entities = int(np.count_nonzero(degrees))
        self.relations = len(graph.relations_in_use())
        self.degrees = list(_histogram(degrees[degrees > 0]))
        largest = np.argsort(graph.prominence())[:LARGEST]
        self.largest = []
        for entity in largest.tolist():
            name = graph.entities[entity]
            described = state.descriptions.of(name)
            facts = int(degrees[entity])
            self.largest.append(_hit(name, described.label, described.types, facts))


def overview(cases: CaseBase) -> Overview:
    """What the overview needs of the facts."""
    return _overview(cases.state)


@PerState
def _overview(state: State) -> Overview:
    return Overview(state)


def _histogram(values: Counts) -> Iterator[models.HistogramBar]:
    """Bars that double in width: 1, 2 to 3, 4 to 7 and so on."""
    least = 1
    while len(values) and least <= values.max():
        most = 2 * least - 1
        count = int(np.count_nonzero((values >= least) & (values <= most)))
        yield models.HistogramBar(least=least, most=most, count=count)
        least = most + 1


def suggestions(
    cases: CaseBase, held_back: tuple[Fact, ...], top: int
) -> models.Suggestions:
    """Questions worth asking: for facts that were held back, or about entities without a relation.

    For each of the largest relations, one entity is asked about that does not have it: the one that
    shares most relations with those that do, among prominent entities.
    """
    found = []
    for fact in _varied(cases, held_back)[:top]:
        question = models.NamedQuestion(entity=fact.head, relation=fact.relation)
        why = "a true fact that is missing from the graph"
        found.append(models.Suggestion(question=question, why=why))
    if not found:
        found = list(_lacking(cases, top))
    names = []
    for suggestion in found:
        names += [suggestion.question.entity, suggestion.question.relation]
    return models.Suggestions(
        suggestions=found,
        sequence=cases.state.sequence,
        labels=labels_of(cases.descriptions, names),
    )


def _varied(cases: CaseBase, facts: tuple[Fact, ...]) -> list[Fact]:
    """One fact of each relation, then another of each, and so on; prominent entities first."""
    entities = cases.graph.entities
    prominence = cases.graph.prominence()

    def place(fact: Fact) -> int:
        entity = entities.find(fact.head)
        return len(entities) if entity is None else int(prominence[entity])

    facts_before = Counter[str]()  # by relation
    round_of: list[tuple[int, Fact]] = []
    for fact in sorted(facts, key=place):
        round_of.append((facts_before[fact.relation], fact))
        facts_before[fact.relation] += 1
    in_rounds = sorted(round_of, key=lambda number_and_fact: number_and_fact[0])
    return [fact for _, fact in in_rounds]


def _lacking(cases: CaseBase, top: int) -> Iterator[models.Suggestion]:
    """A question about each of the largest relations, each about another entity."""
    graph = cases.graph
    prominent = np.argsort(graph.prominence())[:LOOKED_AT]
    taken: set[int] = set()
    for relation in all_relations(cases)[:top]:
        number = graph.relations.find(relation.relation)
        assert number is not None
        heads = graph.edges(forward(number)).heads
        without_relation = prominent[~np.isin(prominent, heads)].tolist()
        free = [entity for entity in without_relation if entity not in taken]
        best = _most_like(cases, heads, free)
        if best is not None:
            taken.add(best)
            question = models.NamedQuestion(
                entity=graph.entities[best], relation=relation.relation
            )
            yield models.Suggestion(
                question=question, why="others like it have an answer"
            )


def _most_like(cases: CaseBase, heads: Ids, candidates: list[int]) -> int | None:
    """The candidate whose relations are most frequent among the profiles of some entities."""
    profiles = cases.state.profiles
    frequency = Counter[int]()  # how many of these profiles have each relation
    for profile in np.unique(profiles.each()[heads]).tolist():
        frequency.update(profiles.relations(profile).tolist())

    best = None
    best_shared = 0
    for entity in candidates:
        profile = profiles.of(entity)
        if profile == NONE:
            continue
        relations = profiles.relations(profile).tolist()
        shared = sum(frequency[relation] for relation in relations)
        if shared > best_shared:
            best = entity
            best_shared = shared
    return best
