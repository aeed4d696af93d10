"""
Settings: all options of how questions are answered, in one immutable value.

`Settings()` is the default. It was chosen on validation data and is the same for every graph.
`Settings.paper(name)` are the paper's settings for a data set. `Settings.published(name)` are the
same, but estimate the prior from sampled walks, as the authors' published code does.
`Settings.cbr(name)` are those of the paper's predecessor, CBR. All run through the same code.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from math import inf, isfinite
from typing import Any, Literal, TypeVar

from casegraph.errors import InvalidArgument

Clustering = Literal["hac", "grinch", "entity", "everyone"]
Weight = Literal["right", "prior", "frequency"]

LARGEST_ID = 2**31 - 1  # ids are signed 32-bit integers
LARGEST_COUNT = 2**63 - 1  # counts are signed 64-bit integers


PUBLISHED_WALKS = 1000  # random walks from each entity in the authors' published code

# K, N, n and 1 - λ of each data set (A.6).
PAPER = {
    "WN18RR": {"neighbours": 40, "path_types": 60, "max_length": 5, "threshold": 0.75},
    "FB122": {"neighbours": 10, "path_types": 80, "max_length": 3, "threshold": 0.4},
    "NELL-995": {
        "neighbours": 15,
        "path_types": 25,
        "max_length": 3,
        "threshold": 0.05,
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """How the evidence for the answers of one relation becomes a score.

    discount, ridge, precedent_weight, linked  as in `Settings`
    longest  the largest number of steps of a path type that is walked
    """

    discount: float
    ridge: float
    precedent_weight: float
    longest: int
    linked: bool = True

    def __post_init__(self) -> None:
        _check("discount", self.discount, 0, 1)
        _check_regression(self.ridge, self.precedent_weight)
        _check_whole("longest", self.longest, 1, 5)
        _check_flag("linked", self.linked)


# A belief for graphs that are not tuned: fitted to seven graphs together, the same for
# heads and tails (`scripts/bench belief --usual`). The intercept, then the weights of the
# numbers of `answering.belief.features`.
USUAL_COEFFICIENTS = (
    *(-1.62, 0.39, 0.39, 0.23, 0.23, -0.03, -0.03, 0.36, 0.36),  # strengths
    *(0.12, 0.12, -1.09, -1.09, 0.5, 0.5),  # answers that are known
)
USUALLY_MISSING = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """How evidence for a fact becomes the probability that it is true (see `answering.belief`).

    coefficients  an intercept, and the weight of each number that describes a pair of entities
    missing       how many facts the graph lacks for each that it has
    """

    coefficients: tuple[float, ...] = USUAL_COEFFICIENTS
    missing: float = USUALLY_MISSING

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", tuple(self.coefficients))
        if len(self.coefficients) != len(USUAL_COEFFICIENTS):
            expected = f"{len(USUAL_COEFFICIENTS)} numbers"
            raise InvalidArgument("coefficients", self.coefficients, expected)
        if not all(isfinite(coefficient) for coefficient in self.coefficients):
            raise InvalidArgument("coefficients", self.coefficients, "finite numbers")
        _check("missing", self.missing, 0, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What tuning chose for a graph, on held-out facts (see `tuning`).

    combination   for all relations
    belief        how probable a fact is by the evidence for it
    facts         the number of facts of the graph
    sample        the number of facts that were asked for
    held_out      whether these were held-out facts that were given, not facts of the graph
    version       the version of this table
    """

    combination: Combination
    belief: Belief
    facts: int
    sample: int
    held_out: bool = False
    version: int = 2

    def __post_init__(self) -> None:
        combination = _of_json(Combination, "combination", self.combination)
        object.__setattr__(self, "combination", combination)
        belief = _of_json(Belief, "belief", self.belief)
        object.__setattr__(self, "belief", belief)
        check_count("facts", self.facts, 0)
        check_count("sample", self.sample, 0)
        _check_flag("held_out", self.held_out)
        _check_whole("version", self.version, 2, 2)

    def __repr__(self) -> str:
        asked_for = "held-out facts" if self.held_out else "of them"
        return f"<Tuning to {self.facts:,} facts, by asking for {self.sample:,} {asked_for}>"

    def is_outgrown_by(self, facts: int) -> bool:
        """Whether the number of facts has changed by more than half since tuning."""
        change = abs(facts - self.facts)
        return 2 * change > self.facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to answer questions; `but` makes variants.

    The letters K, N, n and λ are those of the paper.

    Which path types are considered:

    max_length   n: the most steps of a path, from 1 to 5. Longer paths reach more answers; each
                 step multiplies the time that counting takes
    neighbours   K: only path types that lead one of the K most similar entities to an answer are
                 walked; more of them give more path types. None: every path type known for the
                 relation
    path_types   N: of these, the N best that lead anywhere are walked. More are slower, and find
                 weaker evidence. None: all
    support      a path type must have led to an answer this many times. Higher is faster and more
                 cautious
    loop_free    whether a path that a question walks may visit an entity only once. If not, any
                 walk will do, as in the paper. Counts are always of loop-free paths

    What evidence is worth:

    weight       of a path type: "right" is right / (reached + `doubt`), "prior" is prior times
                 precision (equations 2 and 3), "frequency" is how often it occurs among the K
                 contextual entities
    sampled_walks  estimate the prior from this number of random walks from each entity, as in the
                 authors' published code, and use only path types among them. None: from all paths
    sampling_seed  of these random walks
    doubt        higher values trust rare path types less
    slots        whether a path type is weighed separately for ends whose slot is open and for ends
                 whose slot is taken (another entity already has the end as its answer). Only with
                 weight "right"
    precedents   whether to use evidence other than paths: that entities like the one asked about
                 have the answer, that it is like known answers, and that many entities have it
    ridge        λ of the ridge regression that weighs by how much entities resemble each other. The
                 higher it is, the more of them it takes to support an answer. Chosen on validation
                 facts of ten graphs
    precedent_weight  how much this resemblance counts beside paths; 0: not at all. Chosen with
                 `ridge` on validation facts of ten graphs
    nearest      how many of the nearest entities the regression uses, from 1 to 4096. More are
                 slower. Chosen on validation facts of ten graphs
    habit        the weight of the most frequent answers, from 0 to 1 (1: as much as other evidence)
    combination  of the pieces of evidence for one answer: "noisy-or" of the `best` strongest path
                 types and all other evidence, or the "sum" of all (equation 1)
    discount     in "noisy-or", each path type counts this fraction of the one before it. Towards 0
                 the strongest decides, and the next only breaks ties; at 1 all count fully
    decisive     in "noisy-or", a path type that is worth more than this decides: what its strength
                 is above that counts sixty times more, so that other evidence hardly outvotes it.
                 1: no path type does
    best         how many path types "noisy-or" combines, from 1 to 8
    linked       whether an entity can be a new answer that a fact of another relation already links
                 to the query entity

    Whose counts are used:

    clustering   "everyone": those of all entities. "entity": those of the query entity itself.
                 "hac" and "grinch": those of its cluster of similar entities; "hac" makes clusters
                 from scratch after every change, "grinch" rearranges them
    threshold    a node of the hierarchy is a cluster if its mean similarity is above this value
                 (Algorithm 1). It is a similarity, and the paper's λ is a distance:
                 `threshold = 1 - λ`. Higher values make more and smaller clusters
    fallback     whether the counts of everyone are used for a path type that the cluster has no
                 counts of; if not, it is not walked

    What was chosen for this graph:

    tuning       the result of `CaseBase.tune`: replaces `discount`, `ridge`, `precedent_weight` and
                 `linked`, and fits the belief in facts to the graph. None: not tuned
    missing      how many facts the graph lacks for each that it has: 0.1 if it has ten of eleven.
                 The odds of every new fact are proportional to missing / (1 + missing). None: as
                 estimated by tuning, or 0.1

    Limits of the work. What would exceed them is left out, and then `Answers.exact` is false:

    budget       how many edges one query may look at
    counting     how many steps may be taken to find the paths to answers, and to count what the
                 paths of one relation reach. A step takes about five nanoseconds of one processor:
                 the default is about seven seconds on two. Ten times as many may take ten times as
                 long
    """

    max_length: int = 3
    neighbours: int | None = None
    path_types: int | None = 300
    support: int = 2
    weight: Weight = "right"
    sampled_walks: int | None = None
    sampling_seed: int = 0
    doubt: float = 5.0
    combination: Literal["noisy-or", "sum"] = "noisy-or"
    discount: float = 0.1
    decisive: float = 0.77
    best: int = 5
    loop_free: bool = True
    slots: bool = True
    precedents: bool = True
    ridge: float = 30.0
    precedent_weight: float = 4.0
    nearest: int = 1024
    habit: float = 0.1
    linked: bool = True
    clustering: Clustering = "everyone"
    threshold: float = 0.75
    fallback: bool = True
    budget: int = 100_000_000
    counting: int = 3_000_000_000
    tuning: Tuning | None = None
    missing: float | None = None

    def __post_init__(self) -> None:
        if self.missing is not None:
            _check("missing", self.missing, 0, None)
        _check_whole("max_length", self.max_length, 1, 5)
        if self.neighbours is not None:
            _check_whole("neighbours", self.neighbours, 1, LARGEST_ID)
        if self.path_types is not None:
            _check_whole("path_types", self.path_types, 1, LARGEST_ID)
        check_count("support", self.support, 1)
        if self.sampled_walks is not None:
            _check_whole("sampled_walks", self.sampled_walks, 1, LARGEST_ID)
        check_count("sampling_seed", self.sampling_seed, 0)
        _check("doubt", self.doubt, 0.001, None)
        _check("discount", self.discount, 0, 1)
        _check("decisive", self.decisive, 0, 1)
        _check_whole("best", self.best, 1, 8)
        _check_regression(self.ridge, self.precedent_weight)
        _check_whole("nearest", self.nearest, 1, 4096)
        _check("habit", self.habit, 0, 1)
        check_count("budget", self.budget, 1)
        check_count("counting", self.counting, 1)
        _check("threshold", self.threshold, -1, 1)
        _check_flag("loop_free", self.loop_free)
        _check_flag("slots", self.slots)
        _check_flag("precedents", self.precedents)
        _check_flag("linked", self.linked)
        _check_flag("fallback", self.fallback)
        _choose("weight", self.weight, "right", "prior", "frequency")
        _choose("combination", self.combination, "noisy-or", "sum")
        _choose("clustering", self.clustering, "hac", "grinch", "entity", "everyone")
        if self.weight == "frequency" and self.neighbours is None:
            expected = (
                "a number, since frequency is counted among the contextual entities"
            )
            raise InvalidArgument("neighbours", None, expected)
        if self.tuning is not None:
            object.__setattr__(self, "tuning", _of_json(Tuning, "tuning", self.tuning))
            if not self.can_be_tuned:
                raise InvalidArgument(
                    "tuning", "a table", "None, as these settings have none"
                )

    @classmethod
    def paper(cls, dataset: str = "WN18RR") -> Settings:
        """The paper's settings for a data set (A.6): the sum of prior × precision, per cluster."""
        if dataset not in PAPER:
            raise InvalidArgument(
                "dataset", dataset, f"one of {', '.join(sorted(PAPER))}"
            )
        chosen_for_dataset: dict[str, Any] = PAPER[dataset]
        return cls(
            **chosen_for_dataset,
            support=1,
            weight="prior",
            combination="sum",
            loop_free=False,
            precedents=False,
            clustering="hac",
        )

    @classmethod
    def published(cls, dataset: str = "WN18RR") -> Settings:
        """The paper's settings, with the prior from sampled walks as in the authors' code."""
        return cls.paper(dataset).but(sampled_walks=PUBLISHED_WALKS)

    @classmethod
    def cbr(cls, dataset: str = "WN18RR") -> Settings:
        """CBR (Das et al. 2020): a path type has the weight of its frequency, for everyone."""
        return cls.paper(dataset).but(weight="frequency", clustering="everyone")

    @property
    def can_be_tuned(self) -> bool:
        """Whether tuning applies; it does not to the paper's settings."""
        has_kinds = self.combination == "noisy-or" and self.precedents
        return has_kinds and self.weight == "right" and self.neighbours is None

    @property
    def belief(self) -> Belief | None:
        """How evidence becomes a probability: as was tuned, or as usual.

        None for settings that cannot be tuned, such as the paper's: their scores are not evidence
        of this kind.
        """
        if not self.can_be_tuned:
            return None
        belief = Belief() if self.tuning is None else self.tuning.belief
        return belief if self.missing is None else replace(belief, missing=self.missing)

    @property
    def combined(self) -> Combination:
        """How evidence is combined: as was tuned, or else as these settings say."""
        if self.tuning is not None:
            return self.tuning.combination
        return Combination(
            discount=self.discount,
            ridge=self.ridge,
            precedent_weight=self.precedent_weight,
            longest=self.max_length,
            linked=self.linked,
        )

    def __repr__(self) -> str:
        """Only the settings that differ from the default."""
        default = Settings()
        changed = []
        for setting in fields(self):
            value = getattr(self, setting.name)
            if value != getattr(default, setting.name):
                changed.append(f"{setting.name}={value!r}")
        return f"Settings({', '.join(changed)})"

    # Fields have different types; the values are checked when the settings are made.
    def but(self, **changes: Any) -> Settings:  # noqa: ANN401
        """These settings with some changed."""
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


Part = TypeVar("Part", Combination, Belief, Tuning)


def _of_json(kind: type[Part], name: str, value: Part | dict[str, Any]) -> Part:
    """A part of the settings; in JSON it is a dictionary."""
    if isinstance(value, dict):
        value = kind(**value)
    if not isinstance(value, kind):
        raise InvalidArgument(name, value, kind.__name__)
    return value


def check_count(name: str, value: int, least: int) -> None:
    """Raise `InvalidArgument` unless `value` is a whole number from `least` that fits 64 bits."""
    _check_whole(name, value, least, LARGEST_COUNT)


def _check_whole(name: str, value: int, least: int, most: int) -> None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if is_whole and least <= value <= most:
        return

    # A limit that comes only from the size of integers is mentioned only if it is exceeded.
    is_too_large = is_whole and value > most
    if most >= LARGEST_ID and not is_too_large:
        expected = f"at least {least}"
    else:
        expected = f"from {least} to {most}"
    if not is_whole:
        expected = f"a whole number {expected}"
    raise InvalidArgument(name, value, expected)


def _check(name: str, value: float, least: float, most: float | None) -> None:
    """Raise `InvalidArgument` unless `value` is a finite number in its range."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    is_in_range = is_number and least <= value < inf and (most is None or value <= most)
    if not is_in_range:
        expected = f"at least {least}" if most is None else f"from {least} to {most}"
        raise InvalidArgument(name, value, expected)


def _check_regression(ridge: float, precedent_weight: float) -> None:
    _check("ridge", ridge, 0.001, None)
    _check("precedent_weight", precedent_weight, 0, 1000)


def _check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidArgument(name, value, "True or False")


def _choose(name: str, value: str, *choices: str) -> None:
    if not isinstance(value, str) or value not in choices:
        raise InvalidArgument(name, value, f"one of {', '.join(choices)}")
