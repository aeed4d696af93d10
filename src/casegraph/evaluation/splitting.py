"""
Splitting facts into a benchmark: train, valid and test, determined by the facts and the seed.

Questions must be answerable, so every entity and relation of valid and test also occurs in train.
Facts are shuffled; the first fact with each entity and with each relation stays in train, and valid
and test are drawn from the others.

`hold_out` does the same for a graph: there, digests of names decide, so that no seed is needed and
the order of facts does not matter.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from casegraph.errors import InvalidArgument
from casegraph.graph.arrays import Flags, Ids
from casegraph.graph.change import NO_ROWS
from casegraph.graph.directions import forward_directions, relation_of
from casegraph.graph.facts import Fact
from casegraph.graph.graph import Graph
from casegraph.tuning.sample import by_digest

SHARE = 0.1  # of the facts of a graph that is held out


class Split(NamedTuple):
    """The facts of each file of a benchmark, each sorted."""

    train: list[Fact]
    valid: list[Fact]
    test: list[Fact]


def split(facts: Iterable[Fact], *, valid: float, test: float, seed: int = 0) -> Split:
    """Facts split at random; `valid` and `test` are their shares of all facts.

    They get fewer if too many facts are needed in train.
    """
    for name, part in (("valid", valid), ("test", test)):
        if not 0 <= part < 1 or valid + test >= 1:
            raise InvalidArgument(name, part, "at least 0, and less than 1 together")

    in_order = sorted(set(facts))
    order = np.random.default_rng(seed).permutation(len(in_order))
    needed: list[Fact] = []
    free: list[Fact] = []
    seen_entities: set[str] = set()
    seen_relations: set[str] = set()
    for place in order.tolist():
        fact = in_order[place]
        entities = {fact.head, fact.tail}
        if entities <= seen_entities and fact.relation in seen_relations:
            free.append(fact)
        else:
            needed.append(fact)
        seen_entities |= entities
        seen_relations.add(fact.relation)

    for_test = min(round(test * len(in_order)), len(free))
    for_valid = min(round(valid * len(in_order)), len(free) - for_test)
    end_of_valid = for_test + for_valid
    return Split(
        train=sorted(needed + free[end_of_valid:]),
        valid=sorted(free[for_test:end_of_valid]),
        test=sorted(free[:for_test]),
    )


class HeldOut(NamedTuple):
    """A graph without some of its facts, and these facts, as rows (head, direction, tail) of ids.

    The ids are those of the graph as it was.
    """

    graph: Graph
    rows: Ids


def hold_out(graph: Graph, share: float) -> HeldOut:
    """Hold out this share of the facts of a graph: those with the smallest digests of names.

    A fact stays if it is the last one of an entity or of a relation. So there may be fewer.
    """
    if not 0 < share < 1:
        raise InvalidArgument("share", share, "more than 0, and less than 1")
    rows = [graph.rows(direction) for direction in forward_directions(graph.directions)]
    facts = by_digest(graph, np.concatenate([NO_ROWS, *rows]))
    is_held_out = _first_that_can_go(facts, graph, round(share * len(facts)))
    rest = Graph.of_rows(graph.entities, graph.relations, facts[~is_held_out])
    return HeldOut(rest, facts[is_held_out])


def _first_that_can_go(facts: Ids, graph: Graph, wanted: int) -> Flags:
    """The first facts that are not the last one of an entity or of a relation."""
    entities = len(graph.entities)
    facts_of_entity = np.bincount(facts[:, [0, 2]].ravel(), minlength=entities).tolist()
    facts_of_relation = np.bincount(relation_of(facts[:, 1])).tolist()
    can_go = np.zeros(len(facts), dtype=np.bool)
    gone = 0
    for place, (head, direction, tail) in enumerate(facts.tolist()):
        if gone == wanted:
            break
        relation = relation_of(direction)
        ends_here = 1 + (head == tail)
        is_last_of_end = min(facts_of_entity[head], facts_of_entity[tail]) <= ends_here
        if is_last_of_end or facts_of_relation[relation] == 1:
            continue
        can_go[place] = True
        gone += 1
        facts_of_entity[head] -= 1
        facts_of_entity[tail] -= 1
        facts_of_relation[relation] -= 1
    return can_go
