"""A saved case base answers as before, and a file that is anything else is refused in one sentence."""

import pickle
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from tests.strategies import Fact, Step, histories, random_facts, some_settings, surviving

from casegraph.casebase import CaseBase
from casegraph.errors import CasegraphError, IncompatibleFile, UnreadableFile
from casegraph.saving import DIGEST, FORMAT, digest_of
from casegraph.settings import Settings

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
    answers = [
        answers
        for name in sorted(cases.graph.entities.names)
        for relation in sorted(cases.graph.relations.names)
        for answers in (cases.ask(name, relation, top=-1), cases.ask_head(relation, name, top=-1))
    ]
    return [answers, [cases.explain(answer) for each in answers for answer in each], cases.score(FACTS)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A whole file, with everything counted, alone in its folder."""
    cases = case_base(FACTS)
    cases.prepare()
    cases.save(tmp_path / "whole.case")
    return tmp_path / "whole.case"


def assert_refused(file: Path, kind: type[CasegraphError], words: str) -> None:
    """One sentence that begins with the file and offers the next step; the folder stays as it was."""
    before = {path: path.read_bytes() for path in file.parent.iterdir() if path.is_file()}
    with pytest.raises(kind) as raised:
        CaseBase.load(file)
    message = str(raised.value)
    assert message.startswith(f"{file}: ")
    assert words in message
    assert "; " in message
    assert "\n" not in message
    assert {path: path.read_bytes() for path in file.parent.iterdir() if path.is_file()} == before


def rewrite(file: Path, change: Callable[[Arrays], object]) -> None:
    """The same file with some arrays changed, and sums and digest that are right again."""
    with np.load(file, allow_pickle=False) as saved:
        arrays = {name: saved[name] for name in saved.files}
    change(arrays)
    if DIGEST in arrays:
        arrays[DIGEST] = digest_of(arrays)
    with file.open("wb") as out:
        np.savez(out, allow_pickle=False, **arrays)


def put(name: str, place: int | slice | tuple[int, int], value: int) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name][place] = value

    return change


@pytest.mark.parametrize("prepared", [True, False], ids=["counted", "not counted"])
@pytest.mark.parametrize(
    "settings", [Settings(), PAPER, GRINCH, Settings.cbr("FB122")], ids=["default", "paper", "grinch", "cbr"]
)
def test_what_was_saved_says_the_same(settings: Settings, prepared: bool, tmp_path: Path) -> None:
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
        cases.update(**{doing: named})
    for head, relation, _ in sorted(surviving(history))[:1]:
        cases.ask(head, relation)
    cases.save(file)
    again = CaseBase.load(file)
    for each in (again, cases):
        each.update(add=FACTS[:3], retract=FACTS[:1])
    assert sorted(again.graph.facts()) == sorted(cases.graph.facts())
    for head, relation, _ in FACTS[:3]:
        assert again.ask(head, relation, top=-1) == cases.ask(head, relation, top=-1)


def test_saving_twice_gives_the_same_bytes_and_the_new_file_in_the_place_of_the_old(file: Path) -> None:
    first = file.read_bytes()
    CaseBase.load(file).save(file)
    assert file.read_bytes() == first
    case_base(FACTS[:5]).save(file)
    assert sorted(CaseBase.load(file).graph.facts()) == sorted(FACTS[:5])
    assert [path.name for path in file.parent.iterdir()] == ["whole.case"]


def test_odd_names_are_kept(tmp_path: Path) -> None:
    odd = [("", "ä⁻¹", "\t\n\0"), ("𝔸", " r ", "\u202e"), ("a", "ä⁻¹", "\x1b[31m")]
    case_base(odd).save(tmp_path / "odd ☃.case")
    assert sorted(CaseBase.load(tmp_path / "odd ☃.case").graph.facts()) == sorted(odd)


def test_an_empty_case_base_can_be_saved(tmp_path: Path) -> None:
    CaseBase(PAPER).save(tmp_path / "empty.case")
    again = CaseBase.load(tmp_path / "empty.case")
    assert (len(again.graph), again.settings) == (0, PAPER)


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.6, 0.9, 0.99])
def test_a_file_that_is_cut_short_is_refused(part: float, file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[: int(part * len(whole))])
    assert_refused(file, IncompatibleFile, "is not a saved case base, or only a part of one; build it again")


@pytest.mark.parametrize("name", ["settings", "facts", "entity_names", "offsets", "types", "hits", "right"])
def test_a_flipped_byte_is_noticed(name: str, file: Path) -> None:
    with np.load(file, allow_pickle=False) as saved:
        content = saved[name].tobytes()
    whole = bytearray(file.read_bytes())
    assert whole.count(content) == 1
    whole[whole.index(content) + len(content) // 2] ^= 0x10
    file.write_bytes(whole)
    assert_refused(file, IncompatibleFile, "is damaged (")


@pytest.mark.parametrize("place", [6, 8, 10], ids=["version needed", "flags", "method"])
def test_a_flipped_byte_in_the_list_of_contents_is_noticed(place: int, file: Path) -> None:
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
        f"has format {version}, this casegraph reads formats {FORMAT - 1} and {FORMAT}; build it again",
    )


def test_a_file_of_arrays_without_a_version_is_refused(file: Path) -> None:
    rewrite(file, lambda arrays: arrays.pop("format"))
    assert_refused(file, IncompatibleFile, f"has format 0, this casegraph reads formats {FORMAT - 1}")


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_nothing_in_a_pickle_is_run(tmp_path: Path) -> None:
    trap = Trap(tmp_path / "sprung")
    (tmp_path / "plain.case").write_bytes(pickle.dumps(trap))
    assert_refused(tmp_path / "plain.case", IncompatibleFile, "is not a saved case base")
    hidden = np.empty(1, dtype=object)
    hidden[0] = trap
    with (tmp_path / "hidden.case").open("wb") as out:
        np.savez(out, format=np.array([FORMAT]), facts=hidden)
    assert_refused(tmp_path / "hidden.case", IncompatibleFile, "is damaged (facts is not an array of numbers)")
    assert not trap.path.exists()


TAMPERED: dict[str, tuple[Callable[[Arrays], object], str]] = {
    "a path type of a relation that is not there": (put("types", 0, 1_000_000), "a path type names a relation"),
    "the last path type": (put("types", -1, 99), "a path type names a relation"),
    "a head that is not there": (put("facts", (0, 0), 99), "facts name entities or relations"),
    "a tail below zero": (put("facts", (0, 2), -1), "facts name entities or relations"),
    "a relation that is not there": (put("facts", (0, 1), 6), "facts name entities or relations"),
    "names that repeat": (put("entity_offsets", slice(-1), 0), "entity names repeat"),
    "names that end too early": (put("entity_offsets", slice(None), 0), "entity_offsets do not divide"),
    "names that go back": (put("entity_offsets", 1, 9), "entity_offsets do not divide"),
    "facts that repeat": (put("facts", slice(2), 0), "facts repeat"),
    "facts that are fractions": (lambda arrays: arrays.update(facts=arrays["facts"] + 0.5), "rows of three ids"),
    "more right than reached": (put("right", slice(None), 1 << 40), "more is right than reached"),
    "a path type without hits": (put("hits", 0, 0), "without hits"),
    "a relation that was not counted": (
        lambda arrays: arrays.update(counted=arrays["counted"][:-1]),
        "paths of a relation reach that was not counted",
    ),
    "relations out of order": (put("counted", 0, 5), "of a relation that does not exist"),
    "longer paths than are counted": (put("longest", 0, 9), "it is not said which paths are counted"),
    "more spare than there can be": (put("longest", 1, 1 << 60), "it is not said which paths are counted"),
    "names that are not UTF-8": (put("entity_names", 0, 255), "can't decode"),
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
    "an entity that is not there": (put("clusters", 0, 99), "has other leaves than the facts"),
    "a number below -1": (put("clusters", 0, -2), "is not a row of entities"),
    "a leaf twice": (lambda arrays: arrays["clusters"].put(0, arrays["clusters"][1]), "has other leaves"),
    "a join too many": (put("clusters", 0, -1), "does not join all of its leaves"),
    "a join too few": (lambda arrays: arrays.update(clusters=arrays["clusters"][:-1]), "does not join all"),
    "nothing": (lambda arrays: arrays.update(clusters=arrays["clusters"][:0]), "has other leaves"),
    "other numbers": (lambda arrays: arrays.update(clusters=arrays["clusters"] * 1.0), "is not a row of entities"),
}


@pytest.mark.parametrize("kind", TREES)
def test_a_tree_of_clusters_that_is_not_one_of_the_facts_is_refused(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "grown.case"
    case_base(FACTS, GRINCH).save(file)
    change, words = TREES[kind]
    rewrite(file, change)
    assert_refused(file, IncompatibleFile, words)
    assert_refused(file, IncompatibleFile, "is damaged (")


def test_clusters_that_depend_on_history_are_kept(tmp_path: Path) -> None:
    cases, others = case_base(FACTS[:12], GRINCH), case_base(FACTS, GRINCH)
    for fact in FACTS[12:]:
        cases.update(add=[fact])
    cases.save(tmp_path / "x.case")
    again = CaseBase.load(tmp_path / "x.case")
    shapes = [each.cases.clusters.tree.shape().tolist() for each in (cases, again, others)]  # type: ignore[union-attr]
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
    assert_refused(file, IncompatibleFile, "is damaged (max_length is 9; expected from 1 to 5)")


def test_what_is_no_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.case").mkdir()
    assert_refused(tmp_path / "folder.case", UnreadableFile, "is a folder, not a file; put the file itself")
    assert_refused(
        tmp_path / "missing.case", UnreadableFile, "cannot be read (No such file or directory); check the name"
    )


def test_an_empty_file_and_a_file_of_facts_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.case").touch()
    (tmp_path / "facts.case").write_text("a\tr\tb\n", encoding="utf-8")
    for name in ("empty.case", "facts.case"):
        assert_refused(
            tmp_path / name, IncompatibleFile, "is not a saved case base, or only a part of one; build it again"
        )


def test_saving_to_a_folder_that_does_not_exist_writes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "nowhere" / "x.case"
    with pytest.raises(UnreadableFile) as raised:
        case_base(FACTS).save(place)
    assert str(raised.value) == f"{place}: cannot be written (No such file or directory); choose another place"
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


@pytest.mark.parametrize("crash", [OSError(28, "No space left on device"), RuntimeError("crash"), KeyboardInterrupt()])
def test_a_crash_while_writing_leaves_the_old_file(
    crash: BaseException, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(out: BinaryIO, **arrays: object) -> None:
        out.write(b"half of it")
        out.flush()
        raise crash

    before = file.read_bytes()
    monkeypatch.setattr(np, "savez", half)
    with pytest.raises(UnreadableFile if isinstance(crash, OSError) else type(crash)) as raised:
        case_base(FACTS[:5]).save(file)
    if isinstance(crash, OSError):
        assert str(raised.value) == f"{file}: cannot be written (No space left on device); choose another place"
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["whole.case"]
