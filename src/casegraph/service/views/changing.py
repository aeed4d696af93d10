"""Changes as response models."""

from casegraph.answering.state import Update
from casegraph.service import models


def updated(done: Update, sequence: int) -> models.Updated:
    """What an update did, and the number that it has."""
    return models.Updated(
        sequence=sequence,
        added=done.added,
        retracted=done.retracted,
        repeated=done.repeated,
        absent=done.absent,
        described=done.described,
        new_entities=done.new_entities,
        new_relations=done.new_relations,
    )
