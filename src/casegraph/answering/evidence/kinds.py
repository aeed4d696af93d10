"""The list of evidence kinds; the kernels (`kernels/answering/kinds.hpp`) have the same order."""

from casegraph.answering.evidence.facts_of_answers import FactsOfAnswers
from casegraph.answering.evidence.habit import Habit
from casegraph.answering.evidence.kind import EvidenceKind
from casegraph.answering.evidence.near_answers import NearAnswers
from casegraph.answering.evidence.neighbours import Neighbours
from casegraph.answering.evidence.paths import Paths
from casegraph.answering.evidence.reason import KindName
from casegraph.answering.evidence.shared_facts import SharedFacts

KINDS: tuple[EvidenceKind, ...] = (
    Paths(),
    SharedFacts(),
    FactsOfAnswers(),
    NearAnswers(),
    Neighbours(),
    Habit(),
)
_BY_NAME = {kind.name: kind for kind in KINDS}


def kind_named(name: KindName) -> EvidenceKind:
    """The kind with this name."""
    return _BY_NAME[name]
