"""Files that are sent to the service: previewed and added as they are understood, never stored."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest
from tests.serving import READ_KEY, WRITE_KEY, Live, bearer, live, two_keys

from casegraph.service.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLES: list[tuple[str, str, list[tuple[str, int]]]] = [
    ("a.tsv", "A\tlikes\tB\n", [("likes", 1)]),
    ("a.csv", 'A,likes,"B, ""the"" second"\nA,likes,C\n', [("likes", 2)]),
    ("a.csv", "\ufeffsubject;predicate;object\r\nA;likes;B\r\n", [("likes", 1)]),
    ("a.csv", "tail,head,relation\nB,A,likes\n", [("likes", 1)]),
    ("a.jsonl", '{"head":"A","relation":"likes","tail":"7"}\n\n', [("likes", 1)]),
    ("a.tsv", "A\tlikes\tB\nA\tlikes\tB\n \tlikes\tB\n", [("likes", 1)]),
    ("a.nt", "<http://a/A> <http://a/likes> <http://a/B> .\n", [("http://a/likes", 1)]),
]
PEOPLE = "person,relation,place\nAda,born in,London\n,broken,\nAlan,born in,London\n"


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Live]:
    with live(tmp_path / "store", facts=[]) as running:
        yield running


def sent(running: Live, route: str, content: str | bytes, **asked: Any) -> Any:
    """The JSON of a response to a file."""
    body = content.encode() if isinstance(content, str) else content
    response = running.client.post(f"/v1/{route}", params=asked, content=body)
    assert response.status_code == 200, response.text
    return response.json()


def test_tables_and_lists_of_many_kinds_are_understood_and_nothing_is_written(
    empty: Live,
) -> None:
    for name, text, expected in TABLES:
        found = sent(empty, "preview", text, name=name)
        relations = [(one["relation"], one["facts"]) for one in found["relations"]]
        assert relations == expected, (text, found)
    assert empty.get("/v1/info")["sequence"] == 0


def test_columns_are_chosen_where_their_names_say_nothing(empty: Live) -> None:
    detected = sent(empty, "preview", PEOPLE, name="people.csv")
    assert detected["rows"][0] == ["Ada", "born in", "London"]
    assert (detected["facts"], detected["has_header"]) == (2, True)
    chosen = {"name": "people.csv", "head": 1, "relation": 2, "tail": 3, "header": True}
    found = sent(empty, "preview", PEOPLE, **chosen)
    assert (found["facts"], found["skipped"]) == (2, 1)
    assert found["columns"] == ["person", "relation", "place"]
    assert found["roles"] == [0, 1, 2]
    same = {"name": "a.csv", "head": 3, "tail": 1, "same": "home of", "header": True}
    found = sent(empty, "preview", PEOPLE, **same)
    assert found["roles"] == [2, None, 0]
    assert found["relations"][0]["relation"] == "home of"

    done = sent(empty, "import", PEOPLE, **chosen)
    assert (done["added"], done["sequence"]) == (2, 1)
    facts = empty.get("/v1/entity", entity="London")["facts"]
    assert facts == [["Ada", "born in", "London"], ["Alan", "born in", "London"]]
    assert sent(empty, "import", PEOPLE, **chosen)["repeated"] == 2


def test_what_is_packed_or_no_text_is_refused(empty: Live) -> None:
    packed = gzip.compress(b"A\tlikes\tB\n")
    for name, content in (("a.tsv", packed), ("a.parquet", b"P"), ("a.xlsx", b"PK")):
        for route in ("preview", "import"):
            refused = empty.client.post(
                f"/v1/{route}", params={"name": name}, content=content
            )
            assert refused.status_code == 415, refused.text
    wrong: dict[str, Any] = {"name": "a.csv", "head": 9, "relation": 2, "tail": 3}
    assert "column numbers" in sent(empty, "preview", PEOPLE, **wrong)["problem"]
    refused = empty.client.post("/v1/import", params=wrong, content=PEOPLE.encode())
    assert refused.status_code == 422


def test_a_file_has_a_limit_of_its_own_and_needs_a_key_that_writes(
    tmp_path: Path,
) -> None:
    limits = Limits(file=1_000, body=100)
    with live(tmp_path / "store", facts=[], limits=limits, keys=two_keys()) as running:
        for size, status in ((900, 200), (1_100, 413)):
            content = b"A\tlikes\tB\n" * (size // 10)
            answered = running.client.post(
                "/v1/preview",
                params={"name": "a.tsv"},
                content=content,
                headers=bearer(WRITE_KEY),
            )
            assert answered.status_code == status
        refused = running.client.post(
            "/v1/preview",
            params={"name": "a.tsv"},
            content=b"",
            headers=bearer(READ_KEY),
        )
        assert refused.status_code == 403
