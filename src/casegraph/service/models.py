"""
The request and response models of the service.

Entities and relations are called by their names. What people call them is beside it in `labels`,
for every name of a response that has a label. A fact is a list of head, relation and tail.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from casegraph.answering import state
from casegraph.answering.questions import End, Known
from casegraph.answering.results.explanation import Neighbour
from casegraph.answering.results.reason import Reason
from casegraph.graph.directions import PathStep

MAX_NAME = 4_096  # characters
MAX_ROWS = 1_000  # of a request; `Limits.rows` may be less
MAX_SEQUENCE = 2**53  # beyond it JavaScript cannot count

Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]
NewName = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=MAX_NAME, pattern=r"^[^\t\n\r]*[^\s][^\t\n\r]*$"
    ),
]
Fact = tuple[Name, Name, Name]
NewFact = tuple[NewName, NewName, NewName]
Top = Annotated[int, Field(ge=1, le=MAX_ROWS)]
Sequence = Annotated[int, Field(ge=0, le=MAX_SEQUENCE)]
Labels = dict[str, str]


class Model(BaseModel):
    """What all have in common: a request with a field that nobody knows is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# --- asking


class NamedQuestion(Model):
    """(entity, relation, ?), or (?, relation, entity) if the head is wanted."""

    entity: Name
    relation: Name
    wanted: End = "tail"


class AskQuery(BaseModel):
    """What is behind the `?` of a question; `wanted` is tail or head."""

    entity: Name
    relation: Name
    wanted: End = "tail"
    top: Annotated[int, Field(ge=1, le=MAX_ROWS, description="How many.")] = 10
    known: Known = "mark"
    of_type: Name | None = None
    as_of: Annotated[
        Sequence | None,
        Field(description="Answer as after this update; else as of now."),
    ] = None


class QuestionsRequest(Model):
    """Several questions at once."""

    questions: Annotated[list[NamedQuestion], Field(min_length=1, max_length=MAX_ROWS)]
    top: Top = 10
    known: Known = "mark"
    of_type: Name | None = None
    candidates: Annotated[list[Name], Field(max_length=MAX_ROWS)] | None = None
    as_of: Sequence | None = None


class RankedAnswer(Model):
    """One answer; `probability` is null if it is known, or if the settings have no belief."""

    rank: int
    entity: str
    score: float
    probability: float | None
    known: bool


class AnswersResponse(Model):
    """The answers to one question, best first.

    note              why there are none, or what is doubtful about the question; or empty
    exact             whether the budgets sufficed
    none_probability  the probability that the graph lacks no answer, however many were asked for
    sequence          the number of the update after which this was so
    """

    question: NamedQuestion
    answers: list[RankedAnswer]
    note: str
    exact: bool
    tuned: bool
    none_probability: float | None
    sequence: int
    labels: Labels


class BatchResponse(Model):
    """The answers to several questions, in their order."""

    answered: list[AnswersResponse]
    sequence: int


class ExplanationResponse(Model):
    """Why an answer was given; only the beginning of long lists of names and facts."""

    question: NamedQuestion
    answer: RankedAnswer
    reasons: list[Reason]
    neighbours: list[Neighbour]
    sequence: int
    labels: Labels


class Similar(Model):
    """The entities most like one."""

    entity: str
    neighbours: list[Neighbour]
    sequence: int
    labels: Labels


# --- imagining


class WhatIfRequest(Model):
    """A question to a world with some facts more and others less; nothing is written."""

    question: NamedQuestion
    add: Annotated[list[NewFact], Field(max_length=MAX_ROWS)] = []
    retract: Annotated[list[Fact | Name], Field(max_length=MAX_ROWS)] = []
    top: Top = 10
    known: Known = "mark"
    as_of: Sequence | None = None


class Move(Model):
    """How an answer moves: its ranks and scores before and after; null where it is not found."""

    entity: str
    before: int | None
    after: int | None
    score_before: float | None
    score_after: float | None


class WhatIfResponse(Model):
    """The answers before and after, and how those at the top move."""

    before: AnswersResponse
    after: AnswersResponse
    moves: list[Move]
    sequence: int


class CounterfactualRequest(Model):
    """Which facts decide about an answer; by default about the first one."""

    question: NamedQuestion
    answer: Name | None = None
    known: Known = "exclude"
    most: Annotated[int, Field(ge=1, le=3)] = 3
    as_of: Sequence | None = None


class CounterfactualResponse(Model):
    """The fewest facts without which an answer loses its rank, or half of its probability.

    facts             empty if there is no such set, or none was found
    probability       of the answer now; null if the settings have no belief
    probability_then  of the answer without these facts
    instead           who would come first then
    is_smallest       whether all smaller sets were tried, or all if none was found
    """

    question: NamedQuestion
    answer: RankedAnswer
    facts: list[Fact]
    sentence: str
    rank: int
    rank_then: int | None
    probability: float | None
    probability_then: float | None
    instead: str | None
    is_smallest: bool
    considered: int
    tried: int
    sequence: int
    labels: Labels


# --- looking


class Group(Model):
    """What one direction of a relation leads to from an entity."""

    relation: str
    inverse: bool
    count: int


class Entity(Model):
    """What is known of an entity.

    profile  the directions of relations that it has
    cluster  the number of its cluster (`/v1/clusters`); null if it has no facts
    facts    a page of its facts, those that it is the head of first
    """

    entity: str
    types: list[str]
    degree: int
    profile: list[Group]
    cluster: int | None
    facts: list[Fact]
    next: str | None
    sequence: int
    labels: Labels


class FoundEntity(Model):
    """An entity that was found by words."""

    entity: str
    label: str
    types: list[str]
    facts: int


class SearchResponse(Model):
    """The entities that were found, the best first."""

    hits: list[FoundEntity]
    sequence: int


class Relation(Model):
    """A relation: how many facts it has, of how many heads and tails, and one of them."""

    relation: str
    facts: int
    heads: int
    tails: int
    per_head: float
    per_tail: float
    example: Fact
    head_types: list[str]
    tail_types: list[str]


class Relations(Model):
    """A page of the relations, those with most facts first."""

    relations: list[Relation]
    next: str | None
    sequence: int
    labels: Labels


class TypeCount(Model):
    """A type, and how many entities have it."""

    type: str
    entities: int


class Types(Model):
    """The types of entities, the most frequent first."""

    types: list[TypeCount]
    sequence: int
    labels: Labels


class Cluster(Model):
    """A cluster: its size, its most prominent members, and what most of them have.

    relations  directions that members have, and how many members have each
    """

    cluster: int
    size: int
    members: list[str]
    relations: list[Group]


class ClusterPage(Model):
    """A page of the clusters, the largest first.

    threshold  the least mean similarity within a cluster
    """

    clusters: list[Cluster]
    threshold: float
    next: str | None
    sequence: int
    labels: Labels


class ClusterMembers(Model):
    """A page of the members of a cluster, the most prominent first."""

    cluster: int
    size: int
    members: list[str]
    next: str | None
    sequence: int
    labels: Labels


class Node(Model):
    """A node of the tree of clusters: a join of two others, or a cluster.

    size        entities below it
    similarity  the mean similarity within it
    cluster     its number if it is a cluster, else null
    """

    node: int
    parent: int | None
    size: int
    similarity: float
    cluster: int | None


class Tree(Model):
    """The tree of clusters from its root down to clusters, parents first."""

    nodes: list[Node]
    threshold: float
    sequence: int


class PathType(Model):
    """A path type: how often it leads to answers, and where that counts, what it is worth.

    hits, tries      of the cluster, or of everyone
    prior, precision as the paper's equations 2 and 3 have them
    right, reached   of everyone
    """

    steps: list[PathStep]
    hits: int
    tries: int
    prior: float
    precision: float
    right: int
    reached: int


class PathTypes(Model):
    """The best path types of a relation, for a cluster or for everyone."""

    relation: str
    wanted: End
    cluster: int | None
    path_types: list[PathType]
    sequence: int
    labels: Labels


class HistogramBar(Model):
    """One bar of a histogram: how many have from `least` to `most`."""

    least: int
    most: int
    count: int


class Info(Model):
    """What the store holds, what it is tuned to, and what the service allows.

    degrees  entities by the number of their facts
    """

    name: str
    version: str
    sequence: int
    first_sequence: int
    facts: int
    entities: int
    relations: int
    described: int
    tuned: bool
    writable: bool
    with_keys: bool
    ready: bool
    largest: list[FoundEntity]
    degrees: list[HistogramBar]
    limits: dict[str, float]
    settings: dict[str, Any]


class Suggestion(Model):
    """A question worth asking, and why."""

    question: NamedQuestion
    why: str


class Suggestions(Model):
    """Questions to begin with."""

    suggestions: list[Suggestion]
    sequence: int
    labels: Labels


# --- changing


class NewDescription(Model):
    """What people call an entity or a relation, and what it is."""

    name: NewName
    label: Annotated[str, StringConstraints(max_length=MAX_NAME)] = ""
    types: Annotated[list[Name], Field(max_length=100)] = []


class UpdateRequest(Model):
    """Facts to retract, then facts to add, and descriptions; all or nothing.

    An entity that is named alone in `retract` loses all its facts.
    """

    add: Annotated[list[NewFact], Field(max_length=MAX_ROWS)] = []
    retract: Annotated[list[Fact | Name], Field(max_length=MAX_ROWS)] = []
    describe: Annotated[list[NewDescription], Field(max_length=MAX_ROWS)] = []


class UpdateResponse(Model):
    """What an update did, when it is on disk."""

    sequence: int
    added: int
    retracted: int
    repeated: int
    absent: int
    described: int
    new_entities: int
    new_relations: int

    @classmethod
    def from_update(cls, update: state.Update, sequence: int) -> Self:
        """What an update did, and the number that it has."""
        counts = {
            name: getattr(update, name)
            for name in cls.model_fields
            if name != "sequence"
        }
        return cls(sequence=sequence, **counts)


class RelationCount(Model):
    """A relation, and how many facts of a file have it."""

    relation: str
    facts: int


class FilePreview(Model):
    """How a file of facts is understood.

    columns   the names of the columns of a table; empty for other formats
    roles     the places of head, relation and tail among them; null if all rows have one relation
    rows      the first rows
    facts     how many different facts it has, and in `relations` of which relations
    skipped   lines that are not facts
    labels    descriptions of entities
    problem   why it cannot be read like this; empty if it can
    """

    columns: list[str]
    has_header: bool
    roles: list[int | None]
    rows: list[list[str]]
    facts: int
    skipped: int
    labels: int
    relations: list[RelationCount]
    problem: str


class HistoryEvent(Model):
    """A fact that came (+) or went (-), or what an entity is called or is from now on (=)."""

    sequence: int
    time: str
    sign: Literal["+", "-", "="]
    fact: tuple[str, str, str]


class History(Model):
    """A page of what happened, oldest first."""

    events: list[HistoryEvent]
    next: str | None
    sequence: int
    labels: Labels


class ChangeMessage(Model):
    """An update, as the stream of events tells it; of very many facts only the first are listed."""

    sequence: int
    time: str
    added: list[tuple[str, str, str]]
    retracted: list[tuple[str, str, str]]
    described: list[tuple[str, str, str]]
    added_count: int
    retracted_count: int
    described_count: int


# --- jobs


# A head and a tail, with the relation between them or without.
Pair = Annotated[list[Name], Field(min_length=2, max_length=3)]


class AnyJob(Model):
    """What jobs have in common; `explain`: whether to give reasons."""

    relations: Annotated[list[Name], Field(max_length=MAX_ROWS)] = []
    explain: bool = True


class CompleteJob(AnyJob):
    """Propose facts that are missing, the most probable first.

    heads, tails  the only heads and tails; all if empty
    entities      of which the head or the tail must be one; any if empty
    candidates    the only pairs; all if empty
    exclude       pairs never to propose
    lacking       whether heads must be without the relation
    of_type       the type of tails; any if empty
    top           how many new answers to each question to consider
    best          how many to propose
    at_most       in how many proposals an entity may be; in any number if null
    """

    kind: Literal["complete"]
    heads: Annotated[list[Name], Field(max_length=MAX_ROWS)] = []
    tails: Annotated[list[Name], Field(max_length=MAX_ROWS)] = []
    entities: Annotated[list[Name], Field(max_length=MAX_ROWS)] = []
    candidates: Annotated[list[Pair], Field(max_length=MAX_ROWS)] = []
    exclude: Annotated[list[Pair], Field(max_length=MAX_ROWS)] = []
    lacking: bool = False
    min_probability: Annotated[float, Field(ge=0, le=1)] = 0.5
    top: Annotated[int, Field(ge=1, le=100)] = 20
    of_type: Annotated[str, StringConstraints(max_length=MAX_NAME)] = ""
    best: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    at_most: Annotated[int, Field(ge=1)] | None = None


class AuditJob(AnyJob):
    """List the least probable facts; with `explain`, up to three reasons for each."""

    kind: Literal["audit"]
    top: Annotated[int, Field(ge=1, le=10_000)] = 100


JobState = Literal["waiting", "running", "done", "failed", "cancelled"]


class Job(Model):
    """Work that takes longer than a request.

    doing, done, total  how far it is
    rows                how many lines its result has, when it is done
    problem             why it failed
    """

    job: str
    kind: str
    state: JobState
    doing: str
    done: int
    total: int
    rows: int | None
    problem: str
    sequence: int
    started: str
    finished: str | None


class Jobs(Model):
    """All jobs that the service knows, the newest first."""

    jobs: list[Job]


class Rows(Model):
    """A page of the result of a job."""

    columns: list[str]
    rows: list[dict[str, Any]]
    next: str | None
    labels: Labels


class Health(Model):
    """Whether the service lives, or is ready."""

    status: str


class ProblemDocument(BaseModel):
    """What is wrong, in the form of RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
