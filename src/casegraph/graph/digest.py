"""
A digest of everything that answers depend on: the facts, by name, and the settings.

It does not depend on ids, on the order of facts, or on names without facts.
The same facts and settings have the same digest on any machine.
"""

import json
from hashlib import sha256

import numpy as np

from casegraph.graph.arrays import Counts, Ids
from casegraph.graph.directions import forward
from casegraph.graph.graph import Graph
from casegraph.graph.names import Names
from casegraph.settings import Settings


def digest(graph: Graph, settings: Settings) -> str:
    """The SHA-256 digest of settings and facts, in hexadecimal.

    What is hashed, in this order (numbers are 64 bits, little-endian):
    the settings as JSON with sorted keys; the names of entities, then those of relations, each
    list sorted; for each relation in that order its number of facts and the facts, sorted. A fact
    is the number head * entities + tail, where entities are numbered in the order of their names.
    """
    relations = graph.relations_in_use()
    entities = graph.entities_in_use()
    number_of_entity = np.zeros(len(graph.entities), dtype=np.int64)
    number_of_entity[entities] = np.arange(len(entities))

    settings_json = json.dumps(settings.as_dict(), sort_keys=True)
    hashed = sha256(settings_json.encode())
    hashed.update(_encoded_names(graph.entities, entities))
    hashed.update(_encoded_names(graph.relations, relations))
    for relation in relations.tolist():
        rows = graph.rows(forward(relation))
        heads = number_of_entity[rows[:, 0]]
        tails = number_of_entity[rows[:, 2]]
        facts = np.sort(heads * len(entities) + tails)
        hashed.update(_encoded_numbers([len(facts)]))
        hashed.update(_encoded_numbers(facts))
    return hashed.hexdigest()


def _encoded_names(names: Names, chosen: Ids) -> bytes:
    """The number of names, the length of each in bytes, and then the names in UTF-8."""
    chosen_names = [names[identity] for identity in chosen.tolist()]
    encoded = [name.encode(errors="surrogatepass") for name in chosen_names]
    lengths = [len(name) for name in encoded]
    return _encoded_numbers([len(encoded), *lengths]) + b"".join(encoded)


def _encoded_numbers(numbers: Counts | list[int]) -> bytes:
    return np.asarray(numbers, dtype="<i8").tobytes()
