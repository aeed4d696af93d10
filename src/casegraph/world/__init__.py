"""The bundled example graph: scientists, where they lived and worked, and countries around them.

>>> from casegraph import world
>>> world.questions()[0]
Fact(head='Barbara Liskov', relation='award', tail='Turing Award')
"""

from importlib.resources import files
from io import BytesIO

from casegraph.formats.registry import read_facts
from casegraph.graph.facts import Fact


def facts() -> list[Fact]:
    """The facts of the bundled graph."""
    return _read("facts.tsv")


def questions() -> list[Fact]:
    """True facts that are held back from the bundled graph, to ask for."""
    return _read("questions.tsv")


def _read(name: str) -> list[Fact]:
    return list(
        read_facts(BytesIO(files(__name__).joinpath(name).read_bytes()), header=False)
    )
