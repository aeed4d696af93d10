"""
Interrupts at every chance that the interpreter has to raise one, for `test_interrupts.py`.

A signal is looked at when a function begins, when a loop jumps back, and after a call returned.
At these places of the package, and of `contextlib`, whose frames stand between a `with`
and what it guards, an `Interrupter` counts, and raises at the one that it was told:
`KeyboardInterrupt`, as if Ctrl-C had been pressed just then. At other instructions no interrupt can
come, not even between the body of a `with lock` and the release of the lock.
"""

import contextlib
import dis
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeAlias

from tests.crashing import calls_through

import casegraph

PLACES = (str(Path(casegraph.__file__).parent), contextlib.__file__)
CALLS = ("CALL", "CALL_FUNCTION_EX", "CALL_KW", "CALL_METHOD")
AFTER_CALLS = (
    "POP_TOP",
    "STORE_FAST",
    "STORE_ATTR",
    "STORE_SUBSCR",
    "STORE_NAME",
    "STORE_DEREF",
    "STORE_GLOBAL",
)


Place: TypeAlias = tuple[CodeType, int]  # a function, and an instruction of it


class Interrupter:
    """Raises `KeyboardInterrupt` in this thread at one chance, counted from 1.

    With 0 it only notes the places of the chances.
    """

    def __init__(self, chance: int = 0) -> None:
        self.chance = chance
        self.places: list[Place] = []
        self.where = ""
        self._known: dict[CodeType, frozenset[int]] = _KNOWN

    def __enter__(self) -> "Interrupter":
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, _: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(PLACES):
            return None
        if code not in self._known:
            self._known[code] = frozenset(_chances(code))
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        self._came_to(frame)
        return self._traced

    def _traced(self, frame: FrameType, event: str, _: object) -> Any:
        if event == "opcode" and frame.f_lasti in self._known[frame.f_code]:
            self._came_to(frame)
        return self._traced

    def _came_to(self, frame: FrameType) -> None:
        self.places.append((frame.f_code, frame.f_lasti))
        if len(self.places) == self.chance:
            file = Path(frame.f_code.co_filename).name
            self.where = f"{file}:{frame.f_lineno} in {frame.f_code.co_name}"
            raise KeyboardInterrupt


_KNOWN: dict[CodeType, frozenset[int]] = {}


def _chances(code: CodeType) -> Iterator[int]:
    """The instructions of a function at which a signal that came is looked at.

    Its beginning is an event of its own.
    """
    previous = ""
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        resumed = name == "RESUME" and instruction.arg == 1  # after a yield
        if (
            resumed
            or name.startswith("JUMP_BACKWARD")
            or (previous in CALLS and name in AFTER_CALLS)
        ):
            yield instruction.offset
        if name != "CACHE":
            previous = name


class Chances(NamedTuple):
    """The chances to interrupt some work.

    places  where each is
    writes  how many chances came before each call that writes
    """

    places: list[Place]
    writes: list[int]


def chances(work: Callable[[], object]) -> Chances:
    """The chances to interrupt some work, which is done."""
    interrupter = Interrupter()
    writes = list[int]()

    def noted(_: str, real: Callable[..., Any], *given: Any) -> object:
        writes.append(len(interrupter.places))
        return real(*given)

    with calls_through(noted), interrupter:
        work()
    return Chances(interrupter.places, writes)


def sampled(found: Chances, points: int) -> list[int]:
    """Some of the chances, counted from 1: those around every write, those after the last write,
    and one at every place; of each of these three at most so many points.

    A loop comes to the same place over and over. It is interrupted there once: at one place
    early, at another late.
    """
    count = len(found.places)
    around = {write + near for write in found.writes for near in range(3)}
    late = range(found.writes[-1] if found.writes else count, count + 1)
    visits: dict[Place, list[int]] = {}
    for chance, place in enumerate(found.places, start=1):
        visits.setdefault(place, []).append(chance)
    one_of_each = [of[number % len(of)] for number, of in enumerate(visits.values())]
    chosen = [
        *_spread(sorted(around), points),
        *_spread(late, points),
        *_spread(sorted(one_of_each), points),
    ]
    return sorted({chance for chance in chosen if 1 <= chance <= count})


def _spread(of: Sequence[int], points: int) -> Sequence[int]:
    return of[:: max(1, -(-len(of) // points))]


def interrupted(work: Callable[[], object], chance: int) -> str:
    """Do some work, interrupted at a chance.

    Says where that was, or nothing if it was never come to.
    """
    interrupter = Interrupter(chance)
    try:
        with interrupter:
            work()
    except KeyboardInterrupt:
        pass
    return interrupter.where


class Alarm:
    """Raises `KeyboardInterrupt` some time after it was set,
    from a real signal, unless it was stopped before.
    """

    def __init__(self) -> None:
        self._armed = False
        signal.signal(signal.SIGALRM, self._ring)

    def interrupts(self, work: Callable[[], object], seconds: float) -> bool:
        """Whether some work was interrupted.

        An interrupt that comes between its end and ours counts.
        """
        try:
            self._armed = True
            signal.setitimer(signal.ITIMER_REAL, seconds)
            work()
            self._armed = False
        except KeyboardInterrupt:
            return True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return False

    def _ring(self, *_: object) -> None:
        if self._armed:
            self._armed = False
            raise KeyboardInterrupt


def seconds_of(work: Callable[[], object]) -> float:
    """How long some work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
