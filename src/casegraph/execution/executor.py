"""Where work on a case base is done: here, or wherever an executor with these two methods does it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from casegraph.answering.state import State
from casegraph.running import Show, quiet

Task = TypeVar("Task")
Result = TypeVar("Result")


class Executor(Protocol):
    """Work is a pure function of what questions are answered from and a task: where it is done changes no result."""

    def count(self, state: State, relations: list[int], show: Show = quiet) -> None:
        """Count what questions about these relations need, and keep it in `state`."""

    def each(self, state: State, work: Callable[[State, Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """The result of each task, in their order; `work` is a function of a module."""
        ...


class Here:
    """In this process, on all its threads."""

    def count(self, state: State, relations: list[int], show: Show = quiet) -> None:
        """Count what is not counted yet."""
        state.statistics.prepare(relations, show)

    def each(self, state: State, work: Callable[[State, Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Work through the tasks, one after the other."""
        return (work(state, task) for task in tasks)


HERE = Here()
