"""The performance-critical loops, in C++; the headers in `kernels/` describe every array."""

import numpy as np
import numpy.typing as npt

from casegraph.graph.arrays import Counts, Floats, Ids

_Reach = tuple[Counts, Counts, Counts, Counts, Counts]
_WalkLists = tuple[Counts, Counts, Ids, Floats, Floats]

class StopFlag:
    """Set by one thread to stop the kernels of another."""

    def __init__(self) -> None: ...
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...

def obey(flag: StopFlag | None) -> None: ...

class Edges:
    """The edges of one relation, indexed by head."""

    @staticmethod
    def of(heads: Ids, offsets: Ids, tails: Ids) -> Edges: ...

class Graph:
    """All relations, each with its inverse after it."""

    def __init__(
        self, entities: int, relations: list[Edges], earlier: Graph | None = None
    ) -> None: ...
    @property
    def entities(self) -> int: ...
    def index_bytes(self) -> int: ...

class Interner:
    """Distinct texts, numbered in the order of first sight."""

    def __init__(self) -> None: ...
    @property
    def size(self) -> int: ...
    def texts_from(self, first: int) -> bytes: ...

class NameTable:
    """Distinct names by id, and ids by name."""

    def __init__(self) -> None: ...
    @staticmethod
    def of(content: npt.NDArray[np.uint8], offsets: Counts) -> NameTable: ...
    @property
    def size(self) -> int: ...
    def first(self, count: int) -> NameTable: ...
    def name(self, place: int) -> str: ...
    def names(self, first: int, end: int) -> list[str]: ...
    def encoded(self, first: int, end: int) -> tuple[npt.NDArray[np.uint8], Counts]: ...
    def find(self, name: str) -> int: ...
    def find_all(self, names: list[str]) -> Ids: ...
    def append(self, names: list[str]) -> None: ...
    def sorted(self, count: int, threads: int) -> Ids: ...

class ClusterTree:
    """A hierarchy of profiles."""

    def __init__(self) -> None: ...
    def copy(self) -> ClusterTree: ...
    def root(self) -> int: ...
    def node(self, node: int) -> tuple[int, int, int, int, float]: ...
    def sum(self, node: int) -> tuple[Ids, Floats]: ...
    def members(self, profile: int) -> int: ...
    def shape(self) -> Ids: ...
    def cut(self, threshold: float) -> tuple[Ids, Ids]: ...
    def leaf(self, profile: int, relations: Ids, members: int) -> int: ...
    def attach(self, node: int, beside: int) -> int: ...
    def remove(self, profile: int) -> None: ...
    def resize(self, profile: int, members: int) -> None: ...
    def insert(
        self, profile: int, relations: Ids, members: int, ranks: Ids
    ) -> None: ...

DECISIVE_FACTOR: float

class QueryOptions:
    """How evidence is gathered and combined."""

    max_length: int
    loop_free: bool
    walked: int
    precedents: bool
    slots: bool
    backwards: bool
    linked: bool
    doubt: float
    habit: float
    sum: bool
    discount: float
    decisive: float
    ridge: float
    precedent_weight: float
    nearest: int
    best: int
    budget: int

def distinct_keys(keys: Counts) -> Counts: ...
def keys_by_head(keys: Counts) -> Counts: ...
def interned_lines(
    block: bytes,
    separator: bytes,
    brackets: bytes,
    end: bytes,
    width: int,
    places: tuple[int, int, int],
    entities: Interner,
    relations: Interner,
) -> tuple[Ids, Counts, Counts]: ...
def profiles(graph: Graph, entities: Ids) -> tuple[Counts, Ids]: ...
def gather_edges(graph: Graph, threads: int) -> None: ...
def degrees(graph: Graph, threads: int) -> Counts: ...
def walks_one_step_longer(graph: Graph, walks: Counts, threads: int) -> Counts: ...
def relation_hits(
    graph: Graph,
    relation: int,
    weights: Counts,
    max_length: int,
    longest: int,
    most: tuple[int, int],
    threads: int,
    progress: Counts,
) -> tuple[Counts, Counts, bool]: ...
def closed_paths(
    graph: Graph,
    entities: Ids,
    clusters: Ids,
    wanted: npt.NDArray[np.bool],
    max_length: int,
    longest: int,
    threads: int,
    progress: Counts,
) -> tuple[Ids, Ids, Counts, Counts]: ...
def cycles(
    graph: Graph,
    tops: Ids,
    rank: Ids,
    max_length: int,
    limit: tuple[int, int],
    threads: int,
    progress: Counts,
) -> tuple[Ids, Counts, Counts, Counts]: ...
def cycles_through(
    graph: Graph,
    head: int,
    relation: int,
    tail: int,
    max_length: int,
    longest: int,
    most_halves: int,
) -> tuple[Ids, Counts, Counts, Ids, int, int]: ...
def walks(
    graph: Graph,
    question_clusters: Ids,
    relations: Ids,
    types: Counts,
    clusters: Ids,
    max_length: int,
    threads: int,
    progress: Counts,
) -> Counts: ...
def ways_to_walk(
    graph: Graph,
    relations: Ids,
    types: Counts,
    widest: Counts,
    rank: Ids,
    relation_rank: Ids,
    max_length: int,
    threads: int,
) -> Counts: ...
def reach(
    graph: Graph,
    entities: Ids,
    relations: Ids,
    types: Counts,
    ways: Counts,
    widest: Counts,
    max_length: int,
    threads: int,
    progress: Counts,
    method: int = 0,
) -> _Reach: ...
def cost_together(
    graph: Graph, relation: int, types: Counts, max_length: int
) -> int: ...
def reach_estimates(
    graph: Graph, entities: Ids, types: Counts, max_length: int, threads: int
) -> tuple[Floats, Floats]: ...
def reach_cost(
    graph: Graph, relation: int, types: Counts, max_length: int, most: int, threads: int
) -> tuple[Counts, Counts, Counts, Counts]: ...
def affected_endpoints(
    graph: Graph,
    heads: Ids,
    relations: Ids,
    tails: Ids,
    relation: int,
    types: Counts,
    max_length: int,
) -> tuple[Ids, Ids, Ids, Ids]: ...
def reach_around(
    graph: Graph,
    relation: int,
    types: Counts,
    starts: tuple[Ids, Ids],
    ends: tuple[Ids, Ids],
    max_length: int,
    threads: int,
    progress: Counts,
) -> _Reach: ...
def average_linkage(
    offsets: Counts, relations: Ids, members: Counts
) -> tuple[Ids, Ids]: ...

class Workspaces:
    def __init__(self) -> None: ...
    def of_another_state(self) -> Workspaces: ...

class RelationQuery:
    def __init__(
        self,
        graph: Graph,
        relation: int,
        walk: _WalkLists,
        options: QueryOptions,
        rank: Ids,
        fewer: tuple[tuple[Floats, Floats], tuple[Floats, Floats]] | None = None,
    ) -> None: ...

def answers(
    query: RelationQuery,
    entities: Ids,
    lists: Ids,
    hidden: Ids,
    workspaces: Workspaces,
    top: int,
    new_only: bool,
    threads: int,
) -> tuple[Counts, Ids, Floats, npt.NDArray[np.uint8], int]: ...
def standings(
    query: RelationQuery,
    entities: Ids,
    lists: Ids,
    hidden: Ids,
    workspaces: Workspaces,
    target_offsets: Counts,
    targets: Ids,
    known_offsets: Counts,
    known: Ids,
    threads: int,
) -> tuple[Floats, Counts, Counts, Counts]: ...
def path_strengths(
    query: RelationQuery,
    entities: Ids,
    lists: Ids,
    hidden: Ids,
    workspaces: Workspaces,
    target_offsets: Counts,
    targets: Ids,
    threads: int,
) -> Floats: ...
def precedent_strengths(
    query: RelationQuery,
    entities: Ids,
    lists: Ids,
    hidden: Ids,
    workspaces: Workspaces,
    target_offsets: Counts,
    targets: Ids,
    threads: int,
) -> Floats: ...
def nearest_entities(
    query: RelationQuery, entity: int, hidden: int, workspaces: Workspaces
) -> tuple[Ids, Floats]: ...
def precedents(
    query: RelationQuery, entity: int, hidden: int, answer: int, workspaces: Workspaces
) -> tuple[Ids, Floats]: ...
def similar_answers(
    query: RelationQuery, entity: int, hidden: int, answer: int, workspaces: Workspaces
) -> tuple[Ids, Floats]: ...
def evidence(
    query: RelationQuery,
    entities: Ids,
    lists: Ids,
    hidden: Ids,
    workspaces: Workspaces,
    answers: Ids,
) -> tuple[Counts, tuple[Ids, Ids, Ids, Ids, Counts, Counts, Floats, Floats]]: ...
