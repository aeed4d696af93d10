"""
Downloads of published data sets: verified, and complete or not at all.

- Only https is used, except for this machine itself, for tests. A redirect to anything other than
  https is rejected.
- The catalogue has the size of each file. No more bytes than that are read.
- The SHA-256 of each file is compared with the catalogue.
- Files are written to a temporary folder beside the destination, which is renamed when all files
  are complete and on disk. An interrupted download leaves nothing under the name of the data set.
"""

import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from secrets import token_hex
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from casegraph.disk import create_file, flush, flush_folder, writing_named
from casegraph.errors import CasegraphError, IncompatibleFile, UnreadableFile
from casegraph.evaluation.catalogue import Dataset, RemoteFile
from casegraph.running import Show, quiet

TIMEOUT = 30  # seconds without a byte
CHUNK = 1 << 16  # bytes per read
THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


def fetch(dataset: Dataset, folder: Path, show: Show = quiet) -> Path:
    """Download a data set to `folder`, all or nothing; returns the folder with its name there.

    `CasegraphError` if the data set cannot be downloaded, `UnreadableFile` if the download fails,
    and `IncompatibleFile` if what arrives is not what was published.
    """
    if not dataset.files:
        raise CasegraphError(
            f"{dataset.name}: cannot be downloaded; source: {dataset.source}"
        )
    destination = folder / dataset.name
    with _new_folder(destination) as unfinished:
        for file in dataset.files:
            _download(file, unfinished / file.name, show)
    return destination


@contextmanager
def _new_folder(destination: Path) -> Iterator[Path]:
    """A temporary folder that gets the name `destination` if the `with` block completes."""
    unfinished = destination.with_name(f".{destination.name}.{token_hex(4)}")
    try:
        with writing_named(destination):
            destination.parent.mkdir(parents=True, exist_ok=True)
            unfinished.mkdir()
            yield unfinished
            flush_folder(unfinished)
            unfinished.rename(destination)
            flush_folder(destination.parent)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _download(file: RemoteFile, path: Path, show: Show) -> None:
    """Download a file; `IncompatibleFile` unless it is what the catalogue says."""
    digest = sha256()
    size = 0
    with (
        os.fdopen(create_file(path), "wb") as written,
        closing(_chunks(file)) as chunks,
    ):
        for chunk in chunks:
            size += len(chunk)
            if size > file.size:
                problem = f"is larger than the {file.size:,} bytes that were published"
                raise IncompatibleFile(file.url, f"{problem}; nothing was kept")
            digest.update(chunk)
            written.write(chunk)
            show(f"downloading {file.name}", size, file.size)
        written.flush()
        flush(written.fileno())
    if size < file.size:
        problem = f"ended after {size:,} of {file.size:,} bytes"
        raise UnreadableFile(file.url, f"{problem}; try again")
    if digest.hexdigest() != file.sha256:
        problem = "has another SHA-256 than what was published"
        raise IncompatibleFile(file.url, f"{problem}; nothing was kept")


def _chunks(file: RemoteFile) -> Generator[bytes, None, None]:
    """The content that the server sends, in chunks."""
    try:
        with _opened(file.url) as response:
            while True:
                chunk = response.read(CHUNK)
                if not chunk:
                    return
                yield chunk
    except (URLError, HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        if isinstance(error, HTTPError):
            error.close()  # it holds the connection
        problem = f"cannot be downloaded ({reason}); check the connection"
        raise UnreadableFile(file.url, problem) from error


def _opened(url: str) -> HTTPResponse:
    """The response of a server to the request for a file."""
    address = urlsplit(url)
    is_this_machine = address.hostname in THIS_MACHINE
    if address.scheme != "https" and not (address.scheme == "http" and is_this_machine):
        raise IncompatibleFile(url, "is not an https address; nothing was downloaded")
    proxies = ProxyHandler({}) if is_this_machine else ProxyHandler()
    opener = build_opener(proxies, _OnlyToHttps)
    request = Request(url)  # noqa: S310  (the address was checked above)
    response: HTTPResponse = opener.open(request, timeout=TIMEOUT)
    return response


class _OnlyToHttps(HTTPRedirectHandler):
    """Follows redirects to https, and rejects all others."""

    def redirect_request(
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> Request | None:
        """The request to make instead."""
        if urlsplit(newurl).scheme != "https":
            fp.close()
            problem = f"redirects to {newurl}, which is not https; nothing was kept"
            raise IncompatibleFile(req.full_url, problem)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
