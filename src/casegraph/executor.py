"""Where work on a case base is done: here, or wherever an executor with these two methods does it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from casegraph.answering import Cases
from casegraph.work import Show, quiet

Task = TypeVar("Task")
Result = TypeVar("Result")


class Executor(Protocol):
    """Work is a pure function of what questions are answered from and a task: where it is done changes no result."""

    def count(self, cases: Cases, relations: list[int], show: Show = quiet) -> None:
        """Count what questions about these relations need, and keep it in `cases`."""

    def each(self, cases: Cases, work: Callable[[Cases, Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """The result of each task, in their order; `work` is a function of a module."""
        ...


class Here:
    """In this process, on all its threads."""

    def count(self, cases: Cases, relations: list[int], show: Show = quiet) -> None:
        """Count what is not counted yet."""
        cases.statistics.prepare(relations, show)

    def each(self, cases: Cases, work: Callable[[Cases, Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Work through the tasks, one after the other."""
        return (work(cases, task) for task in tasks)


HERE = Here()
