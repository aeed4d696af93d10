"""
Answers and explanations with labels instead of names, for people to read.

Output for programs (JSON, tables) keeps the names that the facts use, and lists labels separately.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from casegraph.answering.evidence.kinds import kind_named
from casegraph.graph.directions import INVERSE

if TYPE_CHECKING:
    from casegraph.answering.evidence.reason import Reason
    from casegraph.answering.explanation import Explanation, Neighbour
    from casegraph.graph.descriptions import Descriptions


def labelled(explanation: Explanation, descriptions: Descriptions) -> Explanation:
    """An explanation with labels instead of names, where there are labels."""
    answer = explanation.answer
    return replace(
        explanation,
        answer=replace(
            answer,
            asked=descriptions.label(answer.asked),
            relation=descriptions.label(answer.relation),
            entity=descriptions.label(answer.entity),
        ),
        reasons=tuple(_labelled_reason(reason, descriptions) for reason in explanation),
        neighbours=tuple(
            _labelled_neighbour(near, descriptions) for near in explanation.neighbours
        ),
    )


def relation_label(name: str, descriptions: Descriptions) -> str:
    """The label of a relation; of its inverse, the label with ⁻¹."""
    forward = name.removesuffix(INVERSE)
    if descriptions.label(forward) == forward:
        return name
    return descriptions.label(forward) + (INVERSE if name != forward else "")


def _labelled_reason(reason: Reason, descriptions: Descriptions) -> Reason:
    return replace(
        reason,
        words=_labelled_words(reason, descriptions),
        paths=tuple(_labelled_path(path, descriptions) for path in reason.paths),
        precedents=tuple(descriptions.label(name) for name in reason.precedents),
    )


def _labelled_words(reason: Reason, descriptions: Descriptions) -> str:
    """What a reason is about, with labels: a path type, or a relation."""
    if kind_named(reason.kind).words_are == "relation":
        return relation_label(reason.words, descriptions)
    if reason.paths:  # their parts are known, whatever characters the names have
        relations = list(reason.paths[0][1::2])
    else:
        relations = reason.words.split(" → ")
    return " → ".join(relation_label(relation, descriptions) for relation in relations)


def _labelled_path(
    path: tuple[str, ...], descriptions: Descriptions
) -> tuple[str, ...]:
    """A path with labels; entities and relations alternate."""
    labels = []
    for place, name in enumerate(path):
        is_entity = place % 2 == 0
        labels.append(
            descriptions.label(name)
            if is_entity
            else relation_label(name, descriptions)
        )
    return tuple(labels)


def _labelled_fact(words: str, descriptions: Descriptions) -> str:
    """A fact in words, with labels; which part is the entity is found by its label."""
    parts = words.split(" ")
    for place in range(1, len(parts)):
        relation = " ".join(parts[:place])
        entity = " ".join(parts[place:])
        label = descriptions.label(entity)
        if label != entity:
            return f"{relation_label(relation, descriptions)} {label}"
    return words


def _labelled_share(words: str, descriptions: Descriptions) -> str:
    """A shared relation, or a shared fact in words, with labels."""
    label = relation_label(words, descriptions)
    return _labelled_fact(words, descriptions) if label == words else label


def _labelled_neighbour(near: Neighbour, descriptions: Descriptions) -> Neighbour:
    return replace(
        near,
        entity=descriptions.label(near.entity),
        shared=tuple(_labelled_share(words, descriptions) for words in near.shared),
        answers=tuple(descriptions.label(name) for name in near.answers),
    )
