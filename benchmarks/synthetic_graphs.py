"""Synthetic graphs that look like real ones, of any size, the same facts every time.

hetionet   eleven kinds of entities and 24 relations between them, in the proportions of Hetionet:
           few entities, many facts of each, hubs among the genes
wikidata   800 relations, some with hundreds of times the facts of others, each between two of sixty
           classes of very different sizes; entities say what they are an instance of, so that a
           fifth of all entities have a fact with the same tail
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
CHUNK = 1 << 16

# Entities of each kind, and facts of each relation, in Hetionet 1.0.
KINDS = {
    "Gene": 20_945,
    "Biological Process": 11_381,
    "Side Effect": 5_734,
    "Molecular Function": 2_884,
    "Pathway": 1_822,
    "Compound": 1_552,
    "Cellular Component": 1_391,
    "Symptom": 438,
    "Anatomy": 402,
    "Pharmacologic Class": 345,
    "Disease": 137,
}
RELATIONS = {
    "GpBP": ("Gene", "Biological Process", 559_504),
    "AeG": ("Anatomy", "Gene", 526_407),
    "Gr>G": ("Gene", "Gene", 265_672),
    "GiG": ("Gene", "Gene", 147_164),
    "CcSE": ("Compound", "Side Effect", 138_944),
    "AdG": ("Anatomy", "Gene", 102_240),
    "AuG": ("Anatomy", "Gene", 97_848),
    "GpMF": ("Gene", "Molecular Function", 97_222),
    "GpPW": ("Gene", "Pathway", 84_372),
    "GpCC": ("Gene", "Cellular Component", 73_566),
    "GcG": ("Gene", "Gene", 61_690),
    "CdG": ("Compound", "Gene", 21_102),
    "CuG": ("Compound", "Gene", 18_756),
    "DaG": ("Disease", "Gene", 12_623),
    "CbG": ("Compound", "Gene", 11_571),
    "DuG": ("Disease", "Gene", 7_731),
    "DdG": ("Disease", "Gene", 7_623),
    "CrC": ("Compound", "Compound", 6_486),
    "DlA": ("Disease", "Anatomy", 3_602),
    "DpS": ("Disease", "Symptom", 3_357),
    "PCiC": ("Pharmacologic Class", "Compound", 1_029),
    "CtD": ("Compound", "Disease", 755),
    "DrD": ("Disease", "Disease", 543),
    "CpD": ("Compound", "Disease", 390),
}
HUB_POWER = 1.6  # the kth entity of a kind has a share of its facts that falls with k^(1/1.6 - 1)

FACTS_AN_ENTITY = 5  # in the graph that looks like Wikidata
WIKIDATA_RELATIONS = 800
CLASSES = 60


class Relation(NamedTuple):
    """A relation between two kinds of entities, and its share of all facts."""

    name: str
    heads: str
    head_count: int
    tails: str
    tail_count: int
    share: float
    head_power: float
    tail_power: float


def hetionet_like(facts: int) -> list[Relation]:
    """As many entities for each fact as in Hetionet: a larger graph has more of them."""
    in_hetionet = sum(count for _, _, count in RELATIONS.values())
    scale = facts / in_hetionet
    size = {kind: max(2, round(count * scale)) for kind, count in KINDS.items()}
    return [
        Relation(
            name,
            heads,
            size[heads],
            tails,
            size[tails],
            count / in_hetionet,
            HUB_POWER,
            HUB_POWER,
        )
        for name, (heads, tails, count) in RELATIONS.items()
    ]


def wikidata_like(facts: int) -> list[Relation]:
    """Classes, relations and where relations lead are the same at every size."""
    rng = np.random.default_rng(2012)
    class_shares = _falling(CLASSES)
    entities = facts // FACTS_AN_ENTITY
    size = np.maximum(2, (class_shares * entities).astype(np.int64))
    relation_shares = _falling(WIKIDATA_RELATIONS) * (1 - 1 / FACTS_AN_ENTITY)
    domains = rng.choice(CLASSES, WIKIDATA_RELATIONS, p=class_shares)
    ranges = rng.choice(CLASSES, WIKIDATA_RELATIONS, p=class_shares)
    powers = rng.uniform(1.0, 2.5, WIKIDATA_RELATIONS)
    found = [
        Relation(
            f"P{number}",
            f"Q{domain} ",
            int(size[domain]),
            f"Q{range_} ",
            int(size[range_]),
            float(share),
            1.1,
            float(power),
        )
        for number, (domain, range_, share, power) in enumerate(
            zip(domains.tolist(), ranges.tolist(), relation_shares, powers, strict=True)
        )
    ]
    for number, share in enumerate(class_shares.tolist()):
        share_of_facts = share / FACTS_AN_ENTITY
        of_class = f"Q{number} "
        count = int(size[number])
        found.append(
            Relation(
                "instance of",
                of_class,
                count,
                f"Q{number}",
                1,
                share_of_facts,
                1.0,
                1.0,
            )
        )
    return found


FAMILIES: dict[str, Callable[[int], list[Relation]]] = {
    "hetionet": hetionet_like,
    "wikidata": wikidata_like,
}


def _falling(count: int) -> npt.NDArray[np.float64]:
    """Shares that fall as one over the rank (Zipf), and add up to 1."""
    shares: npt.NDArray[np.float64] = 1 / np.arange(1, count + 1)
    shares /= shares.sum()
    return shares


def facts_like(
    family: str, count: int, seed: int = 0
) -> Iterator[tuple[str, str, str]]:
    """About so many facts of a family; some come twice."""
    for chunk in _chunks(family, count, seed):
        yield from chunk


def write_like(family: str, count: int, path: Path, seed: int = 0) -> None:
    """Write them as lines of a table."""
    with path.open("w", encoding="utf-8") as file:
        for chunk in _chunks(family, count, seed):
            file.write("\n".join(map("\t".join, chunk)))
            file.write("\n")


def _chunks(family: str, count: int, seed: int) -> Iterator[list[tuple[str, str, str]]]:
    relations = FAMILIES[family](count)
    rng = np.random.default_rng(seed)
    shares = np.array([relation.share for relation in relations])
    shares /= shares.sum()
    for start in range(0, count, CHUNK):
        size = min(CHUNK, count - start)
        of_each = rng.multinomial(size, shares).tolist()
        chunk: list[tuple[str, str, str]] = []
        for relation, number in zip(relations, of_each, strict=True):
            if number:
                chunk += _drawn(rng, relation, number)
        order = rng.permutation(len(chunk)).tolist()
        yield [chunk[place] for place in order]


def _drawn(
    rng: np.random.Generator, relation: Relation, number: int
) -> Iterator[tuple[str, str, str]]:
    heads = (relation.head_count * rng.random(number) ** relation.head_power).astype(
        np.int64
    )
    tails = (relation.tail_count * rng.random(number) ** relation.tail_power).astype(
        np.int64
    )
    for head, tail in zip(heads.tolist(), tails.tolist(), strict=True):
        yield f"{relation.heads}{head}", relation.name, f"{relation.tails}{tail}"


def example_questions(family: str, count: int) -> list[tuple[str, str]]:
    """Questions that the graph of `facts_like` can be asked, about common and rare relations."""
    first = next(_chunks(family, count, 0))
    by_relation = {relation: (head, relation) for head, relation, _ in reversed(first)}
    return list(by_relation.values())
