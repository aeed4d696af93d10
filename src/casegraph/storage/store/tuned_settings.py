"""
The settings that a store was tuned to, in a file of their own.

The log begins with the settings that the store was created with, and its beginning never changes.
Tuning changes settings, so the tuned ones are in a file beside the log: a line of JSON and, on the
next line, its digest. It is replaced as a whole. If it is damaged the store opens all the same,
with the settings that it was created with.
"""

import json
import logging
from pathlib import Path

from casegraph.disk import atomic_write, is_there, read_file
from casegraph.errors import CasegraphError
from casegraph.settings import Settings
from casegraph.storage.array_files import CONTENT_ERRORS
from casegraph.storage.store.records import digest

NAME = "settings"
LONGEST = 1 << 26  # bytes
ERRORS = (OSError, CasegraphError, *CONTENT_ERRORS)  # from reading a damaged file

logger = logging.getLogger("casegraph.storage.store")


def write(folder: Path, store: bytes, settings: Settings) -> None:
    """Keep settings for the store with this id, all or nothing."""
    document = {"store": store.hex(), "settings": settings.as_dict()}
    text = json.dumps(document).encode()
    with atomic_write(
        folder / NAME, advice="make room, open the store again and tune it"
    ) as file:
        file.write(text + b"\n" + digest(text).hex().encode())


def read(folder: Path, store: bytes) -> Settings | None:
    """The settings that were kept for a store; None if there are none.

    One of `ERRORS` is raised if they are damaged.
    """
    path = folder / NAME
    if not is_there(path):
        return None
    text, _, its_digest = read_file(path, LONGEST).rpartition(b"\n")
    if digest(text).hex().encode() != its_digest:
        raise ValueError("it is not as it was written")
    kept = json.loads(text)
    if kept["store"] != store.hex():
        raise ValueError("it belongs to another store")
    return Settings(**kept["settings"])


def read_if_intact(folder: Path, store: bytes) -> Settings | None:
    """The same; None, and a warning, if they are damaged."""
    try:
        return read(folder, store)
    except ERRORS as error:
        message = "%s: is damaged (%s), so it is not used; 'casegraph tune' rebuilds it"
        logger.warning(message, folder / NAME, error)
        return None
