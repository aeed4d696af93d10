"""The size of a case base, its largest parts, and the space that a store takes."""

from collections.abc import Iterator

import numpy as np

from casegraph.answering.state import State
from casegraph.casebase import CaseBase
from casegraph.storage.store.checking import size
from casegraph.storage.store.lock import NAME as LOCK
from casegraph.storage.store.store import CaseStore

LARGEST = 5  # how many entities, sets of relations and clusters to name

Row = tuple[str, str, int]  # what, which, how many


def summary(cases: CaseBase) -> list[Row]:
    """Counts, the entities with most facts, the largest groups of entities, and bytes on disk."""
    state = cases.state
    return [
        *_totals(state),
        *_entities_with_most_facts(state),
        *_largest_profiles(state),
        *_largest_clusters(state),
        *_inexact_counts(state),
        *_tuning(state),
        *(_files(cases) if isinstance(cases, CaseStore) else ()),
    ]


def _totals(state: State) -> Iterator[Row]:
    graph = state.graph
    profiles = state.profiles
    entities = sum(len(profiles.members(profile)) for profile in profiles.living())
    yield "facts", "", len(graph)
    yield "entities", "", entities
    yield "relations", "", len(graph.relations_in_use())
    if len(state.descriptions):
        yield "labels and types", "", len(state.descriptions)


def _entities_with_most_facts(state: State) -> Iterator[Row]:
    graph = state.graph
    most_prominent = np.argsort(graph.prominence())[:LARGEST]
    for entity in most_prominent.tolist():
        facts = sum(
            len(graph.answers(entity, relation)) for relation in range(graph.directions)
        )
        if facts:
            yield "facts of entity", graph.entities[entity], facts


def _largest_profiles(state: State) -> Iterator[Row]:
    """The sets of relations that most entities have; equal ones in the order of names."""
    profiles = state.profiles
    described_profiles = []
    for profile in profiles.living():
        relations = profiles.relations(profile).tolist()
        names = sorted(state.graph.relation_name(relation) for relation in relations)
        members = len(profiles.members(profile))
        described_profiles.append((-members, ", ".join(names)))
    for minus_members, names_text in sorted(described_profiles)[:LARGEST]:
        yield "entities with only", names_text, -minus_members


def _largest_clusters(state: State) -> Iterator[Row]:
    """The largest clusters, each by the most prominent of its entities, where clusters are kept."""
    if state.settings.clustering not in ("hac", "grinch"):
        return
    by_prominence = np.argsort(state.graph.prominence())
    cluster_of = state.clusters.entities[by_prominence]
    _, first, members = np.unique(cluster_of, return_index=True, return_counts=True)
    largest = np.lexsort((first, -members))[:LARGEST]
    for cluster in largest.tolist():
        most_prominent = int(by_prominence[first[cluster]])
        name = state.graph.entities[most_prominent]
        yield "entities in cluster of", name, int(members[cluster])


def _inexact_counts(state: State) -> Iterator[Row]:
    """Where counting everything would have taken too long, as far as anything was counted."""
    statistics = state.statistics
    longest = statistics.longest
    if longest is not None and longest < state.settings.max_length:
        yield "longest path counted", "", longest
    for relation, counts in sorted(statistics.counted.items()):
        if not counts.exact:
            path_types = int((counts.left_out > 0).sum())
            name = state.graph.relation_name(relation)
            yield "path types counted in part", name, path_types


def _tuning(state: State) -> Iterator[Row]:
    """What the case base is tuned to, and whether it has outgrown that."""
    tuning = state.settings.tuning
    if tuning is None:
        return
    yield "facts it was tuned to", "", tuning.facts
    whose = "held-out facts" if tuning.held_out else "facts"
    yield f"{whose} asked for by tuning", "", tuning.sample
    yield "longest path by tuning", "", tuning.combination.longest
    if not tuning.combination.linked:
        yield "new answers allowed that a fact links already", "", 0
    facts = len(state.graph)
    if tuning.is_outgrown_by(facts):
        yield (
            "facts more or less since",
            "casegraph tune takes them in",
            abs(facts - tuning.facts),
        )


def _files(store: CaseStore) -> Iterator[Row]:
    state = store.state
    yield "updates", "", state.sequence
    missing = 0
    for direction in range(state.graph.directions):
        is_used = len(state.graph.edges(direction).heads) > 0
        if is_used and direction not in state.statistics.counted:
            missing += 1
    if missing:
        yield "directions not counted yet", "casegraph compact counts them", missing
    for path in sorted(store.folder.iterdir()):
        if path.name != LOCK:
            yield "bytes on disk", path.name, size(path)
    if store.torn:
        yield "bytes of an unfinished update", "", store.torn
