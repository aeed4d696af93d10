"""Arrays that do not fit each other or the graph are refused:
no kernel reads or writes beside them.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from casegraph import kernels, kernels_bench
from casegraph.graph.arrays import ids
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


def counters() -> Any:  # noqa: ANN401  (an array, as a kernel takes it)
    return np.zeros(2, dtype=np.int64)


def made_query(**changes: Any) -> kernels.RelationQuery:  # noqa: ANN401  (settings of any type)
    options = kernels.QueryOptions()
    options.precedents = True
    for name, value in changes.items():
        setattr(options, name, value)
    walk = TYPES, np.array([0, 2]), ids([1, 0]), np.array([0.5, 0.25]), np.array([0.4, 0.2])
    return kernels.RelationQuery(GRAPH.kernel, 0, walk, options, EVERYONE)


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
    any_length: frozenset[str] = frozenset()
    any_longer: frozenset[str] = frozenset()
    any_larger: frozenset[str] = frozenset()
    any_value: frozenset[str] = frozenset()


EDGES = GRAPH.edges(0)
QUERY: dict[str, Any] = {
    "query": made_query(),
    "entities": ids([0, -1, 3]),
    "lists": ids([0, 0, 0]),
}
QUERY |= {"hidden": ids([-1, 1, 2]), "workspaces": kernels.Workspaces()}
COUNTED = {"max_length": 3, "threads": 2, "progress": counters()}

BINDINGS = {
    "edges": Binding(
        kernels.Edges.of,
        {"heads": EDGES.heads, "offsets": EDGES.offsets, "tails": EDGES.tails},
        any_larger=frozenset({"heads", "tails"}),
    ),
    "interned_lines": Binding(
        kernels.interned_lines,
        {"block": b"a\tr\tb\n", "separator": b"\t", "brackets": b"", "end": b"", "width": 3}
        | {"places": (0, 1, 2), "entities": kernels.Interner(), "relations": kernels.Interner()},
    ),
    "profiles": Binding(
        kernels.profiles,
        {"graph": GRAPH.kernel, "entities": EVERYONE},
        any_length=frozenset({"entities"}),
    ),
    "gather_edges": Binding(kernels.gather_edges, {"graph": GRAPH.kernel, "threads": 2}),
    "degrees": Binding(kernels.degrees, {"graph": GRAPH.kernel, "threads": 2}),
    "walks_one_step_longer": Binding(
        kernels.walks_one_step_longer,
        {"graph": GRAPH.kernel, "walks": np.zeros(ENTITIES, dtype=np.int64), "threads": 2},
        any_larger=frozenset({"walks"}),
    ),
    "walks_one_step_longer_from": Binding(
        kernels.walks_one_step_longer_from,
        {
            "graph": GRAPH.kernel,
            "entities": EVERYONE,
            "walks": np.zeros(ENTITIES, dtype=np.int64),
            "threads": 2,
        },
        any_length=frozenset({"entities"}),
        any_larger=frozenset({"walks"}),
    ),
    "closed_paths": Binding(
        kernels.closed_paths,
        {
            "graph": GRAPH.kernel,
            "entities": EVERYONE,
            "clusters": EVERYONE,
            "wanted": np.ones(4, dtype=np.bool),
        }
        | {"longest": 3, **COUNTED},
        any_length=frozenset({"entities"}),
        any_larger=frozenset({"clusters"}),
    ),
    "cycles": Binding(
        kernels.cycles,
        {
            "graph": GRAPH.kernel,
            "tops": EVERYONE,
            "rank": EVERYONE,
            "limit": (1000, MOST_TYPES),
            **COUNTED,
        },
        any_length=frozenset({"tops"}),
        any_value=frozenset({"rank"}),
    ),
    "cycles_through": Binding(
        kernels.cycles_through,
        {"graph": GRAPH.kernel, "head": 0, "relation": 0, "tail": 1, "max_length": 3, "longest": 3},
    ),
    "walks": Binding(
        kernels.walks,
        {
            "graph": GRAPH.kernel,
            "question_clusters": ids([-1, 2]),
            "relations": RELATIONS,
            "types": TYPES,
        }
        | {"clusters": EVERYONE, **COUNTED},
        any_larger=frozenset({"question_clusters", "clusters"}),
    ),
    "reach": Binding(
        kernels.reach,
        {
            "graph": GRAPH.kernel,
            "entities": EVERYONE,
            "relations": RELATIONS,
            "types": TYPES,
        }
        | {"widest": np.array([5, 5]), **COUNTED},
        any_length=frozenset({"entities"}),
        any_larger=frozenset({"entities", "widest"}),
    ),
    "reach_together": Binding(
        kernels.reach_together,
        {
            "graph": GRAPH.kernel,
            "entities": EVERYONE,
            "relations": RELATIONS,
            "types": TYPES,
        }
        | COUNTED,
        any_length=frozenset({"entities"}),
        any_larger=frozenset({"entities"}),
    ),
    "cost_together": Binding(
        kernels.cost_together,
        {"graph": GRAPH.kernel, "relation": 0, "types": TYPES, "max_length": 3},
        any_length=frozenset({"types"}),
    ),
    "reach_estimates": Binding(
        kernels.reach_estimates,
        {
            "graph": GRAPH.kernel,
            "entities": EVERYONE,
            "types": TYPES,
            "max_length": 3,
            "threads": 2,
        },
        any_length=frozenset({"entities", "types"}),
        any_larger=frozenset({"entities"}),
    ),
    "reach_cost": Binding(
        kernels.reach_cost,
        {
            "graph": GRAPH.kernel,
            "relation": 0,
            "types": TYPES,
            "max_length": 3,
            "most": 1000,
            "threads": 2,
        },
        any_length=frozenset({"types"}),
    ),
    "reach_around": Binding(
        kernels.reach_around,
        {"graph": GRAPH.kernel, "relation": 0, "types": TYPES}
        | {"starts": (ids([0, 0, 3]), ids([0, 1, 0])), "ends": (ids([1, 2]), ids([1, 0]))}
        | COUNTED,
        any_length=frozenset({"types"}),
        any_larger=frozenset({"starts.0", "ends.0"}),
    ),
    "bare_reach": Binding(
        kernels_bench.bare_reach,
        {
            "graph": GRAPH.kernel,
            "entities": EVERYONE,
            "relations": RELATIONS,
            "types": TYPES,
            "max_length": 3,
        }
        | {"threads": 2},
        any_length=frozenset({"entities"}),
    ),
    "bare_cycles": Binding(
        kernels_bench.bare_cycles,
        {
            "graph": GRAPH.kernel,
            "rank": EVERYONE,
            "max_length": 3,
            "additions": 10,
            "kinds": 7,
            "threads": 2,
        },
        any_value=frozenset({"rank"}),
    ),
    "affected_endpoints": Binding(
        kernels.affected_endpoints,
        {
            "graph": GRAPH.kernel,
            "heads": ids([0, 1]),
            "relations": ids([0, 0]),
            "tails": ids([1, 2]),
            "relation": 2,
        }
        | {"types": TYPES, "max_length": 3},
        any_length=frozenset({"types"}),
    ),
    "average_linkage": Binding(
        kernels.average_linkage,
        {"offsets": np.array([0, 2, 3]), "relations": ids([0, 1, 1]), "members": np.array([4, 2])},
        any_larger=frozenset({"members"}),
    ),
    "relation_query": Binding(
        kernels.RelationQuery,
        {"graph": GRAPH.kernel, "relation": 0, "options": kernels.QueryOptions(), "rank": EVERYONE}
        | {
            "walk": (
                TYPES,
                np.array([0, 2]),
                ids([1, 0]),
                np.array([0.5, 0.25]),
                np.array([0.4, 0.2]),
            )
        },
        any_longer=frozenset({"walk.0", "walk.1"}),
        any_value=frozenset({"rank"}),
    ),
    "answers": Binding(kernels.answers, {**QUERY, "top": 3, "new_only": True, "threads": 2}),
    "standings": Binding(
        kernels.standings,
        {**QUERY, "target_offsets": np.array([0, 1, 1, 3]), "targets": ids([2, 0, 4]), "threads": 2}
        | {"known_offsets": np.array([0, 1, 1, 2]), "known": ids([1, 2])},
        any_larger=frozenset({"targets", "known"}),
    ),
    "evidence": Binding(
        kernels.evidence,
        {
            **QUERY,
            "entities": ids([0]),
            "lists": ids([0]),
            "hidden": ids([-1]),
            "answers": ids([1, 0, 3]),
        },
        any_length=frozenset({"answers"}),
    ),
    "leaf": Binding(
        lambda **given: kernels.ClusterTree().leaf(**given),
        {"profile": 1, "relations": ids([0, 3]), "members": 2},
        any_length=frozenset({"relations"}),
    ),
    "attach": Binding(lambda **given: forest().attach(**given), {"node": 2, "beside": 0}),
    "node": Binding(tree_of(0, 1).node, {"node": 2}),
    "sum": Binding(tree_of(0, 1).sum, {"node": 1}),
    "remove": Binding(lambda **given: tree_of(0, 1).remove(**given), {"profile": 1}),
    "resize": Binding(lambda **given: tree_of(0, 1).resize(**given), {"profile": 1, "members": 3}),
    "insert": Binding(
        lambda **given: tree_of(0, 1).insert(**given),
        {"profile": 2, "relations": ids([1, 3]), "members": 2, "ranks": ids([1, 0])},
        any_length=frozenset({"relations"}),
        any_longer=frozenset({"ranks"}),
        any_value=frozenset({"ranks"}),
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


def changed(arguments: dict[str, Any], place: str, value: Any) -> dict[str, Any]:  # noqa: ANN401
    name, _, part = place.partition(".")
    if not part:
        return {**arguments, name: value}
    whole = list(arguments[name])
    whole[int(part)] = value
    return {**arguments, name: tuple(whole)}


def wrong_arrays(binding: Binding, place: str, array: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """An array that was right, in every way in which it could be wrong."""
    kind = array.dtype.type
    if place not in binding.any_length:
        yield "one too short", array[:-1]
        if place not in binding.any_longer:
            yield "one too long", np.append(array, array[-1:])
    yield "of two dimensions", array.reshape(1, -1)
    yield "nothing", None
    if kind is np.bool or place in binding.any_value:
        return
    for at in (0, len(array) - 1):
        for what, value in (
            ("negative", -2),
            ("too large", 1.5 if kind is np.float64 else np.iinfo(kind).max),
        ):
            if what == "negative" or place not in binding.any_larger:
                wrong = array.copy()
                wrong[at] = value
                yield f"{what} at {at}", wrong


def wrong_numbers(place: str) -> Iterator[tuple[str, Any]]:
    yield "negative", -1
    yield "not a number", "1"
    yield "too large for any number", 2**70
    if place not in ("threads", "members", "additions", "most", "limit.0", "limit.1"):
        yield "too large", LARGEST


def wrong_calls() -> Iterator[Any]:
    for name, binding in BINDINGS.items():
        for place, value in places(binding.arguments):
            if place == "progress":
                wrong = [
                    ("one too short", counters()[:1]),
                    ("one too long", np.zeros(3, dtype=np.int64)),
                ]
            elif isinstance(value, np.ndarray):
                wrong = list(wrong_arrays(binding, place, value))
            elif isinstance(value, int) and place not in ("top", "new_only"):
                wrong = list(wrong_numbers(place))
            else:
                wrong = [("nothing", None)]
            for what, other in wrong:
                yield pytest.param(binding, place, other, id=f"{name}: {place} {what}")


@pytest.mark.parametrize("name", BINDINGS)
def test_a_call_whose_arrays_fit_works(name: str) -> None:
    BINDINGS[name].call(**BINDINGS[name].arguments)


@pytest.mark.parametrize(("binding", "place", "value"), list(wrong_calls()))
def test_a_call_whose_arrays_do_not_fit_is_refused(
    binding: Binding,
    place: str,
    value: Any,  # noqa: ANN401
) -> None:
    with pytest.raises((ValueError, TypeError)):
        binding.call(**changed(binding.arguments, place, value))


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
        ([0], [0, 2], [1, 0], "the tails of a head fall somewhere"),
    ],
)
def test_edges_that_are_not_in_order_are_refused(
    heads: list[int], offsets: list[int], tails: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        edges(heads, offsets, tails)


def test_a_graph_whose_relations_do_not_fit_is_refused() -> None:
    there = edges([0], [0, 1], [1])
    back = edges([1], [0, 1], [0])
    other = edges([1], [0, 1], [1])
    kernels.Graph(2, [there, back])
    for entities, relations, message in (
        (1, [there, back], "an entity of the edges is 1; expected from -1 to 0"),
        (-1, [], "a graph has fewer than no entities"),
        (2, [there], "a relation has no inverse after it"),
        (2, [there, there], "a relation is not the inverse of the one before it"),
        (2, [there, other], "a relation is not the inverse of the one before it"),
        (2, [there, back, back, other], "a relation is not the inverse of the one before it"),
    ):
        with pytest.raises(ValueError, match=message):
            kernels.Graph(entities, relations)
    with pytest.raises((TypeError, ValueError)):
        kernels.Graph(2, [there, None])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "number", [0, -1, packed([4], 3), packed([0, 9], 3), 2 << 20, 1 | 1 << 40, 1 << 62, 2**63 - 1]
)
def test_a_number_that_is_no_path_type_of_the_graph_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="is no path type of these relations"):
        BINDINGS["reach"].call(
            **changed(BINDINGS["reach"].arguments, "types", np.array([number, TYPES[0]]))
        )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_length", 0),
        ("max_length", 6),
        ("best", 0),
        ("best", 9),
        ("walked", -1),
        ("support", 0),
        ("budget", -1),
        ("doubt", 0.0),
        ("doubt", float("nan")),
        ("doubt", float("inf")),
        ("habit", -0.1),
        ("habit", float("nan")),
        ("discount", 1.1),
        ("answers_discount", 1.1),
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
        ("relations", BINDINGS["interned_lines"].arguments["entities"], "have one table"),
    ],
)
def test_lines_of_no_shape_are_refused(name: str, value: Any, message: str) -> None:  # noqa: ANN401
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
    kernels.cycles_through(wide, 0, 0, 0, 4, 4)
    with pytest.raises(
        ValueError, match="path types of 5 steps have no room for so many relations"
    ):
        kernels.cycles_through(wide, 0, 0, 0, 5, 5)


def test_a_tree_refuses_what_would_break_it() -> None:
    tree = forest()
    for refused, message in (
        (lambda: tree.attach(0, 2), "node 0 is in a place already"),
        (lambda: tree.attach(3, 0), "a node cannot be attached to what is below it"),
        (lambda: tree.attach(2, 2), "a node cannot be attached to what is below it"),
        (lambda: tree.leaf(1, ids([0]), 1), "the tree has profile 1 already"),
        (lambda: tree.leaf(9, ids([1, 0]), 1), "the relations of a profile do not rise"),
        (lambda: tree.leaf(9, ids(), 1), "a profile has no relations"),
        (lambda: tree.insert(9, ids([0]), 1, ids([0, 1])), "the tree is not in one piece"),
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
    "changes", [{}, {"sum": True}, {"loop_free": False}, {"habit": 0.0}, {"budget": 3}]
)
@pytest.mark.parametrize("entity", range(ENTITIES))
def test_evidence_of_several_answers_is_that_of_each(entity: int, changes: dict[str, Any]) -> None:
    query = made_query(support=1, **changes)
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


def test_workspaces_serve_graphs_of_different_sizes_in_turn() -> None:
    workspaces = kernels.Workspaces()
    small = Graph.of(FACTS[:2])
    for _ in range(2):
        for graph in (GRAPH, small):
            rank = np.arange(len(graph.entities), dtype=np.int32)
            walk = (
                np.array([packed([0], 3)]),
                np.array([0, 1]),
                ids([0]),
                np.array([0.5]),
                np.array([0.5]),
            )
            query = kernels.RelationQuery(graph.kernel, 0, walk, kernels.QueryOptions(), rank)
            found = kernels.answers(query, ids([0]), ids([0]), ids([-1]), workspaces, -1, False, 1)
            assert found[1].tolist() == [1]


def test_any_number_of_threads_can_be_asked_for() -> None:
    arguments = BINDINGS["cycles"].arguments
    columns = [
        kernels.cycles(**{**arguments, "threads": threads}) for threads in (1, 100_000, 2**31 - 1)
    ]
    for column in zip(*columns, strict=True):
        assert len({array.tobytes() for array in column}) == 1


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


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited in the Linux way")
@pytest.mark.skipif(
    "san.so" in os.environ.get("LD_PRELOAD", ""),
    reason="sanitizers need all the addresses there are",
)
def test_a_system_that_gives_no_more_threads_is_no_failure() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_MORE_THREADS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr == ""
