"""A case base that lives through changes, compared after each with one built in one go
from the facts that survive.

Everything is compared: graph, profiles, hits, tries, reached, right,
priors, precisions, clusters, answers. Priors and precisions are quotients
of the integers compared, and are compared as what answers are made of.
"""

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from casegraph.answering.query import answers
from casegraph.answering.state import State
from casegraph.casebase import CaseBase
from casegraph.graph.graph import Graph
from casegraph.graph.names import Names
from casegraph.settings import Settings
from casegraph.similarity.clusters.assignment import EVERYONE, depends_on_history
from casegraph.similarity.profiles import NONE
from casegraph.statistics.counts import ClusterCounts

Fact = tuple[str, str, str]
Portrait = dict[str, list[Any]]
PAPER = Settings.paper("WN18RR").but(max_length=2, neighbours=3)
EXACT = [  # whatever the history, these give the answers of a rebuild
    Settings(support=1),
    Settings(max_length=2),
    PAPER,
    PAPER.but(clustering="entity", fallback=False),
    Settings(max_length=2, weight="prior", clustering="hac", threshold=0.6),
]


def with_names(
    settings: Settings, entities: Sequence[str], relations: Sequence[str]
) -> CaseBase:
    """An empty case base in which these names have ids already, in this order."""
    cases = CaseBase()
    cases._start_with(State.of(Graph(Names(entities), Names(relations)), settings))
    return cases


class Life:
    """A case base, the facts it should hold, and how much
    of what it counted was kept and not made anew.
    """

    def __init__(
        self, settings: Settings, entities: Sequence[str], relations: Sequence[str]
    ) -> None:
        self.cases = with_names(settings, entities, relations)
        self.facts = set[Fact]()
        self.kept = 0
        self._names = list(entities), list(relations)

    def change(
        self, add: Sequence[Fact] = (), retract: Sequence[Fact | str] = ()
    ) -> None:
        """One update; everything counted before it must wait to be brought up
        to date, and not be dropped.
        """
        counted = _all_counted(self.cases.state)
        assert not self.cases.update(add=add, retract=retract).rebuilt
        kept = [
            relation
            for relation in counted
            if self.cases.state.statistics.is_kept(relation)
        ]
        assert kept == counted, "counts were dropped"
        self.kept += len(kept)
        retracted = set(retract)
        gone = {fact for fact in self.facts if retracted & {fact, fact[0], fact[2]}}
        self.facts = (self.facts - gone) | set(add)

    def branch(self) -> "Life":
        """The same life so far, to go on in another way; updates leave earlier states alone."""
        other = Life.__new__(Life)
        other.cases = CaseBase()
        other.facts = self.facts
        other.kept = self.kept
        other._names = self._names
        other.cases._start_with(self.cases.state)
        return other

    def rebuilt(self) -> CaseBase:
        """A case base of the same facts, under the same ids, that has never lived."""
        other = with_names(self.cases.settings, *self._names)
        other.update(add=sorted(self.facts))
        return other

    def anew(self) -> State:
        """A state that has never lived:
        a rebuild, with the clusters of this life if they depend on its history.
        """
        if not depends_on_history(self.cases.settings):
            return self.rebuilt().state
        mine = self.cases.state
        return State.of(
            mine.graph, mine.settings, profiles=mine.profiles, clusters=mine.clusters
        )

    def differences(self, expected: Portrait | None = None) -> list[str]:
        """What is not as in a rebuild."""
        mine = portrait(self.cases.state)
        theirs = expected or portrait(self.anew())
        every_name = mine.keys() | theirs.keys()
        return sorted(name for name in every_name if mine.get(name) != theirs.get(name))


def _all_counted(cases: State) -> list[int]:
    """Count everything, so that there is something to keep."""
    relations = list(range(cases.graph.directions))
    cases.statistics.prepare(relations)
    return relations


def portrait(cases: State) -> Portrait:
    """All there is to see of a state, by name; equal for equal states under the same ids."""
    graph = cases.graph
    profiles = cases.profiles
    statistics = cases.statistics
    everyone = np.arange(len(graph.entities), dtype=np.int32)
    directions = range(graph.directions)
    relations = [
        relation for relation in directions if len(graph.edges(relation).heads)
    ]

    seen: Portrait = defaultdict(list)
    for entity in everyone.tolist():
        profile = profiles.of(entity)
        of_profile = b"" if profile == NONE else profiles.relations(profile).tobytes()
        seen["profiles"].append(of_profile)
    for relation in relations:
        edges = [array.tobytes() for array in graph.edges(relation)]
        seen["graph"].append((relation, *edges))
        counts = statistics.everyone(relation)
        for column in (
            "types",
            "hits",
            "reached",
            "right",
            "reached_open",
            "right_open",
        ):
            seen[column].append(getattr(counts, column).tobytes())
        for found in answers(cases, relation, everyone, top=-1):
            seen["answers"].append((found.entities.tobytes(), found.scores.tobytes()))

    if cases.settings.weight == "prior":
        together = _together(cases)
        seen["clusters"] = sorted(together.values())
        for relation in relations:
            counts_of_clusters = statistics.clustered(relation)
            seen["counts of clusters"].append(_clustered(counts_of_clusters, together))
    return seen


def _together(cases: State) -> dict[int, tuple[int, ...]]:
    """Which entities are together, by cluster: what a cluster is called does not matter."""
    clusters = cases.clusters.entities
    together = {}
    for cluster in np.unique(clusters).tolist():
        members = np.flatnonzero(clusters == cluster)
        together[cluster] = tuple(members.tolist())
    return together


def _clustered(
    counts: ClusterCounts, together: dict[int, tuple[int, ...]]
) -> list[Any]:
    """Hits and tries by the members of each cluster.

    Priors and precisions are quotients of these.
    """
    columns = np.stack(
        [counts.clusters, counts.types, counts.hits, counts.tries], axis=1
    )
    rows = []
    for cluster, *numbers in columns.tolist():
        members = () if cluster == EVERYONE else together.get(cluster, ())
        rows.append((members, *numbers))
    return sorted(rows)


def by_name(cases: CaseBase) -> bytes:
    """All answers, by name, with the bits of their scores."""
    graph = cases.graph
    facts = list(graph.facts())
    names = sorted({fact.head for fact in facts} | {fact.tail for fact in facts})
    found = []
    for relation in sorted({fact.relation for fact in facts}):
        found += cases.ask_many([(name, relation) for name in names], top=-1)
        found += [cases.ask_head(relation, name, top=-1) for name in names]

    rows = []
    for given in found:
        scores = [(answer.entity, answer.score.hex()) for answer in given]
        rows.append((given.relation, given.inverse, given.asked, scores))
    return repr(rows).encode()


def lived(
    random: Random,
    steps: int,
    settings: Settings,
    entities: int = 6,
    relations: int = 2,
) -> Life:
    """Add and retract a few facts at a time, checking after every step.

    Small, so that every fact matters to others.
    """
    entity_names = [f"e{number}" for number in range(entities)]
    relation_names = [f"r{number}" for number in range(relations)]
    life = Life(settings, entity_names, relation_names)
    mostly_add = random.choice([0.3, 0.5, 0.7])
    for _ in range(steps):
        some = random.choice([0, 1, 1, 2])
        known = sorted(life.facts)
        come: list[Fact] = []
        gone: list[Fact | str] = []
        if random.random() < mostly_add:
            come += [_some(random, entity_names, relation_names) for _ in range(some)]
        else:
            gone += random.sample(known, min(len(known), some))
        if random.random() < 0.02:
            gone.append(random.choice(entity_names))
        life.change(come, gone)
        assert life.differences() == []
    return life


def _some(random: Random, entities: Sequence[str], relations: Sequence[str]) -> Fact:
    return random.choice(entities), random.choice(relations), random.choice(entities)
