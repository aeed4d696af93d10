"""
Complete knowledge graphs by precedent: answers with reasons, no training, facts that come and go.

>>> from casegraph import CaseBase, world
>>> cases = CaseBase()
>>> cases.update(add=world.facts()).added
3766
>>> cases.ask("Albert Einstein", "citizen of", known="exclude")[0].entity
'Germany'

A name is imported from its module when it is first used, so that `import casegraph` takes no time.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from casegraph.answering.counterfactual import Counterfactual
    from casegraph.answering.results.answer import Answer, Answers
    from casegraph.answering.results.explanation import Explanation, Neighbour
    from casegraph.answering.results.reason import Reason
    from casegraph.answering.state import Update
    from casegraph.casebase import CaseBase
    from casegraph.errors import (
        AmbiguousName,
        CasegraphError,
        DamagedStore,
        IncompatibleFile,
        InvalidArgument,
        MalformedFact,
        NotABenchmark,
        ReadOnlyStore,
        StoreInUse,
        UnknownName,
        UnreadableFile,
    )
    from casegraph.evaluation.datasets import Benchmark
    from casegraph.evaluation.evaluation import Evaluation, evaluate
    from casegraph.formats.registry import read_facts
    from casegraph.formats.writing import write_facts
    from casegraph.graph.descriptions import Description
    from casegraph.graph.facts import Fact
    from casegraph.settings import Settings, Tuning
    from casegraph.storage.store.store import CaseStore, Event
else:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        for module, names in _PUBLIC.items():
            if name in names.split():
                value: object = getattr(import_module(f"casegraph.{module}"), name)
                globals()[name] = value  # found there from now on, without calling this
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        hidden = {"TYPE_CHECKING"}
        return sorted({*globals(), *__all__} - hidden)


_PUBLIC = {
    "answering.results.answer": "Answer Answers",
    "casebase": "CaseBase",
    "errors": "AmbiguousName CasegraphError DamagedStore IncompatibleFile InvalidArgument "
    "MalformedFact NotABenchmark ReadOnlyStore StoreInUse UnknownName UnreadableFile",
    "answering.counterfactual": "Counterfactual",
    "answering.results.reason": "Reason",
    "answering.results.explanation": "Explanation Neighbour",
    "evaluation.datasets": "Benchmark",
    "evaluation.evaluation": "Evaluation evaluate",
    "formats.registry": "read_facts",
    "formats.writing": "write_facts",
    "graph.descriptions": "Description",
    "graph.facts": "Fact",
    "settings": "Settings Tuning",
    "answering.state": "Update",
    "storage.store.store": "CaseStore Event",
}

__version__ = "0.1.0"
__all__ = [
    "AmbiguousName",
    "Answer",
    "Answers",
    "Benchmark",
    "CaseBase",
    "CaseStore",
    "CasegraphError",
    "Counterfactual",
    "DamagedStore",
    "Description",
    "Evaluation",
    "Event",
    "Explanation",
    "Fact",
    "IncompatibleFile",
    "InvalidArgument",
    "MalformedFact",
    "Neighbour",
    "NotABenchmark",
    "ReadOnlyStore",
    "Reason",
    "Settings",
    "StoreInUse",
    "Tuning",
    "UnknownName",
    "UnreadableFile",
    "Update",
    "evaluate",
    "read_facts",
    "write_facts",
]
