"""Arrays that do not fit each other or the graph are refused:
no kernel reads or writes beside them.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from casegraph import kernels, kernels_bench
from casegraph.graph.arrays import ids
from casegraph.graph.edges import keys_of
from casegraph.graph.graph import Graph
from casegraph.statistics.counts import MOST_TYPES
from casegraph.statistics.path_types import packed

FACTS = [
    ("a", "r", "b"),
    ("b", "r", "c"),
    ("a", "s", "c"),
    ("c", "s", "d"),
    ("d", "r", "a"),
    ("e", "s", "a"),
]
GRAPH = Graph.of(FACTS)
ENTITIES = len(GRAPH.entities)
EVERYONE = np.arange(ENTITIES, dtype=np.int32)
RELATIONS = ids([0, 2])
TYPES = np.array([packed([0, 2], 3), packed([2, 1, 0], 3)])
LARGEST = np.iinfo(np.int32).max
# Path types, where their lists begin, the places in a list, and their weights by slot.
WALK = TYPES, np.array([0, 2]), ids([1, 0]), np.array([0.5, 0.25]), np.array([0.4, 0.2])


def counters() -> Any:
    return np.zeros(2, dtype=np.int64)


def made_query(**changes: Any) -> kernels.RelationQuery:
    options = kernels.QueryOptions()
    options.precedents = True
    for name, value in changes.items():
        setattr(options, name, value)
    return kernels.RelationQuery(GRAPH.kernel, 0, WALK, options, EVERYONE)


def tree_of(*profiles: int) -> kernels.ClusterTree:
    tree = kernels.ClusterTree()
    for profile in profiles:
        tree.insert(profile, ids([profile, profile + 1]), 2, ids([0, 1]))
    return tree


class Binding(NamedTuple):
    """A call that works. All arrays of it have one right length,
    and values below some bound, but for those named.
    """

    call: Callable[..., Any]
    arguments: dict[str, Any]
    any_length: frozenset[str]
    any_longer: frozenset[str]
    any_larger: frozenset[str]
    any_value: frozenset[str]


def binding(
    call: Callable[..., Any],
    *,
    any_length: str = "",
    any_longer: str = "",
    any_larger: str = "",
    any_value: str = "",
    **arguments: Any,
) -> Binding:
    """A binding with these arguments; those that may be anything are named in one text."""
    free = [any_length, any_longer, any_larger, any_value]
    return Binding(call, arguments, *(frozenset(names.split()) for names in free))


EDGES = GRAPH.edges(0)
KEYS = keys_of(EDGES)
ON_GRAPH: dict[str, Any] = {"graph": GRAPH.kernel}
FROM_EVERYONE: dict[str, Any] = ON_GRAPH | {"entities": EVERYONE}
OF_TYPES: dict[str, Any] = {"relations": RELATIONS, "types": TYPES}
OF_ONE_RELATION: dict[str, Any] = {"relation": 0, "types": TYPES}
COUNTED: dict[str, Any] = {"max_length": 3, "threads": 2, "progress": counters()}
QUERY: dict[str, Any] = {
    "query": made_query(),
    "entities": ids([0, -1, 3]),
    "lists": ids([0, 0, 0]),
    "hidden": ids([-1, 1, 2]),
    "workspaces": kernels.Workspaces(),
}
OF_ONE: dict[str, Any] = {"entities": ids([0]), "lists": ids([0]), "hidden": ids([-1])}

BINDINGS = {
    "edges": binding(
        kernels.Edges.of,
        heads=EDGES.heads,
        offsets=EDGES.offsets,
        tails=EDGES.tails,
        any_larger="heads tails",
    ),
    "distinct_keys": binding(
        kernels.distinct_keys, keys=KEYS, any_length="keys", any_value="keys"
    ),
    "keys_by_head": binding(
        kernels.keys_by_head, keys=KEYS, any_length="keys", any_value="keys"
    ),
    "interned_lines": binding(
        kernels.interned_lines,
        block=b"a\tr\tb\n",
        separator=b"\t",
        brackets=b"",
        end=b"",
        width=3,
        places=(0, 1, 2),
        entities=kernels.Interner(),
        relations=kernels.Interner(),
    ),
    "profiles": binding(kernels.profiles, **FROM_EVERYONE, any_length="entities"),
    "gather_edges": binding(kernels.gather_edges, **ON_GRAPH, threads=2),
    "degrees": binding(kernels.degrees, **ON_GRAPH, threads=2),
    "walks_one_step_longer": binding(
        kernels.walks_one_step_longer,
        **ON_GRAPH,
        walks=np.zeros(ENTITIES, dtype=np.int64),
        threads=2,
        any_larger="walks",
    ),
    "closed_paths": binding(
        kernels.closed_paths,
        **FROM_EVERYONE,
        clusters=EVERYONE,
        wanted=np.ones(4, dtype=np.bool),
        longest=3,
        **COUNTED,
        any_length="entities",
        any_larger="clusters",
    ),
    "cycles": binding(
        kernels.cycles,
        **ON_GRAPH,
        tops=EVERYONE,
        rank=EVERYONE,
        limit=(1000, MOST_TYPES),
        **COUNTED,
        any_length="tops",
        any_value="rank",
    ),
    "cycles_through": binding(
        kernels.cycles_through,
        **ON_GRAPH,
        head=0,
        relation=0,
        tail=1,
        max_length=3,
        longest=3,
        most_halves=100,
    ),
    "walks": binding(
        kernels.walks,
        **ON_GRAPH,
        question_clusters=ids([-1, 2]),
        **OF_TYPES,
        clusters=EVERYONE,
        **COUNTED,
        any_larger="question_clusters clusters",
    ),
    "ways_to_walk": binding(
        kernels.ways_to_walk,
        **ON_GRAPH,
        **OF_TYPES,
        widest=np.array([5, 5]),
        rank=EVERYONE,
        relation_rank=ids(range(4)),
        max_length=3,
        threads=2,
        any_larger="widest rank relation_rank",
    ),
    "reach": binding(
        kernels.reach,
        **FROM_EVERYONE,
        **OF_TYPES,
        ways=np.array([0, 0]),
        widest=np.array([5, 5]),
        **COUNTED,
        any_length="entities",
        any_larger="entities widest",
    ),
    "reach by a method": binding(
        kernels.reach,
        **FROM_EVERYONE,
        **OF_TYPES,
        ways=np.array([0, 0]),
        widest=np.array([], dtype=np.int64),
        **COUNTED,
        method=2,
        any_length="entities widest",
        any_larger="entities",
        any_value="widest",
    ),
    "cost_together": binding(
        kernels.cost_together,
        **ON_GRAPH,
        **OF_ONE_RELATION,
        max_length=3,
        any_length="types",
    ),
    "reach_estimates": binding(
        kernels.reach_estimates,
        **FROM_EVERYONE,
        types=TYPES,
        max_length=3,
        threads=2,
        any_length="entities types",
        any_larger="entities",
    ),
    "reach_cost": binding(
        kernels.reach_cost,
        **ON_GRAPH,
        **OF_ONE_RELATION,
        max_length=3,
        most=1000,
        threads=2,
        any_length="types",
    ),
    "reach_around": binding(
        kernels.reach_around,
        **ON_GRAPH,
        **OF_ONE_RELATION,
        starts=(ids([0, 0, 3]), ids([0, 1, 0])),
        ends=(ids([1, 2]), ids([1, 0])),
        **COUNTED,
        any_length="types",
        any_larger="starts.0 ends.0",
    ),
    "bare_halves": binding(
        kernels_bench.bare_halves,
        **ON_GRAPH,
        rank=EVERYONE,
        max_length=3,
        threads=2,
        any_value="rank",
    ),
    "bare_cycles": binding(
        kernels_bench.bare_cycles,
        **ON_GRAPH,
        rank=EVERYONE,
        max_length=3,
        cycles=10,
        kinds=7,
        threads=2,
        any_value="rank",
    ),
    "affected_endpoints": binding(
        kernels.affected_endpoints,
        **ON_GRAPH,
        heads=ids([0, 1]),
        relations=ids([0, 0]),
        tails=ids([1, 2]),
        relation=2,
        types=TYPES,
        max_length=3,
        any_length="types",
    ),
    "average_linkage": binding(
        kernels.average_linkage,
        offsets=np.array([0, 2, 3]),
        relations=ids([0, 1, 1]),
        members=np.array([4, 2]),
        any_larger="members",
    ),
    "relation_query": binding(
        kernels.RelationQuery,
        **ON_GRAPH,
        relation=0,
        walk=WALK,
        options=kernels.QueryOptions(),
        rank=EVERYONE,
        any_longer="walk.0 walk.1",
        any_value="rank",
    ),
    "answers": binding(kernels.answers, **QUERY, top=3, new_only=True, threads=2),
    "standings": binding(
        kernels.standings,
        **QUERY,
        target_offsets=np.array([0, 1, 1, 3]),
        targets=ids([2, 0, 4]),
        known_offsets=np.array([0, 1, 1, 2]),
        known=ids([1, 2]),
        threads=2,
        any_larger="targets known",
    ),
    "evidence": binding(
        kernels.evidence,
        **(QUERY | OF_ONE),
        answers=ids([1, 0, 3]),
        any_length="answers",
    ),
    "leaf": binding(
        lambda **given: kernels.ClusterTree().leaf(**given),
        profile=1,
        relations=ids([0, 3]),
        members=2,
        any_length="relations",
    ),
    "attach": binding(lambda **given: forest().attach(**given), node=2, beside=0),
    "node": binding(tree_of(0, 1).node, node=2),
    "sum": binding(tree_of(0, 1).sum, node=1),
    "remove": binding(lambda **given: tree_of(0, 1).remove(**given), profile=1),
    "resize": binding(
        lambda **given: tree_of(0, 1).resize(**given), profile=1, members=3
    ),
    "insert": binding(
        lambda **given: tree_of(0, 1).insert(**given),
        profile=2,
        relations=ids([1, 3]),
        members=2,
        ranks=ids([1, 0]),
        any_length="relations",
        any_longer="ranks",
        any_value="ranks",
    ),
}


def forest() -> kernels.ClusterTree:
    """Nodes 0 and 1 are joined by node 3; node 2 is in no place."""
    tree = kernels.ClusterTree()
    for profile in range(3):
        tree.leaf(profile, ids([profile]), 1)
    tree.attach(1, 0)
    return tree


def places(arguments: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every argument, and every part of those that have several, with its name."""
    for name, value in arguments.items():
        if isinstance(value, tuple):
            yield from ((f"{name}.{part}", one) for part, one in enumerate(value))
        else:
            yield name, value


def changed(arguments: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    name, _, part = place.partition(".")
    if not part:
        return {**arguments, name: value}
    whole = list(arguments[name])
    whole[int(part)] = value
    return {**arguments, name: tuple(whole)}


def wrong_arrays(right: Binding, place: str, array: Any) -> Iterator[tuple[str, Any]]:
    """An array that was right, in every way in which it could be wrong."""
    kind = array.dtype.type
    if place not in right.any_length:
        yield "one too short", array[:-1]
        if place not in right.any_longer:
            yield "one too long", np.append(array, array[-1:])
    yield "of two dimensions", array.reshape(1, -1)
    yield "nothing", None
    if kind is np.bool or place in right.any_value:
        return
    out_of_range: dict[str, float] = {"negative": -2}
    if place not in right.any_larger:
        out_of_range["too large"] = 1.5 if kind is np.float64 else np.iinfo(kind).max
    for at, (what, value) in product((0, len(array) - 1), out_of_range.items()):
        wrong = array.copy()
        wrong[at] = value
        yield f"{what} at {at}", wrong


def wrong_numbers(place: str) -> Iterator[tuple[str, Any]]:
    yield "negative", -1
    yield "not a number", "1"
    yield "too large for any number", 2**70
    are_any = "threads", "members", "cycles", "most", "most_halves"
    if place not in (*are_any, "limit.0", "limit.1"):
        yield "too large", LARGEST


def wrong_calls() -> Iterator[Any]:
    for name, right in BINDINGS.items():
        for place, value in places(right.arguments):
            for what, other in wrong_values(right, place, value):
                yield pytest.param(right, place, other, id=f"{name}: {place} {what}")


def wrong_values(right: Binding, place: str, value: Any) -> Iterable[tuple[str, Any]]:
    """What does not fit in the place of an argument that was right, each with a name."""
    if place == "progress":
        longer = np.zeros(3, dtype=np.int64)
        return [("one too short", counters()[:1]), ("one too long", longer)]
    if isinstance(value, np.ndarray):
        return wrong_arrays(right, place, value)
    if isinstance(value, int) and place not in ("top", "new_only"):
        return wrong_numbers(place)
    return [("nothing", None)]


@pytest.mark.parametrize("name", BINDINGS)
def test_a_call_whose_arrays_fit_works(name: str) -> None:
    BINDINGS[name].call(**BINDINGS[name].arguments)


@pytest.mark.parametrize(("right", "place", "value"), list(wrong_calls()))
def test_a_call_whose_arrays_do_not_fit_is_refused(
    right: Binding,
    place: str,
    value: Any,
) -> None:
    with pytest.raises((ValueError, TypeError)):
        right.call(**changed(right.arguments, place, value))


def edges(heads: list[int], offsets: list[int], tails: list[int]) -> kernels.Edges:
    return kernels.Edges.of(ids(heads), ids(offsets), ids(tails))


@pytest.mark.parametrize(
    ("heads", "offsets", "tails", "message"),
    [
        ([1, 0], [0, 1, 2], [0, 0], "heads do not rise"),
        ([0, 0], [0, 1, 2], [0, 1], "heads do not rise"),
        ([0, 1], [0, 0, 1], [0], "a head has no tails"),
        ([0, 1], [0, 2, 1], [0], "offsets fall somewhere"),
        ([0], [1, 2], [0, 1], "offsets do not begin with 0"),
        ([0], [0, 2], [1, 0], "the tails of a head do not rise"),
        ([0], [0, 2], [1, 1], "the tails of a head do not rise"),
        ([0, 1], [0, 2, 3], [1, 1, 1], "the tails of a head do not rise"),
    ],
)
def test_edges_that_are_not_in_order_are_refused(
    heads: list[int], offsets: list[int], tails: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        edges(heads, offsets, tails)


def test_ids_that_do_not_fit_are_refused_and_not_cut_short() -> None:
    with pytest.raises(TypeError):
        kernels.Edges.of(ids([0]), ids([0, 1]), np.array([2**32 + 5]))
    with pytest.raises(TypeError):
        kernels.profiles(GRAPH.kernel, np.array([2**32]))


def test_an_array_with_gaps_is_read_as_it_is() -> None:
    pairs = np.stack([EVERYONE, EVERYONE[::-1]], axis=1)
    offsets, relations = kernels.profiles(GRAPH.kernel, pairs[:, 1])
    expected = kernels.profiles(GRAPH.kernel, EVERYONE[::-1].copy())
    assert offsets.tolist() == expected[0].tolist()
    assert relations.tolist() == expected[1].tolist()


def test_a_graph_whose_relations_do_not_fit_is_refused() -> None:
    there = edges([0], [0, 1], [1])
    back = edges([1], [0, 1], [0])
    other = edges([1], [0, 1], [1])
    kernels.Graph(2, [there, back])
    no_inverse = "a relation is not the inverse of the one before it"
    for entities, relations, message in (
        (1, [there, back], "an entity of the edges is 1; expected from -1 to 0"),
        (-1, [], "a graph has fewer than no entities"),
        (2, [there], "a relation has no inverse after it"),
        (2, [there, there], no_inverse),
        (2, [there, other], no_inverse),
        (2, [there, back, back, other], no_inverse),
    ):
        with pytest.raises(ValueError, match=message):
            kernels.Graph(entities, relations)
    with pytest.raises((TypeError, ValueError)):
        kernels.Graph(2, [there, None])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "number",
    [
        0,
        -1,
        packed([4], 3),
        packed([0, 9], 3),
        2 << 20,
        1 | 1 << 40,
        1 << 62,
        2**63 - 1,
    ],
)
def test_a_number_that_is_no_path_type_of_the_graph_is_refused(number: int) -> None:
    arguments = BINDINGS["reach"].arguments | {"types": np.array([number, TYPES[0]])}
    with pytest.raises(ValueError, match="is no path type of these relations"):
        kernels.reach(**arguments)


@pytest.mark.parametrize(
    "ways", [[1, 0], [0, 2], [1, 2], [1, 1], [2, 2]], ids=lambda ways: f"{ways}"
)
def test_pairs_that_are_not_inverse_are_not_counted_along(ways: list[int]) -> None:
    arguments = BINDINGS["reach"].arguments | {"ways": np.array(ways)}
    with pytest.raises(ValueError, match="a pair that is not its inverse"):
        kernels.reach(**arguments)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_length", 0),
        ("max_length", 6),
        ("best", 0),
        ("best", 9),
        ("walked", -1),
        ("budget", -1),
        ("doubt", 0.0),
        ("doubt", float("nan")),
        ("doubt", float("inf")),
        ("habit", -0.1),
        ("habit", float("nan")),
        ("discount", 1.1),
        ("ridge", 0.0),
        ("ridge", float("nan")),
        ("ridge", float("inf")),
        ("precedent_weight", -0.1),
        ("precedent_weight", float("nan")),
        ("nearest", 0),
        ("decisive", -0.1),
    ],
)
def test_options_out_of_their_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        made_query(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("separator", b"", "separator has 0 entries"),
        ("separator", b"ab", "separator has 2 entries"),
        ("brackets", b"<", "brackets are none or a pair"),
        ("places", (0, 1, 1), "two places are the same"),
        ("places", (0, 1, 3), "places is 3"),
        (
            "relations",
            BINDINGS["interned_lines"].arguments["entities"],
            "have one table",
        ),
    ],
)
def test_lines_of_no_shape_are_refused(name: str, value: Any, message: str) -> None:
    arguments = {**BINDINGS["interned_lines"].arguments, name: value}
    with pytest.raises(ValueError, match=message):
        kernels.interned_lines(**arguments)


@pytest.mark.parametrize("wrong", [([3, 0, 0], [0, 0, 1]), ([0, 3, 3], [0, 1, 1])])
@pytest.mark.parametrize("name", ["starts", "ends"])
def test_endpoints_that_are_not_sorted_or_repeated_are_refused(
    name: str, wrong: tuple[list[int], list[int]]
) -> None:
    arguments = {**BINDINGS["reach_around"].arguments, name: tuple(map(ids, wrong))}
    with pytest.raises(ValueError, match="endpoints are not sorted"):
        kernels.reach_around(**arguments)


def test_more_relations_than_path_types_can_name_are_refused() -> None:
    none = kernels.Edges.of(ids(), ids([0]), ids())
    wide = kernels.Graph(1, [none] * 4096)
    kernels.cycles_through(wide, 0, 0, 0, 4, 4, 100)
    with pytest.raises(
        ValueError, match="path types of 5 steps have no room for so many relations"
    ):
        kernels.cycles_through(wide, 0, 0, 0, 5, 5, 100)


def test_a_tree_refuses_what_would_break_it() -> None:
    tree = forest()
    for refused, message in (
        (lambda: tree.attach(0, 2), "node 0 is in a place already"),
        (lambda: tree.attach(3, 0), "a node cannot be attached to what is below it"),
        (lambda: tree.attach(2, 2), "a node cannot be attached to what is below it"),
        (lambda: tree.leaf(1, ids([0]), 1), "the tree has profile 1 already"),
        (
            lambda: tree.leaf(9, ids([1, 0]), 1),
            "the relations of a profile do not rise",
        ),
        (lambda: tree.leaf(9, ids(), 1), "a profile has no relations"),
        (
            lambda: tree.insert(9, ids([0]), 1, ids([0, 1])),
            "the tree is not in one piece",
        ),
        (lambda: tree.remove(2), "profile 2 is in no place"),
    ):
        with pytest.raises(ValueError, match=message):
            refused()
    tree.attach(3, 2)
    assert tree.root() == 4
    tree.remove(2)
    with pytest.raises(ValueError, match="the tree has no node 2"):
        tree.node(2)
    assert tree.members(-1) == 0


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"sum": True},
        {"loop_free": False},
        {"habit": 0.0},
        {"budget": 3},
        {"nearest": 1},
        {"precedent_weight": 0.0},
    ],
)
@pytest.mark.parametrize("entity", range(ENTITIES))
def test_evidence_of_several_answers_is_that_of_each(
    entity: int, changes: dict[str, Any]
) -> None:
    query = made_query(**changes)
    answers = ids([*range(ENTITIES), 1, 0])  # an answer may be asked for twice
    for unknown in (-1, 1):
        asked = query, ids([entity]), ids([0]), ids([unknown]), kernels.Workspaces()
        offsets, columns = kernels.evidence(*asked, answers)
        assert offsets[0] == 0
        assert offsets[-1] == len(columns[0])
        assert len(offsets) == len(answers) + 1
        for place, answer in enumerate(answers.tolist()):
            alone: tuple[Any, ...] = kernels.evidence(*asked, ids([answer]))[1]
            pieces = slice(offsets[place], offsets[place + 1])
            every_column: tuple[Any, ...] = columns
            together = [column[pieces] for column in every_column]
            for column, expected in zip(together, alone, strict=True):
                assert column.tolist() == expected.tolist()


@pytest.mark.parametrize("entity", [-2, ENTITIES, LARGEST])
def test_nobody_outside_the_graph_is_asked_for_precedents(entity: int) -> None:
    query = made_query()
    workspaces = kernels.Workspaces()
    for asked, hidden in ((entity, -1), (0, entity)):
        with pytest.raises(ValueError, match="expected from"):
            kernels.nearest_entities(query, asked, hidden, workspaces)
    for asked, hidden, answer in ((entity, -1, 1), (0, entity, 1), (0, -1, entity)):
        for why in (kernels.precedents, kernels.similar_answers):
            with pytest.raises(ValueError, match="expected from"):
                why(query, asked, hidden, answer, workspaces)


def test_workspaces_serve_graphs_of_different_sizes_in_turn() -> None:
    workspaces = kernels.Workspaces()
    small = Graph.of(FACTS[:2])
    for _ in range(2):
        for graph in (GRAPH, small):
            rank = np.arange(len(graph.entities), dtype=np.int32)
            half = np.array([0.5])
            walk = np.array([packed([0], 3)]), np.array([0, 1]), ids([0]), half, half
            query = kernels.RelationQuery(
                graph.kernel, 0, walk, kernels.QueryOptions(), rank
            )
            found = kernels.answers(
                query, ids([0]), ids([0]), ids([-1]), workspaces, -1, False, 1
            )
            assert found[1].tolist() == [1]


def test_any_number_of_threads_can_be_asked_for() -> None:
    arguments = BINDINGS["cycles"].arguments
    expected: tuple[Any, ...] = kernels.cycles(**(arguments | {"threads": 1}))
    for threads in (100_000, 2**31 - 1):
        found: tuple[Any, ...] = kernels.cycles(**(arguments | {"threads": threads}))
        for column, other in zip(found, expected, strict=True):
            assert column.tobytes() == other.tobytes()


NO_MORE_THREADS = """
import tests.conftest  # chooses the build that is tested
import resource
import numpy as np
from casegraph import kernels
from casegraph.graph.graph import Graph
graph = Graph.of([(f"e{k % 97}", f"r{k % 3}", f"e{k * 7 % 101}") for k in range(3000)])
everyone = np.arange(len(graph.entities), dtype=np.int32)
def counted(threads):
    limit = 10**9, 10**9
    counters = np.zeros(2, dtype=np.int64)
    return kernels.cycles(graph.kernel, everyone, everyone, 3, limit, threads, counters)
expected = counted(1)
pages = int(open("/proc/self/statm").read().split()[0])
room = pages * resource.getpagesize() + (6 << 20)  # a thread wants a stack of eight megabytes
resource.setrlimit(resource.RLIMIT_AS, (room, room))
for column, other in zip(expected, counted(4), strict=True):
    assert column.tolist() == other.tolist()
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="memory is limited in the Linux way"
)
@pytest.mark.skipif(
    "san.so" in os.environ.get("LD_PRELOAD", ""),
    reason="sanitizers need all the addresses there are",
)
def test_a_system_that_gives_no_more_threads_is_no_failure() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_MORE_THREADS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr == ""
