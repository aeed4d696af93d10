"""
Scores of entities as answers by a PyKEEN model, for many questions and candidates at once.

PyKEEN scores every pair of a question and a candidate on its own. But its models compare a vector
that stands for the question with one that stands for the candidate, by their product or by their
distance: then one product of matrices scores them all, a hundred times as fast. The scores are the
same, up to rounding, and a test compares them.

A question is a row (direction, entity). ConvE alone cannot ask for heads, so it learns the two
directions of a relation as two relations, as its authors do.
"""

from typing import Any, TypeAlias

import numpy as np

from casegraph.graph.arrays import Ids
from casegraph.graph.directions import is_inverse, relation_of

BY_DISTANCE = ("TransE", "RotatE")
BY_ROTATION = ("ComplEx", "RotatE")
BY_DIRECTION = ("ConvE",)
SMALLEST = 1e-9  # of squared distances, so that their roots have a gradient
Theirs: TypeAlias = Any  # what PyKEEN and torch make; neither need be installed


def question_vectors(torch: Theirs, name: str, model: Theirs, questions: Ids) -> Theirs:
    """What stands for each question: where its answers should be; for heads, back from the tail.

    name       of the model
    questions  rows (direction, entity), any further column is ignored
    """
    asked = torch.from_numpy(questions[:, 1].astype(np.int64))
    entities = model.entity_representations[0](asked)
    of_relation = model.relation_representations[0]
    if name in BY_DIRECTION:
        directions = torch.from_numpy(questions[:, 0].astype(np.int64))
        return _convolved(torch, model.interaction, entities, of_relation(directions))

    relations = of_relation(torch.from_numpy(relation_of(questions[:, 0]).astype(np.int64)))
    is_back = torch.from_numpy(is_inverse(questions[:, 0]).astype(np.bool))[:, None]
    if name in BY_ROTATION:
        rotations = torch.where(is_back, relations.conj(), relations)
        return _as_real(torch, entities * rotations)
    if name == "TransE":
        return entities + torch.where(is_back, -relations, relations)
    return entities * relations


def answer_vectors(torch: Theirs, name: str, model: Theirs, entities: Theirs) -> Theirs:
    """What stands for each entity as an answer."""
    vectors = _as_real(torch, model.entity_representations[0](entities))
    if name in BY_DIRECTION:
        bias = model.entity_representations[1](entities)
        return torch.cat([vectors, bias[:, None]], dim=1)
    return vectors


def scores_of_own(name: str, questions: Theirs, answers: Theirs) -> Theirs:
    """What the answer in each row scores for the question in the same row, by their vectors."""
    if name not in BY_DISTANCE:
        return (questions * answers).sum(dim=1)
    squared = ((questions - answers) ** 2).sum(dim=1)
    return -squared.clamp_min(SMALLEST).sqrt()


def scores_of_all(name: str, questions: Theirs, answers: Theirs) -> Theirs:
    """A row for each question: what each answer scores, by their vectors."""
    products = questions @ answers.T
    if name not in BY_DISTANCE:
        return products
    of_questions = (questions**2).sum(dim=1)[:, None]
    of_answers = (answers**2).sum(dim=1)[None, :]
    squared = of_questions + of_answers - 2 * products
    return -squared.clamp_min(SMALLEST).sqrt()


def _convolved(torch: Theirs, interaction: Theirs, entities: Theirs, relations: Theirs) -> Theirs:
    """ConvE's picture of an entity above a relation, convolved; and 1, for the answer's bias."""
    shape = interaction.shape_info
    picture = (-1, shape.input_channels, shape.image_height, shape.image_width)
    pictures = torch.cat([entities.view(picture), relations.view(picture)], dim=-2)
    features = interaction.hr2d(pictures).view(-1, shape.num_in_features)
    vectors = interaction.hr1d(features)
    return torch.cat([vectors, torch.ones(len(vectors), 1)], dim=1)


def _as_real(torch: Theirs, vectors: Theirs) -> Theirs:
    """Complex numbers as two real ones each."""
    if not vectors.is_complex():
        return vectors
    return torch.view_as_real(vectors).reshape(len(vectors), -1)
