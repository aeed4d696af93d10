"""Labels of the names in a result, for people to read; programs keep the names of the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from casegraph.graph.descriptions import Descriptions


def labels_of(descriptions: Descriptions, names: Iterable[str]) -> dict[str, str]:
    """The labels of those names that have one; the label of an IRI is by default its last part."""
    labels = {name: descriptions.label(name) for name in names}
    return {name: label for name, label in labels.items() if label != name}
