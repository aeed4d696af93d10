"""
Snapshots: the case base as it is now, as it was a moment ago, or as it was after an earlier update.

States are immutable, so a snapshot is just a case base around a state. Those of the latest updates
are kept, so that all pages of a long list come from one state. An earlier one is derived from the
current state by undoing the updates since; if they are large, it is read from the store.
"""

from collections import OrderedDict
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING

from casegraph.casebase import CaseBase
from casegraph.service.problems import Refused
from casegraph.similarity.clusters.assignment import depends_on_history
from casegraph.statistics.backlog import MAX_CHANGED_FACTS
from casegraph.storage.store.store import CaseStore

if TYPE_CHECKING:
    from casegraph.graph.facts import Fact

KEPT = 4  # each may hold counts of its own


class Snapshots:
    """The states of a store, each as a case base that nobody changes."""

    def __init__(self, store: CaseStore) -> None:
        self._store = store
        self._kept: OrderedDict[int, CaseBase] = OrderedDict()
        self._turn = Lock()

    def now(self) -> CaseBase:
        """The current state."""
        present = self._store.state
        with self._turn:
            kept = self._kept.get(present.sequence)
            if kept is not None and kept.state is present:
                return kept
            return self._keep(CaseBase.of_state(present))

    def at(self, sequence: int | None) -> CaseBase:
        """The state after an update; None: the current one."""
        if sequence is None or sequence == self._store.sequence:
            return self.now()
        with self._turn:
            kept = self._kept.get(sequence)
            if kept is not None:
                self._kept.move_to_end(sequence)
                return kept
        first = self._store.first_sequence
        last = self._store.sequence
        if not first <= sequence <= last:
            message = (
                f"there is no update {sequence}; choose one from {first} to {last}"
            )
            raise Refused(HTTPStatus.NOT_FOUND, message)
        earlier = self._undone(sequence) or self._restored(sequence)
        with self._turn:
            return self._keep(earlier)

    def _undone(self, sequence: int) -> CaseBase | None:
        """The current state without the updates since; None if they changed too much.

        Its counts are derived from the current ones. It equals the state after that update, because
        every state equals the one built from its facts, unless clusters depend on history. Changes
        of descriptions cannot be undone.
        """
        now = self.now()
        was_there: dict[Fact, bool] = {}  # by the first event of each fact since then
        for event in self._store.history(sequence):
            if event.sign == "=":
                return None
            was_there.setdefault(event.fact, event.sign == "-")
            if len(was_there) > MAX_CHANGED_FACTS:
                return None
        if now.state.sequence != self._store.sequence or depends_on_history(
            now.settings
        ):
            return None
        gone = [fact for fact, was in was_there.items() if was]
        new = [fact for fact, was in was_there.items() if not was]
        earlier = now.what_if(add=gone, retract=new)
        return CaseBase.of_state(earlier.state.numbered(sequence))

    def _restored(self, sequence: int) -> CaseBase:
        """The state after an update, as the store has it."""
        store = CaseStore.open(self._store.folder, self._store.settings, as_of=sequence)
        return store.what_if()

    def _keep(self, cases: CaseBase) -> CaseBase:
        self._kept[cases.state.sequence] = cases
        self._kept.move_to_end(cases.state.sequence)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return cases
