"""
Pages of a long list, and cursors from one to the next.

A cursor says from which state the list comes and how far it was read, so that all pages come from
the same state, whatever is written meanwhile.
"""

from typing import NamedTuple, TypeVar

from casegraph.service.models import (
    ClusterMembers,
    ClusterPage,
    Entity,
    Relations,
)

P = TypeVar("P", ClusterPage, ClusterMembers, Entity, Relations)


class Cursor(NamedTuple):
    """Where a page begins: at a row, in the state after an update (None: the current one)."""

    sequence: int | None = None
    first: int = 0

    def __str__(self) -> str:
        return f"{self.sequence}.{self.first}"

    def paged(self, page: P, count: int, *, is_more: bool) -> P:
        """A page of `count` rows that begins here, with the cursor to the next if there is more."""
        following = Cursor(page.sequence, self.first + count)
        return page.model_copy(update={"next": str(following) if is_more else None})


def cursor_of(text: str | None, as_of: int | None) -> Cursor:
    """The cursor that a client gives back, which the route has checked; else the beginning."""
    if text is None:
        return Cursor(as_of)
    sequence, _, first = text.partition(".")
    return Cursor(int(sequence), int(first))
