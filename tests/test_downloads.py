"""Downloads from a server on this machine, with made-up files:
only what was published is kept, or nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner

from casegraph.cli import cli
from casegraph.errors import CasegraphError, IncompatibleFile, UnreadableFile
from casegraph.evaluation import catalogue as module
from casegraph.evaluation.catalogue import Dataset, RemoteFile
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.downloads import fetch

FILES = {
    "train.txt": b"a\tr\tb\n" * 50_000,
    "valid.txt": b"a\tr\tc\n",
    "test.txt": "ä\tr\tb\n".encode(),
}
Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """A server on this machine; `answers` has what to do for a path other than sending its file."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: dict[str, Answer] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.removeprefix("/")
                server.asked.append(name)
                server.answers.get(name, send(FILES.get(name, b"")))(self)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def send(content: bytes, *, declared: int | None = None) -> Answer:
    """Send content, and say that it has so many bytes."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header(
            "Content-Length", str(len(content) if declared is None else declared)
        )
        handler.end_headers()
        with suppress(OSError):  # whoever asked may have had enough
            handler.wfile.write(content)

    return answer


def fail(code: int) -> Answer:
    return lambda handler: handler.send_error(code)


def redirect(target: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", target)
        handler.end_headers()

    return answer


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


def published(server: Server) -> Dataset:
    files = tuple(
        RemoteFile(
            name, len(content), sha256(content).hexdigest(), f"{server.address}/{name}"
        )
        for name, content in FILES.items()
    )
    return Dataset("made/up", 3, 4, 1, "made up", "this machine", files)


def everything_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_data_set_arrives_as_it_was_published(server: Server, tmp_path: Path) -> None:
    shown: list[tuple[str, int, int]] = []
    folder = fetch(
        published(server), tmp_path / "data", lambda *step: shown.append(step)
    )
    assert folder == tmp_path / "data" / "made" / "up"
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == FILES
    assert everything_in(tmp_path / "data") == [
        "made",
        "made/up",
        *(f"made/up/{name}" for name in sorted(FILES)),
    ]
    assert list(Benchmark.open(folder).facts("test")) == [("ä", "r", "b")]
    train = [
        (done, total)
        for doing, done, total in shown
        if doing == "downloading train.txt"
    ]
    size = len(FILES["train.txt"])
    assert len(train) > 1
    assert train == sorted(train)
    assert train[-1] == (size, size)


WRONG: dict[str, tuple[Answer, type[CasegraphError], str]] = {
    "other content of the same size": (
        send(b"a\tr\tX\n"),
        IncompatibleFile,
        "has another SHA-256 than what was published; nothing was kept",
    ),
    "more than was published": (
        send(b"a\tr\tc\n!"),
        IncompatibleFile,
        "is larger than the 6 bytes",
    ),
    "without end": (
        send(b"x" * 10_000_000),
        IncompatibleFile,
        "is larger than the 6 bytes",
    ),
    "less than was published": (
        send(b"a\tr\t"),
        UnreadableFile,
        "ended after 4 of 6 bytes; try again",
    ),
    "less than was said": (
        send(b"a\tr\t", declared=6),
        UnreadableFile,
        "cannot be downloaded|ended after",
    ),
    "nothing": (send(b""), UnreadableFile, "ended after 0 of 6 bytes"),
    "not there": (
        fail(404),
        UnreadableFile,
        r"cannot be downloaded \(Not Found\); check the connection",
    ),
    "not allowed": (fail(403), UnreadableFile, "cannot be downloaded"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_not_as_published_is_refused_and_leaves_nothing(
    server: Server, tmp_path: Path, kind: str
) -> None:
    answer, error, words = WRONG[kind]
    server.answers["valid.txt"] = answer
    with pytest.raises(error, match=words) as raised:
        fetch(published(server), tmp_path)
    assert str(raised.value).startswith(f"{server.address}/valid.txt: ")
    assert everything_in(tmp_path) == ["made"]
    del server.answers["valid.txt"]
    assert len(everything_in(fetch(published(server), tmp_path))) == 3


@pytest.mark.parametrize(
    "target",
    ["{}/test.txt", "http://example.org/valid.txt", "ftp://example.org/v", "file:///v"],
)
def test_a_redirect_to_anything_but_https_is_refused(
    server: Server, tmp_path: Path, target: str
) -> None:
    server.answers["valid.txt"] = redirect(target.format(server.address))
    with pytest.raises(CasegraphError, match=r"not https|cannot be downloaded"):
        fetch(published(server), tmp_path)
    assert server.asked == ["train.txt", "valid.txt"]
    assert everything_in(tmp_path) == ["made"]


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/a",
        "http://127.0.0.1.example.org/a",
        "ftp://127.0.0.1/a",
        "file:///etc/passwd",
    ],
)
def test_an_address_that_is_not_https_is_never_opened(tmp_path: Path, url: str) -> None:
    data = Dataset(
        "made-up", 1, 1, 1, "", "", (RemoteFile("train.txt", 1, "0" * 64, url),)
    )
    with pytest.raises(
        IncompatibleFile, match="is not an https address; nothing was downloaded"
    ):
        fetch(data, tmp_path)
    assert everything_in(tmp_path) == []


def test_an_interrupt_leaves_nothing(server: Server, tmp_path: Path) -> None:
    def interrupt(doing: str, done: int, total: int) -> None:
        if doing == "downloading test.txt":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(published(server), tmp_path, interrupt)
    assert everything_in(tmp_path) == ["made"]


def test_nobody_answers(server: Server, tmp_path: Path) -> None:
    data = published(server)
    server.close()
    with pytest.raises(UnreadableFile, match="cannot be downloaded"):
        fetch(data, tmp_path)


def test_what_is_there_is_not_written_over(server: Server, tmp_path: Path) -> None:
    (tmp_path / "made" / "up").mkdir(parents=True)
    (tmp_path / "made" / "up" / "train.txt").write_text("mine")
    with pytest.raises(UnreadableFile, match="cannot be written"):
        fetch(published(server), tmp_path)
    assert everything_in(tmp_path) == ["made", "made/up", "made/up/train.txt"]


def test_the_command_downloads_once(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = replace(published(server), name="made-up")
    unpublished = replace(data, name="unpublished", files=())
    monkeypatch.setattr(
        module, "catalogue", lambda: {"made-up": data, "unpublished": unpublished}
    )
    monkeypatch.setenv("CASEGRAPH_DATA", str(tmp_path / "data"))
    for asked in (3, 3):
        result = CliRunner().invoke(
            cli, ["datasets", "fetch", "made-up", "--format", "jsonl"]
        )
        assert (result.exit_code, str(tmp_path / "data") in result.stdout) == (
            0,
            True,
        ), result.stderr
        assert len(server.asked) == asked
    assert "made-up is there already" in result.stderr
    result = CliRunner().invoke(cli, ["datasets", "fetch", "unpublished"])
    assert result.exit_code == 1
    assert "unpublished: cannot be downloaded; source: this machine" in result.stderr
