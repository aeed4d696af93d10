"""Clusters of HAC beside those of GRINCH:
seconds of processor time, agreement, and what the answers are worth.

Run: scripts/bench clusters WN18RR FB122
A folder without settings in the paper takes those of FB122.
"""

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from casegraph.casebase import CaseBase
from casegraph.evaluation.catalogue import located
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import evaluate
from casegraph.graph.arrays import Ids
from casegraph.graph.facts import Fact
from casegraph.graph.graph import Graph
from casegraph.settings import PAPER, Settings
from casegraph.similarity.clusters.assignment import Clusters
from casegraph.similarity.profiles import reshaped_entities

MRR = "both.realistic.inverse_harmonic_mean_rank"


def adjusted_rand_index(one: Ids, two: Ids) -> float:
    """How far two partitions agree:
    1 if they are the same, about 0 if by chance (Hubert and Arabie 1985).
    """
    _, rows = np.unique(one, return_inverse=True)
    _, columns = np.unique(two, return_inverse=True)
    _, cell_sizes = np.unique(np.stack([rows, columns]), axis=1, return_counts=True)

    together_in_both = _pairs(cell_sizes)
    together_in_one = _pairs(np.bincount(rows))
    together_in_two = _pairs(np.bincount(columns))
    all_pairs = _pairs(np.array([len(one)]))
    expected = together_in_one * together_in_two / all_pairs
    largest = (together_in_one + together_in_two) / 2
    return (together_in_both - expected) / (largest - expected)


def _pairs(sizes: npt.NDArray[np.integer[Any]]) -> float:
    """How many pairs there are within groups of these sizes."""
    return float((sizes * (sizes - 1.0)).sum() / 2)


def compare(benchmark: Benchmark, settings: Settings, updates: int) -> None:
    """Cluster both ways, then follow held-out facts one at a time."""
    loaded = CaseBase()
    loaded.update(add=benchmark.facts(benchmark.graph))
    profiles = loaded.state.profiles
    made = {}
    for way in ("hac", "grinch"):
        started = time.process_time()
        made[way] = Clusters.of(loaded.graph, profiles, settings.but(clustering=way))
        seconds = time.process_time() - started
        clusters = len(np.unique(made[way].entities))
        print(f"  {way:<7} {seconds:8.2f} s   {clusters:,} clusters")
    agreement = adjusted_rand_index(made["hac"].entities, made["grinch"].entities)
    print(f"  adjusted Rand index {agreement:.3f}")
    held_out = sorted(benchmark.facts("valid"))
    chosen = np.random.default_rng(0).permutation(len(held_out)).tolist()
    follow(made["grinch"], loaded.graph, (held_out[place] for place in chosen), updates)


def follow(
    clusters: Clusters, graph: Graph, facts: Iterator[Fact], updates: int
) -> None:
    """Add one fact at a time, until so many have given an entity another profile."""
    profiles = clusters.profiles
    seconds = list[float]()
    moves = list[int]()
    while len(seconds) < updates:
        before = graph
        graph = graph.copy()
        profiles = profiles.copy()
        entities = graph.add([next(facts)]).entities
        profiles.refresh(graph, entities)
        reshaped = reshaped_entities(before, graph, entities)
        started = time.process_time()
        clusters, moved = clusters.after(graph, profiles, reshaped)
        if len(reshaped):
            seconds.append(time.process_time() - started)
            moves.append(len(moved))
    middle, late = np.percentile(np.array(seconds) * 1e3, [50, 99])
    moving = f"{np.median(moves):.0f} entities move, {np.mean(moves):.0f} on average"
    taking = f"median {middle:.2f} ms, p99 {late:.2f} ms"
    print(f"  {updates} facts that reshape an entity: {taking}; {moving}")
    anew = Clusters.of(graph, profiles, clusters.settings.but(clustering="hac"))
    agreement = adjusted_rand_index(anew.entities, clusters.entities)
    print(f"  adjusted Rand index after them {agreement:.3f}")


def main() -> None:
    """Compare on each folder, and rank the answers to its valid facts both ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", default=["WN18RR", "FB122"])
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--limit", type=int, help="valid facts to ask for; none by 0")
    arguments = parser.parse_args()
    for folder in arguments.folders:
        benchmark = Benchmark.open(located(folder))
        name = benchmark.folder.name
        settings = Settings.paper(name if name in PAPER else "FB122").but(max_length=3)
        print(f"{name}, threshold {settings.threshold}")
        compare(benchmark, settings, arguments.updates)
        for way in ("hac", "grinch") if arguments.limit != 0 else ():
            result = evaluate(
                benchmark,
                settings.but(clustering=way),
                split="valid",
                limit=arguments.limit,
            )
            print(f"  {way:<7} MRR on valid {result.metrics[MRR]:.4f}", flush=True)


if __name__ == "__main__":
    main()
