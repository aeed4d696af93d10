"""
Complete knowledge graphs by precedent: answers with reasons, no training, facts that come and go.

>>> from casegraph import CaseBase, world
>>> cases = world()
>>> cases.similar("Richard Feynman", top=1)[0].similarity > 0.8
True
"""

from casegraph.casebase import CaseBase, Update
from casegraph.errors import (
    CasegraphError,
    IncompatibleFile,
    InvalidSettings,
    MalformedFact,
    NotABenchmark,
    UnknownName,
    UnreadableFile,
)
from casegraph.explanation import Answer, Answers, Explanation, Neighbour, Reason
from casegraph.facts import Fact, read_facts, write_facts
from casegraph.settings import Settings

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Answers",
    "CaseBase",
    "CasegraphError",
    "Explanation",
    "Fact",
    "IncompatibleFile",
    "InvalidSettings",
    "MalformedFact",
    "Neighbour",
    "NotABenchmark",
    "Reason",
    "Settings",
    "UnknownName",
    "UnreadableFile",
    "Update",
    "read_facts",
    "write_facts",
]
