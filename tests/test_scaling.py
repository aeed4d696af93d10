"""Shards counted anywhere add up to what one process counts, to the last byte,
and anything else is refused.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st
from tests.strategies import (
    Fact,
    Step,
    histories,
    random_facts,
    shuffled,
    some_settings,
    surviving,
)
from tests.test_saving import ODD_ARRAYS, Arrays, mutated, put, rewrite

from casegraph import world
from casegraph.answering.state import State
from casegraph.casebase import CaseBase
from casegraph.cli import cli
from casegraph.errors import CasegraphError, IncompatibleFile, InvalidArgument
from casegraph.execution.shard_files import FORMAT, read_part, write_part
from casegraph.execution.shards import (
    Part,
    Shard,
    count_hits,
    count_reach,
    keep,
    merged,
    with_hits,
)
from casegraph.graph.directions import forward, inverse
from casegraph.settings import Settings
from casegraph.statistics.counts import BOTH_WAYS
from casegraph.statistics.path_types import in_words, unpacked
from casegraph.storage.count_columns import COUNT_COLUMNS

FACTS = random_facts(Random(71), entities=12, relations=3, facts=50)


def cases_of(facts: list[Fact], settings: Settings | None = None) -> State:
    case_base = CaseBase(settings)
    case_base.update(add=facts)
    return case_base.state


def directions(cases: State) -> list[int]:
    return list(range(cases.graph.directions))


def hits_of(cases: State, of: int) -> list[Part]:
    return [count_hits(cases, shard) for shard in Shard.all(of)]


def reach_of(
    cases: State, of: int, given: Part, relations: list[int] | None = None
) -> list[Part]:
    wanted = directions(cases) if relations is None else relations
    return [
        count_reach(with_hits(cases, given), (shard, wanted)) for shard in Shard.all(of)
    ]


def counts_of(cases: State) -> Part:
    return merged(reach_of(cases, 2, merged(hits_of(cases, 2))))


def assert_same_counts(cases: State, expected: State) -> None:
    assert sorted(cases.statistics.counted) == sorted(expected.statistics.counted)
    for relation, counts in expected.statistics.counted.items():
        for column in ("types", *COUNT_COLUMNS):
            one = getattr(cases.statistics.counted[relation], column)
            other = getattr(counts, column)
            assert one.dtype == other.dtype
            assert one.tolist() == other.tolist()


@example_settings(max_examples=60)
@given(
    histories(),
    some_settings(),
    st.integers(1, 5),
    st.integers(1, 5),
    st.randoms(use_true_random=False),
)
def test_shards_counted_under_any_ids_add_up_to_what_one_process_counts(
    history: list[Step], settings: Settings, first: int, second: int, random: Random
) -> None:
    """Of all relations, or of some: both directions of a relation, or one."""
    facts = sorted(surviving(history))
    lived = CaseBase(settings)
    for doing, named in history:
        lived.update(**{doing: named})  # type: ignore[arg-type]
    hosts = [
        lived.state,
        *(cases_of(shuffled(random, facts), settings) for _ in range(2)),
    ]
    share = random.choice([0.3, 0.7, 1.0])
    names = sorted({relation for _, relation, _ in facts})
    asked = [name for name in names for _ in range(2) if random.random() < share]

    def somewhere() -> State:
        return random.choice(hosts)

    hits = merged(count_hits(somewhere(), shard) for shard in Shard.all(first))
    counts = merged(
        count_reach(with_hits(host, hits), (shard, asked_of(host, asked)))
        for shard in Shard.all(second)
        for host in [somewhere()]
    )
    kept = cases_of(facts, settings)
    keep(kept, counts)
    apart = one_by_one(kept, asked_of(kept, asked))
    assert_same_counts(kept, apart)


def asked_of(cases: State, names: list[str]) -> list[int]:
    """The directions of relations: of a name that is there twice, both."""
    asked = []
    for name in names:
        direction = forward(cases.graph.relations.find(name) or 0)
        asked.append(inverse(direction) if direction in asked else direction)
    return asked


def one_by_one(cases: State, relations: list[int]) -> State:
    """The same facts, counted one relation after the other, so none with its inverse."""
    fresh = State.of(cases.graph, cases.settings)
    for relation in relations:
        fresh.statistics.prepare([relation])
    return fresh


@pytest.mark.parametrize("names", [["r0", "r1", "r2"], ["r1"]], ids=["all", "one"])
def test_a_path_type_and_its_inverse_are_counted_in_shards_by_walking_one(
    names: list[str],
) -> None:
    """Each shard on a host with other ids, in both directions of all relations, or of one.

    Paths from entities that do not have this one count for its inverse.
    """
    random = Random(2)
    facts = random_facts(random, entities=60, relations=3, facts=900)
    facts = [fact for fact in facts if fact[1] != "r1"]
    facts += {
        (f"e{random.randrange(45)}", "r1", f"e{random.randrange(45)}")
        for _ in range(300)
    }
    hosts = [cases_of(shuffled(Random(seed), facts)) for seed in range(5)]
    hits = merged(hits_of(hosts[0], 1))
    both_directions = [*names, *names]
    parts = [
        count_reach(with_hits(host, hits), (shard, asked_of(host, both_directions)))
        for host, shard in zip(hosts, Shard.all(5), strict=True)
    ]
    assert BOTH_WAYS in parts[0].ways
    kept = cases_of(facts)
    keep(kept, merged(parts))
    assert_same_counts(kept, one_by_one(kept, asked_of(kept, both_directions)))


def test_parts_that_were_walked_other_ways_are_refused() -> None:
    """Else an end that one has found from its start, and the other from itself, counts twice."""
    cases = cases_of(random_facts(Random(2), entities=60, relations=3, facts=900))
    one, other = reach_of(cases, 2, merged(hits_of(cases, 1)))
    apart = replace(other, ways=np.zeros_like(other.ways))
    with pytest.raises(CasegraphError, match="shard 2/2 walked other path types than"):
        merged([one, apart])


@given(st.lists(st.integers(0, 11), unique=True), st.integers(1, 6))
def test_shards_share_the_entities_evenly_whatever_their_ids(
    numbers: list[int], of: int
) -> None:
    graphs = [cases_of(facts).graph for facts in (FACTS, shuffled(Random(1), FACTS))]
    names = [f"e{number}" for number in numbers if f"e{number}" in graphs[0].entities]
    shares = []
    for graph in graphs:
        entities = np.sort(graph.entities.extended(names)[1])
        shares.append(
            [
                [graph.entities[one] for one in shard.share(graph, entities)]
                for shard in Shard.all(of)
            ]
        )
    sizes = [len(share) for share in shares[0]]
    assert [set(share) for share in shares[0]] == [set(share) for share in shares[1]]
    assert sorted(name for share in shares[0] for name in share) == sorted(names)
    assert max(sizes) - min(sizes) <= 1


REFUSED: dict[str, tuple[Callable[[State, State], object], str]] = {
    "a missing shard": (lambda own, _: merged(hits_of(own, 4)[:2]), "missing 3/4, 4/4"),
    "a shard twice": (
        lambda own, _: merged([hits_of(own, 2)[0]] * 2),
        "1/2 is there twice",
    ),
    "shards of different numbers": (
        lambda own, _: merged(hits_of(own, 2)[:1] + hits_of(own, 3)[1:]),
        "1/2 and 2/3",
    ),
    "other facts": (
        lambda own, other: merged([hits_of(own, 2)[0], hits_of(other, 2)[1]]),
        "2/2 is of other facts",
    ),
    "other relations": (
        lambda own, _: (
            merged([reach_of(own, 2, hits, [0])[0], reach_of(own, 2, hits, [1])[1]])
            if (hits := merged(hits_of(own, 1)))
            else None
        ),
        "2/2 is of other facts",
    ),
    "another pass": (
        lambda own, _: merged(
            [hits_of(own, 2)[0], reach_of(own, 2, merged(hits_of(own, 2)))[1]]
        ),
        "of another pass",
    ),
    "reach of other hits": (
        lambda own, _: merged(
            [
                reach_of(own, 2, merged(hits_of(own, 1)))[0],
                reach_of(own, 2, doubled(merged(hits_of(own, 1))))[1],
            ]
        ),
        "with other hits",
    ),
    "counts of other facts": (
        lambda own, other: keep(own, counts_of(other)),
        "of other facts or settings",
    ),
    "hits of other facts": (
        lambda own, other: with_hits(own, merged(hits_of(other, 1))),
        "of other facts or settings",
    ),
    "hits of one shard": (
        lambda own, _: with_hits(own, hits_of(own, 2)[0]),
        "only those of shard 1/2",
    ),
    "hits alone": (lambda own, _: keep(own, merged(hits_of(own, 2))), "only of hits"),
}


def doubled(part: Part) -> Part:
    return replace(
        part, columns={name: 2 * column for name, column in part.columns.items()}
    )


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize(
    "other",
    [cases_of(FACTS[1:]), cases_of(FACTS, Settings(support=3))],
    ids=["facts", "settings"],
)
def test_parts_that_do_not_belong_together_are_refused(kind: str, other: State) -> None:
    refused, words = REFUSED[kind]
    with pytest.raises(CasegraphError, match=words) as raised:
        refused(cases_of(FACTS), other)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "-1/3", "1/0", "1/2/3", ""])
def test_what_names_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="i/n with i from 1 to n, such as 2/8"):
        Shard.named(text)


def test_a_part_is_read_as_it_was_written(tmp_path: Path) -> None:
    cases = cases_of([("ä", "r⁻¹", "b"), ("b", "\x0b.", "ä"), *FACTS])
    for part in (hits_of(cases, 3)[1], counts_of(cases)):
        write_part(part, tmp_path / "part.npz")
        again = read_part(tmp_path / "part.npz")
        assert again.shard == part.shard
        assert again.digest == part.digest
        assert again.max_length == part.max_length
        assert again.names == part.names
        assert list(again.columns) == list(part.columns)
        for name in ("counted", "relation", "types", "ways"):
            assert getattr(again, name).tolist() == getattr(part, name).tolist()
        assert all(
            again.columns[name].tolist() == column.tolist()
            for name, column in part.columns.items()
        )
    assert [path.name for path in tmp_path.iterdir()] == ["part.npz"]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("types", -1, "below zero"),
        ("types", 1_000_000, "a path type names a relation that does not exist"),
        ("relation", 99, "of a relation that does not exist"),
        ("hits", -1, "below zero"),
        ("header", 0, ""),
    ],
)
def test_a_part_that_was_tampered_with_is_refused(
    name: str, value: int, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "part.npz"
    write_part(hits_of(cases_of(FACTS), 1)[0], file)
    rewrite(file, put(name, 0, value))
    with pytest.raises(IncompatibleFile, match=f"is damaged .*{words}"):
        read_part(file)


def header_of(arrays: Arrays) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(arrays["header"].tobytes())
    return found


def with_header(**changes: object) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        text = json.dumps({**header_of(arrays), **changes})
        arrays["header"] = np.frombuffer(text.encode(), dtype=np.uint8)

    return change


WRONG_PARTS: dict[str, tuple[Callable[[Arrays], object], str]] = {
    "a header that is a list": (
        lambda arrays: arrays.update(header=np.frombuffer(b"[1]", dtype=np.uint8)),
        "",
    ),
    "no header": (lambda arrays: arrays.pop("header"), "header"),
    "a shard that is a number": (with_header(shard=3), "does not say what was counted"),
    "a shard that is none": (with_header(shard="3/2"), "shard is '3/2'"),
    "more shards than there can be": (with_header(shard=f"1/{10**15}"), "more shards"),
    "a length that is text": (
        with_header(max_length="3"),
        "does not say what was counted",
    ),
    "a length that is too large": (with_header(max_length=10**9), "of a length"),
    "a length of nothing": (with_header(max_length=0), "of a length"),
    "names that are numbers": (with_header(names=[1, 2, 3]), "are not text"),
    "names that repeat": (with_header(names=["r0", "r0", "r1"]), "repeat"),
    "names that are one text": (
        with_header(names="abc"),
        "does not say what was counted",
    ),
    "a digest that is none": (
        with_header(digest=None),
        "does not say what was counted",
    ),
    "no hits": (lambda arrays: arrays.pop("hits"), "hits"),
    "half of the columns": (
        lambda arrays: arrays.pop("right"),
        "it is not said which paths",
    ),
    "more right than reached": (
        put("right", slice(None), 1 << 40),
        "more is right than reached",
    ),
    "a path type without hits": (put("hits", 0, 0), "without hits"),
    "no extent": (
        lambda arrays: arrays.update(extent=arrays["extent"][:0]),
        "it is not said which paths",
    ),
    "an extent that is one number": (
        lambda arrays: arrays.update(extent=np.array(3)),
        "it is not said which paths",
    ),
    "path types out of order": (
        lambda arrays: arrays.update(types=arrays["types"][::-1]),
        "out of order",
    ),
    "relations in a table": (
        lambda arrays: arrays.update(relation=arrays["relation"][None]),
        "of a relation",
    ),
    "ways that there are not": (put("ways", 0, 3), "which path types were walked"),
    "ways of some path types": (
        lambda arrays: arrays.update(ways=arrays["ways"][1:]),
        "which path types were walked",
    ),
    "counted relations twice": (
        lambda arrays: arrays.update(counted=np.repeat(arrays["counted"], 2)),
        "repeat",
    ),
}


@pytest.mark.parametrize("kind", WRONG_PARTS)
def test_a_part_that_cannot_be_is_refused_in_one_sentence(
    kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "part.npz"
    change, words = WRONG_PARTS[kind]
    write_part(counts_of(cases_of(FACTS)), file)
    rewrite(file, change)
    with pytest.raises(IncompatibleFile, match="is damaged ") as raised:
        read_part(file)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "name", ["header", "counted", "extent", "relation", "types", "ways", *COUNT_COLUMNS]
)
def test_whatever_is_in_the_place_of_an_array_of_a_part_is_refused(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / "part.npz"
    write_part(counts_of(cases_of(FACTS)), file)
    whole = file.read_bytes()
    for odd in ODD_ARRAYS.values():
        file.write_bytes(whole)
        rewrite(file, lambda arrays, odd=odd: arrays.update({name: odd}))  # type: ignore[misc]
        with pytest.raises(IncompatibleFile, match="is damaged "):
            read_part(file)


@pytest.mark.parametrize("step", ["hits", "reach"])
def test_a_part_changed_at_random_is_taken_or_refused(
    step: str, tmp_path: Path
) -> None:
    cases = cases_of(FACTS)
    file = tmp_path / "part.npz"
    random = Random(29)
    write_part(merged(hits_of(cases, 1)) if step == "hits" else counts_of(cases), file)
    whole = file.read_bytes()
    refused = 0
    for _ in range(150):
        file.write_bytes(whole)
        rewrite(file, lambda arrays: mutated(arrays, random))
        fresh = cases_of(FACTS)
        try:
            if step == "hits":
                with_hits(fresh, merged([read_part(file)]))
            else:
                keep(fresh, merged([read_part(file)]))
        except CasegraphError:
            refused += 1
    assert refused > 75


def test_a_part_whose_sums_are_right_again_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "part.npz"
    write_part(counts_of(cases_of(FACTS)), file)
    with np.load(file, allow_pickle=False) as saved:
        arrays = {key: saved[key] for key in saved.files}
    arrays["hits"][0] += 1
    with file.open("wb") as out:
        np.savez(out, allow_pickle=False, **arrays)
    with pytest.raises(
        IncompatibleFile, match=r"is damaged .its digest is of other content"
    ):
        read_part(file)


@pytest.mark.parametrize("version", [1, 2])
def test_a_part_of_an_earlier_casegraph_is_refused(
    version: int, tmp_path: Path
) -> None:
    """It was walked other ways."""
    file = tmp_path / "part.npz"
    write_part(counts_of(cases_of(FACTS)), file)
    rewrite(file, put("format", 0, version))
    known = f"has format {version}, this casegraph reads format {FORMAT}; make it again"
    with pytest.raises(IncompatibleFile, match=known) as raised:
        read_part(file)
    assert "\n" not in str(raised.value)


def test_what_is_no_part_is_refused(tmp_path: Path) -> None:
    (tmp_path / "part.npz").write_bytes(b"PK")
    with pytest.raises(
        IncompatibleFile, match="is not a file of counts, or only a part of one"
    ):
        read_part(tmp_path / "part.npz")


def test_counts_can_be_read_by_other_engines(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    cases = cases_of(FACTS)
    write_part(counts_of(cases), tmp_path / "counts.parquet")
    rows = parquet.read_table(tmp_path / "counts.parquet").to_pylist()
    cases.statistics.prepare(directions(cases))
    expected = [
        (
            cases.graph.relation_name(relation),
            in_words(cases.graph, unpacked(number, 3)),
            *row,
        )
        for relation, counts in cases.statistics.counted.items()
        for number, *row in zip(
            *(getattr(counts, name).tolist() for name in ("types", *COUNT_COLUMNS)),
            strict=True,
        )
    ]
    found = [
        (
            row["relation"],
            " → ".join(row["path_type"]),
            *(row[name] for name in COUNT_COLUMNS),
        )
        for row in rows
    ]
    assert sorted(found) == sorted(expected)
    assert [path.name for path in tmp_path.iterdir()] == ["counts.parquet"]


def test_the_commands_give_the_file_that_one_process_saves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> None:
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == 0, done.stderr

    short = ("--max-length", "2")
    run("save", "world", "one.case", *short)
    for number in ("1", "2", "3"):
        run(
            "count",
            "world",
            "--shard",
            f"{number}/3",
            "--out",
            f"hits-{number}.npz",
            *short,
        )
    run("merge", "hits-3.npz", "hits-1.npz", "hits-2.npz", "--out", "hits.npz")
    for number in ("1", "2"):
        run(
            "count",
            "world",
            "--shard",
            f"{number}/2",
            "--given",
            "hits.npz",
            "--out",
            f"reach-{number}.npz",
            *short,
        )
    run("merge", "reach-1.npz", "reach-2.npz", "--out", "counts.npz")
    run("save", "world", "many.case", "--counts", "counts.npz", *short)
    assert Path("many.case").read_bytes() == Path("one.case").read_bytes()
    run("save", "world", "one-tuned.case", "--tune", *short)
    run("save", "world", "many-tuned.case", "--tune", "--counts", "counts.npz", *short)
    assert Path("many-tuned.case").read_bytes() == Path("one-tuned.case").read_bytes()
    run("count", "world", "--out", "whole.npz", *short)
    assert Path("whole.npz").read_bytes() == Path("hits.npz").read_bytes()


def test_the_digest_is_of_the_facts_and_the_settings_alone() -> None:
    lived = CaseBase()
    lived.update(add=[("x", "y", "z"), *shuffled(Random(3), FACTS)])
    lived.update(retract=[("x", "y", "z")])
    assert lived.state.digest == cases_of(FACTS).digest
    others = [
        cases_of(FACTS[1:]),
        cases_of(FACTS, Settings(best=4)),
        cases_of([*FACTS, ("x", "y", "z")]),
    ]
    swapped = [(tail, relation, head) for head, relation, tail in FACTS]
    digests = {cases.digest for cases in [*others, cases_of(swapped), cases_of(FACTS)]}
    assert len(digests) == 5


def test_counting_only_some_relations_leaves_the_others_to_be_counted() -> None:
    facts = [tuple(fact) for fact in world.facts()]
    kept = cases_of(facts)  # type: ignore[arg-type]
    expected = cases_of(facts)  # type: ignore[arg-type]
    keep(kept, merged(reach_of(kept, 2, merged(hits_of(kept, 2)), [2, 3])))
    assert sorted(kept.statistics.counted) == [2, 3]
    for cases in (kept, expected):
        cases.statistics.prepare(directions(cases))
    assert_same_counts(kept, expected)
