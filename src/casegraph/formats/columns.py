"""
Which columns of a table hold facts or describe entities, recognised by their names.

Every tool has its own names for the same three columns. They are listed here, in the order in which
they are tried. Case, spaces, hyphens and prefixes such as `?` and `#` are ignored. A table is one
of these:

    edges           subject, predicate, object; head, relation, tail; :START_ID, :TYPE, :END_ID; …
    nodes           id with a name, a type, or both: KGX, Hetionet, neo4j-admin
    nodes and edges in one table, where a row is either: the CSV that Neo4j's APOC writes

A table of three columns may have no header. `looks_like_header` says whether its first row looks
like an unknown header; then it is better to ask the user than to read a header as a fact.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from casegraph.errors import quoted
from casegraph.graph.descriptions import Description
from casegraph.graph.facts import Fact, problem_of

_ENDS = [
    ("subject", "object"),
    ("head", "tail"),
    ("source", "target"),
    ("source", "destination"),
    ("from", "to"),
    ("start", "end"),
    ("src", "dst"),
    ("subj", "obj"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("entity1", "entity2"),
    ("entity_1", "entity_2"),
    ("e1", "e2"),
    (
        "x_name",
        "y_name",
    ),  # PrimeKG, where an x_id is unique only together with its x_type
]
_RELATIONS = [
    "predicate",
    "relation",
    "relationship",
    "metaedge",
    "interaction",
    "property",
    "rel",
    "pred",
    "edge",
    "type",
    "label",
]
_LETTERS = [("h", "r", "t"), ("s", "p", "o")]
_SUFFIXES = ["", "_id", "_iri", "_uri", "_name", "_label", "_type"]
_IDS = ["id", "curie", "node_id", "entity_id", "entity", "node", "identifier"]
NAME_KEYS = ["name", "label", "preferred_name", "display_name", "displayname", "title"]
_TYPES = [
    "category",
    "categories",
    "types",
    "type",
    "kind",
    "node_type",
    "entity_type",
    "class",
]

# Words for what tables are often about. A single such word does not make a row a header.
_NOUNS_TEXT = (
    "compound drug chemical gene protein disease symptom phenotype pathway anatomy tissue species "
    "person people author paper user item product company organization city country place film "
    "movie book entity node concept term word weight score probability confidence count value "
    "year date source_id reference references ref evidence indication pmid pubmed doi comment "
    "comments note notes effect"
)
_NOUNS = frozenset(_NOUNS_TEXT.split())
_NEO4J = re.compile(
    r"(?P<property>[^:]*):(?P<role>START_ID|END_ID|ID|TYPE|LABEL)(\((?P<space>.*)\))?"
)
_NEO4J_PROPERTY = re.compile(r"(?P<property>[^:]+):\w+(\[\])?")
_SIGNS = " \t\"'#?@"
_GAPS = re.compile(r"[\s.-]+")


class FactColumns(NamedTuple):
    """The places of head, relation and tail among the columns, and the id spaces of the ends.

    Neo4j may number the nodes of each kind separately. Then an id is unique only together with its
    id space, and `Movie:7` is another entity than `Person:7`.

    A table of pairs has no column for the relation: then all rows have the relation `constant`, and
    the place of the relation is not used.
    """

    head: int
    relation: int
    tail: int
    head_space: str = ""
    tail_space: str = ""
    constant: str = ""

    @property
    def are_plain(self) -> bool:
        """Whether the three names of a fact are exactly its three fields."""
        return not (self.head_space or self.tail_space or self.constant)


class Nodes(NamedTuple):
    """The places of an entity, of its label and of its types; None for a column that is missing."""

    entity: int
    label: int | None
    types: int | None
    space: str = ""


class Table(NamedTuple):
    """The meaning of the columns of a table, and their number."""

    width: int
    edges: FactColumns | None = None
    nodes: Nodes | None = None

    @property
    def has_plain_facts(self) -> bool:
        """Whether every row is a fact whose names are exactly its fields."""
        edges = self.edges
        return edges is not None and self.nodes is None and edges.are_plain

    @property
    def places(self) -> frozenset[int]:
        """The places of the columns that are read."""
        found: list[int | None] = []
        if self.edges is not None:
            found += [self.edges.head, self.edges.relation, self.edges.tail]
        if self.nodes is not None:
            found += [self.nodes.entity, self.nodes.label, self.nodes.types]
        return frozenset(place for place in found if place is not None)


def table_of(header: Sequence[str]) -> Table | None:
    """The meaning of columns with these names; None if they are not recognised."""
    edges = _neo4j_edges(header) or _apoc_edges(header) or _edges(header)
    nodes = _neo4j_nodes(header) or _apoc_nodes(header)
    if nodes is None and edges is None:
        nodes = _nodes(header)
    if edges is None and nodes is None:
        return None
    return Table(len(header), edges, nodes)


def chosen_edges(
    columns: Sequence[str], names: Sequence[str]
) -> tuple[FactColumns, bool]:
    """The columns that were chosen as head, relation and tail, and whether by their numbers.

    columns  the names of three columns, or their numbers from 1; `=treats` in the place of the
             relation says that all rows have that relation
    names    the names of all columns

    `ValueError` with the reason if there are no such columns. Names are compared exactly, and if
    that finds none, as normalised by `plain`.
    """
    head, relation, tail = columns
    constant = (
        relation[1:] if relation.startswith("=") and relation not in names else ""
    )
    wanted = [head, tail] if constant else [head, relation, tail]
    place_of = {name: _place(name, names) for name in wanted}
    missing = [name for name in wanted if place_of[name] is None]
    by_number = bool(missing) and all(name.isdecimal() for name in wanted)
    if by_number:
        places = [int(name) - 1 for name in wanted]
        if min(places) < 0 or max(places) >= len(names):
            raise ValueError(
                f"expected column numbers from 1 to {len(names)}, found {wanted}"
            )
    elif missing:
        there = ", ".join(map(quoted, names))
        raise ValueError(
            f"expected one column called {quoted(missing[0])}, found {there}"
        )
    else:
        places = [place for place in place_of.values() if place is not None]
    if constant:
        return FactColumns(
            places[0], places[0], places[1], constant=constant
        ), by_number
    return FactColumns(places[0], places[1], places[2]), by_number


def _place(name: str, names: Sequence[str]) -> int | None:
    """The place of the only column of this name; None if there is none, or several."""
    if names.count(name) == 1:
        return names.index(name)
    plain_names = [plain(other) for other in names]
    return _first_place(plain_names, [plain(name)])


def in_words(table: Table, names: Sequence[str]) -> str:
    """How columns are interpreted, such as "head from drug, relation from effect, …"."""
    parts: list[tuple[str, int | None]] = []
    edges = table.edges
    if edges is not None:
        relation = None if edges.constant else edges.relation
        parts += [("head", edges.head), ("relation", relation), ("tail", edges.tail)]
    if table.nodes is not None:
        nodes = table.nodes
        parts += [
            ("entity", nodes.entity),
            ("label", nodes.label),
            ("types", nodes.types),
        ]
    found = [
        f"{part} from {names[place]}" for part, place in parts if place is not None
    ]
    if edges is not None and edges.constant:
        found.append(f"relation {edges.constant} for all")
    return ", ".join(found)


def looks_like_header(
    first: Sequence[str], rows: Callable[[], Sequence[Sequence[str]]] = list
) -> bool:
    """Whether a first row of three fields looks like an unknown header.

    rows  returns some of the rows that follow
    """
    if len(first) != 3:
        return False
    head, relation, tail = map(plain, first)
    column_words = [
        head in _HEAD_WORDS,
        relation in _RELATION_WORDS,
        tail in _TAIL_WORDS,
    ]
    if sum(column_words) >= 2:
        return True

    nouns = [_has_noun(head), _has_noun(tail)]
    if sum(column_words) + sum(nouns) < 2:
        return False
    # A fact shares its relation, or an entity, with others sooner or later; a header does not.
    following = rows()
    fields = {field for row in following for field in row}
    return bool(following) and fields.isdisjoint(first)


def _has_noun(name: str) -> bool:
    """Whether a name is, or contains, a word for what tables are often about."""
    return name in _NOUN_WORDS or not _NOUNS.isdisjoint(name.split("_"))


def plain(name: str) -> str:
    """The name of a column, normalised for comparison."""
    return _GAPS.sub("_", name.strip(_SIGNS).casefold())


def types_in(field: str) -> tuple[str, ...]:
    """The types in a field: KGX puts | between them, neo4j-admin ; and APOC : before each."""
    if field.startswith(":"):
        parts = field.split(":")
    else:
        parts = re.split(r"[|;]", field)
    return tuple(part.strip() for part in parts if part.strip())


def in_space(space: str, identity: str) -> str:
    """The name of an entity whose id is unique within an id space only."""
    return f"{space}:{identity}" if space else identity


def fact_or_description(table: Table, row: Sequence[str]) -> Fact | Description:
    """The fact or the description in a row; `ValueError` with the reason if it is neither."""
    nodes = table.nodes
    edges = table.edges
    if nodes is not None and (edges is None or row[nodes.entity]):
        identity = row[nodes.entity]
        _check("id", identity)
        label = "" if nodes.label is None else row[nodes.label]
        types = () if nodes.types is None else types_in(row[nodes.types])
        return Description(in_space(nodes.space, identity), label, types)

    if edges is None:
        raise ValueError("it is no row of nodes")
    head = row[edges.head]
    relation = edges.constant or row[edges.relation]
    tail = row[edges.tail]
    _check("head", head)
    _check("relation", relation)
    _check("tail", tail)
    return Fact(
        in_space(edges.head_space, head), relation, in_space(edges.tail_space, tail)
    )


def _check(part: str, name: str) -> None:
    problem = problem_of(name)
    if problem:
        raise ValueError(f"the {part} {problem}")


def _edges(header: Sequence[str]) -> FactColumns | None:
    names = [plain(name) for name in header]
    for head, relation, tail in _LETTERS:
        if sorted(names) == sorted([head, relation, tail]):
            return FactColumns(
                names.index(head), names.index(relation), names.index(tail)
            )

    for suffix in _SUFFIXES:
        relation_place = _relation(names, suffix)
        if relation_place is None:
            continue
        for head_word, tail_word in _ENDS:
            head = head_word + suffix
            tail = tail_word + suffix
            if names.count(head) == 1 and names.count(tail) == 1:
                return FactColumns(names.index(head), relation_place, names.index(tail))
    return None


def _relation(names: Sequence[str], suffix: str) -> int | None:
    """The place of the relation; a name with the suffix of head and tail is preferred."""
    for ending in dict.fromkeys([suffix, *_SUFFIXES]):
        place = _first_place(names, [word + ending for word in _RELATIONS])
        if place is not None:
            return place
    return None


def _nodes(header: Sequence[str]) -> Nodes | None:
    names = [plain(name) for name in header]
    entity = _first_place(names, _IDS)
    label = _first_place(names, NAME_KEYS)
    types = _first_place(names, _TYPES)
    if entity is None or (label is None and types is None):
        return None
    return Nodes(entity, label, types)


def _first_place(names: Sequence[str], words: Sequence[str]) -> int | None:
    """The place of the first of these words that is the name of exactly one column."""
    for word in words:
        if names.count(word) == 1:
            return names.index(word)
    return None


def _neo4j_edges(header: Sequence[str]) -> FactColumns | None:
    roles = _neo4j_roles(header)
    if not {"START_ID", "TYPE", "END_ID"} <= set(roles):
        return None
    head, head_space = roles["START_ID"]
    tail, tail_space = roles["END_ID"]
    relation, _ = roles["TYPE"]
    return FactColumns(head, relation, tail, head_space, tail_space)


def _neo4j_nodes(header: Sequence[str]) -> Nodes | None:
    roles = _neo4j_roles(header)
    if "ID" not in roles:
        return None
    entity, space = roles["ID"]
    label = _first_place(_neo4j_properties(header), NAME_KEYS)
    types = roles["LABEL"][0] if "LABEL" in roles else None
    return Nodes(entity, label, types, space)


def _neo4j_roles(header: Sequence[str]) -> dict[str, tuple[int, str]]:
    """The place and the id space of each column with a role, as in `movieId:ID(Movie)`."""
    roles: dict[str, tuple[int, str]] = {}
    for place, name in enumerate(header):
        found = _NEO4J.fullmatch(name.strip(_SIGNS))
        if found:
            roles.setdefault(found["role"], (place, found["space"] or ""))
    return roles


def _neo4j_properties(header: Sequence[str]) -> list[str]:
    """The names of properties, without their types, as in `name:string`."""
    names = []
    for name in header:
        found = _NEO4J_PROPERTY.fullmatch(name.strip(_SIGNS))
        names.append(plain(found["property"] if found else name))
    return names


def _apoc_edges(header: Sequence[str]) -> FactColumns | None:
    if not {"_start", "_type", "_end"} <= set(header):
        return None
    return FactColumns(
        header.index("_start"), header.index("_type"), header.index("_end")
    )


def _apoc_nodes(header: Sequence[str]) -> Nodes | None:
    if not {"_id", "_labels"} <= set(header):
        return None
    names = [plain(name) for name in header]
    label = _first_place(names, NAME_KEYS)
    return Nodes(header.index("_id"), label, header.index("_labels"))


def _with_suffixes(words: Sequence[str]) -> frozenset[str]:
    return frozenset(word + suffix for word in words for suffix in _SUFFIXES)


_HEADS, _TAILS = zip(*_ENDS, strict=True)
_HEAD_LETTERS, _RELATION_LETTERS, _TAIL_LETTERS = zip(*_LETTERS, strict=True)
_HEAD_WORDS = _with_suffixes([*_HEADS, *_HEAD_LETTERS, *_IDS])
_RELATION_WORDS = _with_suffixes([*_RELATIONS, *_RELATION_LETTERS])
_TAIL_WORDS = _with_suffixes([*_TAILS, *_TAIL_LETTERS, *NAME_KEYS])
_NOUN_WORDS = _with_suffixes(sorted(_NOUNS))
