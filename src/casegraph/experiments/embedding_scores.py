"""
Scores of entities as answers by a PyKEEN model, for many questions and candidates at once.

PyKEEN scores every pair of a question and a candidate on its own. But its models compare a vector
that stands for the question with one that stands for the candidate, by their product or by their
distance: then one product of matrices scores them all, a hundred times as fast. The scores are the
same, up to rounding, and a test compares them.

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
SMALLEST = 1e-9  # of squared distances, so that their roots have a gradient
Theirs: TypeAlias = Any  # what PyKEEN and torch make; neither need be installed


class Scoring:
    """The vectors of a model, and how they are compared.

    torch  the module
    name   of the model, one of PyKEEN's
    model  itself; its parameters may change
    """

    def __init__(self, torch: Theirs, name: str, model: Theirs) -> None:
        self._torch = torch
        self._name = name
        self._model = model

    def questions(self, questions: Ids) -> Theirs:
        """A vector for each question.

        questions  rows (direction, entity), any further column is ignored
        """
        entities = self._model.entity_representations[0](self._tensor(questions[:, 1]))
        if self._name in BY_DIRECTION:
            return self._convolved(entities, self._relations(questions[:, 0]))

        relations = self._relations(relation_of(questions[:, 0]))
        is_for_heads = self._torch.from_numpy(is_inverse(questions[:, 0]).astype(np.bool))[:, None]
        if self._name in BY_ROTATION:
            rotations = self._torch.where(is_for_heads, relations.conj(), relations)
            return self._as_real(entities * rotations)
        if self._name == "TransE":
            return entities + self._torch.where(is_for_heads, -relations, relations)
        return entities * relations

    def answers(self, entities: Counts | Ids) -> Theirs:
        """A vector for each entity as an answer."""
        chosen = self._tensor(entities)
        vectors = self._as_real(self._model.entity_representations[0](chosen))
        if self._name in BY_DIRECTION:
            bias = self._model.entity_representations[1](chosen)
            return self._torch.cat([vectors, bias[:, None]], dim=1)
        return vectors

    def of_own(self, questions: Theirs, answers: Theirs) -> Theirs:
        """What the answer in each row scores for the question in the same row, by their vectors."""
        if self._name not in BY_DISTANCE:
            return (questions * answers).sum(dim=1)
        squared = ((questions - answers) ** 2).sum(dim=1)
        return _minus_root(squared)

    def of_all(self, questions: Theirs, answers: Theirs) -> Theirs:
        """A row for each question: what each answer scores, by their vectors."""
        products = questions @ answers.T
        if self._name not in BY_DISTANCE:
            return products
        of_questions = (questions**2).sum(dim=1)[:, None]
        of_answers = (answers**2).sum(dim=1)[None, :]
        return _minus_root(of_questions + of_answers - 2 * products)

    def _relations(self, relations: Ids) -> Theirs:
        return self._model.relation_representations[0](self._tensor(relations))

    def _tensor(self, numbers: Counts | Ids) -> Theirs:
        return self._torch.from_numpy(numbers.astype(np.int64))

    def _convolved(self, entities: Theirs, relations: Theirs) -> Theirs:
        """ConvE's picture of an entity above a relation, convolved; and 1, for the bias."""
        interaction = self._model.interaction
        shape = interaction.shape_info
        picture = (-1, shape.input_channels, shape.image_height, shape.image_width)
        pictures = self._torch.cat([entities.view(picture), relations.view(picture)], dim=-2)
        features = interaction.hr2d(pictures).view(-1, shape.num_in_features)
        vectors = interaction.hr1d(features)
        ones = self._torch.ones(len(vectors), 1)
        return self._torch.cat([vectors, ones], dim=1)

    def _as_real(self, vectors: Theirs) -> Theirs:
        """Complex numbers as two real ones each."""
        if not vectors.is_complex():
            return vectors
        return self._torch.view_as_real(vectors).reshape(len(vectors), -1)


def _minus_root(squared: Theirs) -> Theirs:
    """Squared distances as scores."""
    return -squared.clamp_min(SMALLEST).sqrt()
