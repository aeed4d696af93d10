"""A case base that lives through changes, compared after each with one built in one go from the facts that survive.

Everything is compared: graph, profiles, hits, tries, reached, right, priors, precisions, clusters, answers. Priors and
precisions are quotients of the integers compared, and are compared as what answers are made of.
"""

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np

from casegraph.answering import Cases, answers
from casegraph.casebase import CaseBase
from casegraph.settings import Settings

Fact = tuple[str, str, str]
PAPER = Settings.paper("WN18RR").but(max_length=2, neighbours=3)
EXACT = [  # whatever the history, these give the answers of a rebuild
    Settings(support=1),
    Settings(max_length=2),
    PAPER,
    PAPER.but(clustering="entity", fallback=False),
    Settings(max_length=2, weight="prior", clustering="hac", threshold=0.6),
]


class Life:
    """A case base, the facts it should hold, and how much of what it counted was kept and not made anew."""

    def __init__(self, settings: Settings, entities: Sequence[str], relations: Sequence[str]) -> None:
        self.cases, self.facts, self.kept = CaseBase(settings), set[Fact](), 0
        self._names = list(entities), list(relations)
        for names, interner in zip(self._names, (self.cases.graph.entities, self.cases.graph.relations), strict=True):
            interner.intern(names)
        self.cases.update()

    def change(self, add: Sequence[Fact] = (), retract: Sequence[Fact | str] = ()) -> None:
        """One update; everything counted before it must wait to be brought up to date, and not be dropped."""
        counted = _all_counted(self.cases.cases)
        assert not self.cases.update(add=add, retract=retract).anew
        stale = [relation for relation in counted if self.cases.cases.statistics.is_stale(relation)]
        assert stale == counted, "counts were dropped"
        self.kept += len(stale)
        gone = {fact for fact in self.facts if fact in retract or fact[0] in retract or fact[2] in retract}
        self.facts = (self.facts - gone) | set(add)

    def rebuilt(self, facts: Sequence[Fact] | None = None) -> CaseBase:
        """A case base of the same facts, under the same ids, that has never lived."""
        other = CaseBase(self.cases.settings)
        other.graph.entities.intern(self._names[0])
        other.graph.relations.intern(self._names[1])
        other.update(add=sorted(self.facts) if facts is None else facts)
        return other

    def differences(self, other: CaseBase | None = None) -> list[str]:
        """What is not as in a rebuild."""
        return sorted(set(differences(self.cases.cases, (other or self.rebuilt()).cases)))


def _all_counted(cases: Cases) -> list[int]:
    """Count everything, so that there is something to keep."""
    relations = list(range(cases.graph.directions))
    cases.statistics.prepare(relations)
    return relations


def differences(mine: Cases, theirs: Cases) -> Iterator[str]:
    """The names of what differs between two states under the same ids."""
    if list(mine.graph.facts()) != list(theirs.graph.facts()):
        yield "graph"
        return
    everyone = np.arange(len(mine.graph.entities), dtype=np.int32)
    shapes = [[c.profiles.relations(p).tolist() if (p := c.profiles.of(e)) >= 0 else [] for e in everyone.tolist()]
              for c in (mine, theirs)]  # fmt: skip
    if shapes[0] != shapes[1]:
        yield "profiles"
    if _partition(mine) != _partition(theirs):
        yield "clusters"
    for relation in range(theirs.graph.directions):
        counts = mine.statistics.everyone(relation), theirs.statistics.everyone(relation)
        for column in ("types", "hits", "reached", "right"):
            if not np.array_equal(getattr(counts[0], column), getattr(counts[1], column)):
                yield column
        if mine.settings.weight == "prior" and _clustered(mine, relation) != _clustered(theirs, relation):
            yield "counts of clusters"
        if mine.graph.edges(relation).heads.size:
            found = [answers(cases, relation, everyone, top=-1) for cases in (mine, theirs)]
            for one, other in zip(*found, strict=True):
                if one.entities.tobytes() + one.scores.tobytes() != other.entities.tobytes() + other.scores.tobytes():
                    yield "answers"


def _partition(cases: Cases) -> set[frozenset[int]]:
    """Which entities are together, whatever their clusters are called."""
    clusters = cases.clusters.tolist()
    return {frozenset(e for e, c in enumerate(clusters) if c == cluster) for cluster in clusters}


def _clustered(cases: Cases, relation: int) -> set[tuple[frozenset[int], int, int, int]]:
    """Hits and tries by the members of each cluster; priors and precisions are quotients of these."""
    counts, clusters = cases.statistics.clustered(relation), cases.clusters.tolist()
    named = {c: frozenset(e for e, own in enumerate(clusters) if own == c) for c in set(counts.clusters.tolist())}
    columns = (counts.clusters, counts.types, counts.hits, counts.tries)
    return {(named[c], t, h, w) for c, t, h, w in zip(*(column.tolist() for column in columns), strict=True)}


def by_name(cases: CaseBase) -> bytes:
    """All answers, by name, with the bits of their scores."""
    graph = cases.graph
    names = sorted({name for fact in graph.facts() for name in (fact.head, fact.tail)})
    relations = sorted({fact.relation for fact in graph.facts()})
    found = [cases.ask_many([(name, relation) for name in names], top=-1) for relation in relations]
    found += [[cases.ask_head(relation, name, top=-1) for name in names] for relation in relations]
    return repr([[(a.asked, [(one.entity, one.score.hex()) for one in a]) for a in asked] for asked in found]).encode()


def lived(random: Random, steps: int, settings: Settings, entities: int = 6, relations: int = 2) -> Life:
    """Add and retract a few facts at a time, checking after every step; small, so that every fact matters to others."""
    names = [f"e{number}" for number in range(entities)], [f"r{number}" for number in range(relations)]
    life, mostly_add = Life(settings, *names), random.choice([0.3, 0.5, 0.7])
    for _ in range(steps):
        come = (
            [_some(random, *names) for _ in range(random.choice([0, 1, 1, 2]))] if random.random() < mostly_add else []
        )
        known = sorted(life.facts)
        gone: list[Fact | str] = (
            [*random.sample(known, min(len(known), random.choice([0, 1, 1, 2])))] if not come else []
        )
        if random.random() < 0.02:
            gone.append(random.choice(names[0]))
        life.change(come, gone)
        assert life.differences() == []
    return life


def _some(random: Random, entities: Sequence[str], relations: Sequence[str]) -> Fact:
    return random.choice(entities), random.choice(relations), random.choice(entities)
