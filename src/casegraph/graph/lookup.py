"""
Finding the entity or relation a user means: by name, by label, or by a spelling variant of either.

If several entities have the same label, none is chosen: the error lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from casegraph.errors import AmbiguousName, InvalidArgument, UnknownName
from casegraph.graph.arrays import ids
from casegraph.graph.descriptions import folded, local_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from casegraph.graph.arrays import Ids
    from casegraph.graph.descriptions import Descriptions
    from casegraph.graph.graph import Graph
    from casegraph.graph.names import Names

KIND_MARK = "::"  # after the kind of an entity in the names of Hetionet, as in Disease::DOID:1612


def entity_id(graph: Graph, descriptions: Descriptions, text: str) -> int | None:
    """The entity that a text means; None if there is none."""
    _check("entity", text)
    names = graph.entities
    found = exact_ids(names, descriptions, text)
    if not found:
        found = _ids(names, descriptions.named_like(folded(text)))
    return _only("entity", text, names, found)


def relation_id(graph: Graph, descriptions: Descriptions, text: str) -> int:
    """The relation that a text means; `UnknownName` if there is none.

    Labels of relations are often phrases, such as "compound treats disease"; a word that occurs in
    only one of them is enough. Case, accents and underscores matter only if two relations differ
    in nothing else.
    """
    _check("relation", text)
    names = graph.relations
    alike = folded(text)
    all_names = names.names
    found = (
        exact_ids(names, descriptions, text)
        or _places(local_name(name) == text for name in all_names)
        or _ids(names, descriptions.named_like(alike))
        or _places(
            alike in (folded(name), folded(local_name(name))) for name in all_names
        )
        or _places(text in descriptions.of(name).label.split() for name in all_names)
    )
    chosen = _only("relation", text, names, found)
    if chosen is None:
        labels = [descriptions.of(name).label for name in all_names]
        raise UnknownName("relation", text, [*all_names, *filter(None, labels)])
    return chosen


def exact_ids(names: Names, descriptions: Descriptions, text: str) -> list[int]:
    """The one with exactly this name, or else all that have exactly this label."""
    found = names.find(text)
    return _ids(names, descriptions.named(text)) if found is None else [found]


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


def entities_of_type(graph: Graph, descriptions: Descriptions, wanted: str) -> Ids:
    """The entities of a type; `UnknownName`, which suggests existing types, if there are none."""
    by_type: dict[str, list[int]] = {}
    for entity, name in enumerate(graph.entities.names):
        for its_type in types_of(descriptions, name):
            by_type.setdefault(its_type, []).append(entity)
    if wanted in by_type:
        return ids(by_type[wanted])
    for its_type in sorted(by_type):
        if folded(its_type) == folded(wanted):
            return ids(by_type[its_type])
    raise UnknownName("type", wanted, sorted(by_type))


def _check(kind: str, text: object) -> None:
    if not isinstance(text, str):
        raise InvalidArgument(kind, text, "a name, which is text")


def _ids(names: Names, found: list[str]) -> list[int]:
    """Those of some names that are used, as ids."""
    return [number for name in found if (number := names.find(name)) is not None]


def _places(are_meant: Iterable[bool]) -> list[int]:
    return [place for place, is_meant in enumerate(are_meant) if is_meant]


def _only(kind: str, text: str, names: Names, found: list[int]) -> int | None:
    """The only one that was found; None if there is none, an error if there are several."""
    if len(found) > 1:
        raise AmbiguousName(kind, text, [names[number] for number in found])
    return found[0] if found else None
