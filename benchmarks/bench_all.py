"""Everything that is fast or should be: reading, counting, asking, updating, and how that grows.

Run: scripts/bench [--only NAME …] [--repeat N] [--json FILE] [--keep FOLDER]   (ten minutes on
two cores, N times as long with --repeat)

With --json, parts can be measured one after the other: --only hub, then --only 10000000 and so on.
With --only nothing, what was kept is printed, and nothing is measured.

Every graph is measured in a process of its own, so that its peak memory is its own.
Beside each count stands its limit: a bare loop over the edges that must be looked at, run
in the same process. Prints tables in Markdown, as docs/benchmarks.md holds them,
and writes all figures as JSON if told where.
"""

import argparse
import json
import math
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.bench_ask import TAIL_ONLY, batch, single
from benchmarks.synthetic_graphs import FAMILIES, facts_like
from casegraph import kernels, kernels_bench
from casegraph.casebase import CaseBase
from casegraph.evaluation.catalogue import located
from casegraph.evaluation.datasets import Benchmark
from casegraph.formats.registry import read_facts
from casegraph.graph.facts import Fact
from casegraph.running import peak_memory, threads
from casegraph.settings import Settings
from casegraph.statistics.counts import Counting, Hits
from casegraph.statistics.path_types import lengths, single_step

GRAPHS = [
    ("WN18RR", 3),
    ("WN18RR", 5),
    ("FB122", 3),
    (TAIL_ONLY, 3),
    ("FB15k-237", 3),
    ("Hetionet-part", 3),
]
SIZES = [10_000, 100_000, 1_000_000, 10_000_000]
HUBS = {
    "gentle": 2,
    "steep": 3,
}  # the power of what entities are drawn by: the kth of a kind has k^(1 / power - 1) of the facts
FEW = 50_000  # facts: too few to tell how anything grows
UPDATES = 100
SHAPES = [*HUBS, *FAMILIES]  # of synthetic graphs
# Of synthetic graphs with hubs: kinds of entities, and relations between them.
KINDS = 20
RELATIONS = 100

LARGE = 50_000_000
KEY = ("graph", "n")
BUILD_COLUMNS = [
    *KEY,
    "facts",
    "load",
    "hits",
    "reach",
    "build",
    "cpu",
    "peak",
    "exact",
]
BUILD_COLUMNS += ["hits / edges", "hits / limit"]
ASK_COLUMNS = [*KEY, "ask p50", "ask p99", "queries", "queries/s", "queries/CPU s"]
UPDATE_COLUMNS = [
    *KEY,
    "update p50",
    "update p99",
    "first question p50",
    "first question p99",
]
GROWTH_COLUMNS = {
    "load": "load cpu",
    "hits": "hits cpu",
    "reach": "reach cpu",
    "all": "cpu",
}
Row = dict[str, Any]


def synthetic(count: int, seed: int = 0, hubs: str = "steep") -> Iterator[Fact]:
    """Facts with a power law of hubs: an entity for ten facts, each of one kind,
    and relations between two kinds.
    """
    rng = np.random.default_rng(seed)
    each = max(2, count // 10 // KINDS)
    between = rng.integers(KINDS, size=(RELATIONS, 2))
    for start in range(0, count, 1 << 16):
        size = min(1 << 16, count - start)
        relations = (RELATIONS * rng.random(size) ** 2).astype(np.int64)
        heads = (each * rng.random(size) ** HUBS[hubs]).astype(np.int64)
        tails = (each * rng.random(size) ** HUBS[hubs]).astype(np.int64)
        columns = [
            between[relations, 0],
            heads,
            relations,
            between[relations, 1],
            tails,
        ]
        rows = np.stack(columns, axis=1).tolist()
        for kind, head, relation, other, tail in rows:
            yield Fact(f"k{kind} {head}", f"r{relation}", f"k{other} {tail}")


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What work gives, and the seconds it takes by the clock and by the processor."""
    wall = time.perf_counter()
    processor = time.process_time()
    done = work()
    return done, time.perf_counter() - wall, time.process_time() - processor


def peak() -> float:
    """The most memory this process has held, in MB."""
    return peak_memory() / 1e6


def least_of_a_second(work: Callable[[], Any]) -> tuple[Any, float]:
    """What work gives, and the least processor time it took, if repeated for about a second."""
    result, _, least = timed(work)
    left = 1 - least
    while left > 0:
        _, _, cpu = timed(work)
        least = min(least, cpu)
        left -= cpu
    return result, least


def built(facts: Iterable[Fact], n: int) -> tuple[CaseBase, Row]:
    """A case base with everything counted, and what each phase took."""
    cases = CaseBase(Settings(max_length=n))
    _, load, load_cpu = timed(lambda: cases.update(add=facts))
    graph = cases.graph
    statistics = cases.state.statistics
    everyone = np.arange(len(graph.entities), dtype=np.int32)

    # What the bare loop of hits needs, too.
    graph.entities.ranks()
    kernels.profiles(graph.kernel, everyone)  # gathers the edges
    counting = Counting(graph, cases.settings)
    found, hits, hits_cpu = timed(lambda: counting.cycles(everyone))
    statistics.restore_hits(found)
    _, reach, reach_cpu = timed(cases.prepare)
    exact = sum(statistics.exact(relation) for relation in range(graph.directions))
    row = {
        "facts": len(graph),
        "entities": len(graph.entities),
        "n": n,
        "load": load,
        "hits": hits,
        "reach": reach,
        "build": load + hits + reach,
        "cpu": load_cpu + hits_cpu + reach_cpu,
        "load cpu": load_cpu,
        "hits cpu": hits_cpu,
        "reach cpu": reach_cpu,
        "peak": peak(),
        "longest": statistics.longest,
        "exact": f"{exact} of {graph.directions}",
    }
    return cases, row


def limits(cases: CaseBase) -> Row:
    """What finding hits took, compared with bare loops.

    Hits are counted once more: with memory that was in use before, like the bare loops.
    """
    graph = cases.graph
    n = cases.settings.max_length
    everyone = np.arange(len(graph.entities), dtype=np.int32)
    ranks = graph.entities.ranks()
    counting = Counting(graph, cases.settings)
    found, hits = least_of_a_second(lambda: counting.cycles(everyone))
    _, walking = least_of_a_second(
        lambda: kernels_bench.bare_halves(graph.kernel, ranks, n, threads())
    )
    cycles = cycles_in(found, n)
    kinds = max(1, len(found.types))
    _, bare_hits = least_of_a_second(
        lambda: kernels_bench.bare_cycles(
            graph.kernel, ranks, n, cycles, kinds, threads()
        )
    )
    return {"hits / edges": hits / walking, "hits / limit": hits / bare_hits}


def cycles_in(found: Hits, n: int) -> int:
    """How many cycles hits were read off: each from all its entities, in both directions."""
    edge_of_question = single_step(found.relations)
    is_cycle = found.types != edge_of_question
    steps = lengths(found.types[is_cycle], n)
    readings = 2 * (steps + 1)
    return round(float((found.hits[is_cycle] / readings).sum()))


def benchmark_row(folder: str, n: int) -> Row:
    """Everything about one benchmark."""
    benchmark = Benchmark.open(located(folder))
    is_slow = folder == "Hetionet-part"
    cases, row = built(benchmark.facts(benchmark.graph), n)
    row |= single(cases, benchmark, 400 if is_slow else 1000)
    if not is_slow:
        row |= batch(cases, benchmark, "tail" if folder == TAIL_ONLY else "both")
    row["peak asking"] = peak()
    row |= limits(cases)
    if n == 3 and not is_slow:  # the path length that stores are kept at
        split = "valid" if "valid" in benchmark.splits else "dev"
        row |= updated(cases, sorted(benchmark.facts(split)))
    return {"graph": folder, **row}


def updated(cases: CaseBase, held_out: list[Fact]) -> Row:
    """Add held-out facts one at a time, asking about each."""
    took: dict[str, list[float]] = {"update": [], "first question": []}
    chosen = np.random.default_rng(0).choice(len(held_out), UPDATES, replace=False)
    for place in chosen.tolist():
        fact = held_out[place]
        done, wall, _ = timed(partial(cases.update, add=[fact]))
        assert done.added == 1
        assert not done.rebuilt
        took["update"].append(wall * 1e3)
        _, wall, _ = timed(partial(cases.ask, fact.head, fact.relation))
        took["first question"].append(wall * 1e3)
    return {
        f"{name} p{q}": float(np.percentile(times, q))
        for name, times in took.items()
        for q in (50, 99)
    }


def facts_shaped(
    shape: str, count: int, seed: int = 0
) -> Iterator[tuple[str, str, str]]:
    """About so many facts of one of `SHAPES`."""
    if shape in HUBS:
        return synthetic(count, seed, hubs=shape)
    return facts_like(shape, count, seed)


@contextmanager
def file_of(shape: str, count: int, keep: Path | None) -> Iterator[Path]:
    """The facts of a synthetic graph as a table, so that making them up takes no part.

    keep  a folder for the file, where it may be already; by default it is a temporary one
    """
    with TemporaryDirectory() as temporary:
        file = (keep or Path(temporary)) / f"{shape} {count}" / "facts.tsv"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("w") as lines:
                lines.writelines(
                    "\t".join(fact) + "\n" for fact in facts_shaped(shape, count)
                )
        yield file


def synthetic_row(count: int, shape: str, keep: Path | None) -> Row:
    """A synthetic graph, with paths of up to two steps."""
    with file_of(shape, count, keep) as file:
        cases, row = built(read_facts(file), 2)
    milliseconds = []
    for head, relation, _ in islice(facts_shaped(shape, count, seed=1), 200):
        # Of few facts, not all are known.
        if head in cases.graph.entities and relation in cases.graph.relations:
            _, wall, _ = timed(partial(cases.ask, head, relation))
            milliseconds.append(wall * 1e3)
    return {
        "graph": f"{shape}, {count:,}",
        **row,
        "ask p50": float(np.median(milliseconds)),
        "ask p99": float(np.percentile(milliseconds, 99)),
        **limits(cases),
    }


def large_row(count: int, keep: Path | None) -> Row:
    """A graph so large that only what is asked for is counted:
    loading it from a file, and the first questions.
    """
    cases = CaseBase(Settings(max_length=2))
    with file_of("steep", count, keep) as file:
        _, load, _ = timed(lambda: cases.update(add=read_facts(file)))
    row = {
        "graph": f"{count:,}",
        "facts": len(cases.graph),
        "load": load,
        "peak loading": peak(),
    }
    for name, fact in zip(("first", "second", "third"), synthetic(count), strict=False):
        found, wall, _ = timed(partial(cases.ask, fact.head, fact.relation))
        row[f"{name} question"] = wall
        assert len(found)
    return row | {"peak asking": peak()}


def hub_row(leaves: int) -> Row:
    """One entity that everybody knows: what any question takes, and what memory it adds."""
    cases = CaseBase()
    some = (Fact(f"e{k}", f"r{k % 5}", "hub") for k in range(leaves))
    more = (Fact(f"e{k}", "near", f"e{k * 7919 % leaves}") for k in range(leaves // 10))
    cases.update(add=chain(some, more))
    _, build, _ = timed(cases.prepare)
    idle = peak()
    questions = [("hub", f"r{k}") for k in range(5)]
    questions += [(f"e{k}", f"r{k % 5}") for k in range(50)]
    questions += [("hub", "near")]
    asked = [timed(partial(cases.ask, *question)) for question in questions]
    asked += [timed(partial(cases.ask_head, f"r{k}", "hub")) for k in range(5)]
    worst = max(wall for _, wall, _ in asked)
    exact = sum(found.exact for found, *_ in asked)
    return {
        "graph": f"a hub of {leaves:,}",
        "facts": len(cases.graph),
        "build": build,
        "slowest ask": worst,
        "MB above idle": peak() - idle,
        "exact answers": f"{exact} of {len(asked)}",
    }


def taken(row: Row) -> float:
    """What building took, or loading where nothing else is counted."""
    columns = ("cpu", "build", "load")
    return next(float(row[column]) for column in columns if column in row)


def quickest(rows: list[Row]) -> Row:
    """The quickest of several runs: of building, and apart from that of asking and of updating."""
    best: Row = min(rows, key=taken).copy()
    for columns in (ASK_COLUMNS, UPDATE_COLUMNS):
        measured_here = [name for name in columns if name not in KEY]
        first = measured_here[0]
        if first in best:
            of_best = min(rows, key=lambda row: float(row[first]))
            best |= {name: of_best[name] for name in measured_here if name in of_best}
    return best


def in_a_process(*arguments: str) -> Row:
    """The row that another process measures."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_all", "--one", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    row: Row = json.loads(run.stdout)
    return row


def table(rows: list[Row], columns: Iterable[str] = ()) -> str:
    """Rows as Markdown."""
    chosen = list(columns) or list(dict.fromkeys(name for row in rows for name in row))
    measured = [name for name in chosen if name not in KEY]
    lines = ["| " + " | ".join(chosen) + " |", "|" + "---|" * len(chosen)]
    for row in rows:
        if any(name in row for name in measured):
            cells = [_cell(row.get(name, "")) for name in chosen]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def exponent(rows: list[Row], column: str) -> float:
    """How a column grows from the first to the last row, as a power of the number of facts."""
    first = rows[0]
    last = rows[-1]
    times_as_much = last[column] / first[column]
    times_as_many = last["facts"] / first["facts"]
    return math.log(times_as_much) / math.log(times_as_many)


def page(
    graphs: list[Row],
    sizes: list[Row],
    hub: list[Row],
    large: list[Row],
    note: str = "",
) -> str:
    """All tables, with what they mean.

    note  on the circumstances, a sentence
    """
    text = Path(__file__).with_name("page.md").read_text()
    return text.format(
        note=note and "\n" + note,
        machine=platform.machine(),
        threads=threads(),
        python=platform.python_version(),
        build=table(known_order(graphs), BUILD_COLUMNS),
        ask=table(known_order(graphs), ASK_COLUMNS),
        update=table(known_order(graphs), UPDATE_COLUMNS),
        growth=table(growth(sizes)),
        sizes=table(in_order(sizes), [*BUILD_COLUMNS, *ASK_COLUMNS[2:4]]),
        hub=table(hub),
        large=table(large) if large else "Not run yet.",
    )


def growth(sizes: list[Row]) -> list[Row]:
    """The exponents with which each shape of graph grows, from its smallest to its largest."""
    exponents = []
    for shape in SHAPES:
        rows = [
            row
            for row in sizes
            if row["graph"].startswith(shape) and row["facts"] > FEW
        ]
        rows.sort(key=lambda row: int(row["facts"]))
        if len(rows) < 2:
            continue
        grown: Row = {"graph": shape, "to facts": rows[-1]["facts"]}
        for name, column in GROWTH_COLUMNS.items():
            if all(column in row for row in rows):
                grown[name] = exponent(rows, column)
        exponents.append(grown)
    return exponents


def known_order(graphs: list[Row]) -> list[Row]:
    """As in the list of graphs."""
    return sorted(graphs, key=lambda row: GRAPHS.index((row["graph"], row["n"])))


def in_order(sizes: list[Row]) -> list[Row]:
    """By shape and size, whenever they were measured."""
    return sorted(
        sizes, key=lambda row: (SHAPES.index(row["graph"].split(",")[0]), row["facts"])
    )


def main() -> None:
    """Measure each graph alone, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only",
        nargs="*",
        help="graphs, numbers of facts, shapes, wikidata-1000000, or hub",
    )
    parser.add_argument(
        "--json",
        type=Path,
        help="where to keep the figures; those it has of other graphs stay",
    )
    parser.add_argument("--page", type=Path, help="where to write the tables, too")
    parser.add_argument(
        "--note", default="", help="a sentence for the page: what else was running"
    )
    parser.add_argument(
        "--keep", type=Path, help="a folder for synthetic graphs, to use again"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, help="how often; the quickest run counts"
    )
    parser.add_argument("--one", nargs=2)
    arguments = parser.parse_args()
    if arguments.one:
        kind, number = arguments.one
        print(json.dumps(measured(kind, int(number), arguments.keep)))
        return

    rows = measured_apart(arguments.only, arguments.keep, arguments.repeat)
    if arguments.json:
        known = (
            json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
        )
        rows = {kind: joined(known.get(kind, []), new) for kind, new in rows.items()}
        arguments.json.write_text(json.dumps(rows, indent=1))
    text = page(**rows, note=arguments.note)
    print(text)
    if arguments.page:
        arguments.page.write_text(text)


def measured(kind: str, number: int, keep: Path | None) -> Row:
    """What is measured in this process: a graph of so many facts, or with paths so long."""
    if kind in SHAPES:
        return synthetic_row(number, kind, keep)
    if kind == "hub":
        return hub_row(number)
    if kind == "large":
        return large_row(number, keep)
    return benchmark_row(kind, number)


def measured_apart(
    only: list[str] | None, keep: Path | None, repeat: int
) -> dict[str, list[Row]]:
    """The rows of each table, all or those that are named, each measured in its own process.

    repeat  how often; what took least counts, since other work can only add to it
    """

    def alone(*arguments: str) -> Row:
        return quickest([in_a_process(*arguments) for _ in range(repeat)])

    rows: dict[str, list[Row]] = {"graphs": [], "sizes": [], "hub": [], "large": []}
    kept = [] if keep is None else ["--keep", str(keep)]
    for folder, n in GRAPHS:
        if not only or folder in only:
            rows["graphs"].append(alone(folder, str(n)))
    for shape in SHAPES:
        for size in SIZES:
            if (
                not only
                or f"{shape}-{size}" in only
                or str(size) in only
                or shape in only
            ):
                rows["sizes"].append(alone(shape, str(size), *kept))
    if not only or "hub" in only:
        rows["hub"].append(alone("hub", "1000000"))
    if not only or str(LARGE) in only:
        rows["large"].append(alone("large", str(LARGE), *kept))
    return rows


def joined(known: list[Row], new: list[Row]) -> list[Row]:
    """What was measured before and now; what was measured again stands where it stood."""
    rows = {(row["graph"], row.get("n")): row for row in known + new}
    return list(rows.values())


if __name__ == "__main__":
    main()
