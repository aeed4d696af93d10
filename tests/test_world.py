"""The bundled example graph is whole, tidy and consistent."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from pathlib import Path

import pytest

Fact = tuple[str, str, str]

WORLD = Path(__file__).parents[1] / "src" / "casegraph" / "world"

# relation: (kind of the head, kind of the tail)
KINDS: dict[str, tuple[str, str]] = {
    "born in": ("scientist", "city"),
    "died in": ("scientist", "city"),
    "citizen of": ("scientist", "country"),
    "works at": ("scientist", "institution"),
    "studied at": ("scientist", "institution"),
    "field": ("scientist", "field"),
    "award": ("scientist", "award"),
    "advisor": ("scientist", "scientist"),
    "spouse": ("scientist", "scientist"),
    "located in": ("institution", "city"),
    "city in": ("city", "country"),
    "capital": ("country", "city"),
    "continent": ("country", "continent"),
    "borders": ("country", "country"),
    "language": ("country", "language"),
    "currency": ("country", "currency"),
    "member of": ("country", "organisation"),
}


def lines(name: str) -> list[str]:
    text = (WORLD / name).read_bytes().decode("utf-8")
    assert text.endswith("\n")
    return text[:-1].split("\n")


def read(name: str) -> list[Fact]:
    facts: list[Fact] = []
    for line in lines(name):
        head, relation, tail = line.split("\t")
        facts.append((head, relation, tail))
    return facts


FACTS = read("facts.tsv")
QUESTIONS = read("questions.tsv")
EVERYTHING = FACTS + QUESTIONS


def pairs(relation: str) -> set[tuple[str, str]]:
    return {(head, tail) for head, name, tail in EVERYTHING if name == relation}


def of_kind(kind: str) -> set[str]:
    heads = {head for head, relation, _ in EVERYTHING if KINDS[relation][0] == kind}
    tails = {tail for _, relation, tail in EVERYTHING if KINDS[relation][1] == kind}
    return heads | tails


def times_as_head(relation: str) -> Counter[str]:
    return Counter(head for head, name, _ in EVERYTHING if name == relation)


def test_the_graph_holds_between_two_and_four_thousand_facts() -> None:
    assert 2_000 <= len(EVERYTHING) <= 4_000


def test_every_line_has_three_filled_columns() -> None:
    for line in lines("facts.tsv") + lines("questions.tsv"):
        columns = line.split("\t")
        assert len(columns) == 3, line
        assert all(column and column == column.strip() for column in columns), line


def test_every_name_is_in_unicode_normal_form_c() -> None:
    for line in lines("facts.tsv") + lines("questions.tsv"):
        assert unicodedata.is_normalized("NFC", line), line


def test_no_line_ends_in_a_carriage_return() -> None:
    for name in ("facts.tsv", "questions.tsv"):
        assert b"\r" not in (WORLD / name).read_bytes()


def test_no_fact_is_stated_twice() -> None:
    assert [fact for fact, times in Counter(EVERYTHING).items() if times > 1] == []


def test_both_files_are_sorted_by_relation_then_head_then_tail() -> None:
    for facts in (FACTS, QUESTIONS):
        assert facts == sorted(facts, key=lambda fact: (fact[1], fact[0], fact[2]))


def test_exactly_the_known_relations_occur() -> None:
    assert {relation for _, relation, _ in EVERYTHING} == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "relation"),
    [
        ("city", "city in"),
        ("institution", "located in"),
        ("country", "capital"),
        ("country", "continent"),
        ("scientist", "born in"),
    ],
)
def test_everything_of_a_kind_has_one_of_these(kind: str, relation: str) -> None:
    times = times_as_head(relation)
    assert [name for name in of_kind(kind) if times[name] != 1] == []


@pytest.mark.parametrize(
    ("kind", "relation"),
    [
        ("country", "currency"),
        ("country", "language"),
        ("scientist", "citizen of"),
        ("scientist", "field"),
    ],
)
def test_everything_of_a_kind_has_at_least_one_of_these(
    kind: str, relation: str
) -> None:
    times = times_as_head(relation)
    assert [name for name in of_kind(kind) if times[name] < 1] == []


def test_every_capital_lies_in_its_country() -> None:
    country_of = dict(pairs("city in"))
    capitals = pairs("capital")
    assert [city for country, city in capitals if country_of[city] != country] == []


@pytest.mark.parametrize("relation", ["borders", "spouse"])
def test_borders_and_marriages_run_both_ways_and_never_to_oneself(
    relation: str,
) -> None:
    related = pairs(relation)
    assert related == {(other, one) for one, other in related}
    assert [one for one, other in related if one == other] == []


def test_no_scientist_died_in_two_places() -> None:
    deaths = times_as_head("died in")
    assert [scientist for scientist, times in deaths.items() if times > 1] == []


def test_every_scientist_worked_or_studied_somewhere() -> None:
    times = times_as_head("works at") + times_as_head("studied at")
    assert [who for who in of_kind("scientist") if times[who] < 1] == []


def test_advisors_are_scientists_born_somewhere_and_never_their_own_students() -> None:
    born = {scientist for scientist, _ in pairs("born in")}
    assert {advisor for _, advisor in pairs("advisor")} <= born
    assert [who for who, advisor in pairs("advisor") if advisor == who] == []


def test_no_entity_is_of_two_kinds() -> None:
    kinds: dict[str, set[str]] = defaultdict(set)
    for head, relation, tail in EVERYTHING:
        kinds[head].add(KINDS[relation][0])
        kinds[tail].add(KINDS[relation][1])
    assert [name for name, found in kinds.items() if len(found) > 1] == []


def test_the_questions_are_left_out_of_the_facts() -> None:
    assert set(FACTS) & set(QUESTIONS) == set()


def test_there_are_at_least_forty_questions() -> None:
    assert len(QUESTIONS) >= 40


def test_every_name_in_a_question_occurs_in_the_facts() -> None:
    known = {name for head, _, tail in FACTS for name in (head, tail)}
    asked_about = {name for head, _, tail in QUESTIONS for name in (head, tail)}
    assert asked_about <= known


def test_every_scientist_keeps_at_least_four_facts() -> None:
    kept = Counter(head for head, _, _ in FACTS)
    assert [who for who in of_kind("scientist") if kept[who] < 4] == []


def test_where_von_neumann_died_is_a_question() -> None:
    assert ("John von Neumann", "died in", "Washington, D.C.") in QUESTIONS


def test_ada_lovelace_is_not_in_the_graph() -> None:
    assert "Ada Lovelace" not in {
        name for head, _, tail in EVERYTHING for name in (head, tail)
    }
