"""
Splitting facts into a benchmark: train, valid and test, determined by the facts and the seed.

Questions must be answerable, so every entity and relation of valid and test also occurs in train.
Facts are shuffled; the first fact with each entity and with each relation stays in train, and valid
and test are drawn from the others.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from casegraph.errors import InvalidSettings
from casegraph.graph.facts import Fact


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
            raise InvalidSettings(name, part, "at least 0, and less than 1 together")

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
