"""
A digest of what questions are answered from: facts by name, and settings.

It depends neither on ids nor on the order of facts, nor on names that no fact has any more: whoever has read the same
facts has the same digest, on any machine.
"""

import json
from hashlib import sha256

import numpy as np

from casegraph.graph.arrays import Counts, Ids
from casegraph.graph.graph import Graph
from casegraph.graph.names import Names
from casegraph.settings import Settings


def digest(graph: Graph, settings: Settings) -> str:
    """The digest of facts and settings, in hexadecimal digits."""
    sums = sha256(json.dumps(settings.as_dict(), sort_keys=True).encode())
    relations, entities = relations_in_use(graph), _entities_in_use(graph)
    place = np.zeros(len(graph.entities), dtype=np.int64)
    place[entities] = np.arange(len(entities))
    for names, used in ((graph.entities, entities), (graph.relations, relations)):
        encoded = [names[one].encode(errors="surrogatepass") for one in used.tolist()]
        sums.update(_bytes([len(encoded), *map(len, encoded)]) + b"".join(encoded))
    for relation in relations.tolist():
        rows = graph.rows(2 * relation)
        sums.update(_bytes([len(rows)]) + _bytes(np.sort(place[rows[:, 0]] * len(entities) + place[rows[:, 2]])))
    return sums.hexdigest()


def relations_in_use(graph: Graph) -> Ids:
    """The relations (k, for 2k and 2k + 1) that have facts, in the order of names."""
    used = [k for k in range(graph.directions // 2) if len(graph.edges(2 * k).heads)]
    return _in_order(graph.relations, np.array(used, dtype=np.int32))


def _entities_in_use(graph: Graph) -> Ids:
    used = np.zeros(len(graph.entities), dtype=np.bool)
    for relation in range(graph.directions):
        used[graph.edges(relation).heads] = True
    return _in_order(graph.entities, np.flatnonzero(used).astype(np.int32))


def _in_order(names: Names, used: Ids) -> Ids:
    ordered: Ids = used[np.argsort(names.ranks()[used])]
    return ordered


def _bytes(numbers: Counts | list[int]) -> bytes:
    return np.asarray(numbers, dtype="<i8").tobytes()
