"""The service is safe by default: keys, hosts, origins, limits, slow clients, crashes."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from itertools import permutations
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import assert_refused, process, run
from tests.serving import (
    PATIENCE,
    READ_KEY,
    WRITE_KEY,
    Live,
    bearer,
    live,
    two_keys,
    wait_until_ready,
)

from casegraph import CaseStore, InvalidArgument, UnreadableFile
from casegraph.service import server
from casegraph.service.app import routes
from casegraph.service.keys import Keys, Right, read_keys
from casegraph.service.limits import Limits
from casegraph.service.rights import ROUTES, rule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
DOCS = Path(__file__).parents[1] / "docs" / "http-api.md"
FACTS = [("Ulm", "city in", "Germany"), ("Einstein", "born in", "Ulm")]
ROW = re.compile(r"^\| `(GET|POST|DELETE) (\S+)` \| (none|read|write) \|", re.MULTILINE)


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service with keys."""
    folder = tmp_path_factory.mktemp("locked") / "store"
    with live(folder, keys=two_keys(), facts=FACTS) as running:
        yield running


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Live]:
    """A small service without keys."""
    with live(tmp_path / "store", facts=FACTS) as running:
        yield running


def documented() -> dict[tuple[str, str], str]:
    """What the table of the docs says: the right that each route needs."""
    found = ROW.findall(DOCS.read_text(encoding="utf-8"))
    return {(method, path): right for method, path, right in found}


def test_the_table_of_the_docs_is_that_of_the_guard_and_of_the_application(
    locked: Live,
) -> None:
    words = {Right.NOTHING: "none", Right.READ: "read", Right.WRITE: "write"}
    assert documented() == {route: words[rule.right] for route, rule in ROUTES.items()}
    document = routes(locked.service).openapi()
    served = set()
    for path, methods in document["paths"].items():
        served |= {(method.upper(), path) for method in methods}
    assert served | {("GET", "/v1/openapi.json")} == set(ROUTES)


@pytest.mark.parametrize("key", ["none", "read", "write", "wrong"])
@pytest.mark.parametrize("route", sorted(ROUTES), ids=" ".join)
def test_every_route_lets_in_whom_the_docs_say(
    locked: Live, route: tuple[str, str], key: str
) -> None:
    method, path = route
    needed = documented()[route]
    headers = {
        "none": {},
        "read": bearer(READ_KEY),
        "write": bearer(WRITE_KEY),
        "wrong": bearer(WRITE_KEY + "?"),
    }[key]
    url = locked.address + path.replace("{job}", "none")
    with httpx.stream(method, url, headers=headers, timeout=PATIENCE) as response:
        status = response.status_code
    is_known = key in ("read", "write")
    if needed == "none":
        assert status not in (401, 403)
    elif not is_known:
        assert status == 401
    elif needed == "write" and key == "read":
        assert status == 403
    else:
        assert status not in (401, 403)


def test_what_is_unknown_under_v1_is_told_to_key_holders_only(locked: Live) -> None:
    assert httpx.get(f"{locked.address}/v1/secret").status_code == 401
    assert (
        httpx.get(f"{locked.address}/v1/secret", headers=bearer(READ_KEY)).status_code
        == 404
    )
    assert httpx.get(f"{locked.address}/").status_code == 200
    assert httpx.get(f"{locked.address}/v1/info?key={READ_KEY}").status_code == 401
    basic = {"Authorization": f"Basic {READ_KEY}"}
    assert httpx.get(f"{locked.address}/v1/info", headers=basic).status_code == 401


@given(st.text(max_size=50))
def test_no_other_text_is_a_key(text: str) -> None:
    keys = two_keys()
    assert keys.right_of(f"Bearer {READ_KEY}") == Right.READ
    assert keys.right_of(f"bearer {WRITE_KEY}") == Right.WRITE
    assert keys.right_of(text) == Right.NOTHING
    assert keys.right_of(f"Bearer {text}") == Right.NOTHING
    assert READ_KEY not in repr(keys)


def test_keys_are_read_from_files_and_short_ones_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    digest = two_keys().digests[0][0].hex()
    file.write_text(
        f"# who may what\nread sha256:{digest}\nwrite {WRITE_KEY}\n", encoding="utf-8"
    )
    keys = read_keys(file, {})
    assert keys.right_of(f"Bearer {READ_KEY}") == Right.READ
    assert keys.right_of(f"Bearer {WRITE_KEY}") == Right.WRITE
    for wrong in (
        "read short",
        "read sha256:abc",
        "admin a key of enough bytes",
        "read",
    ):
        file.write_text(wrong, encoding="utf-8")
        with pytest.raises((InvalidArgument, UnreadableFile)) as error:
            read_keys(file, {})
        before_the_reason, _, _ = str(error.value).partition("shorter")
        assert "short" not in before_the_reason, "the key is shown"
    with pytest.raises(InvalidArgument):
        read_keys(None, {"CASEGRAPH_READ_KEY": "fifteen bytes.."})
    with pytest.raises(UnreadableFile):
        read_keys(tmp_path / "none", {})


def test_another_address_is_refused_without_keys() -> None:
    for host in ("0.0.0.0", "192.0.2.1", "::", "example.org"):
        with pytest.raises(InvalidArgument):
            server.check_address(host, Keys())
    for host in ("127.0.0.1", "::1", "localhost"):
        server.check_address(host, Keys())
    server.check_address("0.0.0.0", two_keys())


def test_serve_says_what_it_would_serve_and_where(tmp_path: Path) -> None:
    done = run("serve", tmp_path / "store", "--check", "--port", "1")
    assert done.exit_code == 0
    assert "http://127.0.0.1:1/ to this computer only" in done.stdout
    refused = run("serve", tmp_path / "other", "--host", "0.0.0.0", "--check")
    assert not (tmp_path / "other").exists()
    assert_refused(refused, "host is '0.0.0.0'; expected an address of this computer")


def test_only_the_names_of_the_service_are_answered(own: Live) -> None:
    port = own.address.rpartition(":")[2]
    for host in (
        f"127.0.0.1:{port}",
        f"localhost:{port}",
        f"LOCALHOST:{port}",
        f"[::1]:{port}",
    ):
        assert own.client.get("/healthz", headers={"Host": host}).status_code == 200
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "localhost",
        "127.0.0.1:1",
        "",
    ):
        response = own.client.get("/healthz", headers={"Host": host})
        assert response.status_code in (400, 421)


def test_pages_of_other_origins_change_nothing(own: Live) -> None:
    body = {"add": [["Nobody", "born in", "Ulm"]]}
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": own.address + ".evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        response = own.client.post("/v1/update", json=body, headers=headers)
        assert response.status_code == 403
    form = own.client.post("/v1/update", content=json.dumps(body))
    assert form.status_code == 422  # a form of another page cannot say that it is JSON
    assert own.get("/v1/info")["sequence"] == 1
    same = {"Origin": own.address, "Sec-Fetch-Site": "same-origin"}
    assert own.client.post("/v1/update", json=body, headers=same).status_code == 200
    cors = own.client.options("/v1/update", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in cors.headers


def test_every_response_keeps_a_page_to_itself(own: Live) -> None:
    for path in ("/", "/v1/info", "/v1/none", "/healthz", "/none.js"):
        headers = own.client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'self'")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers


def test_a_body_that_is_too_large_is_refused_and_nothing_is_half_done(
    own: Live,
) -> None:
    facts = [["Nobody", "born in", "x" * 4000]] * 900
    assert own.client.post("/v1/update", json={"add": facts}).status_code == 413

    def chunks() -> Iterator[bytes]:
        for _ in range(40):
            yield b"x" * 65536

    try:
        status = own.client.post("/v1/update", content=chunks()).status_code
    except httpx.TransportError:  # it was cut while it was still sending
        status = 413
    assert status == 413
    assert own.get("/v1/info")["sequence"] == 1


def test_requests_together_are_held_only_so_far(tmp_path: Path) -> None:
    limits = Limits(bodies=100)
    with live(tmp_path / "store", limits=limits, facts=FACTS) as running:
        large = {"add": [["Nobody", "born in", "x" * 100]]}
        assert running.client.post("/v1/update", json=large).status_code == 503
        # And what was held is let go.
        assert running.add(("Nobody", "born in", "Ulm")) == 2


@contextmanager
def held_up(running: Live) -> Iterator[Held]:
    """Meanwhile every read waits, until it is let go."""
    held = Held(Event(), [], [], [])
    original = running.service._in_thread

    async def in_thread(work: Callable[[], T], *, slow: bool) -> T:
        def held_work() -> T:
            held.begun.append(None)
            held.let_go.wait(PATIENCE)
            return work()

        held.asked.append(None)
        try:
            return await original(held_work, slow=slow)
        finally:
            held.ended.append(None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running.service, "_in_thread", in_thread)
        try:
            yield held
        finally:
            held.let_go.set()


class Held(NamedTuple):
    """Reads that are held up.

    let_go  lets them go on
    asked   an item for each read that was asked for
    begun   an item for each that a thread has begun
    ended   an item for each that nobody waits for any more
    """

    let_go: Event
    asked: list[None]
    begun: list[None]
    ended: list[None]

    def wait_until_begun(self) -> None:
        wait_for(self.begun, 1)


def wait_for(items: list[None], count: int) -> None:
    """Wait until other threads have added this many items."""
    give_up = time.monotonic() + PATIENCE
    while len(items) < count and time.monotonic() < give_up:
        time.sleep(0.01)
    assert len(items) >= count


@pytest.mark.parametrize(
    ("limits", "status"), [(Limits(of_one_client=1), 429), (Limits(waiting=1), 503)]
)
def test_too_many_at_once_are_refused(
    tmp_path: Path, limits: Limits, status: int
) -> None:
    with live(tmp_path / "store", limits=limits, facts=FACTS) as running:
        with held_up(running) as held:
            first = Thread(target=running.client.get, args=("/v1/types",))
            first.start()
            held.wait_until_begun()
            refused = running.client.get("/healthz")
        first.join(PATIENCE)
        assert refused.status_code == status
        assert refused.headers["retry-after"]
        assert running.client.get("/healthz").status_code == 200


def test_too_many_listeners_are_refused(tmp_path: Path) -> None:
    limits = Limits(streams=1)
    with (
        live(tmp_path / "store", limits=limits, facts=FACTS) as running,
        ExitStack() as stack,
    ):
        first = stack.enter_context(running.client.stream("GET", "/v1/events"))
        assert first.status_code == 200
        second = running.client.get("/v1/events")
        assert second.status_code == 429
        assert second.headers["retry-after"]


def test_slow_clients_are_cut_and_others_do_not_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.5)
    limits = Limits(slow_client=0.5)
    head = b"POST /v1/update HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: 100\r\n"
    with (
        live(tmp_path / "store", limits=limits, facts=FACTS) as running,
        ExitStack() as stack,
    ):
        port = int(running.address.rpartition(":")[2])
        slow = []
        for number in range(100):
            connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
            stack.enter_context(connection)
            begun = head % port + (b"\r\n{" if number % 2 else b"X-Slow: ")
            connection.sendall(begun if number % 3 else b"")
            slow.append(connection)
        assert running.get("/v1/info")["sequence"] == 1
        for connection in slow:
            said = b""
            try:
                while part := connection.recv(4096):
                    said += part
            except ConnectionResetError:
                pass
            assert said == b"" or b" 408 " in said.split(b"\r\n")[0]
        assert running.get("/v1/info")["sequence"] == 1


def test_a_head_that_never_ends_is_refused(own: Live) -> None:
    port = int(own.address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(b"GET /v1/info HTTP/1.1\r\n")
        said = b""
        try:
            for number in range(10_000):
                connection.sendall(b"X-%d: %s\r\n" % (number, 1000 * b"x"))
            said = connection.recv(4096)
        except OSError:  # it was cut while it was still sending
            said = said or b"HTTP/1.1 400 "
    assert said.startswith(b"HTTP/1.1 400 ")
    assert own.get("/v1/info")["sequence"] == 1


def test_work_for_a_client_that_left_is_not_begun(own: Live) -> None:
    with held_up(own) as held:
        port = int(own.address.rpartition(":")[2])
        asking = f"GET /v1/types HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode()
        with ExitStack() as stack:
            for _ in range(60):
                connection = socket.create_connection(
                    ("127.0.0.1", port), timeout=PATIENCE
                )
                stack.enter_context(connection)
                connection.sendall(asking)
            wait_for(held.asked, 60)
        wait_for(held.ended, 60)
    assert own.get("/v1/info")["sequence"] == 1
    assert len(held.begun) < 60  # the server has 40 threads


@pytest.fixture(scope="module")
def with_costly_past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service with one thread for what may take long; after update 2, every question does."""
    folder = tmp_path_factory.mktemp("costly") / "store"
    limits = Limits(slow_threads=1, slow_seconds=0.25)
    crowd = []
    for head, tail in permutations(range(90), 2):
        crowd += [(f"e{head}", f"r{relation}", f"e{tail}") for relation in range(5)]
    with live(folder, limits=limits, facts=FACTS) as running:
        running.service.store.update(add=crowd)
        running.service.store.update(retract=crowd)
        yield running


COSTLY: dict[str, str | int] = {"entity": "e0", "relation": "r0", "as_of": 2}


def test_a_question_whose_time_is_up_is_stopped(with_costly_past: Live) -> None:
    response = with_costly_past.client.get("/v1/ask", params=COSTLY)
    assert response.status_code == 503
    assert "takes longer than 0.25 s" in response.json()["detail"]
    # By the same thread, which is free.
    assert with_costly_past.get("/v1/types")["types"] == []


def test_a_question_whose_client_left_is_stopped(with_costly_past: Live) -> None:
    port = int(with_costly_past.address.rpartition(":")[2])
    asking = (
        f"GET /v1/ask?{urlencode(COSTLY)} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(asking.encode())
        time.sleep(0.5)  # it has begun by then, most often; else it will not begin
    assert with_costly_past.get("/v1/types")["types"] == []


def test_a_key_is_in_no_log_and_no_problem(
    locked: Live, capfd: pytest.CaptureFixture[str]
) -> None:
    headers = bearer("a wrong key that nobody should read anywhere")
    said = httpx.get(f"{locked.address}/v1/info", headers=headers).text
    captured = capfd.readouterr()
    assert "nobody should read" not in said + captured.out + captured.err


def test_a_request_for_a_file_stays_within_the_page(own: Live) -> None:
    for path in ("/../app.py", "/..%2fapp.py", "/%2e%2e/app.py", "//etc/passwd", "/.."):
        response = own.client.get(path)
        assert response.status_code in (200, 404)
        assert "FastAPI" not in response.text
        assert "root:" not in response.text


def test_any_method_and_path_has_a_rule() -> None:
    assert rule_of("PATCH", "/v1/update")[1].right == Right.READ
    assert rule_of("HEAD", "/v1/ask")[1].right == Right.READ
    assert rule_of("DELETE", "/v1/jobs/a")[1].right == Right.WRITE
    assert rule_of("GET", "/v1/jobs/a/b/c")[1].right == Right.READ
    assert Keys().right_of("") == Right.WRITE


def test_after_a_kill_every_acknowledged_add_is_there_and_none_is_invented(
    tmp_path: Path, memory_folder: Path
) -> None:
    folder = memory_folder / "store"
    with CaseStore.open(folder) as store:
        store.update(add=FACTS)
    sent: set[str] = set()
    acknowledged: set[str] = set()
    for round_ in range(3):
        command = process("serve", folder, "--port", "0")
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as serving:
            assert serving.stderr is not None
            line = serving.stderr.readline()
            found = re.search(r"http://\S+", line)
            assert found, line
            address = found.group().rstrip("/")
            with httpx.Client(base_url=address, timeout=PATIENCE) as client:
                wait_until_ready(client)
                missing = [name for name in acknowledged if not _is_there(client, name)]
                assert missing == []

            def add(writer: int, address: str = address, round_: int = round_) -> None:
                with httpx.Client(base_url=address, timeout=PATIENCE) as client:
                    for number in range(10_000):
                        name = f"person {round_} {writer} {number}"
                        sent.add(name)
                        try:
                            body = {"add": [[name, "born in", "Ulm"]]}
                            response = client.post("/v1/update", json=body)
                        except httpx.TransportError:
                            return
                        if response.status_code == 200:
                            acknowledged.add(name)

            writers = [Thread(target=add, args=(writer,)) for writer in range(3)]
            for writer in writers:
                writer.start()
            enough = len(acknowledged) + 20
            give_up = time.monotonic() + PATIENCE
            while len(acknowledged) < enough and time.monotonic() < give_up:
                time.sleep(0.01)
            serving.send_signal(
                signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM
            )
            for writer in writers:
                writer.join(PATIENCE)
    with CaseStore.open(folder) as store:
        there = {
            fact.head for fact in store.graph.facts() if fact.head.startswith("person")
        }
    assert len(acknowledged) >= 60
    assert acknowledged <= there <= sent


def test_a_key_is_known_after_a_kill_and_its_update_is_not_made_again(
    memory_folder: Path,
) -> None:
    folder = memory_folder / "keyed"
    with CaseStore.open(folder) as store:
        store.update(add=FACTS)
    body = {"add": [["Nobody", "born in", "Ulm"], *FACTS]}
    key = {"Idempotency-Key": "one"}
    answers = []
    for _ in range(2):
        command = process("serve", folder, "--port", "0")
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as serving:
            assert serving.stderr is not None
            found = re.search(r"http://\S+", serving.stderr.readline())
            assert found
            with httpx.Client(
                base_url=found.group().rstrip("/"), timeout=PATIENCE
            ) as client:
                answers.append(client.post("/v1/update", json=body, headers=key).json())
                client.post("/v1/update", json={"retract": ["Nobody"]})
                other = client.post("/v1/update", json={"add": FACTS}, headers=key)
                assert other.status_code == 409
            serving.kill()
    assert answers[1] == answers[0]
    assert (answers[0]["sequence"], answers[0]["added"], answers[0]["repeated"]) == (
        2,
        1,
        2,
    )
    with CaseStore.open(folder) as store:
        assert store.sequence == 3
        assert set(store.graph.facts()) == set(FACTS)


def _is_there(client: httpx.Client, name: str) -> bool:
    return client.get("/v1/entity", params={"entity": name}).status_code == 200
