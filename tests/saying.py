"""
What a case base says, to be compared with what one says that was built
from the same facts in one go.

Only public names are used, and what differs between a life and a rebuild is left out:
a name that no fact has any more may be remembered or not, so no answer, an unknown name
and a name without facts are all None.
"""

import copy
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, TypeVar

from tests.strategies import Fact

from casegraph import Answer, Answers, CaseBase, CasegraphError, CaseStore, Settings
from casegraph.batch.completion import Wanted, complete

DEEP = os.environ.get("CASEGRAPH_DEEP") == "1"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
SETTINGS = {
    "default": Settings(),
    "paper": Settings.paper("WN18RR").but(max_length=3, neighbours=5),
}
Question: TypeAlias = tuple[str, Any]  # what is asked for, and of what
Held = TypeVar("Held", bound=CaseBase)


def rebuilt(facts: Iterable[Fact], settings: Settings | None = None) -> CaseBase:
    """A case base of these facts that has never lived."""
    cases = CaseBase(settings)
    cases.update(add=sorted(facts))
    return cases


def held(cases: Held) -> Held:
    """Another that holds the state which `cases` has now, whatever that is called,
    and does not see the next.
    """
    return copy.copy(cases)


def facts_of(cases: CaseBase) -> set[Fact]:
    """The facts, as plain tuples."""
    return {(fact.head, fact.relation, fact.tail) for fact in cases.graph.facts()}


def stored_facts(folder: Path) -> set[Fact]:
    """The facts of a store, as a reader finds them."""
    return facts_of(CaseStore.open(folder, read_only=True))


def said(cases: CaseBase, questions: Sequence[Question]) -> list[str | None]:
    """What is said to each question."""
    return [reply(cases, question) for question in questions]


def reply(cases: CaseBase, question: Question) -> str | None:
    """What is said to one question, with every bit of every score;
    None if there is nothing to say.
    """
    kind, given = question
    try:
        return _KINDS[kind](cases, given)
    except CasegraphError:
        return None


def questions_about(
    cases: CaseBase,
    entities: Sequence[str],
    relations: Sequence[str],
    guests: Sequence[str] = (),
) -> list[Question]:
    """Questions of every kind.

    To explain and to score are answers that `cases` gives, none about guests.

    guests  names that come and go: who has no facts any more is explained by habit,
            who was never there is not
    """
    pairs = list(product(entities, relations))
    explained = []
    for entity, relation in pairs:
        for best in _found(cases, entity, relation)[:1]:
            if not {best.asked, best.relation, best.entity} & set(guests):
                explained.append(best)
    facts = [(answer.asked, answer.relation, answer.entity) for answer in explained]
    alone = [(entity, None) for entity in entities]
    asked_of: list[tuple[str, Sequence[Any]]] = [
        ("ask", pairs),
        ("ask head", pairs),
        ("explain", explained),
        ("similar", alone),
        ("similar", pairs),
        ("score", facts),
    ]
    questions: list[Question] = []
    for kind, all_given in asked_of:
        questions += [(kind, given) for given in all_given]
    return questions


def _found(cases: CaseBase, entity: str, relation: str) -> Sequence[Answer]:
    try:
        return cases.ask(entity, relation)
    except CasegraphError:
        return ()


def _answers(answers: Answers) -> str | None:
    if not answers:
        return None
    rows = [(answer.entity, answer.score.hex(), answer.known) for answer in answers]
    return repr((rows, answers.exact))


def _ask(cases: CaseBase, given: tuple[str, str]) -> str | None:
    return _answers(cases.ask(*given, top=-1))


def _ask_head(cases: CaseBase, given: tuple[str, str]) -> str | None:
    return _answers(cases.ask_head(given[1], given[0], top=-1))


def _explain(cases: CaseBase, answer: Answer) -> str | None:
    found = cases.explain(answer)
    if not found.reasons:
        return None
    shares = [reason.share.hex() for reason in found]
    return repr((found.as_dict(), shares))


def _similar(cases: CaseBase, given: tuple[str, str | None]) -> str | None:
    # Those with nothing in common fill up the list.
    near = [one for one in cases.similar(*given) if one.shared]
    return repr(near) if near else None


def _score(cases: CaseBase, fact: Fact) -> str | None:
    (score,) = cases.score([fact])
    return score.hex() if score else None


def _complete(cases: CaseBase, relation: str) -> str | None:
    """What a completion of one relation writes."""
    with TemporaryDirectory(dir=MEMORY) as folder:
        file = Path(folder, "proposed")
        complete(cases, file, Wanted(relations=(relation,), min_probability=0))
        return file.read_text(encoding="utf-8") or None


def _save(cases: CaseBase, guests: str) -> str | None:
    """The facts that a case base has when it was saved and loaded again,
    but for names that begin like guests.
    """
    with TemporaryDirectory(dir=MEMORY) as folder:
        file = Path(folder, "saved")
        cases.save(file)
        loaded = CaseBase.load(file)
    lasting = [fact for fact in facts_of(loaded) if not fact[0].startswith(guests)]
    return repr(sorted(lasting))


_KINDS: dict[str, Callable[[CaseBase, Any], str | None]] = {
    "ask": _ask,
    "ask head": _ask_head,
    "explain": _explain,
    "similar": _similar,
    "score": _score,
    "complete": _complete,
    "save": _save,
}
