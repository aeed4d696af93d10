"""
Named arrays in a file: what case files, files of counts and the generations of a store share.

Such a file is an uncompressed `.npz`, that is, a zip archive with one `.npy` member for each array.
Beside the arrays of its kind it has `format`, a version number, and `digest`, a digest of all other
arrays. Nothing in it is code, and nothing is unpickled.

A file may be truncated, damaged, or malicious, so reading trusts nothing. The sizes that the
list of members and the header of each array declare are compared with the size of the file before
memory is allocated. The digest is compared with the content. What the arrays mean is checked by
whoever reads that kind of file; `row_of` and `offsets_of` help with that.
"""

import errno
import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from io import BytesIO
from mmap import mmap
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from casegraph.disk import atomic_write, open_file, size_of
from casegraph.errors import IncompatibleFile, UnreadableFile
from casegraph.graph.arrays import Counts

FORMAT = "format"  # the array with the format version
DIGEST = "digest"  # the array with the digest of all others
MOST_ARRAYS = 64  # in a file

# What Python and NumPy raise when arrays are not what the code that uses them expects.
CONTENT_ERRORS = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    struct.error,
)

AnyArray = npt.NDArray[Any]
Arrays = dict[str, AnyArray]

# A `.npy` file of version 1.0: magic, two bytes for the length of the header, and the header.
_NPY_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00.."
    rb"{'descr': '(?P<dtype>[<>|][iuf][1248])', "
    rb"'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>[0-9, ]{0,99})\), } *\n",
    re.DOTALL,
)


def write_arrays(path: Path, version: int, arrays: Arrays) -> None:
    """Write arrays under their names, with a format version and a digest; all or nothing."""
    versioned = {FORMAT: np.array([version]), **arrays}
    digest = {DIGEST: digest_of(versioned)}
    with atomic_write(path) as file:
        np.savez(file, allow_pickle=False, **versioned, **digest)


def read_arrays(
    path: Path, kind: str, version: int, advice: str = "make it again from its facts"
) -> Arrays:
    """Read what `write_arrays` wrote, with this format version.

    kind    what the file should be, in words, for the error message
    advice  what to do if it has another format version
    """
    try:
        with os.fdopen(open_file(path, may_be_link=True), "rb") as file:
            size = size_of(file.fileno(), path)
            if not zipfile.is_zipfile(file):
                problem = f"is not {kind}, or only a part of one; make it again from its facts"
                raise IncompatibleFile(str(path), problem)
            arrays = {
                name: array_from_npy(name, npy) for name, npy in _members(file, size)
            }
    except OSError as error:
        # The file itself names an offset before its beginning.
        if error.errno == errno.EINVAL:
            raise damaged(path, error) from error
        problem = f"cannot be read ({error.strerror}); check the name"
        raise UnreadableFile(str(path), problem) from error
    except (zipfile.BadZipFile, EOFError, RuntimeError, *CONTENT_ERRORS) as error:
        raise damaged(path, error) from error
    _check_version_and_digest(path, arrays, version, advice)
    return arrays


def damaged(path: Path, error: Exception) -> IncompatibleFile:
    """The error to raise when the content of a file contradicts itself."""
    problem = " ".join(str(error).split()) or type(error).__name__
    return IncompatibleFile(
        str(path), f"is damaged ({problem}); make it again from its facts"
    )


def digest_of(arrays: Arrays) -> AnyArray:
    """A digest of the name, type, shape and content of each array but the digest itself.

    The order of the arrays does not matter.
    """
    digest = blake2b(digest_size=32)
    for name, array in sorted(arrays.items()):
        if name == DIGEST:
            continue
        description = json.dumps([name, array.dtype.str, array.shape])
        digest.update(f"{len(description)} {description}".encode())
        digest.update(array.tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def npy_parts(parts: Sequence[AnyArray]) -> Iterator[memoryview]:
    """The bytes of a `.npy` file with these arrays concatenated: its header, then each array.

    parts  at least one, all of the same type; if there are several, each has one dimension
    """
    first = parts[0]
    length = sum(len(part) for part in parts)
    shape = first.shape if len(parts) == 1 else (length,)
    header = BytesIO()
    description = {"descr": first.dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, description)
    yield header.getbuffer()
    for part in parts:
        if part.size:
            yield np.ascontiguousarray(part).data.cast("B")


def array_from_npy(name: str, content: bytes | mmap) -> AnyArray:
    """The array in the bytes of a `.npy` file, without a copy.

    `ValueError` if they are not exactly one array of numbers. We read the header ourselves, because
    `np.load` evaluates it as a Python literal and allocates the size that it declares.
    """
    header = _NPY_HEADER.match(content)
    if header is None:
        raise ValueError(f"{name} is not an array of numbers")
    dtype = np.dtype(header["dtype"].decode())
    lengths = header["shape"].replace(b" ", b"").split(b",")
    shape = [int(length) for length in lengths if length]
    declared_size = math.prod(shape) * dtype.itemsize
    if declared_size != len(content) - header.end():
        raise ValueError(f"{name} has another size than it says")
    order: Literal["C", "F"] = "F" if header["fortran"] == b"True" else "C"
    return np.ndarray(shape, dtype, buffer=content, offset=header.end(), order=order)


def row_of(name: str, arrays: Arrays, dtype: type[np.generic]) -> AnyArray:
    """The array of this name; `ValueError` unless it has one dimension and this type."""
    found = arrays.get(name)
    if found is None:
        raise ValueError(f"{name} are missing")
    if found.dtype != dtype or found.ndim != 1:
        raise ValueError(f"{name} are not a row of {np.dtype(dtype).name}")
    return found


def offsets_of(name: str, arrays: Arrays, end: int) -> Counts:
    """The array of this name; `ValueError` unless it can divide `end` things into parts.

    Part i goes from `offsets[i]` to `offsets[i + 1]`. So the first offset is 0, the last is `end`,
    and none is smaller than the one before it.
    """
    offsets: Counts = row_of(name, arrays, np.int64)
    has_ends = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == end
    if not has_ends or (np.diff(offsets) < 0).any():
        raise ValueError(f"{name} do not divide what they should")
    return offsets


def _members(file: BinaryIO, size: int) -> Iterator[tuple[str, bytes]]:
    """The name and the bytes of each member of a zip file of this size."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        names = [member.filename.removesuffix(".npy") for member in members]
        if len(members) > MOST_ARRAYS or len(set(names)) < len(names):
            raise ValueError("it has too many arrays, or two of one name")
        if sum(member.file_size for member in members) > size:
            raise ValueError("its arrays would be larger than the file")
        for name, member in zip(names, members, strict=True):
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{member.filename} is packed")
            yield name, archive.read(member)


def _check_version_and_digest(
    path: Path, arrays: Arrays, version: int, advice: str
) -> None:
    """Check `format` and `digest`, and remove the digest from the arrays."""
    found = _version_in(arrays)
    if found != version:
        problem = f"has format {found}, this casegraph reads format {version}"
        raise IncompatibleFile(str(path), f"{problem}; {advice}")
    if DIGEST not in arrays:
        raise damaged(path, ValueError("its digest is missing"))
    digest = arrays.pop(DIGEST)
    if not np.array_equal(digest, digest_of(arrays)):
        raise damaged(path, ValueError("its digest is of other content"))


def _version_in(arrays: Arrays) -> int:
    """The format version of a file; 0 if it has none."""
    version = arrays.get(FORMAT)
    if version is None or version.shape != (1,) or version.dtype != np.int64:
        return 0
    return int(version[0])
