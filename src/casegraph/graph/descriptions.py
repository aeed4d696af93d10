"""
Descriptions: labels and types of entities, for display and for filtering.

A description belongs to a name, whether or not any fact has this name. Descriptions never affect
scores.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from casegraph.errors import MalformedFact, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MARKS = "Mn"  # the Unicode category of accents and other marks on a letter

# White space that `folded` changes: runs of spaces, leading and trailing spaces, and characters
# that become spaces when compatible characters are replaced.
_GAPS = ("  ", "\n ", " \n", *"\t\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\u1680\u2028\u2029")


class Description(NamedTuple):
    """The label and the types of an entity or a relation.

    name   its name in facts
    label  its name for people; empty if there is none
    types  what it is, such as "Disease"
    """

    name: str
    label: str = ""
    types: tuple[str, ...] = ()


class Descriptions:
    """The descriptions of names, immutable: `updated` returns new ones."""

    __slots__ = ("_by_folded_label", "_by_label", "_by_name")

    def __init__(self, by_name: dict[str, Description] | None = None) -> None:
        self._by_name = by_name or {}
        self._by_label: dict[str, list[str]] | None = None
        self._by_folded_label: dict[str, list[str]] | None = None

    def __repr__(self) -> str:
        return f"<Descriptions of {len(self):,} names>"

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[Description]:
        """All descriptions, in the order of names."""
        for name in sorted(self._by_name):
            yield self._by_name[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descriptions) and self._by_name == other._by_name

    def __hash__(self) -> int:
        return hash(frozenset(self._by_name.items()))

    def of(self, name: str) -> Description:
        """The description of a name; an empty one if there is none."""
        return self._by_name.get(name) or Description(name)

    def label(self, name: str) -> str:
        """The label, or else the name; of an IRI only its last part."""
        return self.of(name).label or short_name(name)

    def named(self, label: str) -> list[str]:
        """The names that have this label, sorted."""
        if self._by_label is None:
            labelled = self._labelled()
            labels = [description.label for description in labelled]
            self._by_label = _names_by(labels, labelled)
        return self._by_label.get(label, [])

    def named_like(self, folded_label: str) -> list[str]:
        """The names whose label is the same except for case, accents and spaces, sorted."""
        if self._by_folded_label is None:
            labelled = self._labelled()
            labels = [description.label for description in labelled]
            self._by_folded_label = _names_by(folded_all(labels), labelled)
        return self._by_folded_label.get(folded_label, [])

    def _labelled(self) -> list[Description]:
        """The descriptions that have a label, in the order of names."""
        return [description for description in self if description.label]

    def updated(self, described: Iterable[Description]) -> Descriptions:
        """These descriptions merged with others (see `combined`)."""
        return self.replaced(self.changes(described))

    def replaced(self, described: Iterable[Description]) -> Descriptions:
        """These descriptions, with others replacing those of the same names."""
        new = {description.name: description for description in described}
        return Descriptions(self._by_name | new) if new else self

    def changes(self, described: Iterable[Description]) -> list[Description]:
        """The descriptions that change when others are merged in, in the order of names.

        `MalformedFact` if a description is not made of text: a file with it could not be read.
        """
        new: dict[str, Description] = {}
        for number, description in enumerate(described, start=1):
            _check_description(number, description)
            name = description.name
            before = new.get(name) or self.of(name)
            new[name] = combined(before, description)
        return [new[name] for name in sorted(new) if new[name] != self.of(name)]


def _names_by(labels: list[str], described: list[Description]) -> dict[str, list[str]]:
    """The names that have each label, in the given order; labels are parallel to descriptions."""
    names: dict[str, list[str]] = {}
    for label, description in zip(labels, described, strict=True):
        names.setdefault(label, []).append(description.name)
    return names


def _check_description(number: int, description: Description) -> None:
    if not _is_made_of_text(description):
        problem = "expected a Description of a name, a label and several types, all of them text"
        raise MalformedFact(
            "descriptions", number, f"{problem}: {quoted(repr(description))}"
        )


def _is_made_of_text(description: object) -> bool:
    if not isinstance(description, Description):
        return False
    types: object = description.types
    if not isinstance(types, Collection) or isinstance(types, str | bytes):
        return False
    texts = (description.name, description.label, *types)
    return all(isinstance(text, str) for text in texts)


def combined(before: Description, later: Description) -> Description:
    """A description merged with a later one: a new label replaces the old one, types accumulate.

    A label becomes one line: runs of white space become single spaces.
    """
    label = " ".join(later.label.split())
    types = {*before.types, *later.types}
    return Description(before.name, label or before.label, tuple(sorted(types)))


def short_name(name: str) -> str:
    """How a name without a label is displayed: of an IRI, its last part."""
    if not is_iri(name):
        return name
    return local_name(name.rstrip("/#")) or name


def is_iri(name: str) -> bool:
    """Whether a name is an http or https IRI."""
    return name.startswith(("http://", "https://"))


def local_name(name: str) -> str:
    """The last part of an IRI or CURIE: everything after the last of / # and :."""
    return name.replace("#", "/").replace(":", "/").rpartition("/")[2]


def folded(text: str) -> str:
    """A text without case, accents and letter variants; _ and white space become single spaces."""
    if text.isascii():
        plain = text.lower()
    else:
        letters = unicodedata.normalize("NFKD", text.casefold())
        unmarked = [sign for sign in letters if unicodedata.category(sign) != _MARKS]
        plain = "".join(unmarked)
    return " ".join(plain.replace("_", " ").split())


def folded_all(texts: list[str]) -> list[str]:
    """`folded` for many texts, much faster: they are joined with line ends and folded together."""
    if all(map(str.isascii, texts)):
        return _folded_together(texts)

    # Removing accents is the slow part, and few texts have any, so those are folded apart.
    ascii_or_empty = [text if text.isascii() else "" for text in texts]
    result = _folded_together(ascii_or_empty)
    other_places = [place for place, text in enumerate(texts) if not text.isascii()]
    others = _folded_together([texts[place] for place in other_places])
    for place, text in zip(other_places, others, strict=True):
        result[place] = text
    return result


def _folded_together(texts: list[str]) -> list[str]:
    together = "\n".join(texts)
    # A text itself contains line ends.
    if together.count("\n") != max(0, len(texts) - 1):
        return [folded(text) for text in texts]
    if together.isascii():
        together = together.lower()
    else:
        letters = unicodedata.normalize("NFKD", together.casefold())
        together = letters.translate(_without_marks())
    together = together.replace("_", " ")

    lines = together.split("\n")
    if len(lines) != len(texts):
        return [folded(text) for text in texts]
    has_gaps = any(gap in f"\n{together}\n" for gap in _GAPS)
    return [" ".join(line.split()) for line in lines] if has_gaps else lines


@cache
def _without_marks() -> dict[int, None]:
    """The table for `str.translate` that removes marks on letters."""
    table: dict[int, None] = {}
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) == _MARKS:
            table[code] = None
    return table


NO_DESCRIPTIONS = Descriptions()
