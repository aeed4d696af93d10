"""Long lives: a start, and then one update after the other;
for `test_long_lives.py` and `benchmarks/bench_lives.py`.

Each life leaves as many facts as it found, so what it holds,
and what an update takes, must not grow with its length.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

from casegraph import CaseBase, world

Fact: TypeAlias = tuple[str, str, str]
Step: TypeAlias = tuple[list[Fact], list[Fact | str], tuple[str, str] | None]
NEW = "new "  # with which every name begins that comes and goes
RELATIONS = 30  # of a graph that has more of them than are ever asked about at once


@dataclass(frozen=True)
class Life:
    """What it starts with, and what each update adds, what it retracts,
    and which question is asked after it.
    """

    start: Callable[[], list[Fact]]
    steps: Callable[[], Iterator[Step]]
    counted: bool = True  # from the start, for all relations

    def begin(self, cases: CaseBase) -> None:
        """Take in the start."""
        cases.update(add=self.start())
        if self.counted:
            cases.prepare()

    def updates(self, cases: CaseBase) -> Iterator[Callable[[], object]]:
        """One update after the other, for whoever calls them to measure.

        Questions are asked between them.
        """
        for come, gone, question in self.steps():
            yield lambda: cases.update(add=come, retract=gone)  # noqa: B023  (called before the next is made)
            if question is not None:
                cases.ask(*question)


def _world() -> list[Fact]:
    return [(fact.head, fact.relation, fact.tail) for fact in world.facts()]


def _small() -> list[Fact]:
    return _world()[:187]


def _many_relations() -> list[Fact]:
    return [
        (f"e{n % 23}", f"r{n % RELATIONS}", f"e{(7 * n + n // 23) % 29}")
        for n in range(4 * RELATIONS)
    ]


def toggled() -> Iterator[Step]:
    fact = ("Ada Lovelace", "unrelated", "Charles Babbage")
    for number in count():
        yield ([fact], [], None) if number % 2 == 0 else ([], [fact], None)


def _asked_once() -> Iterator[Step]:
    for number, (come, gone, _) in enumerate(toggled()):
        yield come, gone, ("e1", f"r{number}") if number < RELATIONS else None


def _asked_in_turn() -> Iterator[Step]:
    fact = ("e1", "r1", "e2")
    for number in count():
        question = ("e1", f"r{number % RELATIONS}")
        yield ([fact], [], question) if number % 2 == 0 else ([], [fact], question)


def _new_entities() -> Iterator[Step]:
    _, relation, tail = _small()[0]
    for number in count():
        yield [(f"{NEW}{number}", relation, tail)], [f"{NEW}{number - 1}"], None


def _new_relations() -> Iterator[Step]:
    head, _, tail = _small()[0]
    for number in count():
        yield (
            [(head, f"{NEW}{number}", tail)],
            [(head, f"{NEW}{number - 1}", tail)],
            None,
        )


LIVES = {
    "unrelated": Life(_world, toggled),
    "asked once": Life(_many_relations, _asked_once),
    "asked in turn": Life(_many_relations, _asked_in_turn),
    "new entities": Life(_small, _new_entities),
    "new relations": Life(_small, _new_relations),
}
