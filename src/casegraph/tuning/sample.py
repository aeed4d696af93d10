"""
The facts that tuning asks for: a sample of the facts of the graph, or facts that are given.

Facts of the graph are asked for one at a time, each as if it were missing (leave-one-out): no path
uses it, it is no precedent, and the counts of path types are less by it. Facts that are given were
held out: the graph does not have them.

Which facts are in the sample depends only on their names: the facts with the smallest digests are
taken. So the order of facts does not matter, and an update hardly changes the sample.
"""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from casegraph.graph.arrays import Floats, Ids
from casegraph.graph.change import NO_ROWS
from casegraph.graph.directions import forward, is_inverse, relation_of
from casegraph.graph.graph import Graph

ONE_IN = 20  # of the facts of a graph, one in 20 is asked for,
MOST = 1_500  # but at most this many
LEAST = 500  # and at least this many,
MOST_SHARE = 10  # but never more than one fact in 10,
SMALLEST = 200  # unless the sample would be smaller than this
USUAL_WORK = 10_000  # of a question; where it is more, the sample is smaller
LEAST_FACTS = 30  # smaller graphs are not tuned: too few questions
LEAST_GIVEN = (
    100  # fewer facts that are given are not used: facts of the graph say more
)

Digests = npt.NDArray[np.uint64]


def own_sample(graph: Graph) -> Ids:
    """Some facts of a graph as rows (head, relation, tail) of ids, in the order of their digests.

    Both entities of each have other facts.
    """
    directions = [forward(relation) for relation in range(len(graph.relations))]
    rows = [graph.rows(direction) for direction in directions]
    all_rows = np.concatenate([NO_ROWS, *rows])
    facts = by_digest(graph, all_rows)
    at_least = min(LEAST, max(len(facts) // MOST_SHARE, min(len(facts), SMALLEST)))
    at_most = min(MOST, len(facts) // ONE_IN)
    wanted = max(int(affordable(graph) * at_most), at_least)

    heads, _, tails = facts.T
    ends = np.concatenate([heads, tails])
    edges = np.bincount(ends, minlength=len(graph.entities))
    own_edges = 1 + (heads == tails)  # a fact about one entity alone ends there twice
    has_others = (edges[heads] > own_edges) & (edges[tails] > own_edges)
    sample: Ids = facts[has_others][:wanted]
    return sample


def given_sample(graph: Graph, facts: Iterable[tuple[str, str, str]]) -> Ids:
    """The same of facts that are given by name; those that the graph has, or could not, are not."""
    rows = set()
    for head_name, relation_name, tail_name in facts:
        head = graph.entities.find(head_name)
        relation = graph.relations.find(relation_name)
        tail = graph.entities.find(tail_name)
        if head is None or relation is None or tail is None:
            continue
        if (head_name, relation_name, tail_name) not in graph:
            rows.add((head, forward(relation), tail))
    new = np.array(list(rows), dtype=np.int32).reshape(-1, 3)
    in_order = by_digest(graph, new)
    most = max(int(affordable(graph) * MOST), LEAST)
    return in_order[:most]


def affordable(graph: Graph) -> float:
    """Which part of the usual number of questions can be asked in the usual time: 1, or less.

    A question is slow where many others share the facts of its entity, as genes of one tissue do.
    This work is counted, not timed, so that the same facts always give the same sample.
    """
    entities = len(graph.entities)
    sharers = np.zeros(entities)  # of all facts of an entity, added up
    degrees = np.zeros(entities)
    for direction in range(graph.directions):
        own, _, other = graph.rows(direction).T
        sharing = np.bincount(other, minlength=entities)
        sharers_of_fact = sharing[other]
        sharers += np.bincount(own, weights=sharers_of_fact, minlength=entities)
        degrees += np.bincount(own, minlength=entities)
    edges = max(float(degrees.sum()), 1.0)
    work = float(sharers @ degrees) / edges
    return min(1.0, USUAL_WORK / max(work, 1.0))


def by_digest(graph: Graph, facts: Ids) -> Ids:
    """Facts in the order of digests; ties (very unlikely) in the order of names."""
    heads, directions, tails = facts.T
    relations = relation_of(directions)

    digests = _digests(graph.relations.names)[relations]
    entity_digests = _digests(graph.entities.names)
    digests = _mixed(digests + entity_digests[heads])
    digests = _mixed(digests + entity_digests[tails])

    entity_ranks = graph.entities.ranks()
    relation_ranks = graph.relations.ranks()
    by_name = (entity_ranks[tails], entity_ranks[heads], relation_ranks[relations])
    order = np.lexsort((*by_name, digests))
    ordered: Ids = facts[order]
    return ordered


class PairDigests:
    """A number from 0 to 1 for pairs of entities, which depends on nothing but names."""

    def __init__(self, graph: Graph) -> None:
        self._entities = _digests(graph.entities.names)
        self._relations = _digests(graph.relations.names)

    def of(self, direction: int, entities: Ids, others: Ids) -> Floats:
        """The numbers of the pairs (entities[i], direction, others[i])."""
        of_relation = self._relations[[relation_of(direction)]]
        of_direction = _mixed(of_relation + np.uint64(is_inverse(direction)))
        digests = _mixed(of_direction + self._entities[entities])
        digests = _mixed(digests + self._entities[others])
        return digests.astype(np.float64) / 2.0**64


def _digests(names: Iterable[str]) -> Digests:
    """A digest of 64 bits of each name, the same on any machine."""
    digests = bytearray()
    for name in names:
        encoded = name.encode(errors="surrogatepass")
        digests += blake2b(encoded, digest_size=8).digest()
    little_endian = np.frombuffer(bytes(digests), dtype="<u8")
    return little_endian.astype(np.uint64)


def _mixed(values: Digests) -> Digests:
    """Each value hashed, so that all bits depend on all bits (the finalizer of splitmix64)."""
    values = values ^ (values >> np.uint64(30))
    values = values * np.uint64(0xBF58476D1CE4E5B9)
    values = values ^ (values >> np.uint64(27))
    values = values * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
