import copy
import time

import pytest

import casegraph.errors
from casegraph.errors import (
    CasegraphError,
    DamagedStore,
    IncompatibleFile,
    InvalidArgument,
    MalformedFact,
    NotABenchmark,
    ReadOnlyStore,
    StoreInUse,
    UnknownName,
    UnreadableFile,
)

ERRORS = [
    (UnknownName("entity", "durham", []), "no entity is named 'durham'"),
    (
        MalformedFact("facts.tsv", 17, "the head is empty"),
        "facts.tsv:17: the head is empty",
    ),
    (UnreadableFile("facts.tsv", "permission denied"), "facts.tsv: permission denied"),
    (IncompatibleFile("nell.case", "has format 9"), "nell.case: has format 9"),
    (
        InvalidArgument("threshold", 2, "a similarity from 0 to 1"),
        "threshold is 2; expected a similarity from 0 to 1",
    ),
    (NotABenchmark("nell", "found nothing"), "nell: found nothing"),
    (
        StoreInUse("nell", "process 7 (x)"),
        "nell: is being written by process 7 (x); wait for it or stop it",
    ),
    (
        StoreInUse("nell", "process 7 (x)", is_here=True),
        "nell: is already open for writing in this process; close it first",
    ),
    (
        ReadOnlyStore("nell", "is closed; open it again"),
        "nell: is closed; open it again",
    ),
    (
        DamagedStore("nell/log", 1234, "it is missing"),
        "nell/log: is damaged at byte 1,234: it is missing; run 'casegraph check' on the folder",
    ),
]


@pytest.mark.parametrize(
    ("error", "message"), ERRORS, ids=[type(error).__name__ for error, _ in ERRORS]
)
def test_every_error_is_one_of_ours_and_has_a_message(
    error: CasegraphError, message: str
) -> None:
    assert isinstance(error, CasegraphError)
    assert str(error) == message


@pytest.mark.parametrize(
    "error", [error for error, _ in ERRORS], ids=lambda error: type(error).__name__
)
def test_an_error_survives_being_copied_to_another_process(
    error: CasegraphError,
) -> None:
    copied = copy.copy(error)
    assert type(copied) is type(error)
    assert str(copied) == str(error)
    assert vars(copied) == vars(error)


def test_every_error_class_is_drawn_in_the_module_docstring() -> None:
    drawn = casegraph.errors.__doc__ or ""
    for error in CasegraphError.__subclasses__():
        assert error.__name__ in drawn


def test_an_unknown_name_comes_with_names_that_are_close() -> None:
    error = UnknownName(
        "entity", "melinda_gate", ["durham", "melinda_gates", "duke_university"]
    )
    assert (
        str(error) == "no entity is named 'melinda_gate'; did you mean 'melinda_gates'?"
    )
    assert error.kind == "entity"
    assert error.name == "melinda_gate"


def test_at_most_three_close_names_are_offered_the_closest_first() -> None:
    error = UnknownName(
        "relation", "works_in", ["works", "works_inn", "work_in", "works_in_x"]
    )
    assert str(error) == (
        "no relation is named 'works_in'; did you mean 'works_inn' or 'work_in' or 'works_in_x'?"
    )


def test_a_close_name_is_found_among_a_hundred_thousand() -> None:
    known = [
        *(f"concept_company_{number}" for number in range(100_000)),
        "melinda_gates",
    ]
    assert "'melinda_gates'" in str(UnknownName("entity", "melinda_gate", known))


def test_among_very_many_names_only_another_spelling_is_offered() -> None:
    known = [*(f"entity_{number}" for number in range(200_000)), "Melinda_Gates"]
    assert str(UnknownName("entity", "melinda gates", known)).endswith(
        "did you mean 'Melinda_Gates'?"
    )
    assert (
        str(UnknownName("entity", "melinda_gate", known))
        == "no entity is named 'melinda_gate'"
    )


def test_names_are_taken_from_any_iterable_once() -> None:
    assert "'durham'" in str(UnknownName("entity", "Durham", iter(["durham"])))
    many = iter([*map(str, range(200_001)), "durham"])
    assert "'durham'" in str(UnknownName("entity", "Durham", many))


@pytest.mark.parametrize("length", [1_000, 1_000_000])
def test_a_long_name_is_cut_and_searched_quickly(length: int) -> None:
    start = time.process_time()
    error = UnknownName("entity", "x" * length, ["y" * length, "X" * length])
    assert (
        str(error) == f"no entity is named '{'x' * 80}…'; did you mean '{'X' * 80}…'?"
    )
    # Letter by letter, a million letters take hours.
    assert time.process_time() - start < 5


def test_a_value_that_is_long_is_cut() -> None:
    error = InvalidArgument("columns", "x" * 1000, "three names")
    assert str(error) == f"columns is '{'x' * 79}…; expected three names"
