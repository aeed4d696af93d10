"""The loops of casegraph that a profile named, as functions of arrays; `kernels/*.hpp` say what each array holds."""

import numpy as np
import numpy.typing as npt

from casegraph.arrays import Counts, Floats, Ids

_WalkLists = tuple[Counts, Counts, Ids, Floats]

class Edges:
    """The edges of one relation, indexed by head."""

    @staticmethod
    def of(heads: Ids, offsets: Ids, tails: Ids) -> Edges: ...

class Graph:
    """All relations, each with its inverse after it."""

    def __init__(self, entities: int, relations: list[Edges]) -> None: ...
    def index_bytes(self) -> int: ...

class Manner:
    """How evidence is gathered and combined."""

    max_length: int
    loop_free: bool
    walked: int
    precedents: bool
    doubt: float
    support: int
    habit: float
    sum: bool
    discount: float
    best: int
    budget: int

def profiles(graph: Graph, entities: Ids) -> tuple[Counts, Ids]: ...
def around(graph: Graph, entities: Ids, steps: int) -> Ids: ...
def closed_paths(
    graph: Graph,
    entities: Ids,
    clusters: Ids,
    wanted: npt.NDArray[np.bool],
    max_length: int,
    threads: int,
    progress: Counts,
) -> tuple[Ids, Ids, Counts, Counts]: ...
def cycles_through(
    graph: Graph, head: int, relation: int, tail: int, max_length: int
) -> tuple[Ids, Counts, Counts]: ...
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
def reach(
    graph: Graph, entities: Ids, relations: Ids, types: Counts, max_length: int, threads: int, progress: Counts
) -> tuple[Counts, Counts, int]: ...
def average_linkage(offsets: Counts, relations: Ids, members: Counts) -> tuple[Ids, Ids, Floats]: ...

class Workspaces:
    def __init__(self) -> None: ...

class Asking:
    def __init__(self, graph: Graph, relation: int, walk: _WalkLists, manner: Manner, rank: Ids) -> None: ...

def answers(
    asking: Asking, entities: Ids, lists: Ids, left_out: Ids, workspaces: Workspaces, top: int, threads: int
) -> tuple[Counts, Ids, Floats, npt.NDArray[np.uint8], int]: ...
def standings(
    asking: Asking,
    entities: Ids,
    lists: Ids,
    left_out: Ids,
    workspaces: Workspaces,
    target_offsets: Counts,
    targets: Ids,
    known_offsets: Counts,
    known: Ids,
    threads: int,
) -> tuple[Floats, Counts, Counts, Counts]: ...
def evidence(
    asking: Asking, entities: Ids, lists: Ids, left_out: Ids, workspaces: Workspaces, answer: int
) -> tuple[Ids, Ids, Ids, Ids, Counts, Counts, Floats]: ...
