"""How a command reads files of facts, according to its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from casegraph.formats.reading import Facts


@dataclass
class Read:
    """How to read files of facts.

    names    a file with the labels and types of entities
    options  of `read_facts`
    """

    names: str | None
    options: dict[str, Any]

    def __call__(self, source: str) -> Facts:
        """The facts of a file."""
        from casegraph.formats.registry import read_facts

        return read_facts(source, **self.options)
