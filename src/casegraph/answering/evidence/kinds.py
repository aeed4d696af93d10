"""The list of evidence kinds; the kernels (`kernels/answering/kinds.hpp`) have the same order."""

from casegraph.answering.evidence.answers import SimilarAnswers
from casegraph.answering.evidence.habit import Habit
from casegraph.answering.evidence.kind import EvidenceKind
from casegraph.answering.evidence.paths import Paths
from casegraph.answering.evidence.precedents import Precedents

KINDS: tuple[EvidenceKind, ...] = (Paths(), Precedents(), SimilarAnswers(), Habit())
