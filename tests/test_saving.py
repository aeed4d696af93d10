"""A saved case base answers as before, and a file
that is anything else is refused in one sentence.
"""

import errno
import io
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from tests.strategies import (
    Fact,
    Step,
    histories,
    random_facts,
    some_settings,
    surviving,
)

from casegraph.casebase import CaseBase
from casegraph.errors import CasegraphError, IncompatibleFile, UnreadableFile
from casegraph.settings import Settings
from casegraph.storage.array_files import DIGEST, digest_of
from casegraph.storage.case_files import FORMAT

Arrays = dict[str, npt.NDArray[Any]]

PAPER = Settings.paper("WN18RR").but(max_length=3)
GRINCH = PAPER.but(clustering="grinch", threshold=0.5)
FACTS = random_facts(Random(51), entities=10, relations=3, facts=34)


def case_base(added: list[Fact], settings: Settings | None = None) -> CaseBase:
    cases = CaseBase(settings)
    cases.update(add=added)
    return cases


def said(cases: CaseBase) -> list[list[Any]]:
    """Every answer to every question, each with its explanation, and what every fact scores."""
    asked = []
    explained = []
    for name in sorted(cases.graph.entities.names):
        for relation in sorted(cases.graph.relations.names):
            asked.append(cases.ask(name, relation, top=-1))
            asked.append(cases.ask_head(relation, name, top=-1))
    for answers in asked:
        explained += [cases.explain(answer) for answer in answers]
    return [asked, explained, cases.score(FACTS)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A whole file, with everything counted, alone in its folder."""
    cases = case_base(FACTS)
    cases.prepare()
    cases.save(tmp_path / "whole.case")
    return tmp_path / "whole.case"


def assert_refused(file: Path, kind: type[CasegraphError], words: str) -> None:
    """One sentence that begins with the file and offers the next step.

    The folder stays as it was.
    """
    before = contents(file.parent)
    with pytest.raises(kind) as raised:
        CaseBase.load(file)
    message = str(raised.value)
    assert message.startswith(f"{file}: ")
    assert words in message
    assert "; " in message
    assert "\n" not in message
    assert contents(file.parent) == before


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def rewrite(file: Path, change: Callable[[Arrays], object]) -> None:
    """The same file with some arrays changed, and sums and digest that are right again."""
    with np.load(file, allow_pickle=False) as saved:
        arrays = {name: saved[name] for name in saved.files}
    change(arrays)
    if DIGEST in arrays:
        arrays[DIGEST] = digest_of(arrays)
    with file.open("wb") as out:
        np.savez(out, allow_pickle=False, **arrays)


def put(
    name: str, place: int | slice | tuple[int, int], value: int
) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name][place] = value

    return change


@pytest.mark.parametrize("prepared", [True, False], ids=["counted", "not counted"])
@pytest.mark.parametrize(
    "settings",
    [Settings(), PAPER, GRINCH, Settings.cbr("FB122")],
    ids=["default", "paper", "grinch", "cbr"],
)
def test_what_was_saved_says_the_same(
    settings: Settings, prepared: bool, tmp_path: Path
) -> None:
    cases = case_base(FACTS, settings)
    if prepared:
        cases.prepare()
    cases.save(tmp_path / "x.case")
    again = CaseBase.load(str(tmp_path / "x.case"))
    assert again.settings == settings
    assert list(again.graph.facts()) == list(cases.graph.facts())
    answers, explanations, scores = said(cases)
    assert said(again) == [answers, explanations, scores]
    assert len(explanations) > 100
    assert [path.name for path in tmp_path.iterdir()] == ["x.case"]


@example_settings(max_examples=25)
@given(histories(), some_settings())
def test_any_case_base_under_any_settings_can_be_saved_and_goes_on(
    tmp_path_factory: pytest.TempPathFactory, history: list[Step], settings: Settings
) -> None:
    file = tmp_path_factory.mktemp("saved") / "x.case"
    cases = CaseBase(settings)
    for doing, named in history:
        cases.update(**{doing: named})  # type: ignore[arg-type]
    for head, relation, _ in sorted(surviving(history))[:1]:
        cases.ask(head, relation)
    cases.save(file)
    again = CaseBase.load(file)
    for each in (again, cases):
        each.update(add=FACTS[:3], retract=FACTS[:1])
    assert sorted(again.graph.facts()) == sorted(cases.graph.facts())
    for head, relation, _ in FACTS[:3]:
        assert again.ask(head, relation, top=-1) == cases.ask(head, relation, top=-1)


def test_saving_twice_gives_the_same_bytes_and_the_new_file_in_the_place_of_the_old(
    file: Path,
) -> None:
    first = file.read_bytes()
    CaseBase.load(file).save(file)
    assert file.read_bytes() == first
    case_base(FACTS[:5]).save(file)
    assert sorted(CaseBase.load(file).graph.facts()) == sorted(FACTS[:5])
    assert [path.name for path in file.parent.iterdir()] == ["whole.case"]


def test_odd_names_are_kept(tmp_path: Path) -> None:
    odd = [("\x85.", "ä⁻¹", "\x0b\0"), ("𝔸", " r ", "\u202e"), ("a", "ä⁻¹", "\x1b[31m")]
    case_base(odd).save(tmp_path / "odd ☃.case")
    assert sorted(CaseBase.load(tmp_path / "odd ☃.case").graph.facts()) == sorted(odd)


def test_an_empty_case_base_can_be_saved(tmp_path: Path) -> None:
    CaseBase(PAPER).save(tmp_path / "empty.case")
    again = CaseBase.load(tmp_path / "empty.case")
    assert len(again.graph) == 0
    assert again.settings == PAPER


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.6, 0.9, 0.99])
def test_a_file_that_is_cut_short_is_refused(part: float, file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[: int(part * len(whole))])
    assert_refused(
        file,
        IncompatibleFile,
        "is not a saved case base, or only a part of one; make it again",
    )


@pytest.mark.parametrize(
    "name", ["settings", "facts", "entity_names", "offsets", "types", "hits", "right"]
)
def test_a_flipped_byte_is_noticed(name: str, file: Path) -> None:
    with np.load(file, allow_pickle=False) as saved:
        content = saved[name].tobytes()
    whole = bytearray(file.read_bytes())
    assert whole.count(content) == 1
    whole[whole.index(content) + len(content) // 2] ^= 0x10
    file.write_bytes(whole)
    assert_refused(file, IncompatibleFile, "is damaged (")


@pytest.mark.parametrize("place", [6, 8, 10], ids=["version needed", "flags", "method"])
def test_a_flipped_byte_in_the_list_of_contents_is_noticed(
    place: int, file: Path
) -> None:
    whole = bytearray(file.read_bytes())
    whole[whole.index(b"PK\x01\x02") + place] ^= 0xFF
    file.write_bytes(whole)
    assert_refused(file, IncompatibleFile, "is damaged (")


@pytest.mark.parametrize("version", [0, FORMAT + 1, 99])
def test_another_format_version_is_refused(version: int, file: Path) -> None:
    rewrite(file, put("format", 0, version))
    assert_refused(
        file,
        IncompatibleFile,
        f"has format {version}, this casegraph reads format {FORMAT}; make it again from its "
        "facts with 'casegraph save'; 'casegraph export' of the version that wrote it",
    )


def test_a_file_of_arrays_without_a_version_is_refused(file: Path) -> None:
    rewrite(file, lambda arrays: arrays.pop("format"))
    assert_refused(
        file,
        IncompatibleFile,
        f"has format 0, this casegraph reads format {FORMAT}",
    )


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_nothing_in_a_pickle_is_run(tmp_path: Path) -> None:
    trap = Trap(tmp_path / "sprung")
    (tmp_path / "plain.case").write_bytes(pickle.dumps(trap))
    assert_refused(
        tmp_path / "plain.case", IncompatibleFile, "is not a saved case base"
    )
    hidden = np.empty(1, dtype=object)
    hidden[0] = trap
    with (tmp_path / "hidden.case").open("wb") as out:
        np.savez(out, format=np.array([FORMAT]), facts=hidden)
    assert_refused(
        tmp_path / "hidden.case",
        IncompatibleFile,
        "is damaged (facts is not an array of numbers)",
    )
    assert not trap.path.exists()


TAMPERED: dict[str, tuple[Callable[[Arrays], object], str]] = {
    "a path type of a relation that is not there": (
        put("types", 0, 1_000_000),
        "a path type names a relation",
    ),
    "the last path type": (put("types", -1, 99), "a path type names a relation"),
    "a head that is not there": (
        put("facts", (0, 0), 99),
        "facts name entities or relations",
    ),
    "a tail below zero": (put("facts", (0, 2), -1), "facts name entities or relations"),
    "a relation that is not there": (
        put("facts", (0, 1), 6),
        "facts name entities or relations",
    ),
    "names that repeat": (put("entity_offsets", slice(-1), 0), "a name occurs twice"),
    "names that end too early": (
        put("entity_offsets", slice(None), 0),
        "entity_offsets do not divide",
    ),
    "names that go back": (put("entity_offsets", 1, 9), "entity_offsets do not divide"),
    "facts that repeat": (put("facts", slice(2), 0), "facts repeat"),
    "facts that are fractions": (
        lambda arrays: arrays.update(facts=arrays["facts"] + 0.5),
        "rows of three ids",
    ),
    "more right than reached": (
        put("right", slice(None), 1 << 40),
        "more is right than reached",
    ),
    "a path type without hits": (put("hits", 0, 0), "without hits"),
    "a relation that was not counted": (
        lambda arrays: arrays.update(counted=arrays["counted"][:-1]),
        "paths of a relation reach that was not counted",
    ),
    "relations out of order": (
        put("counted", 0, 5),
        "of a relation that does not exist",
    ),
    "paths of a length that is not counted": (
        put("longest", 0, 1),
        "it is not said which paths are counted",
    ),
    "longer paths than there are": (
        put("longest", 0, 9),
        "it is not said which paths are counted",
    ),
    "names that are not UTF-8": (put("entity_names", 0, 255), "a name is not UTF-8"),
    "settings that are no JSON": (put("settings", 0, 0), ""),
    "no facts": (lambda arrays: arrays.pop("facts"), "facts"),
    "no counts": (lambda arrays: arrays.pop("right"), "right"),
}


@pytest.mark.parametrize("kind", TAMPERED)
def test_a_file_that_was_tampered_with_is_refused(kind: str, file: Path) -> None:
    change, words = TAMPERED[kind]
    rewrite(file, change)
    assert_refused(file, IncompatibleFile, words)
    assert_refused(file, IncompatibleFile, "is damaged (")


TREES: dict[str, tuple[Callable[[Arrays], object], str]] = {
    "no tree": (lambda arrays: arrays.pop("clusters"), "clusters"),
    "an entity that is not there": (
        put("clusters", 0, 99),
        "has other leaves than the facts",
    ),
    "a number below -1": (put("clusters", 0, -2), "is not a list of entities"),
    "a leaf twice": (
        lambda arrays: arrays["clusters"].put(0, arrays["clusters"][1]),
        "has other leaves",
    ),
    "a join too many": (put("clusters", 0, -1), "does not join all of its leaves"),
    "a join too few": (
        lambda arrays: arrays.update(clusters=arrays["clusters"][:-1]),
        "does not join all",
    ),
    "nothing": (
        lambda arrays: arrays.update(clusters=arrays["clusters"][:0]),
        "has other leaves",
    ),
    "other numbers": (
        lambda arrays: arrays.update(clusters=arrays["clusters"] * 1.0),
        "is not a list of entities",
    ),
}


@pytest.mark.parametrize("kind", TREES)
def test_a_tree_of_clusters_that_is_not_one_of_the_facts_is_refused(
    kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "grown.case"
    case_base(FACTS, GRINCH).save(file)
    change, words = TREES[kind]
    rewrite(file, change)
    assert_refused(file, IncompatibleFile, words)
    assert_refused(file, IncompatibleFile, "is damaged (")


def test_clusters_that_depend_on_history_are_kept(tmp_path: Path) -> None:
    cases = case_base(FACTS[:12], GRINCH)
    others = case_base(FACTS, GRINCH)
    for fact in FACTS[12:]:
        cases.update(add=[fact])
    cases.save(tmp_path / "x.case")
    again = CaseBase.load(tmp_path / "x.case")
    trees = [each.state.clusters.tree for each in (cases, again, others)]
    shapes = [tree.shape().tolist() for tree in trees if tree is not None]
    assert len(shapes) == len(trees)
    assert shapes[0] != shapes[2]
    for each in (cases, again):
        each.update(add=[("new", "r0", "e1")], retract=FACTS[3:5])
    assert said(again) == said(cases)


def test_a_fact_of_an_inverse_relation_is_refused(file: Path) -> None:
    rewrite(file, put("facts", (0, 1), 1))
    assert_refused(file, IncompatibleFile, "is damaged (")


def test_path_types_out_of_order_are_refused(file: Path) -> None:
    rewrite(file, lambda arrays: arrays.update(types=arrays["types"][::-1]))
    assert_refused(file, IncompatibleFile, "is damaged (")


def test_settings_out_of_their_range_are_refused(file: Path) -> None:
    bad = np.frombuffer(b'{"max_length": 9}', dtype=np.uint8)
    rewrite(file, lambda arrays: arrays.update(settings=bad))
    assert_refused(
        file, IncompatibleFile, "is damaged (max_length is 9; expected from 1 to 5)"
    )


def test_what_is_no_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.case").mkdir()
    assert_refused(
        tmp_path / "folder.case",
        UnreadableFile,
        "is a folder, not a file; put the file itself",
    )
    assert_refused(
        tmp_path / "missing.case",
        UnreadableFile,
        "cannot be read (No such file or directory); check the name",
    )


def test_an_empty_file_and_a_file_of_facts_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.case").touch()
    (tmp_path / "facts.case").write_text("a\tr\tb\n", encoding="utf-8")
    for name in ("empty.case", "facts.case"):
        assert_refused(
            tmp_path / name,
            IncompatibleFile,
            "is not a saved case base, or only a part of one; make it again",
        )


def test_saving_to_a_folder_that_does_not_exist_writes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "nowhere" / "x.case"
    with pytest.raises(UnreadableFile) as raised:
        case_base(FACTS).save(place)
    problem = "cannot be written (No such file or directory); choose another place"
    assert str(raised.value) == f"{place}: {problem}"
    assert list(tmp_path.iterdir()) == []


def test_saving_in_the_place_of_a_folder_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.case").mkdir()
    with pytest.raises(UnreadableFile, match="cannot be written"):
        case_base(FACTS).save(tmp_path / "x.case")
    assert [path.name for path in tmp_path.rglob("*")] == ["x.case"]


def test_saving_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnreadableFile, match="cannot be written"):
        case_base(FACTS).save(tmp_path / "file" / "x.case")


@pytest.mark.parametrize(
    "crash",
    [
        OSError(28, "No space left on device"),
        RuntimeError("crash"),
        KeyboardInterrupt(),
    ],
)
def test_a_crash_while_writing_leaves_the_old_file(
    crash: BaseException, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(out: BinaryIO, **arrays: object) -> None:
        out.write(b"half of it")
        out.flush()
        raise crash

    before = file.read_bytes()
    monkeypatch.setattr(np, "savez", half)
    with pytest.raises(
        UnreadableFile if isinstance(crash, OSError) else type(crash)
    ) as raised:
        case_base(FACTS[:5]).save(file)
    if isinstance(crash, OSError):
        problem = "cannot be written (No space left on device); choose another place"
        assert str(raised.value) == f"{file}: {problem}"
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["whole.case"]


def test_a_file_without_a_digest_is_refused(file: Path) -> None:
    rewrite(file, lambda arrays: arrays.pop(DIGEST))
    assert_refused(file, IncompatibleFile, "its digest is missing")


@pytest.mark.parametrize(
    "name", ["settings", "facts", "entity_names", "hits", "longest", "counted"]
)
def test_a_change_whose_sums_are_right_again_is_noticed(name: str, file: Path) -> None:
    with np.load(file, allow_pickle=False) as saved:
        arrays = {key: saved[key] for key in saved.files}
    arrays[name].view(np.uint8).ravel()[0] ^= 1
    with file.open("wb") as out:
        np.savez(out, allow_pickle=False, **arrays)
    assert_refused(
        file, IncompatibleFile, "is damaged (its digest is of other content)"
    )


def members(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def packed(
    file: Path,
    parts: dict[str, bytes],
    method: int = zipfile.ZIP_STORED,
    copies: int = 1,
) -> None:
    with zipfile.ZipFile(file, "w", method) as out:
        for name, content in parts.items():
            for _ in range(copies):
                out.writestr(name, content)


def declared(name: str, shape: str) -> Callable[[Path], None]:
    """Let an array say that it has another shape."""

    def change(file: Path) -> None:
        parts = members(file)
        header, _, rest = parts[f"{name}.npy"].partition(b"\n")
        before, _, after = header.partition(b"'shape': (")
        longer = before + b"'shape': (" + shape.encode() + after[after.index(b")") :]
        packed(
            file,
            {**parts, f"{name}.npy": longer.rstrip().ljust(len(header)) + b"\n" + rest},
        )

    return change


def with_size(size: int) -> Callable[[Path], None]:
    """Let the list of contents say that the first array has so many bytes."""

    def change(file: Path) -> None:
        whole = bytearray(file.read_bytes())
        place = whole.index(b"PK\x01\x02")
        for offset in (20, 24):
            whole[place + offset : place + offset + 4] = size.to_bytes(4, "little")
        file.write_bytes(whole)

    return change


def bomb(file: Path) -> None:
    """A few bytes that unpack to a gigabyte."""
    array = io.BytesIO()
    np.save(array, np.zeros(1 << 27, dtype=np.int64))
    packed(file, {**members(file), "hits.npy": array.getvalue()}, zipfile.ZIP_DEFLATED)


BOMBS: dict[str, Callable[[Path], None]] = {
    "2⁴⁰ numbers": declared("hits", f"{1 << 40},"),
    "2¹²⁰ numbers": declared("hits", f"{1 << 40}, {1 << 40}, {1 << 40}"),
    "no numbers, many ways": declared("hits", f"0, {1 << 62}, {1 << 62}"),
    "a negative number of numbers": declared("hits", "-1,"),
    "many dimensions": declared("hits", "1, " * 30),
    "a member larger than the file": with_size(0xFFFFFFF0),
    "packed members": lambda file: packed(file, members(file), zipfile.ZIP_DEFLATED),
    "a gigabyte in a megabyte": bomb,
    "many members": lambda file: packed(
        file, {f"{number}.npy": b"" for number in range(1000)}
    ),
}


@pytest.mark.parametrize("kind", BOMBS)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_declares_more_than_it_has_takes_no_memory(
    kind: str, file: Path
) -> None:
    BOMBS[kind](file)
    assert file.stat().st_size < 2_000_000
    assert_refused(file, IncompatibleFile, "is damaged (")
    program = f"""if True:
        import resource
        from casegraph import CaseBase, IncompatibleFile
        room = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (64 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        try:
            CaseBase.load({str(file)!r})
        except IncompatibleFile as error:
            print("refused")
    """
    if sys.platform == "linux":
        done = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        )
        assert done.stdout == "refused\n"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_arrays_of_one_name_are_refused(file: Path) -> None:
    packed(file, members(file), copies=2)
    assert_refused(file, IncompatibleFile, "too many arrays, or two of one name")


def test_a_pipe_in_the_place_of_a_case_file_is_not_waited_for(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes in folders on this system")
    os.mkfifo(tmp_path / "x.case")
    with pytest.raises(
        UnreadableFile, match="is a pipe, not a file; put the file itself in its place"
    ):
        CaseBase.load(tmp_path / "x.case")


def test_a_case_file_may_be_a_link_since_its_user_chose_it(file: Path) -> None:
    (file.parent / "link.case").symlink_to(file)
    assert len(CaseBase.load(file.parent / "link.case").graph) == len(FACTS)


ODD_ARRAYS = {
    "nothing": np.zeros(0, dtype=np.int64),
    "one number": np.array(7),
    "a table": np.zeros((2, 2), dtype=np.int64),
    "fractions": np.array([0.5, np.nan, np.inf]),
    "bytes": np.frombuffer(b"[1, 2, 3]", dtype=np.uint8),
    "a large number": np.array([2**63 - 1]),
    "small numbers": np.array([-1, 300], dtype=np.int16),
    "JSON of nothing": np.frombuffer(b"null", dtype=np.uint8),
    "deep JSON": np.frombuffer(b"[" * 100_000, dtype=np.uint8),
    "JSON of a large number": np.frombuffer(
        b'{"neighbours": 1' + b"0" * 5000 + b"}", dtype=np.uint8
    ),
}
NAMES = """
    format settings facts entity_names entity_offsets relation_names relation_offsets
    counted longest offsets types hits reached right left_out digest
""".split()  # noqa: SIM905


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_in_the_place_of_an_array_is_refused_in_one_sentence(
    name: str, file: Path
) -> None:
    whole = file.read_bytes()
    for odd in ODD_ARRAYS.values():
        file.write_bytes(whole)
        rewrite(file, lambda arrays, odd=odd: arrays.update({name: odd}))  # type: ignore[misc]
        with np.load(file) as saved:
            is_right_again = name == DIGEST and len(saved[DIGEST]) == 32
        if not is_right_again:
            assert_refused(file, IncompatibleFile, "")


def mutated(arrays: Arrays, random: Random) -> None:
    """Change a few numbers of one array, or its length."""
    name = random.choice(sorted(arrays.keys() - {DIGEST, "format"}))
    array = arrays[name].copy()
    for _ in range(random.randint(1, 3)):
        if array.size and random.random() < 0.8:
            numbers = [
                0,
                1,
                -1,
                2**31 - 1,
                2**62,
                random.getrandbits(8),
                random.getrandbits(62),
            ]
            odd = np.array(random.choice(numbers)).astype(array.dtype)
            array.ravel()[random.randrange(array.size)] = odd
        elif random.random() < 0.5:
            array = array[: random.randint(0, len(array))]
        else:
            array = np.concatenate([array, array])
    arrays[name] = array


@pytest.mark.parametrize("settings", [Settings(), GRINCH], ids=["default", "grinch"])
def test_a_case_file_changed_at_random_answers_or_is_refused(
    settings: Settings, tmp_path: Path
) -> None:
    cases = case_base(FACTS, settings)
    cases.prepare()
    cases.save(tmp_path / "x.case")
    whole = (tmp_path / "x.case").read_bytes()
    random = Random(17)
    refused = 0
    for _ in range(150):
        (tmp_path / "x.case").write_bytes(whole)
        rewrite(tmp_path / "x.case", lambda arrays: mutated(arrays, random))
        try:
            again = CaseBase.load(tmp_path / "x.case")
            again.ask(again.graph.entities[0], again.graph.relations[0])
            again.update(add=FACTS[:3])
        except CasegraphError:
            refused += 1
    assert refused > 100


def test_bytes_changed_at_random_are_noticed_or_harmless(file: Path) -> None:
    whole = file.read_bytes()
    random = Random(23)
    expected = said(CaseBase.load(file))
    noticed = 0
    harmless = 0
    for _ in range(150):
        content = bytearray(whole)
        for _ in range(random.randint(1, 4)):
            content[random.randrange(len(content))] = random.getrandbits(8)
        file.write_bytes(content)
        try:
            again = CaseBase.load(file)
        except CasegraphError:
            noticed += 1
        else:
            harmless += 1
            assert said(again) == expected
    assert noticed > 50
    assert harmless > 0


def test_a_disk_that_fails_while_saving_leaves_the_old_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.read_bytes()
    flushed = []

    def fail(opened: int, *_: object) -> None:
        flushed.append(opened)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(
        UnreadableFile, match=r"cannot be written \(Input/output error\)"
    ):
        case_base(FACTS[:5]).save(file)
    assert len(flushed) == 1  # never tried again
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["whole.case"]
