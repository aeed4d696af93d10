"""
Scores of entities as answers by a PyKEEN model, for many questions and candidates at once.

PyKEEN scores every pair of a question and a candidate separately. But its models compare a vector
of the question with a vector of the candidate, by their dot product or by their distance: so a
single matrix product scores all pairs, a hundred times as fast. The scores are the same up to
rounding, and a test compares them.

With the embeddings e of the entity that is asked about, r of the relation, and a of an answer:

    model     question for tails      question for heads    answer    score
    TransE    e + r                   e - r                 a         minus the distance
    RotatE    e r (complex numbers)   e r̄                   a         minus the distance
    DistMult  e r                     e r                   a         product
    ComplEx   e r (complex numbers)   e r̄                   a         product
    ConvE     e above r, convolved    the same              a         product, plus a's bias

ConvE alone cannot ask for heads, so it learns the two directions of a relation as two relations, as
its authors do.
"""

from typing import Any, TypeAlias

import numpy as np

from casegraph.graph.arrays import Counts, Ids
from casegraph.graph.directions import is_inverse, relation_of

BY_DISTANCE = ("TransE", "RotatE")
BY_ROTATION = ("ComplEx", "RotatE")
BY_DIRECTION = ("ConvE",)
# Squared distances are at least this, so that their roots have a gradient.
SMALLEST = 1e-9
Theirs: TypeAlias = Any  # an object of PyKEEN or torch, which need not be installed


class Scoring:
    """The vectors of a model, and how they are compared.

    torch  the module
    name   PyKEEN's name of the model
    model  the model itself; its parameters may change
    """

    def __init__(self, torch: Theirs, name: str, model: Theirs) -> None:
        self._torch = torch
        self._name = name
        self._model = model

    def questions(self, questions: Ids) -> Theirs:
        """A vector for each question.

        questions  rows (direction, entity); further columns are ignored
        """
        directions = questions[:, 0]
        entities = self._entities(self._tensor(questions[:, 1]))
        if self._name in BY_DIRECTION:
            return self._convolved(entities, self._relations(directions))

        relations = self._relations(relation_of(directions))
        asks_for_head = is_inverse(directions).astype(np.bool)
        is_for_heads = self._torch.from_numpy(asks_for_head)[:, None]
        if self._name in BY_ROTATION:
            rotations = self._torch.where(is_for_heads, relations.conj(), relations)
            return self._as_real(entities * rotations)
        if self._name == "TransE":
            return entities + self._torch.where(is_for_heads, -relations, relations)
        return entities * relations

    def answers(self, entities: Counts | Ids) -> Theirs:
        """A vector for each entity as an answer."""
        chosen = self._tensor(entities)
        vectors = self._as_real(self._entities(chosen))
        if self._name in BY_DIRECTION:
            bias = self._model.entity_representations[1](chosen)
            return self._torch.cat([vectors, bias[:, None]], dim=1)
        return vectors

    def of_own(self, questions: Theirs, answers: Theirs) -> Theirs:
        """The score of the answer in each row for the question in the same row."""
        if self._name not in BY_DISTANCE:
            return (questions * answers).sum(dim=1)
        squared = ((questions - answers) ** 2).sum(dim=1)
        return _minus_root(squared)

    def of_all(self, questions: Theirs, answers: Theirs) -> Theirs:
        """The score of each answer for each question: (questions, answers)."""
        products = questions @ answers.T
        if self._name not in BY_DISTANCE:
            return products

        # |q - a|² = |q|² + |a|² - 2 q·a
        squared_questions = (questions**2).sum(dim=1)[:, None]
        squared_answers = (answers**2).sum(dim=1)[None, :]
        return _minus_root(squared_questions + squared_answers - 2 * products)

    def _entities(self, chosen: Theirs) -> Theirs:
        return self._model.entity_representations[0](chosen)

    def _relations(self, relations: Ids) -> Theirs:
        return self._model.relation_representations[0](self._tensor(relations))

    def _tensor(self, numbers: Counts | Ids) -> Theirs:
        return self._torch.from_numpy(numbers.astype(np.int64))

    def _convolved(self, entities: Theirs, relations: Theirs) -> Theirs:
        """ConvE's image of an entity above a relation, convolved; and 1, for the bias."""
        interaction = self._model.interaction
        shape = interaction.shape_info
        half = (-1, shape.input_channels, shape.image_height, shape.image_width)
        images = self._torch.cat([entities.view(half), relations.view(half)], dim=-2)
        features = interaction.hr2d(images).view(-1, shape.num_in_features)
        vectors = interaction.hr1d(features)
        ones = self._torch.ones(len(vectors), 1)
        return self._torch.cat([vectors, ones], dim=1)

    def _as_real(self, vectors: Theirs) -> Theirs:
        """Vectors of complex numbers as vectors of twice as many real numbers."""
        if not vectors.is_complex():
            return vectors
        pairs = self._torch.view_as_real(vectors)
        return pairs.reshape(len(vectors), -1)


def _minus_root(squared: Theirs) -> Theirs:
    """Squared distances as scores."""
    return -squared.clamp_min(SMALLEST).sqrt()
