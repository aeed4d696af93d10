"""The paper's definitions, transcribed as plainly as possible. Slow on purpose.

A graph is a set of (head, relation, tail); `both_ways` adds the inverse of every fact,
which the paper calls r⁻¹ and we write as a relation (r, -1).
Entities and relations are any values that can be compared.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from math import log1p, sqrt
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Name: TypeAlias = Any  # of an entity or a relation
Fact: TypeAlias = tuple[Any, Any, Any]  # head, relation, tail
Facts: TypeAlias = set[Fact]
PathType: TypeAlias = tuple[Any, ...]  # relations
Walk: TypeAlias = tuple[Any, ...]  # entities
Cluster: TypeAlias = Iterable[Any]  # of entities
Column: TypeAlias = tuple[Any, Any]  # what an entity has: a relation and a tail
Chosen: TypeAlias = Any  # casegraph's settings, or what has the same names
MOST_HAVING = 2000  # a column that more entities have brings nobody nearer
AGREEMENT = 0.2  # how much more each further precedent with the answer counts
ROUNDS = 60  # of conjugate gradients, at most
GOOD_ENOUGH = 1e-12  # the part of the squared residual at which they stop


def inverse(relation: Name) -> Name:
    if isinstance(relation, tuple):
        return relation[0]
    return (relation, -1)


def both_ways(facts: Iterable[Fact]) -> Facts:
    """Every fact and its inverse (§2.1)."""
    facts = set(facts)
    inverses = {(tail, inverse(relation), head) for head, relation, tail in facts}
    return facts | inverses


def entities(facts: Collection[Fact]) -> set[Any]:
    heads = {head for head, _, _ in facts}
    tails = {tail for _, _, tail in facts}
    return heads | tails


def answers(facts: Facts, entity: Name, relation: Name) -> set[Any]:
    """S: the entities connected to `entity` by `relation` (§2.1)."""
    return {tail for head, label, tail in facts if (head, label) == (entity, relation)}


def walks(facts: Facts, entity: Name, path_type: PathType) -> list[Walk]:
    """Every walk of `path_type` from `entity`, as a tuple of entities (§2.1)."""
    if not path_type:
        return [(entity,)]
    found = []
    for tail in answers(facts, entity, path_type[0]):
        for rest in walks(facts, tail, path_type[1:]):
            found.append((entity, *rest))
    return found


def paths(facts: Facts, entity: Name, path_type: PathType) -> list[Walk]:
    """The walks that pass no entity twice."""
    found = walks(facts, entity, path_type)
    return [walk for walk in found if len(set(walk)) == len(walk)]


def closed_paths(
    facts: Facts, entity: Name, relation: Name, n: int
) -> Counter[PathType]:
    """P_n(e, r): how many loop-free paths of each type, up to length n, lead `entity`
    to one of its answers (§2.1).
    """
    goals = answers(facts, entity, relation)
    found: Counter[PathType] = Counter()
    edges = defaultdict(list)
    for head, label, tail in facts:
        edges[head].append((label, tail))

    def go_on(visited: Walk, path_type: PathType) -> None:
        end = visited[-1]
        if path_type and end in goals:
            found[path_type] += 1
        if len(path_type) < n:
            for label, tail in edges[end]:
                if tail not in visited:
                    go_on((*visited, tail), (*path_type, label))

    go_on((entity,), ())
    return found


def having(facts: Facts, cluster: Cluster, relation: Name) -> list[Any]:
    return [entity for entity in cluster if answers(facts, entity, relation)]


def hits(facts: Facts, cluster: Cluster, relation: Name, n: int) -> Counter[PathType]:
    """The numerator of equations 2 and 3, for every path type."""
    total: Counter[PathType] = Counter()
    for entity in cluster:
        total += closed_paths(facts, entity, relation, n)
    return total


def prior(
    facts: Facts, cluster: Cluster, relation: Name, path_type: PathType, n: int
) -> float:
    """Equation 2."""
    found = hits(facts, cluster, relation, n)
    if not found:
        return 0.0
    return found[path_type] / found.total()


def tries(facts: Facts, cluster: Cluster, relation: Name, path_type: PathType) -> int:
    """The denominator of equation 3, over the entities that have the relation."""
    tried = having(facts, cluster, relation)
    return sum(len(walks(facts, entity, path_type)) for entity in tried)


def precision(
    facts: Facts, cluster: Cluster, relation: Name, path_type: PathType, n: int
) -> float:
    """Equation 3."""
    cluster = list(cluster)
    tried = tries(facts, cluster, relation, path_type)
    if not tried:
        return 0.0
    return hits(facts, cluster, relation, n)[path_type] / tried


def ends(facts: Facts, entity: Name, path_type: PathType) -> set[Any]:
    return {path[-1] for path in paths(facts, entity, path_type)}


def reached(facts: Facts, cluster: Cluster, relation: Name, path_type: PathType) -> int:
    """The distinct ends of loop-free paths from each entity that has the relation."""
    tried = having(facts, cluster, relation)
    return sum(len(ends(facts, entity, path_type)) for entity in tried)


def right(facts: Facts, cluster: Cluster, relation: Name, path_type: PathType) -> int:
    """Those of the reached that are answers."""
    total = 0
    for entity in having(facts, cluster, relation):
        goals = answers(facts, entity, relation)
        total += len(ends(facts, entity, path_type) & goals)
    return total


def profile(facts: Facts, entity: Name) -> frozenset[Any]:
    """The edge types that leave an entity (§2.2.1)."""
    return frozenset(label for head, label, _ in facts if head == entity)


def similarity(facts: Facts, one: Name, other: Name) -> float:
    """The cosine of two profiles (§2.2.1)."""
    a = profile(facts, one)
    b = profile(facts, other)
    if not a or not b:
        return 0.0
    return len(a & b) / sqrt(len(a) * len(b))


def contextual_entities(
    facts: Facts, entity: Name, relation: Name, k: int
) -> list[Any]:
    """The k entities most similar to `entity` that have the relation (§2.2.1).

    Of equally similar ones those with more facts come first, then the order of names decides.
    """

    def closest_first(other: Name) -> tuple[float, int, Name]:
        close = round(similarity(facts, entity, other), 12)
        known = sum(head == other for head, _, _ in facts)
        return -close, -known, other

    others = entities(facts) - {entity}
    return sorted(having(facts, others, relation), key=closest_first)[:k]


def average_linkage(facts: Facts, a: Cluster, b: Cluster) -> float:
    """The linkage of the appendix (A.1)."""
    similarities = [similarity(facts, one, other) for one in a for other in b]
    return sum(similarities) / len(similarities)


def cut(
    root: Name,
    children: dict[Any, tuple[Any, Any]],
    linkage: dict[Any, float],
    threshold: float,
) -> set[Any]:
    """Algorithm 1: the nodes at which a search from the root stops.
    A leaf has no children and is always a stop.
    """
    frontier = [root]
    result = set()
    while frontier:
        node = frontier.pop()
        if node not in children or linkage[node] > threshold:
            result.add(node)
        else:
            frontier.extend(children[node])
    return result


def discounted_noisy_or(
    strengths: Iterable[float], discount: float, best: int
) -> float:
    """How strong several pieces of evidence are together:
    the best in full, each further one discounted once more.
    """
    top = sorted(strengths, reverse=True)[:best]
    return sum(discount**place * strength for place, strength in enumerate(top))


def strength(kind: str, worth: float, decisive: float) -> float:
    """How strong a piece of evidence is, for a noisy-or; a decisive path type is stronger still."""
    plain = -log1p(-worth)
    if kind != "path" or worth <= decisive:
        return plain
    return plain + 60 * (plain + log1p(-decisive))


def habit(facts: Facts, entity: Name, relation: Name) -> tuple[Counter[Any], int]:
    """What all others that have the query relation answer, and how many they are."""
    return answers_of(facts, entities(facts) - {entity}, relation)


def answers_of(
    facts: Facts, others: Cluster, relation: Name
) -> tuple[Counter[Any], int]:
    """What those of `others` that have the relation answer, and how many they are."""
    asked = having(facts, others, relation)
    said: Counter[Any] = Counter()
    for other in asked:
        said.update(answers(facts, other, relation))
    return said, len(asked)


def walks_by_type(facts: Facts, entity: Name, n: int) -> dict[PathType, list[Walk]]:
    """Every walk of one to n steps from `entity`, by its type:
    all that `walks` gives, for all path types at once.
    """
    found: dict[PathType, list[Walk]] = {}
    longest: list[tuple[PathType, Walk]] = [((), (entity,))]
    for _ in range(n):
        longer = []
        for path_type, walk in longest:
            for head, label, tail in facts:
                if head == walk[-1]:
                    longer.append(((*path_type, label), (*walk, tail)))
        for path_type, walk in longer:
            found.setdefault(path_type, []).append(walk)
        longest = longer
    return found


# Two clusters, their similarity.
Join: TypeAlias = tuple[frozenset[Any], frozenset[Any], float]


def grow(facts: Facts) -> tuple[list[Join], bool]:
    """Average linkage by the book: join the two most similar clusters until one is left (A.1).

    Entities of the same profile are together from the start.
    Returns the joins, and whether ever two pairs were tied.
    """
    together = defaultdict(set)
    for entity in entities(facts):
        together[profile(facts, entity)].add(entity)
    clusters = [frozenset(cluster) for cluster in together.values()]

    joins = []
    is_tied = False
    while len(clusters) > 1:
        possible: list[Join] = []
        for place, a in enumerate(clusters):
            for b in clusters[:place]:
                possible.append((a, b, average_linkage(facts, a, b)))
        possible.sort(key=lambda join: -join[2])

        a, b, similarity_of_best = possible[0]
        if len(possible) > 1:
            similarity_of_second = possible[1][2]
            is_tied = is_tied or similarity_of_best - similarity_of_second < 1e-9
        joins.append(possible[0])
        clusters = [cluster for cluster in clusters if cluster not in (a, b)]
        clusters.append(a | b)
    return joins, is_tied


class Branch:
    """A node of a tree of clusters: entities of one profile, or two branches."""

    def __init__(self, *below: "Branch", names: Iterable[Any] = ()) -> None:
        self.below = list(below)
        self.own = frozenset(names)
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
        if self.above is None:
            return [self]
        return [self, *self.above.path]

    @property
    def root(self) -> "Branch":
        """The node above all."""
        return self.path[-1]

    @property
    def all(self) -> list["Branch"]:
        """Every node from here down."""
        found = [self]
        for branch in self.below:
            found += branch.all
        return found

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
        self.facts = facts
        self.root = Branch()
        self.grafts = 0
        self.swaps = 0

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
        while joined.above and self.linkage(beside, leaf) < self.linkage(
            beside, joined.sibling
        ):
            aunt = joined.sibling
            above = joined.above
            joined.below = [beside, aunt]
            above.below = [joined, leaf]
            aunt.above = joined
            leaf.above = above
            beside = joined
            joined = above
        self.root = leaf.root
        node: Branch | None = joined
        while node:
            node = self.graft(node)
        self.root = leaf.root

    def nearest(self, node: Branch) -> Branch:
        """The leaf with the highest linkage.

        Of several the one whose profile comes first by names.
        """

        def nearest_first(leaf: Branch) -> tuple[float, list[tuple[Any, int]]]:
            return -self.linkage(node, leaf), self.by_name(leaf)

        leaves = [leaf for leaf in self.root.all if leaf.own]
        others = [leaf for leaf in leaves if not leaf.own <= node.names]
        return min(others, key=nearest_first)

    def by_name(self, leaf: Branch) -> list[tuple[Any, int]]:
        """The relations of a leaf, sorted, a relation before its inverse."""
        named = []
        for label in profile(self.facts, min(leaf.own)):
            is_inverse = isinstance(label, tuple)
            named.append((inverse(label), 1) if is_inverse else (label, 0))
        return sorted(named)

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
        moving = node
        other = self.nearest(node)
        top = common(moving, other)
        while moving is not top and other is not top and moving.sibling is not other:
            found = self.linkage(moving, other)
            own = self.linkage(moving, moving.sibling)
            others = self.linkage(other, other.sibling)
            if found > max(own, others):
                left = moving.sibling
                above = moving.above
                assert above
                above.replace(left)
                self.join(moving, other)
                self.restructure(left, common(left, moving))
                self.root = moving.root
                self.grafts += 1
                break
            if found <= others:
                other = other.above or other
            if found <= own:
                moving = moving.above or moving
        return moving.above if moving is node else moving

    def restructure(self, node: Branch, top: Branch) -> None:
        """Let every node from here to the top have the nearest
        of the branches beside its path for sibling.
        """
        while node is not top:
            beside = [step.sibling for step in node.path[: node.path.index(top)]]
            best = max(beside, key=lambda branch: self.linkage(node, branch))
            if self.linkage(node, node.sibling) < self.linkage(node, best):
                sibling = node.sibling
                place = Branch()
                best.replace(place)
                sibling.replace(best)
                place.replace(sibling)
                self.swaps += 1
            assert node.above
            node = node.above


def left_after(facts: Facts, fact: Fact) -> Facts:
    """The facts, both ways, as if one of them were not known."""
    head, relation, tail = fact
    return facts - {fact, (tail, inverse(relation), head)}


def has_other_asker(facts: Facts, entity: Name, relation: Name, end: Name) -> bool:
    """Whether the slot of an end is taken: an entity other than `entity` has it as its answer."""
    return bool(answers(facts, end, inverse(relation)) - {entity})


def by_slot(
    facts: Facts, relation: Name, path_type: PathType
) -> dict[bool, tuple[int, int]]:
    """Reached and right, apart for ends whose slot is open (False) and taken (True)."""
    reached_in: Counter[bool] = Counter()
    right_in: Counter[bool] = Counter()
    for entity in having(facts, entities(facts), relation):
        goals = answers(facts, entity, relation)
        for end in ends(facts, entity, path_type):
            is_taken = has_other_asker(facts, entity, relation, end)
            reached_in[is_taken] += 1
            if end in goals:
                right_in[is_taken] += 1
    return {slot: (reached_in[slot], right_in[slot]) for slot in (False, True)}


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
        weights[path_type] = slot_weights(
            by_slot(facts, relation, path_type), doubt, slots=slots
        )
    return weights


def slot_weights(
    counts: dict[bool, tuple[int, int]], doubt: float, *, slots: bool
) -> dict[bool, float]:
    """What a path type is worth by slot, from how many ends it reached, and how many were right."""
    all_reached = counts[False][0] + counts[True][0]
    all_right = counts[False][1] + counts[True][1]
    in_both = all_right / (all_reached + doubt)
    if not slots:
        return {False: in_both, True: in_both}
    return {
        slot: (own_right + 80 * in_both) / (own_reached + 80 + doubt)
        for slot, (own_reached, own_right) in counts.items()
    }


def facts_of(facts: Facts, entity: Name) -> set[tuple[Any, Any]]:
    """What an entity has: pairs of a relation and a tail."""
    return {(label, tail) for head, label, tail in facts if head == entity}


def columns_of_each(facts: Facts, among: Cluster) -> dict[Any, set[Column]]:
    """The columns of some entities that count: those that at least two of them have."""
    of_each = {entity: facts_of(facts, entity) for entity in among}
    times = Counter(column for those in of_each.values() for column in those)
    return {
        entity: {column for column in those if times[column] > 1}
        for entity, those in of_each.items()
    }


def rarity(having_it: int) -> int:
    """How much nearer a column brings those that have it, by how many entities do."""
    if having_it > MOST_HAVING:
        return 0
    return (2**20 + having_it // 2) // having_it


def nearness(columns: dict[Any, set[Column]], one: Name, other: Name) -> int:
    """What two entities have in common; rare columns count more."""
    times = Counter(column for those in columns.values() for column in those)
    return sum(rarity(times[column]) for column in columns[one] & columns[other])


def nearest_first(near: dict[Any, int]) -> list[Any]:
    """Entities by nearness, equally near ones by name."""
    return sorted(near, key=lambda entity: (-near[entity], entity))


def alike(columns: dict[Any, set[Column]], some: list[Any], others: list[Any]) -> Any:
    """How many columns each of some entities has in common with each of the others."""
    counts = [[len(columns[one] & columns[other]) for other in others] for one in some]
    return np.array(counts, dtype=float).reshape(len(some), len(others))


def solved(matrix: Any, wanted: Any) -> Any:
    """About x with matrix · x = wanted, by conjugate gradients as in any textbook.

    They are preconditioned by the diagonal, and stop when x is good enough.
    """
    diagonal = np.diag(matrix)
    x = np.zeros(len(wanted))
    residual = wanted.copy()
    direction = residual / diagonal
    length = residual @ direction
    enough = GOOD_ENOUGH * length
    for _ in range(ROUNDS):
        if length <= enough:
            break
        product = matrix @ direction
        step = length / (direction @ product)
        x += step * direction
        residual -= step * product
        scaled = residual / diagonal
        next_length = residual @ scaled
        direction = scaled + next_length / length * direction
        length = next_length
    return x


class Precedents(NamedTuple):
    """What the entities say that resemble one.

    weights  how much each of them counts
    having   how many of them have each answer
    scores   how much together they speak for each answer
    """

    weights: dict[Any, float]
    having: Counter[Any]
    scores: dict[Any, float]


def precedents(
    facts: Facts, entity: Name, relation: Name, ridge: float, nearest: int
) -> Precedents:
    """Ridge regression from the side of the entity asked about:
    the answers of the nearest entities that have the relation predict those of the entity.
    """
    columns_of_all = columns_of_each(facts, entities(facts) | {entity})
    near = {}
    for other in having(facts, entities(facts) - {entity}, relation):
        close = nearness(columns_of_all, entity, other)
        if close > 0:
            near[other] = close
    used = nearest_first(near)[:nearest]
    if not used:
        return Precedents({}, Counter(), {})

    rows = [entity, *used]
    columns = columns_of_each(facts, rows)
    is_entity = np.array([float(row == entity) for row in rows])
    matrix = alike(columns, rows, rows) + ridge * np.eye(len(rows))
    shares = (-ridge * solved(matrix, is_entity)).tolist()
    weights = dict(zip(used, shares[1:], strict=True))

    times: Counter[Any] = Counter()
    sums: dict[Any, float] = defaultdict(float)
    for other in used:
        for answer in answers(facts, other, relation):
            times[answer] += 1
            sums[answer] += weights[other]
    scores = {}
    for answer, total in sums.items():
        scores[answer] = (1 + AGREEMENT * (times[answer] - 1) / ridge) * total
    return Precedents(weights, times, scores)


def like_known_answers(
    facts: Facts, entity: Name, relation: Name, ridge: float, nearest: int
) -> dict[Any, float]:
    """Ridge regression on the answers' side: how much like the known answers others are.

    That they are answers of the entity is what is asked, so it does not make them alike.
    """
    known = answers(facts, entity, relation)
    asked = (inverse(relation), entity)
    compared = {fact for fact in facts if fact[1:] != asked}
    columns_of_all = columns_of_each(compared, entities(facts))
    near = {}
    for candidate in entities(facts):
        near[candidate] = sum(nearness(columns_of_all, candidate, one) for one in known)

    ordered = nearest_first(near)
    of_known = [one for one in ordered if one in known][:nearest]
    others = [one for one in ordered if one not in known and near[one] > 0][:nearest]
    used = of_known + others
    if not of_known:
        return {}
    columns = columns_of_each(compared, used)
    matrix = alike(columns, used, used) + ridge * np.eye(len(used))
    is_known = np.array([float(one in known) for one in used])
    scores = dict(zip(used, (-ridge * solved(matrix, is_known)).tolist(), strict=True))
    return {candidate: scores[candidate] for candidate in others}


def combined(pieces: dict[str, list[float]], settings: Chosen) -> float:
    """The score of one candidate, from its pieces of each kind.

    The best paths count, each next discounted once more; the other kinds are added to them.
    """
    strengths = [
        strength("path", worth, settings.decisive) for worth in pieces.get("path", [])
    ]
    score_of_paths = discounted_noisy_or(strengths, settings.discount, settings.best)
    score: float = score_of_paths
    score += settings.precedent_weight * sum(pieces.get("precedents", []))
    score += settings.precedent_weight * sum(pieces.get("answers", []))
    score += sum(strength("habit", worth, 1.0) for worth in pieces.get("habit", []))
    return score


def paper_weights(
    facts: Facts,
    entity: Name,
    relation: Name,
    k: int,
    n: int,
    cluster: Cluster,
    *,
    fallback: bool = True,
) -> dict[PathType, float]:
    """The path types of the k contextual entities: prior × precision in the cluster.

    One that never led to an answer there is worth what it is worth to everyone,
    or nothing without the fallback.
    """
    near = contextual_entities(facts, entity, relation, k)
    own = list(cluster)
    everyone = entities(facts)
    gathered = set[PathType]()
    for other in near:
        gathered |= closed_paths(facts, other, relation, n).keys()
    in_cluster = hits(facts, own, relation, n)

    weights = {}
    for path_type in gathered - {(relation,)}:
        is_counted = in_cluster[path_type] > 0
        cases = own if is_counted or not fallback else everyone
        likely = prior(facts, cases, relation, path_type, n)
        precise = precision(facts, cases, relation, path_type, n)
        weights[path_type] = likely * precise
    return weights


def evidence_beside_paths(
    facts: Facts, entity: Name, relation: Name, settings: Chosen, *, reflexive: bool
) -> dict[Any, dict[str, list[float]]]:
    """What speaks for each answer but paths: pieces of evidence, by kind.

    The entity itself is no answer unless some entity answers itself.
    """
    pieces: dict[Any, dict[str, list[float]]] = {}
    asked = facts, entity, relation, settings.ridge, settings.nearest
    counts, others = habit(facts, entity, relation)
    usual = {
        answer: settings.habit * count / (others + settings.doubt)
        for answer, count in counts.items()
    }
    for kind, said in (
        ("precedents", precedents(*asked).scores),
        ("answers", like_known_answers(*asked)),
        ("habit", usual),
    ):
        for answer, worth in said.items():
            if answer != entity or reflexive:
                pieces.setdefault(answer, {})[kind] = [worth]
    return pieces


def interned_lines(
    block: bytes,
    separator: bytes,
    width: int,
    places: tuple[int, int, int],
    brackets: bytes,
    end: bytes,
    entities: list[bytes],
    relations: list[bytes],
) -> tuple[list[list[int]], list[int], list[int]]:
    """The rows of plain lines, where they begin, and where other lines begin.

    Texts that are new are appended to `entities` and `relations`.
    """

    def number(text: bytes, texts: list[bytes]) -> int:
        if text not in texts:
            texts.append(text)
        return texts.index(text)

    def plain_fields(line: bytes) -> list[bytes]:
        if not line.endswith(end + b"\n"):
            return []
        fields = line.removesuffix(end + b"\n").split(separator)
        has_odd_bytes = any(set(b"\t\r\0") & set(field) for field in fields)
        if len(fields) != width or has_odd_bytes:
            return []
        chosen = [fields[place] for place in places]
        if brackets and not all(map(is_in_brackets, chosen)):
            return []
        if brackets:
            chosen = [field[1:-1] for field in chosen]
        return chosen if all(chosen) else []

    def is_in_brackets(field: bytes) -> bool:
        opening, closing = brackets[:1], brackets[1:]
        return len(field) > 1 and field.startswith(opening) and field.endswith(closing)

    rows: list[list[int]] = []
    starts: list[int] = []
    others: list[int] = []
    at = 0
    for line in _lines(block):
        fields = plain_fields(line)
        if fields:
            head, relation, tail = fields
            head_number = number(head, entities)
            relation_number = number(relation, relations)
            tail_number = number(tail, entities)
            rows.append([head_number, relation_number, tail_number])
            starts.append(at)
        elif line != b"\n":
            others.append(at)
        at += len(line)
    return rows, starts, others


def _lines(block: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in block.split(b"\n")]
    last = lines.pop().removesuffix(b"\n")
    return [*lines, last] if last else lines
