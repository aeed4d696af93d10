"""
The facts that tuning asks for: a sample of the graph's own facts, held out of it.

Which facts are in the sample depends only on their names: the facts with the smallest digests are
taken. So the order of facts does not matter, and an update hardly changes the sample.

The whole sample is held out at once, and the rest is counted like any other graph. So no fact of
the sample is walked, is a precedent, or is part of a count when it is asked for.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from casegraph.graph.arrays import Ids
from casegraph.graph.change import NO_ROWS
from casegraph.graph.directions import forward, relation_of
from casegraph.graph.graph import Graph

ONE_IN = 20  # one fact in 20 is held out,
MOST = 2_000  # but at most this many
LEAST = 500  # and at least this many,
MOST_SHARE = 10  # but never more than one fact in 10
USUAL_WORK = 10_000  # of a question; where it is more, the sample is smaller
LEAST_FACTS = 200  # smaller graphs are not tuned: too few questions

Digests = npt.NDArray[np.uint64]


class HeldOut(NamedTuple):
    """Facts that are held out of a graph.

    facts  (sample, 3)  rows (head, relation, tail) of ids, in the order of their digests
    rest                the graph without them; ids are the same
    """

    facts: Ids
    rest: Graph


def held_out(graph: Graph) -> HeldOut:
    """Hold out about one fact in `ONE_IN`; no entity loses its last fact."""
    facts = _facts_by_digest(graph)
    at_least = min(LEAST, len(facts) // MOST_SHARE)
    wanted = min(len(facts) // ONE_IN, MOST)
    wanted = max(int(affordable(graph) * wanted), at_least)
    chosen = facts[_places_to_hold_out(facts, wanted, len(graph.entities))]
    rest = graph.copy()
    rest.apply(chosen, add=False)
    return HeldOut(chosen, rest)


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
        sharers += np.bincount(own, weights=sharing[other], minlength=entities)
        degrees += np.bincount(own, minlength=entities)
    work = float(sharers @ degrees) / max(float(degrees.sum()), 1.0)
    return min(1.0, USUAL_WORK / max(work, 1.0))


def _facts_by_digest(graph: Graph) -> Ids:
    """All facts as rows, in the order of digests; ties (very unlikely) in the order of names."""
    rows = [graph.rows(forward(relation)) for relation in range(len(graph.relations))]
    facts = np.concatenate([NO_ROWS, *rows])
    heads, directions, tails = facts.T
    relations = relation_of(directions)

    digests = _digests(graph.relations.names)[relations]
    entity_digests = _digests(graph.entities.names)
    digests = _mixed(digests + entity_digests[heads])
    digests = _mixed(digests + entity_digests[tails])

    entity_ranks = graph.entities.ranks()
    relation_ranks = graph.relations.ranks()
    by_name = (entity_ranks[tails], entity_ranks[heads], relation_ranks[relations])
    ordered: Ids = facts[np.lexsort((*by_name, digests))]
    return ordered


def _places_to_hold_out(facts: Ids, wanted: int, entities: int) -> list[int]:
    """The first facts that can be held out without leaving an entity without facts."""
    left = np.bincount(facts[:, [0, 2]].ravel(), minlength=entities).tolist()
    chosen: list[int] = []
    for place, (head, _, tail) in enumerate(facts.tolist()):
        if len(chosen) == wanted:
            break
        if left[head] > 1 and left[tail] > 1 and (head != tail or left[head] > 2):
            left[head] -= 1
            left[tail] -= 1
            chosen.append(place)
    return chosen


def _digests(names: Iterable[str]) -> Digests:
    """A digest of 64 bits of each name, the same on any machine."""
    digests = bytearray()
    for name in names:
        encoded = name.encode(errors="surrogatepass")
        digests += blake2b(encoded, digest_size=8).digest()
    return np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)


def _mixed(values: Digests) -> Digests:
    """Each value hashed, so that all bits depend on all bits (the finalizer of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
