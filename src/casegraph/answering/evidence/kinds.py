"""The list of evidence kinds; the kernels (`kernels/answering/kinds.hpp`) have the same order."""

from casegraph.answering.evidence.answers import SimilarAnswers
from casegraph.answering.evidence.habit import Habit
from casegraph.answering.evidence.kind import EvidenceKind
from casegraph.answering.evidence.paths import Paths
from casegraph.answering.evidence.precedents import Precedents
from casegraph.answering.results.reason import KindName

KINDS: tuple[EvidenceKind, ...] = (Paths(), Precedents(), SimilarAnswers(), Habit())
_BY_NAME = {kind.name: kind for kind in KINDS}


def kind_named(name: KindName) -> EvidenceKind:
    """The kind with this name."""
    return _BY_NAME[name]
