"""
A store for language models: its questions as tools of the Model Context Protocol (the extra `mcp`).

A tool returns the same as the HTTP route of that name. Facts can be added and
retracted only if that was allowed when the server was started.
"""

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from casegraph import __version__
from casegraph.answering.questions import End, Known
from casegraph.casebase import CaseBase
from casegraph.errors import CasegraphError
from casegraph.graph.facts import Fact
from casegraph.service import models
from casegraph.service.views import overviews, results
from casegraph.storage.store.store import CaseStore

M = TypeVar("M", bound=models.Model)
READING = ("ask", "explain", "similar", "search", "relations", "describe", "what_if")
WRITING = ("add", "retract")
MOST = 100  # rows of a result: a model reads them all
INSTRUCTIONS = (
    "A knowledge graph that answers by precedent and says why. Find entities with search and "
    "relations with relations, then ask, and explain an answer before you rely on it. Known "
    "answers are facts; others are conclusions."
)


class Tools:
    """The tools, on one store."""

    def __init__(self, store: CaseStore) -> None:
        self._store = store
        self._turn = Lock()

    def _now(self) -> CaseBase:
        """The store as it is now, with what another process has written meanwhile."""
        self._store.refresh()
        return self._store.what_if()

    def ask(
        self,
        entity: str,
        relation: str,
        wanted: End = "tail",
        top: int = 10,
        known: Known = "mark",
        of_type: str | None = None,
    ) -> models.AnswersResponse:
        """The best answers to (entity, relation, ?); for wanted=head to (?, relation, entity)."""
        cases = self._now()
        question = models.NamedQuestion(entity=entity, relation=relation, wanted=wanted)
        (found,) = results.asked(
            cases, [question], top=_bounded(top), known=known, of_type=of_type
        )
        return results.answers(cases, found)

    def explain(
        self, entity: str, relation: str, answer: str, wanted: End = "tail"
    ) -> models.ExplanationResponse:
        """Why an entity is an answer: reasons that add up to its score, and their precedents."""
        cases = self._now()
        question = models.NamedQuestion(entity=entity, relation=relation, wanted=wanted)
        return results.explanation(cases, results.answer_named(cases, question, answer))

    def similar(
        self, entity: str, relation: str | None = None, top: int = 10
    ) -> models.Similar:
        """The entities most like one; with a relation, of those that have it."""
        return results.similar(self._now(), entity, relation, _bounded(top))

    def search(self, words: str, top: int = 10) -> models.SearchResponse:
        """The entities whose name or label has all these words in it, the best first."""
        return overviews.search(self._now(), words, _bounded(top))

    def relations(self) -> models.Relations:
        """The relations, those with most facts first."""
        return overviews.relations(self._now(), 0, MOST)[0]

    def describe(self, entity: str) -> models.Entity:
        """What is known of an entity: its types, the relations that it has, and its facts."""
        return overviews.entity(self._now(), entity, 0, MOST, cluster=False)[0]

    def what_if(
        self,
        entity: str,
        relation: str,
        add: list[models.Fact] | None = None,
        retract: list[models.Fact] | None = None,
        wanted: End = "tail",
    ) -> models.WhatIfResponse:
        """Ask a world with some facts more and others less; nothing is written."""
        question = models.NamedQuestion(entity=entity, relation=relation, wanted=wanted)
        changed = models.WhatIfRequest(
            question=question, add=add or [], retract=list(retract or [])
        )
        return results.imagined(self._now(), changed)

    def add(self, facts: list[models.Fact]) -> models.UpdateResponse:
        """Add facts, each as head, relation and tail; all or nothing."""
        return self._update(add=facts)

    def retract(self, facts: list[models.Fact]) -> models.UpdateResponse:
        """Retract facts, each as head, relation and tail."""
        return self._update(retract=facts)

    def _update(
        self,
        add: list[models.Fact] | None = None,
        retract: list[models.Fact] | None = None,
    ) -> models.UpdateResponse:
        added = [Fact(*fact) for fact in add or []]
        retracted = [Fact(*fact) for fact in retract or []]
        with self._turn:  # so that the number is that of this update
            done = self._store.update(added, retracted)
            return models.UpdateResponse.from_update(done, self._store.sequence)


def server(store: CaseStore, *, writes: bool = False) -> Any:  # noqa: ANN401  (mcp may be absent)
    """A server of the protocol for a store.

    writes  whether facts may be added and retracted
    """
    tools = Tools(store)
    serving = MCPServer("casegraph", version=__version__, instructions=INSTRUCTIONS)
    offered = [*READING, *WRITING] if writes else READING
    for name in offered:
        serving.add_tool(_telling(getattr(tools, name)), structured_output=True)
    return serving


def _telling(tool: Callable[..., M]) -> Callable[..., M]:
    """The same tool, whose errors of ours are told to the model; of others it hears nothing."""

    @wraps(tool)
    def telling(**arguments: Any) -> M:  # noqa: ANN401
        try:
            return tool(**arguments)
        except CasegraphError as error:
            raise ToolError(str(error)) from error

    return telling


def _bounded(top: int) -> int:
    return max(1, min(top, MOST))
