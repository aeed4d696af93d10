"""
Finding the entity or relation a user means: by name, by label, or by a spelling variant of either.

If several entities have the same label, none is chosen: the error lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from casegraph.errors import AmbiguousName, InvalidSettings, UnknownName
from casegraph.graph.descriptions import folded, local_name

if TYPE_CHECKING:
    from casegraph.graph.descriptions import Descriptions
    from casegraph.graph.graph import Graph
    from casegraph.graph.names import Names

KIND_MARK = "::"  # after the kind of an entity in the names of Hetionet, as in Disease::DOID:1612


def entity_named(graph: Graph, descriptions: Descriptions, text: str) -> str:
    """The name of the entity that a text means; the text itself if no entity has this label."""
    _check("entity", text)
    if text in graph.entities:
        return text
    found = descriptions.named(text) or descriptions.named_like(folded(text))
    entities = [name for name in found if name in graph.entities]
    return _only("entity", text, entities) or text


def relation_named(graph: Graph, descriptions: Descriptions, text: str) -> str:
    """The name of the relation meant; `UnknownName` if there is none.

    Labels of relations are often phrases, such as "compound treats disease"; a word that occurs in
    only one of them is enough. Case, accents and underscores matter only if two relations differ
    in nothing else.
    """
    _check("relation", text)
    known = graph.relations
    if text in known:
        return text
    alike = folded(text)
    names = known.names
    found = (
        [name for name in descriptions.named(text) if name in known]
        or [name for name in names if local_name(name) == text]
        or [name for name in descriptions.named_like(alike) if name in known]
        or [name for name in names if alike in (folded(name), folded(local_name(name)))]
        or [name for name in names if text in descriptions.of(name).label.split()]
    )
    chosen = _only("relation", text, found)
    if not chosen:
        raise UnknownName("relation", text, _names_and_labels(known, descriptions))
    return chosen


def types_of(descriptions: Descriptions, name: str) -> set[str]:
    """The types of an entity, their labels and short forms, and the kind in its name."""
    types = set(descriptions.of(name).types)
    for its_type in tuple(types):
        types |= {local_name(its_type), descriptions.label(its_type)}
    return types | set(kinds_in(name))


def kinds_in(name: str) -> tuple[str, ...]:
    """The kind that a name begins with, as in Hetionet, if there is one."""
    kind, mark, _ = name.partition(KIND_MARK)
    return (kind,) if mark else ()


def entities_of_type(
    graph: Graph, descriptions: Descriptions, wanted: str
) -> list[str]:
    """The entities of a type; `UnknownName`, which suggests existing types, if there are none."""
    by_type: dict[str, list[str]] = {}
    for name in graph.entities.names:
        for its_type in types_of(descriptions, name):
            by_type.setdefault(its_type, []).append(name)
    if wanted in by_type:
        return by_type[wanted]
    alike = [
        its_type for its_type in sorted(by_type) if folded(its_type) == folded(wanted)
    ]
    if not alike:
        raise UnknownName("type", wanted, sorted(by_type))
    return by_type[alike[0]]


def _check(kind: str, text: object) -> None:
    if not isinstance(text, str):
        raise InvalidSettings(kind, text, "a name, which is text")


def _only(kind: str, text: str, names: list[str]) -> str:
    """The only one of these names; empty if there is none, an error if there are several."""
    if len(names) > 1:
        raise AmbiguousName(kind, text, names)
    return names[0] if names else ""


def _names_and_labels(names: Names, descriptions: Descriptions) -> list[str]:
    labels = [descriptions.of(name).label for name in names.names]
    return [*names.names, *filter(None, labels)]
