"""What properties are tried on: small graphs, histories of adds and retracts, settings;
and the names of the oracle.

Small is enough: eight entities and three relations hold every shape that a path
of five steps can take, with self-loops and parallel edges among them, and ties everywhere.
"""

from collections.abc import Iterable
from random import Random
from typing import Any, Literal, TypeAlias

from hypothesis import strategies as st
from tests import oracle

from casegraph.graph.graph import Graph
from casegraph.settings import Settings
from casegraph.similarity.profiles import Profiles
from casegraph.statistics.path_types import unpacked

Fact: TypeAlias = tuple[str, str, str]
Step: TypeAlias = tuple[Literal["add", "retract"], list[Fact]]

ENTITIES = [f"e{number}" for number in range(8)]
RELATIONS = [f"r{number}" for number in range(3)]

entities = st.sampled_from(ENTITIES)
relations = st.sampled_from(RELATIONS)
facts = st.tuples(entities, relations, entities)


def fact_lists(least: int = 0, most: int = 14) -> st.SearchStrategy[list[Fact]]:
    """Facts in any order, none twice.

    Few entities, so that self-loops and parallel edges are common.
    """
    return st.lists(facts, min_size=least, max_size=most, unique=True)


def crowded_facts() -> st.SearchStrategy[list[Fact]]:
    """Facts of so few entities and relations that most share something:
    paths lead to answers, and there is evidence of every kind.
    """
    few = st.sampled_from(ENTITIES[:5])
    crowded = st.tuples(few, st.sampled_from(RELATIONS[:2]), few)
    return st.lists(crowded, min_size=6, max_size=12, unique=True)


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    """Adds and retracts in turn:
    of the same fact again, of facts that are there and that are not, of nothing.

    All are of a few facts: of any facts at all, hardly one that is retracted would be there.
    """
    few = draw(fact_lists(least=8, most=16))
    mostly_add: list[Literal["add", "retract"]] = ["add", "add", "retract"]
    some = st.lists(st.sampled_from(few), max_size=6)
    steps = st.tuples(st.sampled_from(mostly_add), some)
    return draw(st.lists(steps, max_size=8))


def some_settings() -> st.SearchStrategy[Settings]:
    """The default, the paper's, and what lies between; paths of up to three steps.

    Only weights that doubt keeps below 1 are combined by noisy-or, which makes certainty infinite.
    """
    chosen = st.fixed_dictionaries(
        {
            "max_length": st.integers(1, 3),
            "neighbours": st.sampled_from([None, 1, 3, 40]),
            "path_types": st.sampled_from([None, 1, 3, 300]),
            "support": st.integers(1, 3),
            "weight": st.sampled_from(["right", "prior", "frequency"]),
            "combination": st.sampled_from(["noisy-or", "sum"]),
            "discount": st.sampled_from([0.0, 0.1, 1.0]),
            "decisive": st.sampled_from([0.2, 0.77, 1.0]),
            "slots": st.booleans(),
            "ridge": st.sampled_from([1.0, 60.0]),
            "precedent_weight": st.sampled_from([0.0, 6.0, 100.0]),
            "nearest": st.sampled_from([1, 3, 512]),
            "best": st.integers(1, 8),
            "loop_free": st.booleans(),
            "precedents": st.booleans(),
            "linked": st.booleans(),
            "clustering": st.sampled_from(["hac", "grinch", "entity", "everyone"]),
            "threshold": st.sampled_from([-1.0, 0.3, 0.75, 1.0]),
            "fallback": st.booleans(),
        }
    )
    return chosen.map(_allowed).map(lambda values: Settings(**values))


def _allowed(values: dict[str, Any]) -> dict[str, Any]:
    if values["weight"] != "right":
        values["combination"] = "sum"
    if values["weight"] == "frequency" and values["neighbours"] is None:
        values["neighbours"] = 5
    return values


def random_facts(
    random: Random, entities: int = 8, relations: int = 3, facts: int = 14
) -> list[Fact]:
    """Up to so many distinct facts, in random order."""
    number = random.randint(facts // 2, facts)
    drawn = {random_fact(random, entities, relations, entities) for _ in range(number)}
    return shuffled(random, sorted(drawn))


def random_fact(random: Random, heads: int, relations: int, tails: int) -> Fact:
    """A fact about one of so many heads, relations and tails."""
    head = f"e{random.randrange(heads)}"
    relation = f"r{random.randrange(relations)}"
    tail = f"e{random.randrange(tails)}"
    return head, relation, tail


def shuffled(random: Random, facts: Iterable[Fact]) -> list[Fact]:
    """The same facts in another order."""
    same = list(facts)
    return random.sample(same, len(same))


def surviving(history: list[Step]) -> set[Fact]:
    """The facts that are there after a history."""
    left: set[Fact] = set()
    for doing, named in history:
        if doing == "add":
            left |= set(named)
        else:
            left -= set(named)
    return left


def played(history: list[Step], graph: Graph) -> Graph:
    """The graph after a history."""
    for doing, named in history:
        if doing == "add":
            graph.add(named)
        else:
            graph.retract(named)
    return graph


def profiles_of(graph: Graph) -> Profiles:
    """The profiles of a graph, made at once."""
    return Profiles.of_graph(graph)


def relation_in_oracle(graph: Graph, relation: int) -> oracle.Name:
    """A relation as the oracle names it: r, or (r, -1) for its inverse."""
    name = graph.relations[relation >> 1]
    return (name, -1) if relation & 1 else name


def path_type_in_oracle(graph: Graph, number: int, max_length: int) -> tuple[Any, ...]:
    """A path type as the oracle names it."""
    return tuple(
        relation_in_oracle(graph, relation) for relation in unpacked(number, max_length)
    )


def by_name(path_type: tuple[Any, ...]) -> tuple[int, list[tuple[str, int]]]:
    """Shorter path types first, equally long ones by the names
    of their relations, a relation before its inverse.
    """
    steps = []
    for step in path_type:
        is_inverse = isinstance(step, tuple)
        steps.append((oracle.inverse(step), 1) if is_inverse else (step, 0))
    return len(path_type), steps


ARROWED = ("r → s", "s⁻¹", "⁻¹", " → ")


def arrowed_facts() -> list[Fact]:
    """Paths over relations whose names look like path types and like inverses."""
    facts: list[Fact] = []
    for number in range(4):
        start, middle, end = (f"{letter} → {number}⁻¹" for letter in "abc")
        facts += [(start, ARROWED[0], middle), (end, ARROWED[1], middle)]
        facts += [(start, ARROWED[2], end), (end, ARROWED[3], start)]
    return facts
