"""
What entities score as answers by a model of PyKEEN, many questions and candidates at once.

PyKEEN scores every pair of a question and a candidate on its own. Most of its models compare a
vector that stands for the question with the embedding of the candidate, by a product or by a
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


def answer_scores(
    torch: Theirs, name: str, model: Theirs, questions: Ids, candidates: Theirs
) -> Theirs:
    """A row for each question: what each candidate scores as its answer.

    name        of the model
    questions   rows (direction, entity), any further column is ignored
    candidates  entities, a tensor
    """
    asked = torch.from_numpy(questions[:, 1].astype(np.int64))
    if name in BY_DIRECTION:
        directions = torch.from_numpy(questions[:, 0].astype(np.int64))
        return model.score_t(torch.stack([asked, directions], dim=1), tails=candidates)

    relations = torch.from_numpy(relation_of(questions[:, 0]).astype(np.int64))
    is_back = torch.from_numpy(is_inverse(questions[:, 0]).astype(np.bool))[:, None]
    of_entities = model.entity_representations[0]
    of_relations = model.relation_representations[0](relations)
    vectors = _question_vectors(torch, name, of_entities(asked), of_relations, is_back)
    vectors = _as_real(torch, vectors)
    answers = _as_real(torch, of_entities(candidates))
    products = vectors @ answers.T
    if name not in BY_DISTANCE:
        return products
    lengths = (vectors**2).sum(dim=1)[:, None]
    of_answers = (answers**2).sum(dim=1)[None, :]
    squared = lengths + of_answers - 2 * products
    return -squared.clamp_min(SMALLEST).sqrt()


def _question_vectors(
    torch: Theirs, name: str, entities: Theirs, relations: Theirs, is_back: Theirs
) -> Theirs:
    """Where the answers of questions should be; those for heads go back over the relation."""
    if name in BY_ROTATION:
        return entities * torch.where(is_back, relations.conj(), relations)
    if name == "TransE":
        return entities + torch.where(is_back, -relations, relations)
    return entities * relations


def _as_real(torch: Theirs, vectors: Theirs) -> Theirs:
    """Complex numbers as two real ones each."""
    if not vectors.is_complex():
        return vectors
    return torch.view_as_real(vectors).reshape(len(vectors), -1)
