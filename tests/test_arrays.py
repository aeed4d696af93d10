from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from tests import strategies as _  # noqa: F401  (its Hypothesis profile)

from casegraph.arrays import Interner, ids

batches = st.lists(st.lists(st.text(max_size=3), max_size=5), max_size=6)


@given(batches)
def test_a_name_keeps_the_id_of_its_first_arrival(batches: list[list[str]]) -> None:
    interner = Interner()
    first = list(dict.fromkeys(name for batch in batches for name in batch))
    for batch in batches:
        assert interner.intern(batch).tolist() == [first.index(name) for name in batch]
    assert interner.names == first == [interner[identity] for identity in range(len(interner))]


@given(batches, st.text(max_size=3))
def test_asking_for_a_name_does_not_add_it(batches: list[list[str]], asked: str) -> None:
    interner = Interner([name for batch in batches for name in batch])
    before = list(interner.names)
    found = interner.find(asked)
    assert (found is not None) == (asked in interner) == (asked in before)
    assert found is None or interner[found] == asked
    assert interner.names == before


@given(batches)
def test_ranks_are_the_order_of_names_after_every_batch(batches: list[list[str]]) -> None:
    interner = Interner()
    for batch in batches:
        interner.intern(batch)
        assert_ranks_are_the_order_of_names(interner)


def test_ranks_are_the_order_of_names_whether_few_or_many_are_new() -> None:
    interner, given_so_far = Interner(), 0
    for new in (3, 1, 64, 65, 5_000, 1, 64, 77, 79, 200, 0, 1):
        interner.intern([f"name {(given_so_far + number) * 7919 % 100_003}" for number in range(new)])
        given_so_far += new
        assert_ranks_are_the_order_of_names(interner)


@given(st.lists(st.text(max_size=3), unique=True, max_size=8), st.integers(0, 8), batches)
def test_names_that_are_forgotten_might_never_have_come(names: list[str], count: int, after: list[list[str]]) -> None:
    interner, kept = Interner(names), Interner(names[:count])
    interner.forget_after(count)
    assert interner.names == kept.names
    assert all((name in interner) == (name in kept) for name in names)
    for batch in after:
        assert interner.intern(batch).tolist() == kept.intern(batch).tolist()
        assert_ranks_are_the_order_of_names(interner)


def test_names_are_ordered_by_code_points() -> None:
    names = ["é", "z", "a", "Z", "𝔸", "￿", ""]
    assert ranked(Interner(names)) == sorted(names) == ["", "Z", "a", "z", "é", "￿", "𝔸"]


def test_ids_of_nothing_are_an_empty_array_of_ids() -> None:
    assert ids().dtype == ids([1]).dtype == Interner().intern([]).dtype == Interner().ranks().dtype == "int32"


def assert_ranks_are_the_order_of_names(interner: Interner) -> None:
    assert ranked(interner) == sorted(interner.names)


def ranked(interner: Interner) -> Sequence[str]:
    """The names in the order of their ranks, each once."""
    placed = {int(rank): name for rank, name in zip(interner.ranks(), interner.names, strict=True)}
    return [placed[rank] for rank in range(len(interner))]


def test_names_that_are_taken_back_leave_the_order_of_the_others() -> None:
    interner = Interner(["b", "d"])
    interner.intern(["a", "c"])
    interner.ranks()
    interner.forget_after(2)
    interner.intern(["c"])
    assert interner.ranks().tolist() == [0, 2, 1]
