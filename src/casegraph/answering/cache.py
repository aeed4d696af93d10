"""
Values derived from a state, computed when first needed and cached with the state.

A decorated function is called like any other; what it returns must not be changed. Threads that
call it at the same time may each compute the value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from casegraph.answering.state import State

T = TypeVar("T")
Source = TypeVar("Source")
Arguments = TypeVarTuple("Arguments")
MISSING = object()


class PerState(Generic[T, *Arguments]):
    """A function of a state and hashable arguments, computed once for each state."""

    def __init__(self, function: Callable[[State, *Arguments], T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __call__(self, state: State, *arguments: *Arguments) -> T:
        """The value for these arguments."""
        key = (self, arguments)
        found = state.cache.get(key, MISSING)
        if found is MISSING:
            found = self._function(state, *arguments)
            state.cache[key] = found
        return found  # type: ignore[return-value]

    def is_cached(self, state: State, *arguments: *Arguments) -> bool:
        """Whether the value for these arguments is known already."""
        return (self, arguments) in state.cache


class PerSource(Generic[Source, T, *Arguments]):
    """A function of a state, one source and hashable arguments.

    Its value depends on the source, and on nothing that updates change. So states that follow each
    other share the value for as long as the source is the same object; then it is replaced.
    """

    def __init__(self, function: Callable[[State, Source, *Arguments], T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __call__(self, state: State, source: Source, *arguments: *Arguments) -> T:
        """The value for this source and these arguments."""
        key = (self, arguments)
        known_source, found = state.shared_cache.get(key, (MISSING, None))
        if known_source is not source:
            found = self._function(state, source, *arguments)
            state.shared_cache[key] = (source, found)
        return found  # type: ignore[return-value]
