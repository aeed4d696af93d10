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
    paths = []
    for path in reason.paths:
        named = [
            relation_label(part, descriptions) if place % 2 else descriptions.label(part)
            for place, part in enumerate(path)
        ]
        paths.append(tuple(named))
    words = reason.words
    words_are = kind_named(reason.kind).words_are
    if paths:
        words = " → ".join(paths[0][1::2])
    elif words_are == "fact":
        words = _labelled_fact(words, descriptions)
    elif words_are == "path type":
        relations = words.split(" → ")
        words = " → ".join(relation_label(relation, descriptions) for relation in relations)
    else:
        words = relation_label(words, descriptions)
    precedents = tuple(descriptions.label(name) for name in reason.precedents)
    return replace(reason, words=words, paths=tuple(paths), precedents=precedents)


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
