"""The paper's definitions, transcribed as plainly as possible. Slow on purpose.

A graph is a set of (head, relation, tail); `both_ways` adds the inverse of every fact,
which the paper calls r⁻¹ and we write as a relation (r, -1).
Entities and relations are any values that can be compared.
"""

from collections import Counter
from collections.abc import Iterable
from math import floor, log, log1p, sqrt
from typing import Any, TypeAlias

Name: TypeAlias = Any  # of an entity or a relation
Facts = set[tuple[Any, Any, Any]]
PathType = tuple[Any, ...]
LEAST_WORTH = 0.002  # evidence from likeness that is worth less is not used


def inverse(relation: Name) -> Name:
    return relation[0] if isinstance(relation, tuple) else (relation, -1)


def both_ways(facts: Iterable[tuple[Any, Any, Any]]) -> Facts:
    """Every fact and its inverse (§2.1)."""
    facts = set(facts)
    return facts | {(tail, inverse(relation), head) for head, relation, tail in facts}


def entities(facts: Facts) -> set[Any]:
    return {entity for head, _, tail in facts for entity in (head, tail)}


def answers(facts: Facts, entity: Name, relation: Name) -> set[Any]:
    """S: the entities connected to `entity` by `relation` (§2.1)."""
    return {tail for head, label, tail in facts if (head, label) == (entity, relation)}


def walks(facts: Facts, entity: Name, path_type: PathType) -> list[tuple[Any, ...]]:
    """Every walk of `path_type` from `entity`, as a tuple of entities (§2.1)."""
    if not path_type:
        return [(entity,)]
    first, *rest = path_type
    return [
        (entity, *walk)
        for tail in answers(facts, entity, first)
        for walk in walks(facts, tail, tuple(rest))
    ]


def paths(facts: Facts, entity: Name, path_type: PathType) -> list[tuple[Any, ...]]:
    """The walks that pass no entity twice."""
    return [walk for walk in walks(facts, entity, path_type) if len(set(walk)) == len(walk)]


def closed_paths(facts: Facts, entity: Name, relation: Name, n: int) -> Counter[PathType]:
    """P_n(e, r): how many loop-free paths of each type, up to length n, lead `entity`
    to one of its answers (§2.1).
    """
    goals = answers(facts, entity, relation)
    found: Counter[PathType] = Counter()
    edges: dict[Any, list[tuple[Any, Any]]] = {}
    for head, label, tail in facts:
        edges.setdefault(head, []).append((label, tail))

    def go_on(visited: tuple[Any, ...], path_type: PathType) -> None:
        if path_type and visited[-1] in goals:
            found[path_type] += 1
        if len(path_type) < n:
            for label, tail in edges.get(visited[-1], []):
                if tail not in visited:
                    go_on((*visited, tail), (*path_type, label))

    go_on((entity,), ())
    return found


def having(facts: Facts, cluster: Iterable[Any], relation: Name) -> list[Any]:
    return [entity for entity in cluster if answers(facts, entity, relation)]


def hits(facts: Facts, cluster: Iterable[Any], relation: Name, n: int) -> Counter[PathType]:
    """The numerator of equations 2 and 3, for every path type."""
    return sum((closed_paths(facts, entity, relation, n) for entity in cluster), Counter())


def prior(
    facts: Facts, cluster: Iterable[Any], relation: Name, path_type: PathType, n: int
) -> float:
    """Equation 2."""
    found = hits(facts, cluster, relation, n)
    return found[path_type] / found.total() if found else 0.0


def tries(facts: Facts, cluster: Iterable[Any], relation: Name, path_type: PathType) -> int:
    """The denominator of equation 3, over the entities that have the relation."""
    return sum(len(walks(facts, entity, path_type)) for entity in having(facts, cluster, relation))


def precision(
    facts: Facts, cluster: Iterable[Any], relation: Name, path_type: PathType, n: int
) -> float:
    """Equation 3."""
    cluster = list(cluster)
    tried = tries(facts, cluster, relation, path_type)
    return hits(facts, cluster, relation, n)[path_type] / tried if tried else 0.0


def ends(facts: Facts, entity: Name, path_type: PathType) -> set[Any]:
    return {path[-1] for path in paths(facts, entity, path_type)}


def reached(facts: Facts, cluster: Iterable[Any], relation: Name, path_type: PathType) -> int:
    """The distinct ends of loop-free paths from each entity that has the relation."""
    return sum(len(ends(facts, entity, path_type)) for entity in having(facts, cluster, relation))


def right(facts: Facts, cluster: Iterable[Any], relation: Name, path_type: PathType) -> int:
    """Those of the reached that are answers."""
    return sum(
        len(ends(facts, entity, path_type) & answers(facts, entity, relation))
        for entity in having(facts, cluster, relation)
    )


def profile(facts: Facts, entity: Name) -> frozenset[Any]:
    """The edge types that leave an entity (§2.2.1)."""
    return frozenset(label for head, label, _ in facts if head == entity)


def similarity(facts: Facts, one: Name, other: Name) -> float:
    """The cosine of two profiles (§2.2.1)."""
    a, b = profile(facts, one), profile(facts, other)
    return len(a & b) / sqrt(len(a) * len(b)) if a and b else 0.0


def contextual_entities(facts: Facts, entity: Name, relation: Name, k: int) -> list[Any]:
    """The k entities most similar to `entity` that have the relation (§2.2.1).

    Of equally similar ones those with more facts come first, then the order of names decides.
    """

    def closest_first(other: Name) -> tuple[float, int, Name]:
        known = sum(head == other for head, _, _ in facts)
        return -round(similarity(facts, entity, other), 12), -known, other

    return sorted(having(facts, entities(facts) - {entity}, relation), key=closest_first)[:k]


def average_linkage(facts: Facts, a: Iterable[Any], b: Iterable[Any]) -> float:
    """The linkage of the appendix (A.1)."""
    pairs = [(one, other) for one in a for other in b]
    return sum(similarity(facts, one, other) for one, other in pairs) / len(pairs)


def cut(
    root: Name, children: dict[Any, tuple[Any, Any]], linkage: dict[Any, float], threshold: float
) -> set[Any]:
    """Algorithm 1: the nodes at which a search from the root stops.
    A leaf has no children and is always a stop.
    """
    frontier, result = [root], set()
    while frontier:
        node = frontier.pop()
        if node not in children or linkage[node] > threshold:
            result.add(node)
        else:
            frontier.extend(children[node])
    return result


def discounted_noisy_or(pieces: Iterable[float], discount: float, best: int) -> float:
    """What several pieces of evidence are worth together:
    the best in full, each further one discounted once more.
    """
    top = sorted(pieces, reverse=True)[:best]
    return -sum(discount**place * log1p(-piece) for place, piece in enumerate(top))


def shared_fact(
    facts: Facts, entity: Name, relation: Name, fact: tuple[Any, Any]
) -> tuple[Counter[Any], int]:
    """Of the others that have the fact (relation, tail) too and have the query relation:
    what they answer; how many.
    """
    others = having(facts, answers(facts, fact[1], inverse(fact[0])) - {entity}, relation)
    return Counter(answer for other in others for answer in answers(facts, other, relation)), len(
        others
    )


def habit(facts: Facts, entity: Name, relation: Name) -> tuple[Counter[Any], int]:
    """What all others that have the query relation answer, and how many they are."""
    others = having(facts, entities(facts) - {entity}, relation)
    return Counter(answer for other in others for answer in answers(facts, other, relation)), len(
        others
    )


def walks_by_type(facts: Facts, entity: Name, n: int) -> dict[PathType, list[tuple[Any, ...]]]:
    """Every walk of one to n steps from `entity`, by its type:
    all that `walks` gives, for all path types at once.
    """
    found: dict[PathType, list[tuple[Any, ...]]] = {}
    longest: list[tuple[PathType, tuple[Any, ...]]] = [((), (entity,))]
    for _ in range(n):
        longest = [
            ((*path_type, label), (*walk, tail))
            for path_type, walk in longest
            for head, label, tail in facts
            if head == walk[-1]
        ]
        for path_type, walk in longest:
            found.setdefault(path_type, []).append(walk)
    return found


def grow(facts: Facts) -> tuple[list[tuple[frozenset[Any], frozenset[Any], float]], bool]:
    """Average linkage by the book: join the two most similar clusters until one is left (A.1).

    Entities of the same profile are together from the start.
    Returns the joins, and whether ever two pairs were tied.
    """
    together: dict[frozenset[Any], set[Any]] = {}
    for entity in entities(facts):
        together.setdefault(profile(facts, entity), set()).add(entity)
    clusters, joins, is_tied = [frozenset(cluster) for cluster in together.values()], [], False
    while len(clusters) > 1:
        pairs = [(a, b) for place, a in enumerate(clusters) for b in clusters[:place]]
        linked = sorted(
            ((average_linkage(facts, a, b), a, b) for a, b in pairs), key=lambda pair: -pair[0]
        )
        similarity_of_best, a, b = linked[0]
        is_tied = is_tied or (len(linked) > 1 and similarity_of_best - linked[1][0] < 1e-9)
        joins.append((a, b, similarity_of_best))
        clusters = [cluster for cluster in clusters if cluster not in (a, b)] + [a | b]
    return joins, is_tied


class Branch:
    """A node of a tree of clusters: entities of one profile, or two branches."""

    def __init__(self, *below: "Branch", names: Iterable[Any] = ()) -> None:
        self.below, self.own = list(below), frozenset(names)
        self.above: Branch | None = None
        for branch in below:
            branch.above = self

    @property
    def names(self) -> frozenset[Any]:
        """The entities below."""
        return self.own.union(*(branch.names for branch in self.below))

    @property
    def path(self) -> list["Branch"]:
        """From here to the root."""
        return [self, *(self.above.path if self.above else [])]

    @property
    def root(self) -> "Branch":
        """The node above all."""
        return self.path[-1]

    @property
    def all(self) -> list["Branch"]:
        """Every node from here down."""
        return [self, *(node for branch in self.below for node in branch.all)]

    @property
    def sibling(self) -> "Branch":
        """The other branch of the node above."""
        assert self.above
        return next(branch for branch in self.above.below if branch is not self)

    def replace(self, other: "Branch") -> None:
        """Let another branch be in this one's place."""
        other.above = self.above
        if self.above:
            self.above.below[self.above.below.index(self)] = other
        self.above = None


def common(one: Branch, two: Branch) -> Branch:
    """The lowest node above both."""
    return next(node for node in one.path if node in two.path)


class Grinch:
    """Incremental clustering by the book (Monath et al. 2019):
    insert, rotate, graft, restructure.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts, self.root, self.grafts, self.swaps = facts, Branch(), 0, 0

    def linkage(self, one: Branch, two: Branch) -> float:
        """To as many digits as are certain."""
        return round(average_linkage(self.facts, one.names, two.names), 12)

    def insert(self, names: Iterable[Any]) -> None:
        """A leaf beside its nearest; then each node above it may be grafted."""
        leaf = Branch(names=names)
        if not self.root.names:
            self.root = leaf
            return
        beside = self.nearest(leaf)
        joined = self.join(leaf, beside)
        while joined.above and self.linkage(beside, leaf) < self.linkage(beside, joined.sibling):
            aunt = joined.sibling
            above = joined.above
            joined.below, above.below = [beside, aunt], [joined, leaf]
            aunt.above, leaf.above = joined, above
            beside, joined = joined, above
        self.root = leaf.root
        node: Branch | None = joined
        while node:
            node = self.graft(node)
        self.root = leaf.root

    def nearest(self, node: Branch) -> Branch:
        """The leaf with the highest linkage.

        Of several the one whose profile comes first by names.
        """
        leaves = [leaf for leaf in self.root.all if leaf.own and not leaf.own <= node.names]
        return min(leaves, key=lambda leaf: (-self.linkage(node, leaf), self.by_name(leaf)))

    def by_name(self, leaf: Branch) -> list[tuple[Any, int]]:
        """The relations of a leaf, sorted, a relation before its inverse."""
        labels = profile(self.facts, min(leaf.own))
        return sorted((label[0], 1) if isinstance(label, tuple) else (label, 0) for label in labels)

    def join(self, node: Branch, beside: Branch) -> Branch:
        """Put a branch beside another."""
        joined = Branch()
        beside.replace(joined)
        joined.below = [beside, node]
        beside.above = node.above = joined
        return joined

    def graft(self, node: Branch) -> Branch | None:
        """Move a node, or one above it, to where it is nearer than to its sibling.

        Returns the next to try.
        """
        if not node.above:
            return None
        moving, other = node, self.nearest(node)
        top = common(moving, other)
        while moving is not top and other is not top and moving.sibling is not other:
            found = self.linkage(moving, other)
            own, others = self.linkage(moving, moving.sibling), self.linkage(other, other.sibling)
            if found > max(own, others):
                left, above = moving.sibling, moving.above
                assert above
                above.replace(left)
                self.join(moving, other)
                self.restructure(left, common(left, moving))
                self.root, self.grafts = moving.root, self.grafts + 1
                break
            other = (other.above or other) if found <= others else other
            moving = (moving.above or moving) if found <= own else moving
        return moving.above if moving is node else moving

    def restructure(self, node: Branch, top: Branch) -> None:
        """Let every node from here to the top have the nearest
        of the branches beside its path for sibling.
        """
        while node is not top:
            beside = [step.sibling for step in node.path[: node.path.index(top)]]
            best = max(beside, key=lambda branch: self.linkage(node, branch))
            if self.linkage(node, node.sibling) < self.linkage(node, best):
                sibling, place = node.sibling, Branch()
                best.replace(place)
                sibling.replace(best)
                place.replace(sibling)
                self.swaps += 1
            assert node.above
            node = node.above


def left_after(facts: Facts, fact: tuple[Any, Any, Any]) -> Facts:
    """The facts, both ways, as if one of them were not known."""
    head, relation, tail = fact
    return facts - {fact, (tail, inverse(relation), head)}


def has_other_asker(facts: Facts, entity: Name, relation: Name, end: Name) -> bool:
    """Whether the slot of an end is taken: an entity other than `entity` has it as its answer."""
    return bool(answers(facts, end, inverse(relation)) - {entity})


def by_slot(facts: Facts, relation: Name, path_type: PathType) -> dict[bool, tuple[int, int]]:
    """Reached and right, apart for ends whose slot is open (False) and taken (True)."""
    counts = {False: [0, 0], True: [0, 0]}
    for entity in having(facts, entities(facts), relation):
        goals = answers(facts, entity, relation)
        for end in ends(facts, entity, path_type):
            slot = has_other_asker(facts, entity, relation, end)
            counts[slot][0] += 1
            counts[slot][1] += end in goals
    return {slot: (all_, good) for slot, (all_, good) in counts.items()}


def default_weights(
    facts: Facts, relation: Name, n: int, support: int, doubt: float, *, slots: bool
) -> dict[PathType, dict[bool, float]]:
    """Every path type that led to answers `support` times, not the relation itself.

    What it is worth where the slot of an end is open (False) and where it is taken (True):
    right / (reached + doubt), and with slots, those of the slot drawn towards this.
    """
    weights = {}
    for path_type, found in hits(facts, entities(facts), relation, n).items():
        if found < support or path_type == (relation,):
            continue
        counts = by_slot(facts, relation, path_type)
        all_reached = counts[False][0] + counts[True][0]
        all_right = counts[False][1] + counts[True][1]
        in_both = all_right / (all_reached + doubt)
        weights[path_type] = {False: in_both, True: in_both}
        if slots:
            for slot, (own_reached, own_right) in counts.items():
                weights[path_type][slot] = (own_right + 20 * in_both) / (own_reached + 20 + doubt)
    return weights


def facts_of(facts: Facts, entity: Name) -> set[tuple[Any, Any]]:
    """What an entity has: pairs of a relation and a tail."""
    return {(label, tail) for head, label, tail in facts if head == entity}


def sharers(facts: Facts, fact: tuple[Any, Any]) -> set[Any]:
    """The entities that have a fact (relation, tail)."""
    return answers(facts, fact[1], inverse(fact[0]))


def rounded(number: float) -> int:
    return floor(number + 0.5)


def rarity(facts: Facts, fact: tuple[Any, Any]) -> int:
    """The square of log(N / n), if n of N entities have the fact, in units of 1 / 1024.

    What only one entity has is shared by nobody.
    """
    having_it = len(sharers(facts, fact))
    everyone = len(entities(facts))
    if having_it < 2 or having_it >= everyone:
        return 0
    return rounded(log(everyone / having_it) ** 2 * 1024)


def norm(facts: Facts, having_these: set[tuple[Any, Any]]) -> float:
    """The length of an entity's facts, and one."""
    return sqrt(sum(rarity(facts, fact) for fact in having_these) / 1024) + 1


def neighbours_by_facts(
    seen: Facts, counted: Facts, entity: Name, relation: Name, k: int
) -> list[tuple[Any, float]]:
    """The k entities that share most with `entity` and have the relation, with the cosine.

    The entity sees `seen`; how much a fact weighs is counted over `counted`.
    """
    own = facts_of(seen, entity)
    shared = Counter[Any]()
    for fact in own:
        for other in sharers(counted, fact) - {entity}:
            shared[other] += rarity(counted, fact)
    found = [
        (other, weight / 1024 / (norm(counted, own) * norm(counted, facts_of(counted, other))))
        for other, weight in shared.items()
        if weight and answers(seen, other, relation)
    ]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k]


def votes_of_neighbours(
    seen: Facts, counted: Facts, entity: Name, relation: Name, k: int = 20
) -> dict[Any, float]:
    """What the neighbours answer: each votes with the square of its similarity to the nearest's."""
    near = neighbours_by_facts(seen, counted, entity, relation, k)
    votes: dict[Any, float] = {}
    total = 0.0
    for other, similar in near:
        vote = (similar / near[0][1]) ** 2
        total += vote
        for answer in answers(seen, other, relation):
            votes[answer] = votes.get(answer, 0.0) + vote
    return {answer: 0.9 * vote / (total + 1) for answer, vote in votes.items()}


def facts_of_answers(
    seen: Facts, entity: Name, relation: Name, support: int, doubt: float
) -> dict[Any, list[float]]:
    """For each candidate: of those that have a fact in common with it, how many are answers.

    A known answer is looked at as if it were not known.
    """
    worth: dict[Any, list[float]] = {}
    for candidate in entities(seen) - {entity}:
        known = answers(seen, entity, relation) - {candidate}
        slot = has_other_asker(seen, entity, relation, candidate)
        for fact in facts_of(seen, candidate) - {(inverse(relation), entity)}:
            others = sharers(seen, fact) - {entity}
            if len(others & known) < support:
                continue
            in_both = len(others & known) / (len(others) + doubt)
            own = {
                other for other in others if has_other_asker(seen, entity, relation, other) == slot
            }
            piece = (len(own & known) + 5 * in_both) / (len(own) + doubt + 5)
            if piece >= LEAST_WORTH:
                worth.setdefault(candidate, []).append(piece)
    return worth


def nearness_to_answers(
    seen: Facts, counted: Facts, entity: Name, relation: Name
) -> dict[Any, float]:
    """How much each candidate shares with the known answers, beside the candidate that is nearest."""
    itself = (inverse(relation), entity)

    def shared_with(candidate: Name, known: set[Any]) -> float:
        total = 0
        for fact in facts_of(counted, candidate) - {itself}:
            for answer in known & sharers(counted, fact):
                reciprocal = rounded(65536 / norm(counted, facts_of(counted, answer)))
                total += rarity(counted, fact) * reciprocal
        return total / norm(counted, facts_of(counted, candidate))

    known = answers(seen, entity, relation) - {entity}
    similar = {
        candidate: shared_with(candidate, known - {candidate})
        for candidate in entities(counted) - {entity}
    }
    nearest = max((similar[other] for other in similar if other not in known), default=0.0)
    worth = {
        candidate: 0.2 * (min(1.0, value / nearest) ** 2 if nearest else 1.0)
        for candidate, value in similar.items()
        if value > 0
    }
    return {candidate: piece for candidate, piece in worth.items() if piece >= LEAST_WORTH}


def combined(
    pieces: dict[str, list[float]],
    weights: dict[str, float],
    discount: float,
    across: float,
    best: int,
) -> float:
    """The score of one candidate, from its pieces of each kind.

    Within a kind the best pieces count, each next discounted once more; so do the kinds.
    """
    strengths = [
        weights[kind] * discounted_noisy_or(said, discount, best) for kind, said in pieces.items()
    ]
    ranked = sorted(strengths, reverse=True)
    return sum(across**place * strength for place, strength in enumerate(ranked))


def paper_weights(
    facts: Facts,
    entity: Name,
    relation: Name,
    k: int,
    n: int,
    cluster: Iterable[Any],
    *,
    fallback: bool = True,
) -> dict[PathType, float]:
    """The path types of the k contextual entities: prior × precision in the cluster.

    One that never led to an answer there is worth what it is worth to everyone,
    or nothing without the fallback.
    """
    near, own, everyone = (
        contextual_entities(facts, entity, relation, k),
        list(cluster),
        entities(facts),
    )
    gathered = {
        path_type for other in near for path_type in closed_paths(facts, other, relation, n)
    } - {(relation,)}
    in_cluster = hits(facts, own, relation, n)
    return {
        path_type: prior(facts, counted, relation, path_type, n)
        * precision(facts, counted, relation, path_type, n)
        for path_type in gathered
        for counted in [everyone if fallback and not in_cluster[path_type] else own]
    }


def precedents(
    facts: Facts,
    entity: Name,
    relation: Name,
    support: int,
    doubt: float,
    habit_weight: float,
    counted: Facts | None = None,
    *,
    reflexive: bool,
) -> dict[Any, dict[str, list[float]]]:
    """What precedents of all kinds say for each answer: pieces of evidence, by kind.

    The entity sees `facts`; likeness is measured over `counted`, which are the same by default.
    A shared fact does not speak for itself;
    the entity itself is no answer unless some entity answers itself.
    """
    counted = counted or facts
    pieces: dict[Any, dict[str, list[float]]] = {}

    def add(kind: str, answer: Name, worth: float) -> None:
        pieces.setdefault(answer, {}).setdefault(kind, []).append(worth)

    for fact in sorted(((label, tail) for head, label, tail in facts if head == entity), key=str):
        counts, others = shared_fact(facts, entity, relation, fact)
        for answer, count in counts.items():
            if count >= support and fact != (relation, answer):
                add("shared_fact", answer, count / (others + doubt))
    for answer, said in facts_of_answers(facts, entity, relation, support, doubt).items():
        for worth in said:
            add("answers_fact", answer, worth)
    for answer, worth in votes_of_neighbours(facts, counted, entity, relation).items():
        add("neighbours", answer, worth)
    for answer, worth in nearness_to_answers(facts, counted, entity, relation).items():
        add("near_answers", answer, worth)
    counts, others = habit(facts, entity, relation)
    for answer, count in counts.items():
        add("habit", answer, habit_weight * count / (others + doubt))
    return {answer: said for answer, said in pieces.items() if answer != entity or reflexive}
