"""How much a store holds, what is largest in it, and what it takes on disk."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from casegraph.answering.state import State
from casegraph.storage.store.checking import size
from casegraph.storage.store.store import CaseStore

LARGEST = 5  # entities, sets of relations and clusters to name

Row = tuple[str, str, int]  # what, which, how many


def described(store: CaseStore) -> list[Row]:
    """Counts, the entities with most facts, the largest groups of entities, and bytes on disk."""
    state, graph = store.state, store.state.graph
    having = sum(len(state.profiles.members(profile)) for profile in state.profiles.living())
    relations = sum(len(graph.edges(relation).tails) > 0 for relation in range(0, graph.directions, 2))
    counts = [("facts", len(graph)), ("entities", having), ("relations", relations), ("updates", store.sequence)]
    files = sorted(path for path in store.folder.iterdir() if path.name != "lock")
    return [
        *((what, "", number) for what, number in counts),
        *_hubs(state),
        *_profiles(state),
        *_clusters(state),
        *_left_out(state),
        *(("bytes on disk", path.name, size(path)) for path in files),
        *[("bytes of an unfinished update", "", store.torn)] * bool(store.torn),
    ]


def _hubs(state: State) -> Iterator[Row]:
    graph = state.graph
    for entity in np.argsort(graph.prominence())[:LARGEST].tolist():
        facts = sum(len(graph.answers(entity, relation)) for relation in range(graph.directions))
        if facts:
            yield "facts of", graph.entities[entity], facts


def _profiles(state: State) -> Iterator[Row]:
    """The sets of relations that most entities have."""
    sizes = ((len(state.profiles.members(profile)), profile) for profile in state.profiles.living())
    named = (
        (-members, ", ".join(sorted(map(state.graph.relation_name, state.profiles.relations(profile).tolist()))))
        for members, profile in sizes
    )
    return (("entities with just", names, -members) for members, names in islice(sorted(named), LARGEST))


def _clusters(state: State) -> Iterator[Row]:
    """The largest clusters, each by the most prominent of its entities, where clusters are kept."""
    if state.settings.clustering not in ("hac", "grinch"):
        return
    order = np.argsort(state.graph.prominence())
    _, first, members = np.unique(state.clusters.entities[order], return_index=True, return_counts=True)
    for place in np.lexsort((first, -members))[:LARGEST].tolist():
        yield "entities in the cluster of", state.graph.entities[int(order[first[place]])], int(members[place])


def _left_out(state: State) -> Iterator[Row]:
    """Where counting took too much to be exact, as far as it was done."""
    statistics = state.statistics
    if statistics.longest is not None and statistics.longest < state.settings.max_length:
        yield "steps of the longest paths counted", "", statistics.longest
    for relation, counts in sorted(statistics.counted.items()):
        if not counts.exact:
            name, types = state.graph.relation_name(relation), int((counts.left_out > 0).sum())
            yield "path types not counted for all of", name, types
