"""A Ctrl-C ends any kernel in the middle of whatever it does,
as the exception that Python makes of it.
"""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType

import numpy as np
import pytest

from casegraph import kernels
from casegraph.casebase import CaseBase
from casegraph.graph.graph import Graph
from casegraph.running import Stopped, run, stopped_by
from casegraph.settings import Settings
from casegraph.statistics.counts import Counting

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent in the POSIX way")

# Seconds until an interrupt is heard, on however slow a machine; here it takes a tenth.
AT_MOST = 2.0

PREPARATION = """
import signal
import tests.conftest  # chooses the build that is tested
import sys, time
from itertools import product
import numpy as np
from casegraph import kernels, kernels_bench
from casegraph.graph.arrays import ids
from casegraph.graph.graph import Graph
from casegraph.statistics.path_types import packed

names = [f"e{number}" for number in range(size)]
graph = Graph.of((a, f"r{k}", b) for a in names for b in names if a != b for k in range(relations))
everyone, counters = np.arange(size, dtype=np.int32), np.zeros(2, dtype=np.int64)
anything = 2**62, 2**62
types = np.array([packed(steps, n) for steps in product(range(2 * relations), repeat=n)])
labels = np.zeros(len(types), dtype=np.int32)
every_pair = np.repeat(everyone, len(types)), np.tile(np.arange(len(types), dtype=np.int32), size)
nothing = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if the tests run behind
options = kernels.QueryOptions()
options.max_length, options.budget = n, 2**62
places = np.arange(len(types), dtype=np.int32)
half = np.full(len(types), 0.5)
walked = types, np.array([0, len(types)]), places, half, half
query = kernels.RelationQuery(graph.kernel, 0, walked, options, everyone)
workspaces, entity, list_, unknown = kernels.Workspaces(), ids([0]), ids([0]), ids([-1])

def forest(leaves):
    tree = kernels.ClusterTree()
    nodes = [tree.leaf(leaf, ids([2 * leaf, 2 * leaf + 1]), 1) for leaf in range(leaves)]
    while len(nodes) > 1:
        nodes = [tree.attach(two, one) for one, two in zip(nodes[::2], nodes[1::2], strict=True)]
    return tree
"""

DRIVER = """
print("ready", flush=True)
try:
    work()
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
    found = kernels.cycles_through(graph.kernel, 0, 0, 1, n, 1)
    assert found[-1] == 2 * relations, "the next call works"
"""

# Of each kernel: relations, path length and entities of a graph where all know all,
# and a call that takes long there.
LONG = {
    "profiles": (
        (5, 1, 100),
        "kernels.profiles(graph.kernel, np.zeros(9_000_000, dtype=np.int32))",
    ),
    "cycles": (
        (5, 3, 100),
        "kernels.cycles(graph.kernel, everyone, everyone, n, anything, 2, counters)",
    ),
    "cycles of one entity": (
        (5, 4, 100),
        "kernels.cycles(graph.kernel, everyone[-1:], everyone, n, anything, 2, counters)",
    ),
    "closed_paths": (
        (5, 3, 100),
        "kernels.closed_paths(graph.kernel, everyone, everyone, nothing[0] > 0, n, n, 2, counters)",
    ),
    "cycles_through": ((5, 4, 100), "kernels.cycles_through(graph.kernel, 0, 0, 1, n, n)"),
    "walks": (
        (5, 5, 100),
        "kernels.walks(graph.kernel, labels, labels, types, everyone, n, 2, counters)",
    ),
    "reach": (
        (2, 5, 100),
        "kernels.reach(graph.kernel, everyone, labels, types, nothing[0], n, 2, counters)",
    ),
    "reach of one entity": (
        (3, 5, 100),
        "kernels.reach(graph.kernel, everyone[:1], labels, types, nothing[0], n, 2, counters)",
    ),
    "reach_together": (
        (12, 3, 300),
        "kernels.reach_together(graph.kernel, everyone, labels, types, n, 2, counters)",
    ),
    "reach_around": (
        (2, 5, 100),
        "kernels.reach_around(graph.kernel, 0, types, (ids(), ids()), every_pair, n, 2, counters)",
    ),
    "bare_reach": (
        (2, 5, 100),
        "kernels_bench.bare_reach(graph.kernel, everyone, labels, types, n, 2)",
    ),
    "bare_cycles": (
        (5, 5, 100),
        "kernels_bench.bare_cycles(graph.kernel, everyone, n, 10**12, 1000, 2)",
    ),
    "affected_endpoints": (
        (5, 5, 100),
        "kernels.affected_endpoints(graph.kernel, ids([0]), ids([0]), ids([1]), 0, types, n)",
    ),
    "average_linkage": (
        (1, 1, 2),
        "kernels.average_linkage(np.arange(5_001), "
        "np.full(5_000, 99_999, dtype=np.int32), np.ones(5_000, np.int64))",
    ),
    "insert": (
        (1, 1, 2),
        "tree.insert(1 << 18, ids([0, 9]), 1, np.arange(1 << 19, dtype=np.int32))",
    ),
    "answers": (
        (3, 5, 100),
        "kernels.answers(query, entity, list_, unknown, workspaces, -1, False, 2)",
    ),
    "standings": (
        (3, 5, 100),
        "kernels.standings(query, entity, list_, unknown, workspaces, "
        "np.array([0, size]), everyone, np.array([0, 0]), ids(), 2)",
    ),
    "evidence": (
        (3, 5, 100),
        "kernels.evidence(query, entity, list_, unknown, workspaces, everyone[1:9])",
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_an_interrupt_ends_a_kernel_in_the_middle(name: str) -> None:
    (relations, n, size), work = LONG[name]
    tree = "tree = forest(1 << 18)\n" if "tree" in work else ""
    sizes = f"relations, n, size = {relations}, {n}, {size}\n"
    source = f"{sizes}{PREPARATION}{tree}work = lambda: {work}\n{DRIVER}"
    with subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        heard = child.stdout.readline()
    assert (bool(heard), child.returncode) == (True, 0), (
        "the kernel ended before it was interrupted, or not at all"
    )
    print(f"{name}: {float(heard) - sent:.3f} s")
    assert float(heard) - sent < AT_MOST


class TooLate(Exception):
    """What a handler of a service raises."""


def crowd(entities: int, relations: int) -> Graph:
    everyone = range(entities)
    return Graph.of(
        (f"e{a}", f"r{k}", f"e{b}")
        for a in everyone
        for b in everyone
        if a != b
        for k in range(relations)
    )


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    def raise_it(number: int, frame: FrameType | None) -> None:
        raise TooLate

    before = signal.signal(signal.SIGALRM, raise_it)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_what_a_signal_handler_raises_ends_the_kernel() -> None:
    counting = Counting(crowd(90, 5), Settings(counting=2**62))
    with alarm(0.2), pytest.raises(TooLate):
        counting.cycles(np.arange(90, dtype=np.int32))


def test_a_handler_that_raises_nothing_lets_the_kernel_go_on() -> None:
    graph = crowd(40, 5)
    heard = list[int]()
    expected = Counting(graph, Settings(max_length=2)).cycles(np.arange(40, dtype=np.int32))
    before = signal.signal(signal.SIGALRM, lambda number, frame: heard.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        for _ in range(3):
            found = Counting(graph, Settings(max_length=2)).cycles(np.arange(40, dtype=np.int32))
            assert found.hits.tolist() == expected.hits.tolist()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert heard


def test_a_kernel_that_shows_its_progress_is_interrupted_too() -> None:
    shown = list[tuple[str, int, int]]()
    counting = Counting(crowd(90, 5), Settings(counting=2**62), lambda *step: shown.append(step))
    with alarm(0.3), pytest.raises(TooLate):
        counting.cycles(np.arange(90, dtype=np.int32))
    assert shown[0][0] == "counting paths to answers"


def test_whoever_writes_to_the_counters_stops_a_kernel_in_another_thread() -> None:
    graph = crowd(90, 5).kernel
    everyone = np.arange(90, dtype=np.int32)
    counters = np.zeros(2, dtype=np.int64)
    failures = list[BaseException]()

    def work() -> None:
        try:
            kernels.cycles(graph, everyone, everyone, 3, (2**62, 2**62), 2, counters)
        except RuntimeError as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.1)
    counters[1] = 1
    thread.join()
    assert [str(failure) for failure in failures] == ["interrupted"]


def test_a_flag_stops_the_kernels_of_a_thread_and_lets_none_begin() -> None:
    facts = list(crowd(90, 5).facts())
    cases = CaseBase(Settings(counting=10**9))
    untouched = CaseBase(Settings(counting=10**9))
    cases.update(add=facts)
    untouched.update(add=facts)
    flag = kernels.StopFlag()
    with ThreadPoolExecutor(1) as thread:

        def ask() -> None:
            with stopped_by(flag):
                cases.ask("e0", "r0")

        asking = thread.submit(ask)
        time.sleep(0.1)
        flag.set()
        with pytest.raises(Stopped):
            asking.result()
        with pytest.raises(Stopped):
            thread.submit(ask).result()
        answered = thread.submit(cases.ask, "e0", "r0").result()  # the flag is obeyed no longer
    assert list(answered) == list(untouched.ask("e0", "r0"))


def test_a_case_base_answers_as_ever_after_an_interrupt() -> None:
    facts = list(crowd(90, 5).facts())
    cases = CaseBase(Settings(counting=10**9))
    untouched = CaseBase(Settings(counting=10**9))
    cases.update(add=facts)
    untouched.update(add=facts)
    with alarm(0.2), pytest.raises(TooLate):
        cases.ask("e0", "r0")
    assert list(cases.ask("e0", "r0")) == list(untouched.ask("e0", "r0"))


def test_a_tree_whose_insertion_was_interrupted_is_not_used_any_more() -> None:
    tree = kernels.ClusterTree()
    leaves = 1 << 16
    nodes = [
        tree.leaf(leaf, np.array([leaf, leaves + leaf], dtype=np.int32), 1)
        for leaf in range(leaves)
    ]
    while len(nodes) > 1:
        nodes = [tree.attach(two, one) for one, two in zip(nodes[::2], nodes[1::2], strict=True)]
    kept = tree.copy()
    ranks = np.arange(leaves, dtype=np.int32)
    with alarm(0.01), pytest.raises(TooLate):
        tree.insert(leaves, np.array([0, 9], dtype=np.int32), 1, ranks)
    with pytest.raises(
        ValueError, match="the tree was left unfinished by an interrupt; make another"
    ):
        tree.copy()
    assert kept.members(leaves) == 0


def test_running_without_showing_takes_no_thread() -> None:
    before = threading.active_count()
    assert (
        run(lambda counters: threading.active_count(), "counting", 10**6, lambda *step: None)
        == before + 1
    )
    from casegraph.running import quiet

    assert run(lambda counters: threading.active_count(), "counting", 10**6, quiet) == before
