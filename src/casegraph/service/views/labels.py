"""The labels of the names in a response."""

from collections.abc import Iterable

from casegraph.casebase import CaseBase
from casegraph.service.models import Labels


def labels_of(cases: CaseBase, names: Iterable[str]) -> Labels:
    """The labels of those names that have one."""
    descriptions = cases.descriptions
    if not len(descriptions):
        return {}
    found = {}
    for name in names:
        label = descriptions.of(name).label
        if label:
            found[name] = label
    return found
