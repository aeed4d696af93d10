"""The bundled example graph is whole, tidy and consistent."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from pathlib import Path

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


def test_every_city_lies_in_exactly_one_country() -> None:
    countries = times_as_head("city in")
    assert {city for city in of_kind("city") if countries[city] != 1} == set()


def test_every_institution_is_located_in_exactly_one_city() -> None:
    cities = times_as_head("located in")
    assert {
        institution for institution in of_kind("institution") if cities[institution] != 1
    } == set()


def test_every_country_has_one_capital_and_one_continent() -> None:
    capitals = times_as_head("capital")
    continents = times_as_head("continent")
    assert {
        country
        for country in of_kind("country")
        if (capitals[country], continents[country]) != (1, 1)
    } == set()


def test_every_country_has_a_currency_and_a_language() -> None:
    currencies = times_as_head("currency")
    languages = times_as_head("language")
    assert {
        country
        for country in of_kind("country")
        if not (currencies[country] and languages[country])
    } == set()


def test_every_capital_lies_in_its_country() -> None:
    country_of = dict(pairs("city in"))
    assert {
        (country, city) for country, city in pairs("capital") if country_of[city] != country
    } == set()


def test_borders_run_both_ways_and_never_to_oneself() -> None:
    borders = pairs("borders")
    assert {
        (one, other) for one, other in borders if (other, one) not in borders or one == other
    } == set()


def test_marriages_run_both_ways_and_never_to_oneself() -> None:
    spouses = pairs("spouse")
    assert {
        (one, other) for one, other in spouses if (other, one) not in spouses or one == other
    } == set()


def test_every_scientist_has_exactly_one_birthplace() -> None:
    births = times_as_head("born in")
    assert {scientist for scientist in of_kind("scientist") if births[scientist] != 1} == set()


def test_no_scientist_died_in_two_places() -> None:
    assert {
        scientist for scientist, times in times_as_head("died in").items() if times > 1
    } == set()


def test_every_scientist_has_a_citizenship_and_a_field() -> None:
    citizenships = times_as_head("citizen of")
    fields = times_as_head("field")
    assert {who for who in of_kind("scientist") if not (citizenships[who] and fields[who])} == set()


def test_every_scientist_worked_or_studied_somewhere() -> None:
    works = times_as_head("works at")
    studies = times_as_head("studied at")
    assert {who for who in of_kind("scientist") if not (works[who] or studies[who])} == set()


def test_advisors_are_scientists_born_somewhere_and_never_their_own_students() -> None:
    born = {scientist for scientist, _ in pairs("born in")}
    assert {
        (who, advisor) for who, advisor in pairs("advisor") if advisor not in born or advisor == who
    } == set()


def test_no_entity_is_of_two_kinds() -> None:
    kinds: dict[str, set[str]] = defaultdict(set)
    for head, relation, tail in EVERYTHING:
        kinds[head].add(KINDS[relation][0])
        kinds[tail].add(KINDS[relation][1])
    assert {name: sorted(found) for name, found in kinds.items() if len(found) > 1} == {}


def test_the_questions_are_left_out_of_the_facts() -> None:
    assert set(FACTS) & set(QUESTIONS) == set()


def test_there_are_at_least_forty_questions() -> None:
    assert len(QUESTIONS) >= 40


def test_every_name_in_a_question_occurs_in_the_facts() -> None:
    known = {name for head, _, tail in FACTS for name in (head, tail)}
    assert {fact for fact in QUESTIONS if not {fact[0], fact[2]} <= known} == set()


def test_every_scientist_keeps_at_least_four_facts() -> None:
    kept = Counter(head for head, _, _ in FACTS)
    assert {scientist for scientist in of_kind("scientist") if kept[scientist] < 4} == set()


def test_where_von_neumann_died_is_a_question() -> None:
    assert ("John von Neumann", "died in", "Washington, D.C.") in QUESTIONS


def test_ada_lovelace_is_not_in_the_graph() -> None:
    assert "Ada Lovelace" not in {name for head, _, tail in EVERYTHING for name in (head, tail)}
