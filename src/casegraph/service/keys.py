"""
Keys: who may read, and who may write.

A key is given in the header `Authorization: Bearer …` and nowhere else. Only digests of keys are
kept, and comparing them takes the same time whatever was given. A key that may write may read.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path

from casegraph.errors import InvalidArgument, UnreadableFile

LEAST_BYTES = 16
DIGEST_MARK = "sha256:"
SCHEME = "bearer"
VARIABLES = {"CASEGRAPH_READ_KEY": "read", "CASEGRAPH_WRITE_KEY": "write"}


class Right(IntEnum):
    """What somebody may do; each includes those before it."""

    NOTHING = 0
    READ = 1
    WRITE = 2


RIGHTS = {"read": Right.READ, "write": Right.WRITE}


@dataclass(frozen=True, slots=True)
class Keys:
    """The digests of all keys, each with what its holder may do.

    Without any keys, everybody may do everything: then the service listens to this computer only.
    """

    digests: tuple[tuple[bytes, Right], ...] = ()

    def __repr__(self) -> str:
        return f"<{len(self)} keys>"

    def __len__(self) -> int:
        return len(self.digests)

    def right_of(self, authorization: str) -> Right:
        """What the sender of a request may do.

        authorization  the header, decoded as Latin-1; empty if there is none
        """
        if not self.digests:
            return Right.WRITE
        scheme, _, key = authorization.partition(" ")
        given = sha256(key.strip().encode("latin-1", errors="replace")).digest()
        found = Right.NOTHING
        for (
            digest,
            right,
        ) in self.digests:  # always all of them: the time reveals nothing
            if compare_digest(digest, given):
                found = max(found, right)
        return found if scheme.lower() == SCHEME else Right.NOTHING


def read_keys(file: Path | None, environment: Mapping[str, str] = os.environ) -> Keys:
    """The keys in a file, and those in the environment.

    A line of the file is the word `read` or `write` and a key, or its digest after `sha256:`.
    """
    digests = list(_in_environment(environment))
    if file is not None:
        digests += _in_file(file)
    return Keys(tuple(digests))


def _in_environment(environment: Mapping[str, str]) -> Iterator[tuple[bytes, Right]]:
    for variable, word in VARIABLES.items():
        key = environment.get(variable, "")
        if key:
            yield _digest(variable, key), RIGHTS[word]


def _in_file(file: Path) -> Iterator[tuple[bytes, Right]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(str(file), f"the keys cannot be read: {error}") from error
    for number, line in enumerate(_stripped(lines), start=1):
        if not line:
            continue
        word, _, key = line.partition(" ")
        if word not in RIGHTS or not key.strip():
            raise UnreadableFile(
                f"{file}:{number}", "expected 'read KEY' or 'write KEY'"
            )
        yield _digest(f"{file}:{number}", key.strip()), RIGHTS[word]


def _stripped(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line.partition("#")[0].strip()


def _digest(where: str, key: str) -> bytes:
    """The digest of a key; an error that does not repeat the key if it is too short."""
    if key.startswith(DIGEST_MARK):
        try:
            digest = bytes.fromhex(key.removeprefix(DIGEST_MARK))
        except ValueError:
            digest = b""
        if len(digest) != sha256().digest_size:
            raise InvalidArgument(
                where, "a digest", "64 hexadecimal digits after 'sha256:'"
            )
        return digest
    if len(key.encode()) < LEAST_BYTES:
        raise InvalidArgument(
            where, "a shorter key", f"a key of at least {LEAST_BYTES} bytes"
        )
    return sha256(key.encode()).digest()
