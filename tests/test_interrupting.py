"""A Ctrl-C ends any kernel in the middle of whatever it does,
as the exception that Python makes of it.
"""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import permutations
from types import FrameType
from typing import NamedTuple

import numpy as np
import pytest

from casegraph import kernels
from casegraph.casebase import CaseBase
from casegraph.graph.graph import Graph
from casegraph.running import Show, Stopped, quiet, run, stopped_by
from casegraph.settings import Settings
from casegraph.statistics.counts import Counting

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="signals are sent in the POSIX way"
)

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
everyone = np.arange(size, dtype=np.int32)
counters = np.zeros(2, dtype=np.int64)
anything = 2**62, 2**62
types = np.array([packed(steps, n) for steps in product(range(2 * relations), repeat=n)])
labels = np.zeros(len(types), dtype=np.int32)
every_pair = np.repeat(everyone, len(types)), np.tile(np.arange(len(types), dtype=np.int32), size)
nothing = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if the tests run behind
options = kernels.QueryOptions()
options.max_length = n
options.budget = 2**62
places = np.arange(len(types), dtype=np.int32)
half = np.full(len(types), 0.5)
walked = types, np.array([0, len(types)]), places, half, half
query = kernels.RelationQuery(graph.kernel, 0, walked, options, everyone)
asked = query, ids([0]), ids([0]), ids([-1]), kernels.Workspaces()

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
    found = kernels.cycles_through(graph.kernel, 0, 0, 1, n, 1, 1 << 25)
    assert found[4] == 2 * relations, "the next call works"
"""


class Long(NamedTuple):
    """A call that takes long, in the words of the preparation,
    on a graph of this size in which all know all.
    """

    call: str
    relations: int
    steps: int
    entities: int = 100


LONG = {
    "profiles": Long(
        "kernels.profiles(graph.kernel, np.zeros(9_000_000, dtype=np.int32))",
        relations=5,
        steps=1,
    ),
    "cycles": Long(
        "kernels.cycles(graph.kernel, everyone, everyone, n, anything, 2, counters)",
        relations=5,
        steps=3,
    ),
    "cycles of one entity": Long(
        "kernels.cycles(graph.kernel, everyone[-1:], everyone, n, anything, 2, counters)",
        relations=5,
        steps=4,
    ),
    "closed_paths": Long(
        "kernels.closed_paths(graph.kernel, everyone, everyone, nothing[0] > 0, n, n, 2, counters)",
        relations=5,
        steps=3,
    ),
    "cycles_through": Long(
        "kernels.cycles_through(graph.kernel, 0, 0, 1, n, n, 2**32 - 1)",
        relations=5,
        steps=4,
    ),
    "walks": Long(
        "kernels.walks(graph.kernel, labels, labels, types, everyone, n, 2, counters)",
        relations=5,
        steps=5,
    ),
    "reach": Long(
        "kernels.reach(graph.kernel, everyone, labels, types, nothing[0], nothing[0], "
        "n, 2, counters)",
        relations=2,
        steps=5,
    ),
    "reach of one entity": Long(
        "kernels.reach(graph.kernel, everyone[:1], labels, types, nothing[0], nothing[0], "
        "n, 2, counters)",
        relations=3,
        steps=5,
    ),
    "reach together": Long(
        "kernels.reach(graph.kernel, everyone, labels, types, nothing[0], nothing[0], "
        "n, 2, counters, method=2)",
        relations=24,
        steps=3,
        entities=300,
    ),
    "reach by hub": Long(
        "kernels.reach(graph.kernel, everyone, labels, types, nothing[0], nothing[0], "
        "n, 2, counters, method=3)",
        relations=12,
        steps=2,
        entities=300,
    ),
    "reach_around": Long(
        "kernels.reach_around(graph.kernel, 0, types, (ids(), ids()), every_pair, n, 2, counters)",
        relations=2,
        steps=5,
    ),
    "bare_halves": Long(
        "kernels_bench.bare_halves(graph.kernel, everyone, n, 2)",
        relations=5,
        steps=5,
        entities=300,
    ),
    "bare_cycles": Long(
        "kernels_bench.bare_cycles(graph.kernel, everyone, n, 10**12, 1000, 2)",
        relations=5,
        steps=5,
    ),
    "affected_endpoints": Long(
        "kernels.affected_endpoints(graph.kernel, ids([0]), ids([0]), ids([1]), 0, types, n)",
        relations=5,
        steps=5,
    ),
    "average_linkage": Long(
        "kernels.average_linkage(np.arange(5_001), np.full(5_000, 99_999, "
        "dtype=np.int32), np.ones(5_000, np.int64))",
        relations=1,
        steps=1,
        entities=2,
    ),
    "insert": Long(
        "tree.insert(1 << 18, ids([0, 9]), 1, np.arange(1 << 19, dtype=np.int32))",
        relations=1,
        steps=1,
        entities=2,
    ),
    "answers": Long(
        "kernels.answers(*asked, -1, False, 2)",
        relations=3,
        steps=5,
    ),
    "standings": Long(
        "kernels.standings(*asked, np.array([0, size]), everyone, np.array([0, 0]), ids(), 2)",
        relations=3,
        steps=5,
    ),
    "evidence": Long(
        "kernels.evidence(*asked, everyone[1:9])",
        relations=3,
        steps=5,
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_an_interrupt_ends_a_kernel_in_the_middle(name: str) -> None:
    call, relations, steps, entities = LONG[name]
    sizes = f"relations, n, size = {relations}, {steps}, {entities}\n"
    tree = "tree = forest(1 << 18)\n" if "tree" in call else ""
    source = f"{sizes}{PREPARATION}{tree}work = lambda: {call}\n{DRIVER}"
    with subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.1)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        heard = child.stdout.readline()
    assert heard, "the kernel ended before it was interrupted, or not at all"
    assert child.returncode == 0
    assert float(heard) - sent < AT_MOST


class TooLate(Exception):
    """What a handler of a service raises."""


def crowd(entities: int, relations: int) -> Graph:
    """A graph in which all know all, in so many ways."""
    facts = []
    for a, b in permutations(range(entities), 2):
        facts += [(f"e{a}", f"r{k}", f"e{b}") for k in range(relations)]
    return Graph.of(facts)


def raise_too_late(number: int, frame: FrameType | None) -> None:
    raise TooLate


@contextmanager
def alarm(
    seconds: float,
    then: Callable[[int, FrameType | None], None] = raise_too_late,
    again: float = 0,
) -> Iterator[None]:
    """Call a handler after so many seconds, and again and again if that is wanted."""
    before = signal.signal(signal.SIGALRM, then)
    signal.setitimer(signal.ITIMER_REAL, seconds, again)
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
    heard = list[int]()
    counting = Counting(crowd(40, 5), Settings(max_length=2))
    everyone = np.arange(40, dtype=np.int32)
    expected = counting.cycles(everyone).hits.tolist()
    with alarm(0.001, lambda number, frame: heard.append(number), again=0.001):
        for _ in range(3):
            assert counting.cycles(everyone).hits.tolist() == expected
    assert heard


def test_a_kernel_that_shows_its_progress_is_interrupted_too() -> None:
    shown = list[tuple[str, int, int]]()
    counting = Counting(
        crowd(90, 5), Settings(counting=2**62), lambda *step: shown.append(step)
    )
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


def crowded_cases() -> CaseBase:
    """A case base of which the first question takes long."""
    cases = CaseBase(Settings(max_length=4))
    cases.update(add=crowd(90, 5).facts())
    return cases


def test_a_flag_stops_the_kernels_of_a_thread_and_lets_none_begin() -> None:
    cases = crowded_cases()
    untouched = crowded_cases()
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
        # The flag is obeyed no longer.
        answered = thread.submit(cases.ask, "e0", "r0").result()
    assert list(answered) == list(untouched.ask("e0", "r0"))


def test_a_case_base_answers_as_ever_after_an_interrupt() -> None:
    cases = crowded_cases()
    untouched = crowded_cases()
    with alarm(0.2), pytest.raises(TooLate):
        cases.ask("e0", "r0")
    assert list(cases.ask("e0", "r0")) == list(untouched.ask("e0", "r0"))


def test_a_tree_whose_insertion_was_interrupted_is_not_used_any_more() -> None:
    tree = kernels.ClusterTree()
    leaves = 1 << 18
    nodes = [
        tree.leaf(leaf, np.array([leaf, leaves + leaf], dtype=np.int32), 1)
        for leaf in range(leaves)
    ]
    while len(nodes) > 1:
        nodes = [
            tree.attach(two, one)
            for one, two in zip(nodes[::2], nodes[1::2], strict=True)
        ]
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
    def threads_while_running(show: Show) -> int:
        return run(lambda counters: threading.active_count(), "counting", 10**6, show)

    before = threading.active_count()
    assert threads_while_running(lambda *step: None) == before + 1
    assert threads_while_running(quiet) == before
