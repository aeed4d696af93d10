"""Our docstrings as Markdown: lines of a name, some spaces, and what it means, become a table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from griffe import Docstring, Extension

if TYPE_CHECKING:
    from griffe import Object

EXPLAINED = re.compile(r"^(?P<names>[\w`\"][\w`\", ./*-]*?) {2,}(?P<meaning>\S.*)$")


class Tables(Extension):
    """Rewrites the docstring of every object that is read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:  # noqa: ANN401
        """Put tables into its docstring."""
        if obj.docstring is not None:
            obj.docstring = Docstring(
                with_tables(obj.docstring.value),
                lineno=obj.docstring.lineno,
                endlineno=obj.docstring.endlineno,
                parent=obj,
            )


def with_tables(docstring: str) -> str:
    """The docstring with each paragraph of explained names as a table."""
    paragraphs = docstring.split("\n\n")
    return "\n\n".join(_as_table(paragraph) or paragraph for paragraph in paragraphs)


def _as_table(paragraph: str) -> str:
    """A paragraph as a table; empty if it does not begin with an explained name."""
    rows: list[tuple[str, str]] = []
    for line in paragraph.splitlines():
        explained = EXPLAINED.match(line)
        if explained is not None:
            rows.append((explained["names"].strip(), explained["meaning"]))
        elif rows and line.startswith(" "):
            names, meaning = rows[-1]
            rows[-1] = (names, f"{meaning} {line.strip()}")
        else:
            return ""
    lines = [
        f"| {_code(names)} | {meaning.replace('|', chr(92) + '|')} |"
        for names, meaning in rows
    ]
    return "\n".join(["| | |", "|---|---|", *lines])


def _code(names: str) -> str:
    return ", ".join(f"`{name.strip('` ')}`" for name in names.split(","))
