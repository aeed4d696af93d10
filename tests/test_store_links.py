"""A link, a pipe, a socket or a device in a store is never followed, written
or waited for, whatever its name.
"""

import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from shutil import copytree, rmtree
from typing import Any

import pytest
from tests.saying import stored_facts
from tests.strategies import random_facts

from casegraph.errors import CasegraphError, DamagedStore, UnreadableFile
from casegraph.storage.store.checking import check, salvage
from casegraph.storage.store.records import digest
from casegraph.storage.store.store import CaseStore
from casegraph.summary import summary

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="links and pipes are of another kind on Windows"
)

FACTS = random_facts(Random(5), entities=9, relations=3, facts=70)[:30]
PATIENCE = 20  # seconds

NAMES = [
    "lock",
    "acknowledged",
    "acknowledged.new",
    "log-000000",
    "log-000002",
    "log.new",
    "generation-000001",
    "generation-000001/manifest",
    "generation-000001/edge_tails.npy",
    "generation-000007",
    "generation.new",
    "generation.old",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a generation and updates after it."""
    folder = tmp_path_factory.mktemp("made") / "store"
    with CaseStore.open(folder) as store:
        store.update(add=FACTS[:10])
        store.compact()
        store.update(add=FACTS[10:20], retract=FACTS[:2])
        store.update(add=FACTS[20:])
    return folder


def link_to_a_file(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "file")


def link_to_a_folder(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "folder")


def link_to_nothing(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "not there")


def link_to_itself(place: Path, outside: Path) -> None:
    place.symlink_to(place.name)


def hard_link(place: Path, outside: Path) -> None:
    place.hardlink_to(outside / "file")


def pipe(place: Path, outside: Path) -> None:
    os.mkfifo(place)


def socket_(place: Path, outside: Path) -> None:
    here = Path.cwd()
    os.chdir(place.parent)  # the address of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(place.name)
    finally:
        os.chdir(here)


def device(place: Path, outside: Path) -> None:
    try:
        # /dev/zero, which has no end.
        os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only a superuser makes devices")


def folder(place: Path, outside: Path) -> None:
    place.mkdir()


KINDS: list[Callable[[Path, Path], None]] = [
    link_to_a_file,
    link_to_a_folder,
    link_to_nothing,
    link_to_itself,
    hard_link,
    pipe,
    socket_,
    device,
    folder,
]


def update(folder: Path) -> None:
    with CaseStore.open(folder) as store:
        store.update(add=[("a", "new", "fact")])


def compact(folder: Path) -> None:
    with CaseStore.open(folder) as store:
        store.compact()


def forget(folder: Path) -> None:
    with CaseStore.open(folder) as store:
        store.compact(forget_history=True)


def read(folder: Path) -> None:
    reader = CaseStore.open(folder, read_only=True)
    assert set(reader.graph.facts()) == set(FACTS[2:])
    assert list(reader.history())
    assert summary(reader)


def salvage_it(folder: Path) -> None:
    assert set(salvage(folder).facts) <= set(FACTS)


WAYS: list[Callable[[Path], Any]] = [update, compact, forget, read, check, salvage_it]


@contextmanager
def patience() -> Iterator[None]:
    """Fail when something takes too long: it waits for a pipe."""

    def stop(*_: object) -> None:
        pytest.fail("it hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def replaced(
    made: Path, place: Path, name: str, kind: Callable[[Path, Path], None]
) -> tuple[Path, Path]:
    """A copy of the store with something else under a name, and a folder outside
    of it that may be led to.
    """
    store = place / "store"
    outside = place / "outside"
    copytree(made, store)
    outside.mkdir()
    original = store / name
    is_folder = name.startswith("generation") and "/" not in name
    copytree(
        original if original.is_dir() else made / "generation-000001",
        outside / "folder",
    )
    (outside / "folder" / "precious").write_bytes(b"precious")
    # A lock that is written again may say the same.
    is_whole = original.is_file() and name != "lock"
    content = original.read_bytes() if is_whole else b"precious"
    (outside / "file").write_bytes(content)
    if original.is_dir():
        rmtree(original)
    with suppress(FileNotFoundError):
        original.unlink()
    kind(original, outside)
    assert is_folder or kind is folder or not original.is_dir() or original.is_symlink()
    return store, outside


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_outside_a_store_is_read_written_or_waited_for(
    name: str, kind: Callable[[Path, Path], None], made: Path, tmp_path: Path
) -> None:
    for number, way in enumerate(WAYS):
        (tmp_path / str(number)).mkdir()
        store, outside = replaced(made, tmp_path / str(number), name, kind)
        before = contents(outside)
        with patience(), suppress(CasegraphError):
            way(store)
        assert contents(outside) == before


@pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if kind is not hard_link],
    ids=lambda kind: kind.__name__,
)
@pytest.mark.parametrize("name", ["acknowledged", "log-000000"])
def test_a_store_whose_truth_is_no_file_does_not_open_and_says_why(
    name: str, kind: Callable[[Path, Path], None], made: Path, tmp_path: Path
) -> None:
    store, _ = replaced(made, tmp_path, name, kind)
    for read_only in (True, False):
        with patience(), pytest.raises((UnreadableFile, DamagedStore)) as raised:
            CaseStore.open(store, read_only=read_only)
        assert str(raised.value).startswith(f"{store / name}: is ")
        assert "not a file; put the file itself in its place" in str(raised.value)
    damaged = [finding for finding in check(store) if finding.damaged]
    assert [finding.file for finding in damaged] == [name]
    assert "not a file" in damaged[0].state


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_lock_that_is_no_file_of_its_own_keeps_writers_out_and_readers_not(
    kind: Callable[[Path, Path], None], made: Path, tmp_path: Path
) -> None:
    store, _ = replaced(made, tmp_path, "lock", kind)
    with patience(), pytest.raises(UnreadableFile, match="in its place"):
        CaseStore.open(store)
    assert stored_facts(store) == set(FACTS[2:])


@pytest.mark.parametrize("name", ["log-000000", "acknowledged"])
def test_a_file_with_a_second_name_is_read_but_not_written(
    name: str, made: Path, tmp_path: Path
) -> None:
    store, _ = replaced(made, tmp_path, name, hard_link)
    assert stored_facts(store) == set(FACTS[2:])
    with pytest.raises(
        UnreadableFile,
        match=r"has another name too \(a hard link\); put a copy in its place",
    ):
        CaseStore.open(store)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name.startswith("generation")]
)
@pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if kind is not hard_link],
    ids=lambda kind: kind.__name__,
)
def test_a_generation_of_anything_but_files_is_replaced_by_the_next(
    name: str,
    kind: Callable[[Path, Path], None],
    made: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, _ = replaced(made, tmp_path, name, kind)
    is_used = name not in ("generation.new", "generation.old")
    assert any(finding.damaged for finding in check(store)) == is_used
    with patience(), CaseStore.open(store) as opened:
        assert set(opened.graph.facts()) == set(FACTS[2:])
        assert ("is damaged" in caplog.text) == is_used
        if name.endswith(("manifest", "edge_tails.npy")) and kind is folder:
            return  # a folder in a generation is nothing of ours, and stays
        opened.compact()
    left = list(store.iterdir())
    assert len(left) == 4
    assert not any(path.is_symlink() for path in left)
    assert not any(finding.damaged for finding in check(store))


def test_the_folder_of_a_store_may_be_a_link_since_its_user_chose_it(
    made: Path, tmp_path: Path
) -> None:
    copytree(made, tmp_path / "store")
    (tmp_path / "link").symlink_to(tmp_path / "store")
    update(tmp_path / "link")
    compact(tmp_path / "link")
    assert ("a", "new", "fact") in CaseStore.open(
        tmp_path / "store", read_only=True
    ).graph
    assert (tmp_path / "link").is_symlink()


def test_a_manifest_names_only_files_of_its_own_folder(
    made: Path, tmp_path: Path
) -> None:
    copytree(made, tmp_path / "store")
    generation = tmp_path / "store" / "generation-000001"
    outside = tmp_path / "edge_tails.npy"
    outside.write_bytes((generation / "edge_tails.npy").read_bytes())
    content, _, _ = (generation / "manifest").read_bytes().rpartition(b"\n")
    changed = content.replace(b'"edge_tails"', b'"../../edge_tails"')
    assert changed != content
    (generation / "manifest").write_bytes(
        changed + b"\n" + digest(changed).hex().encode()
    )
    assert "names a file that no generation has" in str(check(tmp_path / "store"))


def test_a_file_is_measured_before_it_is_read(made: Path, tmp_path: Path) -> None:
    for name in ("acknowledged", "log-000000", "generation-000001/edge_tails.npy"):
        store = tmp_path / name.replace("/", "-")
        copytree(made, store)
        os.truncate(store / name, 1 << 43)  # takes no room on disk
        with patience():
            assert f"has {1 << 43:,} bytes, more than" in str(check(store))
            if name.startswith("generation"):
                assert stored_facts(store) == set(FACTS[2:])
                continue
            with pytest.raises(
                UnreadableFile, match=r"bytes, more than .*; restore it from a copy"
            ):
                CaseStore.open(store)
