"""
Settings: everything that can be chosen about reasoning, in one frozen value.

The paper's letters are `neighbours` (K), `path_types` (N), `max_length` (n) and `threshold` (λ, here always a
similarity: the paper's value is a distance, so `threshold = 1 - λ`). `Settings()` is the default, chosen on validation
data and the same for every graph; `Settings.paper(name)` are the paper's own; the others are its baselines. All run
through the same code.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any, Literal

from casegraph.errors import InvalidSettings

Clustering = Literal["hac", "grinch", "entity", "everyone"]
Weight = Literal["right", "prior", "frequency"]

LARGEST_ID = 2**31 - 1
LARGEST_COUNT = 2**63 - 1

PAPER = {
    "WN18RR": {"neighbours": 40, "path_types": 60, "max_length": 5, "threshold": 0.75},
    "FB122": {"neighbours": 10, "path_types": 80, "max_length": 3, "threshold": 0.4},
    "NELL-995": {"neighbours": 15, "path_types": 25, "max_length": 3, "threshold": 0.05},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to reason; `replace` and the constructors below make variants.

    max_length  longest path, 1 to 5 (n)
    neighbours  contextual entities whose path types are walked (K); none: every path type known for the relation
    path_types  how many path types that lead anywhere are walked (N); none: all
    support     a path type, or an answer of others that share a fact, counts from so many times on
    weight      what a path type is worth: "right" / (reached + doubt), "prior" × precision (equations 2 and 3), or its
                "frequency" among the contextual entities
    combination "noisy-or": the `best` pieces of evidence, each worth `discount` of the one before; "sum": equation 1
    loop_free   paths that pass no entity twice, or any walk
    precedents  whether to ask what entities that share a fact, and all entities (at `habit` of its weight), answer
    clustering  whose counts are a query's: those of its cluster (made anew after every change by "hac", rearranged by
                "grinch"), its own ("entity") or "everyone"'s
    threshold   mean similarity above which a node of the hierarchy is one cluster (Algorithm 1)
    budget      edges that one query may look at; what would cost more is left out, and `Answers.exact` says so
    counting    steps that finding the paths to answers may take, and counting what those of one relation reach; what
                would take more is left out, and `Answers.exact` says so. A step takes some five nanoseconds of one
                processor: 3 G are some seven seconds on two. Ten times as many steps may take ten times as long
    fallback    whether everyone's counts stand in for a path type that the cluster has none of
    """

    max_length: int = 3
    neighbours: int | None = None
    path_types: int | None = 300
    support: int = 2
    weight: Weight = "right"
    doubt: float = 5.0
    combination: Literal["noisy-or", "sum"] = "noisy-or"
    discount: float = 0.05
    best: int = 5
    loop_free: bool = True
    precedents: bool = True
    habit: float = 0.1
    clustering: Clustering = "everyone"
    threshold: float = 0.75
    fallback: bool = True
    budget: int = 20_000_000
    counting: int = 3_000_000_000

    def __post_init__(self) -> None:
        _check_whole("max_length", self.max_length, 1, 5)
        if self.neighbours is not None:
            _check_whole("neighbours", self.neighbours, 1, LARGEST_ID)
        if self.path_types is not None:
            _check_whole("path_types", self.path_types, 1, LARGEST_ID)
        check_count("support", self.support, 1)
        _check("doubt", self.doubt, 0.001, None)
        _check("discount", self.discount, 0, 1)
        _check_whole("best", self.best, 1, 8)
        _check("habit", self.habit, 0, 1)
        check_count("budget", self.budget, 1)
        check_count("counting", self.counting, 1)
        _check("threshold", self.threshold, -1, 1)
        for name in ("loop_free", "precedents", "fallback"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidSettings(name, getattr(self, name), "True or False")
        _choose("weight", self.weight, "right", "prior", "frequency")
        _choose("combination", self.combination, "noisy-or", "sum")
        _choose("clustering", self.clustering, "hac", "grinch", "entity", "everyone")
        if self.weight == "frequency" and self.neighbours is None:
            raise InvalidSettings(
                "neighbours", None, "a number, since frequency is counted among the contextual entities"
            )

    @classmethod
    def paper(cls, dataset: str = "WN18RR") -> Settings:
        """The paper's settings for a data set (reproducibility checklist): Σ prior × precision per cluster."""
        if dataset not in PAPER:
            raise InvalidSettings("dataset", dataset, f"one of {', '.join(sorted(PAPER))}")
        paper: dict[str, Any] = PAPER[dataset]
        return cls(
            **paper, support=1, weight="prior", combination="sum", loop_free=False, precedents=False, clustering="hac"
        )

    @classmethod
    def cbr(cls, dataset: str = "WN18RR") -> Settings:
        """CBR (Das et al. 2020): path types by their frequency among the contextual entities, not weighed further."""
        return cls.paper(dataset).but(weight="frequency", clustering="everyone")

    def but(self, **changes: Any) -> Settings:  # noqa: ANN401  (each field has its own type, and is checked)
        """These settings with some changed."""
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def check_count(name: str, value: int, least: int) -> None:
    """Refuse what is no whole number, is less than `least`, or is more than 64 bits hold."""
    _check_whole(name, value, least, LARGEST_COUNT)


def _check_whole(name: str, value: int, least: int, most: int) -> None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if is_whole and least <= value <= most:
        return
    wanted = (
        f"at least {least}" if most >= LARGEST_ID and not (is_whole and value > most) else f"from {least} to {most}"
    )
    raise InvalidSettings(name, value, wanted if is_whole else f"a whole number {wanted}")


def _check(name: str, value: float, least: float, most: float | None) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and least <= value < inf and (most is None or value <= most):
        return
    wanted = f"at least {least}" if most is None else f"from {least} to {most}"
    raise InvalidSettings(name, value, wanted)


def _choose(name: str, value: str, *choices: str) -> None:
    if not isinstance(value, str) or value not in choices:
        raise InvalidSettings(name, value, f"one of {', '.join(choices)}")
