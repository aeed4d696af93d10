"""
A cache of what was read and counted for a file of facts, so that the next question is fast.

It is a case file in the user's cache, under a digest of everything that it depends on: the files
with their sizes and times, how they are read, the settings, and the version of casegraph. Nothing
depends on it: without it, or if it is damaged, the file is read and counted again. CASEGRAPH_CACHE
names another folder; if it is empty, nothing is kept.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from casegraph import __version__
from casegraph.casebase import CaseBase
from casegraph.errors import CasegraphError
from casegraph.folders import cache_folder
from casegraph.formats.registry import names_file
from casegraph.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.cli.reader import Read

VARIABLE = "CASEGRAPH_CACHE"
MOST_KEPT = 8  # case bases
WORTH_KEEPING = 1.0  # seconds that reading and counting took


def kept_case(source: str, settings: Settings | None, read: Read | None) -> Path | None:
    """Where the case base of a source is kept, if it is a file or the folder of a benchmark."""
    folder = _folder()
    if folder is None or source == "-" or not Path(source).exists():
        return None
    options: dict[str, object] = {} if read is None else dict(read.options)
    if options.pop("refused", None) is not None:
        return None  # lines that are skipped are written at every reading
    files = list(_files(Path(source)))
    if read is not None and read.names is not None:
        files += _files(Path(read.names))
    content = {
        "version": __version__,
        "settings": asdict(settings or Settings()),
        "options": options,
        "files": files,
    }
    content_json = json.dumps(content, default=str)
    digest = sha256(content_json.encode()).hexdigest()
    return folder / f"{digest[:32]}.case"


def load_kept(path: Path | None) -> CaseBase | None:
    """The case base that was kept; None if there is none that can be read."""
    if path is None or not path.is_file():
        return None
    with suppress(CasegraphError, OSError):
        cases = CaseBase.load(path)
        os.utime(path)  # the newest is removed last
        return cases
    return None


def keep(cases: CaseBase, path: Path | None) -> None:
    """Keep a case base, and remove the oldest of those kept before; failures are ignored."""
    if path is None:
        return
    with suppress(CasegraphError, OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        cases.save(path)
        kept = path.parent.glob("*.case")
        newest_first = sorted(kept, key=lambda file: -file.stat().st_mtime_ns)
        for file in newest_first[MOST_KEPT:]:
            file.unlink()


def _folder() -> Path | None:
    chosen = os.environ.get(VARIABLE)
    if chosen is None:
        return cache_folder() / "counted"
    return Path(chosen) if chosen else None


def _files(path: Path) -> Iterator[tuple[str, int, int]]:
    """A file, or all files of a folder, each with its size and time."""
    files = (
        sorted(path.iterdir()) if path.is_dir() else [path, names_file(path) or path]
    )
    for file in dict.fromkeys(files):
        if file.is_file():
            status = file.stat()
            yield str(file.resolve()), status.st_size, status.st_mtime_ns
