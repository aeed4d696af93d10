"""
Executors: where work on a case base is done.

Work is a pure function of a state and a task, so results do not depend on where it is done.
`Here` works in this process; `execution.dask` has an executor for a cluster.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeAlias, TypeVar

from casegraph.answering.state import State
from casegraph.running import Show, quiet

Task = TypeVar("Task")
Result = TypeVar("Result")
Work: TypeAlias = Callable[[State, Task], Result]


class Executor(Protocol):
    """Counts, and processes tasks."""

    def count(self, state: State, relations: list[int], show: Show = quiet) -> None:
        """Count what questions about these relations need, and keep it in `state`."""

    def each(
        self, state: State, work: Work[Task, Result], tasks: Iterable[Task]
    ) -> Iterator[Result]:
        """The result of each task, in the order of the tasks.

        work  a function at the top level of a module, so that it can be sent to another process
        """
        ...


class Here:
    """The executor that works in this process, on all its threads."""

    def count(self, state: State, relations: list[int], show: Show = quiet) -> None:
        """Count what is not counted yet."""
        state.statistics.prepare(relations, show)

    def each(
        self, state: State, work: Work[Task, Result], tasks: Iterable[Task]
    ) -> Iterator[Result]:
        """Work through the tasks, one after the other."""
        return (work(state, task) for task in tasks)


HERE = Here()
