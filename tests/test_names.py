import threading
from collections.abc import Sequence
from itertools import chain, product
from random import Random
from threading import Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from casegraph import kernels, kernels_bench
from casegraph.graph.arrays import ids
from casegraph.graph.names import Names

batches = st.lists(st.lists(st.text(max_size=3), max_size=5), max_size=6)


def extended(names: Names, *batches: list[str]) -> Names:
    for batch in batches:
        names = names.extended(batch)[0]
    return names


@given(batches)
def test_a_name_keeps_the_id_of_its_first_arrival(batches: list[list[str]]) -> None:
    names = Names()
    first = list(dict.fromkeys(chain.from_iterable(batches)))
    for batch in batches:
        names, found = names.extended(batch)
        assert found.tolist() == [first.index(name) for name in batch]
    assert names.names == first == [names[identity] for identity in range(len(names))]


@given(batches, st.text(max_size=3))
def test_asking_for_a_name_does_not_add_it(
    batches: list[list[str]], asked: str
) -> None:
    names = Names(list(chain.from_iterable(batches)))
    before = list(names.names)
    found = names.find(asked)
    assert (found is not None) == (asked in names) == (asked in before)
    assert found is None or names[found] == asked
    assert names.names == before


@given(batches)
def test_ranks_are_the_order_of_names_after_every_batch(
    batches: list[list[str]],
) -> None:
    names = Names()
    for batch in batches:
        names = extended(names, batch)
        assert_ranks_are_the_order_of_names(names)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_any_number_of_threads_sorts_names_alike(threads: int) -> None:
    random = Random(threads)
    endings = ["", "\0", "\0\0", "a", "é", "\U0001f600"]
    names = {
        "x" * random.choice([0, 7, 8, 15, 16, 17, 40])
        + str(random.randrange(400))
        + ending
        for ending in endings * 2000
    }
    table = kernels.NameTable()
    shuffled = sorted(names)
    random.shuffle(shuffled)
    table.append(shuffled)
    in_order = [shuffled[place] for place in table.sorted(len(names), threads).tolist()]
    assert in_order == sorted(names)


def test_ranks_are_the_order_of_names_whether_few_or_many_are_new() -> None:
    names = Names()
    given_so_far = 0
    for new in (3, 1, 64, 65, 5_000, 1, 64, 77, 79, 200, 0, 1):
        numbers = range(given_so_far, given_so_far + new)
        names = extended(
            names, [f"name {number * 7919 % 100_003}" for number in numbers]
        )
        given_so_far += new
        assert_ranks_are_the_order_of_names(names)


@given(batches, batches, batches)
def test_who_holds_names_keeps_them_whatever_others_make_of_them(
    shared: list[list[str]], one_way: list[list[str]], other_way: list[list[str]]
) -> None:
    held = extended(Names(), *shared)
    before = list(held.names)
    for more in (one_way, other_way, [["new", *before]]):
        longer = extended(held, *more)
        in_order_of_arrival = dict.fromkeys([*before, *chain.from_iterable(more)])
        assert longer.names == list(in_order_of_arrival)
        assert [longer.find(name) for name in longer.names] == list(range(len(longer)))
        assert_ranks_are_the_order_of_names(longer)
        assert held.names == before
        assert [held.find(name) for name in before] == list(range(len(before)))
        assert all(name not in held for name in longer.names[len(before) :])
        assert_ranks_are_the_order_of_names(held)


def test_an_id_that_came_later_is_no_id_of_who_holds_fewer_names() -> None:
    held = Names(["a"])
    held.extended(["b"])
    with pytest.raises(IndexError):
        held[1]


@given(st.lists(st.text(max_size=3), unique=True, max_size=8), st.randoms())
def test_chosen_names_get_new_ids_in_the_order_in_which_they_are_chosen(
    names: list[str], random: Random
) -> None:
    chosen = random.sample(range(len(names)), random.randint(0, len(names)))
    fewer = Names(names).chosen(ids(chosen))
    assert fewer.names == [names[place] for place in chosen]
    assert_ranks_are_the_order_of_names(fewer)


def test_threads_that_make_longer_names_of_the_same_ones_do_not_meet() -> None:
    shared = Names(f"shared {number}" for number in range(10))
    made: dict[int, Names] = {}

    def make(thread: int) -> None:
        made[thread] = extended(
            shared, *([f"{thread} {number}"] for number in range(300))
        )

    threads = [Thread(target=make, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [0, 1, 2, 3]
    for number_of_thread, names in made.items():
        own = [f"{number_of_thread} {number}" for number in range(300)]
        assert names.names == [*shared.names, *own]
        assert [names.find(name) for name in names.names] == list(range(310))


def test_names_are_ordered_by_code_points() -> None:
    names = ["é", "z", "a", "Z", "𝔸", "￿", ""]
    assert ranked(Names(names)) == sorted(names) == ["", "Z", "a", "z", "é", "￿", "𝔸"]


def test_ids_of_nothing_are_an_empty_array_of_ids() -> None:
    _, of_no_names = Names().extended([])
    for some_ids in (ids(), ids([1]), of_no_names, Names().ranks()):
        assert some_ids.dtype == "int32"


def assert_ranks_are_the_order_of_names(names: Names) -> None:
    assert ranked(names) == sorted(names.names)


def ranked(names: Names) -> Sequence[str]:
    """The names in the order of their ranks, each once."""
    placed = {
        int(rank): name for rank, name in zip(names.ranks(), names.names, strict=True)
    }
    return [placed[rank] for rank in range(len(names))]


@given(st.lists(st.text(st.characters(), max_size=20), unique=True, max_size=30))
def test_names_that_are_stored_are_found_as_if_they_had_arrived(
    given_names: list[str],
) -> None:
    content, offsets = Names(given_names).encoded_from(0)
    assert content.tobytes() == "".join(given_names).encode(errors="surrogatepass")
    stored = Names.stored(content, offsets)
    assert stored.names == given_names
    assert [stored.find(name) for name in given_names] == list(range(len(given_names)))
    assert_ranks_are_the_order_of_names(stored)
    longer, found = stored.extended(["one more", *given_names])
    assert longer[int(found[0])] == "one more"
    assert stored.names == given_names


def test_the_order_of_names_is_that_of_code_points() -> None:
    beginnings = [
        "",
        "http://example.org/entity/",
        "a\0",
        "a",
        "a\0\0\0\0\0\0\0",
        "\ud800",
        "é",
    ]
    endings = ["", "\0", "b", "\uffff", "\U00010000", "\udfff", "ab" * 9]
    names = Names(one + other for one in beginnings for other in endings)
    assert_ranks_are_the_order_of_names(names)
    many = Names(f"{one}{number:x}" for one in beginnings for number in range(500))
    assert_ranks_are_the_order_of_names(many)


@pytest.mark.parametrize(
    ("content", "offsets"),
    [
        (b"ab", [0, 1]),
        (b"ab", [0, 3]),
        (b"ab", [1, 2]),
        (b"ab", [0, 2, 1, 2]),
        (b"aa", [0, 1, 2]),
        (b"\xff", [0, 1]),
        (b"\xc3\xa9", [0, 1, 2]),
        (b"\xc0\x80", [0, 2]),
        (b"\xf4\x90\x80\x80", [0, 4]),
        (b"\xe0\x80\x80", [0, 3]),
        (b"\xe2\x82", [0, 2]),
    ],
)
def test_what_is_not_names_is_not_taken_for_names(
    content: bytes, offsets: list[int]
) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (whatever is wrong with them)
        Names.stored(
            np.frombuffer(content, np.uint8), np.array(offsets, dtype=np.int64)
        )


def test_names_with_a_long_beginning_in_common_are_sorted() -> None:
    """More of them than are compared as they are, in a thread with a small stack."""
    beginning = "x" * 400_000
    names = Names([f"{beginning}{number}" for number in reversed(range(20))])
    found: list[list[int]] = []

    def rank() -> None:
        found.append(names.ranks().tolist())

    size = threading.stack_size(1 << 18)
    try:
        thread = Thread(target=rank)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    by_name = sorted(range(20), key=lambda place: names[place])
    assert [found[0].index(rank) for rank in range(20)] == by_name


def test_differences_between_names_cancel_under_no_seed() -> None:
    """Two bits of two neighbouring words, which a plain product leaves where they are."""
    pairs = ("!!!!!!!!!!!!!!!!", "!!!!!!!a!!!!#!!a")
    names = ["".join(words) for words in product(pairs, repeat=10)]
    for _ in range(20):
        assert len(set(kernels_bench.text_hashes(names))) > 1_000
