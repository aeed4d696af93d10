"""Labels and types: kept, found by, printed, exported, and without any effect on answers."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casegraph import (
    AmbiguousName,
    CaseBase,
    CaseStore,
    Description,
    InvalidArgument,
    MalformedFact,
    UnknownName,
    world,
)
from casegraph.graph.descriptions import (
    NO_DESCRIPTIONS,
    Descriptions,
    folded,
    folded_all,
    local_name,
)
from casegraph.storage.store.checking import check, salvage

FACTS = [
    ("D:1", "treats", "X:1"),
    ("D:2", "treats", "X:1"),
    ("D:2", "treats", "X:2"),
    ("D:1", "causes", "X:2"),
    ("D:2", "causes", "X:2"),
    ("D:3", "causes", "X:2"),
    ("D:1", "interacts", "D:3"),
]
SAID = [
    Description("D:1", "Aspirin", ("Drug",)),
    Description("D:2", "Ibuprofén", ("Drug",)),
    Description("X:1", "Headache", ("biolink:Disease",)),
    Description("X:2", "Ulcer", ("Symptom",)),
    Description("treats", "drug treats disease"),
    Description("causes", "drug causes disease"),
]

names = st.sampled_from("abc")
labels = st.sampled_from(["", "A", " b  c ", "é"])
types = st.lists(st.sampled_from(["T", "U"])).map(tuple)
descriptions = st.lists(st.builds(Description, names, labels, types))


def drugs(**more: Any) -> CaseBase:
    cases = CaseBase(**more)
    cases.update(add=FACTS, describe=SAID)
    return cases


@given(descriptions, descriptions)
def test_descriptions_add_up_and_a_value_stays_as_it_was(
    first: list[Description], second: list[Description]
) -> None:
    before = NO_DESCRIPTIONS.updated(first)
    after = before.updated(second)
    assert after == NO_DESCRIPTIONS.updated([*first, *second])
    assert before == NO_DESCRIPTIONS.updated(first)
    assert after.updated(second).changes(second) == []
    for name in "abc":
        said = [one for one in [*first, *second] if one.name == name]
        all_labels = [" ".join(one.label.split()) for one in said if one.label.strip()]
        assert after.of(name).label == (all_labels or [""])[-1]
        assert set(after.of(name).types) == {kind for one in said for kind in one.types}


def test_no_answer_depends_on_a_description() -> None:
    plain = CaseBase()
    plain.update(add=FACTS)
    described = drugs()
    assert described.state.digest == plain.state.digest
    for head in ("D:1", "D:2", "D:3"):
        assert described.ask(head, "treats") == plain.ask(head, "treats")


def test_a_question_may_use_labels() -> None:
    cases = drugs()
    assert cases.ask("Aspirin", "drug treats disease") == cases.ask("D:1", "treats")
    assert cases.ask("aspirin", "treats") == cases.ask("D:1", "treats")
    assert cases.ask("ibuprofen", "treats") == cases.ask("D:2", "treats")
    assert cases.ask_head("treats", "Headache") == cases.ask_head("treats", "X:1")
    assert cases.ask_many([("Aspirin", "treats")]) == [cases.ask("D:1", "treats")]
    assert cases.similar("Aspirin") == cases.similar("D:1")
    only = cases.ask("D:1", "treats", candidates=["Headache"])
    assert [answer.entity for answer in only] == ["X:1"]


def test_a_name_comes_before_a_label() -> None:
    cases = drugs()
    cases.update(describe=[Description("D:3", "D:1")])
    assert cases.entity("D:1") == "D:1"


def test_a_label_of_several_entities_is_an_error_that_lists_them() -> None:
    cases = drugs()
    cases.update(describe=[Description("D:3", "Aspirin")])
    with pytest.raises(AmbiguousName) as raised:
        cases.ask("Aspirin", "treats")
    assert str(raised.value) == (
        "2 entities are called 'Aspirin': 'D:1', 'D:3'; ask for one of them by its name"
    )
    assert cases.ask("D:3", "treats").asked == "D:3"


def test_a_word_that_only_one_label_of_a_relation_has_is_enough() -> None:
    cases = CaseBase()
    cases.update(
        add=[("a", "CtD", "b"), ("a", "CpD", "b"), ("a", "http://e.org/knows", "b")]
    )
    cases.update(
        describe=[
            Description("CtD", "compound treats disease"),
            Description("CpD", "compound palliates disease"),
        ]
    )
    assert cases.relation("treats") == "CtD"
    assert cases.relation("knows") == "http://e.org/knows"
    with pytest.raises(AmbiguousName, match="2 relations are called 'compound'"):
        cases.relation("compound")
    with pytest.raises(UnknownName, match="did you mean 'compound treats disease'"):
        cases.relation("compound treat disease")


@pytest.mark.parametrize("wanted", ["Disease", "biolink:Disease"])
def test_answers_can_be_restricted_to_a_type(wanted: str) -> None:
    cases = drugs()
    every = {answer.entity for answer in cases.ask("D:1", "treats", top=-1)}
    of_type = {
        answer.entity for answer in cases.ask("D:1", "treats", top=-1, of_type=wanted)
    }
    assert of_type == every & {"X:1"} != every
    with pytest.raises(
        UnknownName, match="no type is named 'Diseases'; did you mean 'Disease'"
    ):
        cases.ask("D:1", "treats", of_type="Diseases")


def test_the_kind_before_two_colons_is_a_type() -> None:
    cases = CaseBase()
    cases.update(add=[("Drug::1", "t", "Disease::1"), ("Drug::2", "t", "Disease::1")])
    cases.update(
        add=[("Drug::1", "s", "x"), ("Drug::2", "s", "x"), ("Drug::2", "t", "Drug::1")]
    )
    answers = cases.ask("Drug::1", "t", of_type="Disease")
    assert [answer.entity for answer in answers] == ["Disease::1"]


def test_descriptions_are_saved_with_a_case_base(tmp_path: Path) -> None:
    cases = drugs()
    cases.save(tmp_path / "drugs.case")
    assert CaseBase.load(tmp_path / "drugs.case").descriptions == cases.descriptions


@pytest.mark.parametrize(
    "wrong",
    [
        Description("D:1", 5),  # type: ignore[arg-type]
        Description("D:1", b"Aspirin"),  # type: ignore[arg-type]
        Description(1, "Aspirin"),  # type: ignore[arg-type]
        Description("D:1", "Aspirin", (5,)),  # type: ignore[arg-type]
        Description("D:1", "Aspirin", "Drug"),  # type: ignore[arg-type]
        Description("D:1", "Aspirin", None),  # type: ignore[arg-type]
        ("D:1", "Aspirin"),
        None,
    ],
)
def test_a_description_that_is_no_text_is_refused_and_the_store_stays_whole(
    wrong: Any,
    tmp_path: Path,
) -> None:
    with CaseStore.open(tmp_path / "store") as store:
        store.update(add=FACTS, describe=SAID)
        with pytest.raises(
            MalformedFact, match="descriptions:2: expected a Description"
        ):
            store.update(add=[("D:9", "treats", "X:1")], describe=[SAID[0], wrong])
        assert store.sequence == 1
    with CaseStore.open(tmp_path / "store") as again:
        assert list(again.descriptions) == sorted(SAID)
        assert ("D:9", "treats", "X:1") not in again.graph


def test_descriptions_are_durable_in_history_and_as_of_any_update(
    tmp_path: Path,
) -> None:
    with CaseStore.open(tmp_path / "store") as store:
        store.update(add=FACTS[:2], describe=SAID[:1])
        store.update(
            describe=[Description("D:1", "ASA"), Description("\ud800", "odd", ("T",))]
        )
        assert store.sequence == 2
        assert store.update(describe=[Description("D:1", "ASA")]).described == 0
        assert store.sequence == 2
        store.update(add=FACTS[2:])
        store.update(retract=["D:1"])

    for reader in (
        CaseStore.open(tmp_path / "store", read_only=True),
        CaseStore.open(tmp_path / "store", read_only=True, as_of=3),
    ):
        assert reader.descriptions.of("D:1") == ("D:1", "ASA", ("Drug",))
        assert reader.descriptions.of("\ud800") == ("\ud800", "odd", ("T",))
    first = CaseStore.open(tmp_path / "store", read_only=True, as_of=1)
    assert list(first.descriptions) == SAID[:1]

    events = [event for event in first.history() if event.sign == "="]
    assert [event.fact for event in events] == [
        ("D:1", "label", "Aspirin"),
        ("D:1", "type", "Drug"),
    ]
    assert not any(finding.damaged for finding in check(tmp_path / "store"))

    with CaseStore.open(tmp_path / "store") as store:
        kept = store.descriptions
        assert salvage(tmp_path / "store").described == kept
        store.compact()
        assert salvage(tmp_path / "store").described == kept
    assert CaseStore.open(tmp_path / "store", read_only=True).descriptions == kept
    with CaseStore.open(tmp_path / "store") as store:
        store.compact(forget_history=True)
        store.update(describe=SAID)
        kept = store.descriptions
    assert CaseStore.open(tmp_path / "store", read_only=True).descriptions == kept
    assert not any(finding.damaged for finding in check(tmp_path / "store"))


def test_a_generation_of_other_settings_still_has_its_descriptions(
    tmp_path: Path,
) -> None:
    with CaseStore.open(tmp_path / "store") as store:
        store.update(add=FACTS, describe=SAID)
        store.compact()
        kept = store.descriptions
    settings = store.settings.but(max_length=1)
    assert (
        CaseStore.open(tmp_path / "store", settings, read_only=True).descriptions
        == kept
    )


def test_a_description_without_facts_is_an_update(tmp_path: Path) -> None:
    cases = CaseBase()
    assert cases.update(describe=SAID).described == len(SAID)
    before = cases.state
    assert cases.update(describe=[Description("D:1", "ASA")]).described == 1
    assert before.descriptions.label("D:1") == "Aspirin"
    assert cases.descriptions.label("D:1") == "ASA"
    assert cases.state.sequence == before.sequence + 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ibuprofén", "ibuprofen"),
        ("e\u0301", "e"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("a_b  c", "a b c"),
        ("ﬁ", "fi"),
        ("", ""),
    ],
)
def test_case_accents_and_forms_of_letters_are_folded(text: str, expected: str) -> None:
    assert folded(text) == expected
    assert folded(folded(text)) == expected


@given(
    st.lists(st.text() | st.sampled_from(["a_b", "É", "\n", " x  y ", "ﬁ", "ΣΑΣ", "İ"]))
)
def test_many_texts_are_folded_as_each_would_be(texts: list[str]) -> None:
    assert folded_all(texts) == [folded(text) for text in texts]


@pytest.mark.parametrize(
    "name", ["http://e.org/x/Disease", "http://e.org/x#Disease", "b:Disease"]
)
def test_the_local_name_is_the_end_of_an_iri(name: str) -> None:
    assert local_name(name) == "Disease"


def test_a_question_the_wrong_way_round_says_so() -> None:
    cases = drugs()
    assert (
        "'Headache' is never the head of 'drug treats disease'"
        in cases.ask("X:1", "treats").note
    )
    assert (
        "is never the tail of 'drug treats disease'"
        in cases.ask_head("treats", "D:1").note
    )
    assert cases.ask("D:1", "treats").note == ""
    assert cases.ask("D:3", "treats").note == ""


def test_every_empty_answer_says_why() -> None:
    cases = CaseBase()
    cases.update(add=world.facts())
    assert cases.ask("Marie Curie", "spouse", top=0).note == ""
    excluded = cases.ask("Marie Curie", "spouse", candidates=["Ulm"])
    assert "but none among 1 candidate" in excluded.note
    unknown = cases.ask("Marie Curi", "spouse")
    assert "; did you mean 'Marie Curie'" in unknown.note


def test_candidates_are_never_read_letter_by_letter() -> None:
    with pytest.raises(
        InvalidArgument, match="candidates is 'X:1'; expected several names"
    ):
        drugs().ask("D:1", "treats", candidates="X:1")


def test_descriptions_are_equal_by_what_they_say() -> None:
    assert NO_DESCRIPTIONS.updated(SAID) == Descriptions().updated(reversed(SAID))
    assert hash(NO_DESCRIPTIONS.updated(SAID)) == hash(
        Descriptions().updated(reversed(SAID))
    )
