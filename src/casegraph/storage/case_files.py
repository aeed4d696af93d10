"""
A case base as one file: its state as named arrays, and back.

The arrays hold what cannot be computed quickly from something else:

    settings                       JSON, as bytes
    entity_names, entity_offsets   names one after the other in UTF-8, and where each begins
    relation_names, relation_offsets
    facts                          (facts, 3)  rows (head, relation, tail) of ids
    clusters                       the shape of the cluster tree, only if it depends on history
    counted, longest, offsets      which counts there are (see `_counts_arrays`)
    types, hits, reached, right, left_out   the counts: a row for each path type of a relation
    descriptions                   labels and types of entities, as JSON; only if there are any

`array_files` writes and reads such arrays and keeps damaged files out; the functions here check
that the arrays fit together. The generations of a store hold the same arrays and a few more.
"""

import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np

from casegraph.answering.state import State
from casegraph.errors import CasegraphError
from casegraph.graph.arrays import Counts, Ids, joined
from casegraph.graph.descriptions import NO_DESCRIPTIONS, Description, Descriptions
from casegraph.graph.directions import forward, is_inverse
from casegraph.graph.graph import Graph
from casegraph.graph.names import Names
from casegraph.settings import Settings
from casegraph.similarity.clusters import tree
from casegraph.similarity.clusters.assignment import Clusters, depends_on_history
from casegraph.similarity.profiles import Profiles
from casegraph.statistics.counts import PathCounts
from casegraph.storage.array_files import (
    CONTENT_ERRORS,
    Arrays,
    damaged,
    offsets_of,
    read_arrays,
    row_of,
    write_arrays,
)
from casegraph.storage.count_columns import (
    COUNT_COLUMNS,
    TYPES,
    check_reach,
    check_types_and_counts,
    is_extent,
)
from casegraph.storage.edge_arrays import TAILS, graph_of_edges

FORMAT = 4
OTHER_FORMAT = (
    "make it again from its facts with 'casegraph save'; 'casegraph export' of the version that "
    "wrote it prints them"
)
DESCRIPTIONS = "descriptions"
COLUMNS = (TYPES, *COUNT_COLUMNS)  # the fields of PathCounts, in their order


def save(state: State, path: Path) -> None:
    """Write `state` to `path`, all or nothing."""
    write_arrays(path, FORMAT, arrays_of(state))


def load(path: Path) -> State:
    """Read what `save` wrote. The state gives the same answers as the one that was saved."""
    arrays = read_arrays(path, "a saved case base", FORMAT, OTHER_FORMAT)
    try:
        check_arrays(arrays)
        state = state_from(graph_from(arrays), arrays, settings_from(arrays))
        restore_counts(state, arrays)
    except (CasegraphError, *CONTENT_ERRORS) as error:
        raise damaged(path, error) from error
    return state


def arrays_of(state: State) -> Arrays:
    """Everything that a state holds, as arrays."""
    return {"facts": state.graph.fact_rows(), **arrays_beside_facts(state)}


def arrays_beside_facts(state: State) -> Arrays:
    """Everything that a state holds but its facts, as arrays."""
    return {
        **_settings_array(state.settings),
        **_names_arrays("entity", state.graph.entities),
        **_names_arrays("relation", state.graph.relations),
        **_clusters_array(state),
        **_counts_arrays(state),
        **_descriptions_array(state.descriptions),
    }


def check_arrays(arrays: Arrays) -> None:
    """`ValueError`, or another of `CONTENT_ERRORS`, unless these can come from `arrays_of`.

    Only what is quick to see is checked here: the shape of every array and the range of every id.
    """
    settings = settings_from(arrays)
    entities = len(_name_offsets("entity", arrays)) - 1
    relations = len(_name_offsets("relation", arrays)) - 1
    directions = forward(relations)  # directions are below this number
    if TAILS not in arrays:  # edges are checked where a graph is made of them
        _check_facts(arrays["facts"], entities, directions)
    descriptions_in(arrays)
    _check_counts(arrays, directions, settings.max_length)


def settings_from(arrays: Arrays) -> Settings:
    """The settings in arrays of `arrays_of`."""
    text = row_of("settings", arrays, np.uint8).tobytes()
    return Settings(**json.loads(text))


def graph_from(arrays: Arrays) -> Graph:
    """The graph in arrays of `arrays_of`; `ValueError` if they hold none.

    They may have edges (see `edge_arrays`) in the place of facts.
    """
    entities = _names_from("entity", arrays)
    relations = _names_from("relation", arrays)
    if TAILS in arrays:
        return graph_of_edges(entities, relations, arrays)
    facts = arrays["facts"]
    graph = Graph.of_rows(entities, relations, facts)
    if len(graph) != len(facts):
        raise ValueError("facts repeat")
    return graph


def state_from(graph: Graph, arrays: Arrays, settings: Settings) -> State:
    """The state of a graph, nothing counted yet.

    Clusters that depend on history are taken from the arrays, if there are any; all others are made
    from the graph when they are first needed.
    """
    profiles = None
    clusters = None
    if depends_on_history(settings) and arrays:
        profiles = Profiles.of_graph(graph)
        cluster_tree = tree.tree_from_array(arrays["clusters"], profiles)
        clusters = Clusters.cut(cluster_tree, profiles, settings)
    state = State.of(graph, settings, profiles=profiles, clusters=clusters)
    return state.described(descriptions_in(arrays))


def restore_counts(state: State, arrays: Arrays) -> None:
    """Give a state the counts in arrays of `arrays_of`, which `check_arrays` has checked."""
    is_counted = len(arrays["longest"]) > 0
    if not is_counted:
        return

    reach_counted = set(arrays["counted"].tolist())
    hits: dict[int, tuple[Counts, Counts]] = {}
    counted: dict[int, PathCounts] = {}
    for relation, (start, end) in enumerate(pairwise(arrays["offsets"].tolist())):
        columns = [arrays[column][start:end] for column in COLUMNS]
        rows = PathCounts(*columns)
        hits[relation] = (rows.types, rows.hits)
        if relation in reach_counted:
            counted[relation] = rows

    longest, headroom = arrays["longest"].tolist()
    state.statistics.restore(longest, headroom, hits, counted)


def descriptions_in(arrays: Arrays) -> Descriptions:
    """The descriptions in arrays of `arrays_of`; none if they have none."""
    if DESCRIPTIONS not in arrays:
        return NO_DESCRIPTIONS
    content = row_of(DESCRIPTIONS, arrays, np.uint8).tobytes()
    return NO_DESCRIPTIONS.replaced(descriptions_from(content))


def encoded_descriptions(described: Iterable[Description]) -> bytes:
    """Descriptions as JSON: a list of name, label and types for each."""
    rows = [[name, label, list(types)] for name, label, types in described]
    return json.dumps(rows).encode()


def descriptions_from(content: bytes) -> tuple[Description, ...]:
    """The descriptions that `encoded_descriptions` encoded; none if the content is empty.

    `ValueError` if it is anything else.
    """
    if not content:
        return ()
    described = []
    try:
        for name, label, types in json.loads(content):
            if not all(isinstance(text, str) for text in [name, label, *types]):
                raise ValueError("descriptions are not texts")
            described.append(Description(name, label, tuple(types)))
    except (TypeError, RecursionError) as error:
        raise ValueError("descriptions are not texts") from error
    return tuple(described)


def _settings_array(settings: Settings) -> Arrays:
    text = json.dumps(settings.as_dict()).encode()
    return {"settings": np.frombuffer(text, dtype=np.uint8)}


def _descriptions_array(descriptions: Descriptions) -> Arrays:
    if not len(descriptions):
        return {}
    content = encoded_descriptions(descriptions)
    return {DESCRIPTIONS: np.frombuffer(content, dtype=np.uint8)}


def _check_facts(facts: Ids, entities: int, directions: int) -> None:
    if facts.dtype != np.int32 or facts.ndim != 2 or facts.shape[1] != 3:
        raise ValueError("facts are not rows of three ids")
    if (facts < 0).any() or (facts >= [entities, directions, entities]).any():
        raise ValueError("facts name entities or relations that do not exist")
    if is_inverse(facts[:, 1]).any():
        raise ValueError("a fact has the inverse of a relation")


def _names_arrays(kind: str, names: Names) -> Arrays:
    content, offsets = names.encoded_from(0)
    return {f"{kind}_names": content, f"{kind}_offsets": offsets}


def _names_from(kind: str, arrays: Arrays) -> Names:
    return Names.stored(arrays[f"{kind}_names"], _name_offsets(kind, arrays))


def _name_offsets(kind: str, arrays: Arrays) -> Counts:
    """Where each name begins, and where the last one ends."""
    content = row_of(f"{kind}_names", arrays, np.uint8)
    return offsets_of(f"{kind}_offsets", arrays, len(content))


def _clusters_array(state: State) -> Arrays:
    """The shape of the cluster tree if it depends on history; else it follows from the facts."""
    if not depends_on_history(state.settings):
        return {}
    cluster_tree = state.clusters.tree
    if cluster_tree is None:
        return {}
    return {"clusters": tree.tree_as_array(cluster_tree, state.profiles)}


def _counts_arrays(state: State) -> Arrays:
    """The counts so far.

    The rows of relation k (a direction) go from `offsets[k]` to `offsets[k + 1]`. Every relation
    has its path types and hits. What they reach is there for the relations in `counted`, and is 0
    for others. `longest` has the length up to which paths are counted and the headroom (see
    `is_extent`), and is empty if nothing is counted.
    """
    statistics = state.statistics
    longest = joined([])
    # A copy: other threads may count more while this one writes.
    known = statistics.counted.copy() if statistics.longest is not None else {}
    rows: list[PathCounts] = []

    if statistics.longest is not None:
        longest = np.array([statistics.longest, statistics.headroom])
        for relation in range(state.graph.directions):
            if relation in known:
                rows.append(known[relation])
            else:
                types, hits = statistics.hits_of(relation)
                rows.append(PathCounts.of_hits(types, hits))

    row_counts = [len(counts.types) for counts in rows]
    columns: Arrays = {}
    for column in COLUMNS:
        columns[column] = joined(getattr(counts, column) for counts in rows)
    return {
        "counted": np.array(sorted(known), dtype=np.int32),
        "longest": longest,
        "offsets": np.cumsum([0, *row_counts], dtype=np.int64),
        **columns,
    }


def _check_counts(arrays: Arrays, directions: int, max_length: int) -> None:
    types = row_of(TYPES, arrays, np.int64)
    columns = {name: row_of(name, arrays, np.int64) for name in COUNT_COLUMNS}
    check_types_and_counts(types, columns, directions, max_length)

    counted = row_of("counted", arrays, np.int32)
    is_direction = (counted >= 0) & (counted < directions)
    if (np.diff(counted) <= 0).any() or not is_direction.all():
        raise ValueError("counts are of a relation that does not exist")

    longest = row_of("longest", arrays, np.int64).tolist()
    offsets = offsets_of("offsets", arrays, len(types))
    expected_offsets = directions + 1 if longest else 1
    if len(offsets) != expected_offsets or (len(counted) > 0 and not longest):
        raise ValueError("counts do not belong to their relations")
    if longest and not is_extent(longest, types, max_length):
        raise ValueError("it is not said which paths are counted")

    # Path types rise within a relation, so they may fall only where the next relation begins.
    falls = np.flatnonzero(np.diff(types) <= 0) + 1
    if not np.isin(falls, offsets).all():
        raise ValueError("path types are out of order")

    relations = np.arange(len(offsets) - 1, dtype=np.int32)
    relation_of_row = np.repeat(relations, np.diff(offsets))
    check_reach(relation_of_row, counted, columns)
