"""The service: what it answers is what the case base says, of one state, and lasts."""

from __future__ import annotations

import csv
import json
import time
from io import StringIO
from itertools import pairwise
from random import Random
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from tests.serving import PATIENCE, Live, live
from tests.strategies import random_facts

from casegraph import CaseBase, CaseStore, Description, world
from casegraph.service.limits import Limits
from casegraph.service.rights import ROUTES
from casegraph.service.snapshots import Snapshots

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from casegraph.answering.questions import Known

EINSTEIN = {"entity": "Albert Einstein", "relation": "citizen of"}
QUESTION = {**EINSTEIN, "wanted": "tail"}
HOSTILE = [
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "a/b?c=d&e#f",
    "%00%2e%2e",
    "'; drop table facts; --",
    "\u202edrawkcab",
    "e\u0301\u0000null",
    "data: x event: y",
    "😀" * 50,
    '"quoted" \\ backslash',
    "${jndi:ldap://x}",
    "relation⁻¹",
    " leading and trailing ",
    "x" * 4096,
]
ULM = ["Albert Einstein", "born in", "Ulm"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """The bundled graph, which the tests that share it only read."""
    with live(tmp_path_factory.mktemp("served") / "store") as running:
        yield running


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Live]:
    """A service of one's own, to change."""
    with live(tmp_path / "store") as running:
        yield running


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A store without facts."""
    with live(tmp_path_factory.mktemp("empty") / "store", facts=[]) as running:
        yield running


@pytest.fixture(scope="module")
def cases() -> CaseBase:
    bundled = CaseBase()
    bundled.update(add=world.facts())
    return bundled


@pytest.mark.parametrize("known", ["mark", "exclude"])
def test_answers_are_those_of_the_case_base(
    served: Live, cases: CaseBase, known: Known
) -> None:
    found = served.get("/v1/ask", **EINSTEIN, known=known, top=5)
    expected = cases.ask("Albert Einstein", "citizen of", 5, known=known)
    assert ranked(found) == [(one.entity, one.score) for one in expected]
    heads = served.get("/v1/ask", entity="Ulm", relation="born in", wanted="head")
    assert heads["question"]["wanted"] == "head"
    expected = cases.ask_head("born in", "Ulm")
    assert ranked(heads) == [(one.entity, one.score) for one in expected]


def ranked(found: dict[str, Any]) -> list[tuple[str, float]]:
    """The answers of a response, each with its score."""
    return [(answer["entity"], answer["score"]) for answer in found["answers"]]


def test_questions_together_are_answered_as_each_alone(served: Live) -> None:
    questions = [
        QUESTION,
        {"entity": "Ulm", "relation": "born in", "wanted": "head"},
        {"entity": "Marie Curie", "relation": "spouse", "wanted": "tail"},
        {"entity": "Nobody at all", "relation": "spouse", "wanted": "tail"},
    ]
    together = served.post("/v1/ask", {"questions": questions, "top": 3})
    for question, answers in zip(questions, together["answered"], strict=True):
        assert answers["answers"] == served.get("/v1/ask", **question, top=3)["answers"]
    assert "never been seen" in together["answered"][3]["note"]


def test_an_explanation_has_sentences_paths_precedents_failures_and_facts(
    served: Live, cases: CaseBase
) -> None:
    found = served.get("/v1/explain", **EINSTEIN, answer="Germany")
    answer = next(
        one
        for one in cases.ask("Albert Einstein", "citizen of")
        if one.entity == "Germany"
    )
    expected = cases.explain(answer)
    assert [one["share"] for one in found["reasons"]] == [one.share for one in expected]
    sentences = [one["sentence"] for one in found["reasons"]]
    assert sentences == [one.sentence for one in expected]
    walked = []
    for reason in found["reasons"]:
        for path in reason["paths"]:
            for step, ends in zip(reason["steps"], pairwise(path), strict=True):
                head, tail = reversed(ends) if step["inverse"] else ends
                walked.append([head, step["relation"], tail])
    assert ULM in walked
    assert all(tuple(fact) in cases.graph for fact in walked)
    for reason in found["reasons"]:
        assert all(tuple(fact) in cases.graph for fact in reason["facts"])
        assert not set(reason["precedents"]) & set(reason["failures"])
    assert any(reason["failures"] for reason in found["reasons"])


def test_what_if_shows_ranks_before_and_after_and_writes_nothing(served: Live) -> None:
    before = served.get("/v1/info")["sequence"]
    question = {"entity": "Lise Meitner", "relation": "citizen of"}
    died_in = ["Lise Meitner", "died in", "Cambridge"]
    body = {"question": question, "retract": [died_in], "known": "exclude"}
    found = served.post("/v1/what-if", body)
    assert found["before"]["answers"][0]["entity"] == "United Kingdom"
    assert found["after"]["answers"][0]["entity"] == "Germany"
    moved = {one["entity"]: one for one in found["moves"]}
    assert (moved["Germany"]["before"], moved["Germany"]["after"]) == (2, 1)
    assert moved["United Kingdom"]["before"] == 1
    assert served.get("/v1/info")["sequence"] == before
    alone = {"question": QUESTION, "retract": ["Albert Einstein"]}
    assert (
        "those that most others have"
        in served.post("/v1/what-if", alone)["after"]["note"]
    )


def test_the_facts_that_change_its_mind_do(served: Live) -> None:
    found = served.post("/v1/counterfactual", {"question": QUESTION})
    assert found["answer"]["entity"] == "Germany"
    assert found["facts"]
    body = {"question": QUESTION, "retract": found["facts"], "known": "exclude"}
    after = served.post("/v1/what-if", body)["after"]["answers"]
    assert after[0]["entity"] == found["instead"] != "Germany"
    assert found["probability"] == found["answer"]["probability"]
    (then,) = (answer for answer in after if answer["entity"] == "Germany")
    assert found["probability_then"] == then["probability"]


def test_pages_lead_through_a_whole_list_of_one_state(own: Live) -> None:
    whole = own.get("/v1/entity", entity="Germany", limit=1000)
    found: list[Any] = []
    cursor = None
    while True:
        params: dict[str, object] = {"cursor": cursor} if cursor else {}
        page = own.get("/v1/entity", entity="Germany", limit=7, **params)
        own.add(("Germany", "borders", f"Nowhere {len(found)}"))
        found += page["facts"]
        cursor = page["next"]
        if cursor is None or len(found) > 20:
            break
    assert found == whole["facts"][: len(found)]
    assert (
        own.client.get("/v1/relations", params={"cursor": "nonsense"}).status_code
        == 422
    )


def test_entities_relations_types_and_clusters_are_found(served: Live) -> None:
    entity = served.get("/v1/entity", entity="Albert Einstein", cluster=True)
    assert ULM in entity["facts"]
    assert {"relation": "born in", "inverse": False, "count": 1} in entity["profile"]
    hits = served.get("/v1/search", words="einst")["hits"]
    assert hits[0]["entity"] == "Albert Einstein"
    relations = served.get("/v1/relations")["relations"]
    assert sum(one["facts"] for one in relations) == len(world.facts())
    assert served.get("/v1/types")["types"] == []
    clusters = served.get("/v1/clusters", limit=1000)["clusters"]
    assert sum(one["size"] for one in clusters) == served.get("/v1/info")["entities"]
    members = served.get("/v1/clusters/members", cluster=entity["cluster"], limit=1000)
    assert "Albert Einstein" in members["members"]
    nodes = served.get("/v1/clusters/tree")["nodes"]
    assert {one["cluster"] for one in nodes} - {None} == {
        one["cluster"] for one in clusters
    }
    found = served.get(
        "/v1/path-types", relation="citizen of", cluster=entity["cluster"]
    )
    best = found["path_types"][0]
    assert 0 < best["hits"] <= best["tries"]
    assert served.get("/v1/similar", entity="Albert Einstein")["neighbours"]
    assert len(served.get("/v1/suggestions")["suggestions"]) == 8


def test_suggestions_are_of_different_relations_first(served: Live) -> None:
    shown = served.get("/v1/suggestions", top=1000)["suggestions"]
    relations = [one["question"]["relation"] for one in shown]
    assert len(shown) == len(world.questions())
    different = len(set(relations))
    assert len(set(relations[:different])) == different


def test_suggestions_are_questions_whose_entity_lacks_an_answer(tmp_path: Path) -> None:
    with live(tmp_path / "store") as running:
        running.service.questions = ()
        suggestions = running.get("/v1/suggestions")["suggestions"]
        assert suggestions
        for one in suggestions:
            question = one["question"]
            facts = running.get("/v1/entity", entity=question["entity"], limit=1000)[
                "facts"
            ]
            own = {(fact[0], fact[1]) for fact in facts}
            assert (question["entity"], question["relation"]) not in own


def test_a_write_is_on_disk_when_it_is_answered(own: Live) -> None:
    sequence = own.add(("Nobody", "born in", "Ulm"))
    with CaseStore.open(own.service.store.folder, read_only=True) as reader:
        assert reader.sequence == sequence
        assert ("Nobody", "born in", "Ulm") in reader.graph
    gone = own.post("/v1/update", {"retract": ["Nobody"]})
    assert gone["retracted"] == 1
    described = {"name": "Ulm", "label": "Ulm on the Danube", "types": ["City"]}
    own.post("/v1/update", {"describe": [described]})
    assert own.get("/v1/entity", entity="Ulm on the Danube")["labels"][
        "Ulm"
    ].startswith("Ulm on")
    assert (
        own.get("/v1/ask", entity="Ulm", relation="city in", of_type="City")["answers"]
        == []
    )
    assert own.get("/v1/types")["types"] == [{"type": "City", "entities": 1}]


def test_an_update_that_is_refused_changes_nothing(own: Live) -> None:
    before = own.get("/v1/info")
    for body in (
        {"add": [["Nobody", "born in", "Ulm"], ["Nobody", "born in", " "]]},
        {"add": [["Nobody", "born in"]]},
        {"add": [["a\tb", "born in", "Ulm"]]},
        {"add": [["Nobody", "born in", "Ulm"]], "more": 1},
        {"add": [["Nobody", "born in", "Ulm"]] * 1_001},
        {"add": "Nobody"},
    ):
        response = own.client.post("/v1/update", json=body)
        assert response.status_code == 422
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["detail"]
    assert own.get("/v1/info") == before


def test_an_idempotency_key_makes_an_update_once(own: Live) -> None:
    header = {"Idempotency-Key": "one"}
    body = {"add": [["Nobody", "born in", "Ulm"]]}
    first = own.client.post("/v1/update", json=body, headers=header).json()
    own.post("/v1/update", {"retract": ["Nobody"]})
    again = own.client.post("/v1/update", json=body, headers=header)
    assert again.json() == first
    assert ("Nobody", "born in", "Ulm") not in own.service.store.graph
    other = {"add": [["Nobody", "born in", "Bonn"]]}
    assert own.client.post("/v1/update", json=other, headers=header).status_code == 409


def test_an_etag_is_the_number_of_the_update(own: Live) -> None:
    response = own.client.get("/v1/ask", params=EINSTEIN)
    assert response.headers["etag"] == '"1"'
    same = own.client.get("/v1/ask", params=EINSTEIN, headers={"If-None-Match": '"1"'})
    assert (same.status_code, same.content) == (304, b"")
    own.add(("Nobody", "born in", "Ulm"))
    later = own.client.get("/v1/ask", params=EINSTEIN, headers={"If-None-Match": '"1"'})
    assert later.status_code == 200
    assert later.headers["etag"] == '"2"'


def test_what_the_service_says_of_itself_is_never_taken_for_unchanged(
    own: Live,
) -> None:
    response = own.client.get("/v1/info", headers={"If-None-Match": '"1"'})
    assert response.status_code == 200
    assert "etag" not in response.headers
    assert response.json()["ready"]


def test_every_read_goes_back_in_time(own: Live) -> None:
    before = own.get("/v1/ask", **EINSTEIN, known="exclude")
    own.post("/v1/update", {"retract": [ULM]})
    for number in range(6):  # more than are kept in memory
        own.add(("Nobody", "born in", f"Nowhere {number}"))
    now = own.get("/v1/ask", **EINSTEIN, known="exclude")
    assert now["answers"] != before["answers"]
    assert own.get("/v1/ask", **EINSTEIN, known="exclude", as_of=1) == before
    assert ULM in own.get("/v1/entity", entity="Albert Einstein", as_of=1)["facts"]
    assert own.get("/v1/info", as_of=1)["facts"] == len(world.facts())
    assert own.client.get("/v1/info", params={"as_of": 99}).status_code == 404


def test_an_earlier_state_is_the_same_undone_or_restored(tmp_path: Path) -> None:
    random = Random(1)
    with CaseStore.open(tmp_path / "store") as store:
        snapshots = Snapshots(store)
        for number in range(12):
            added = random_facts(random, facts=6)
            retracted = random_facts(random, facts=4)
            described = (
                [Description("e1", label=f"label {number}")] if number == 5 else []
            )
            store.update(added, retracted, described)
        for sequence in range(1, 12):
            earlier = snapshots.at(sequence)
            restored = CaseStore.open(store.folder, as_of=sequence)
            assert earlier.state.sequence == sequence
            assert list(earlier.graph.facts()) == list(restored.graph.facts())
            assert earlier.descriptions == restored.descriptions
            assert (
                earlier.ask("e1", "r1", -1).found == restored.ask("e1", "r1", -1).found
            )


READ = {path for method, path in ROUTES if method == "GET"}


# Which is a stream without end.
@pytest.mark.parametrize("path", sorted(READ - {"/v1/events"}))
def test_an_empty_store_is_served_too(empty: Live, path: str) -> None:
    params: dict[str, str | int] = {
        "entity": "a",
        "relation": "b",
        "answer": "c",
        "words": "d",
        "cluster": 0,
    }
    response = empty.client.get(path.replace("{job}", "none"), params=params)
    last_part = path.rsplit("/", maxsplit=1)[-1]
    of_something = ("ask", "explain", "similar", "entity", "members", "path-types")
    needs_something = "{job}" in path or last_part in of_something
    assert response.status_code == (404 if needs_something else 200)


def test_names_are_data(own: Live) -> None:
    for name in HOSTILE:
        own.add((name, "born in", name), (name, "died in", "Ulm"))
    for name in HOSTILE:
        facts = own.get("/v1/entity", entity=name)["facts"]
        assert [name, "died in", "Ulm"] in facts
        found = own.get("/v1/ask", entity=name, relation="died in")
        assert found["question"]["entity"] == name
        assert {"Ulm"} <= {one["entity"] for one in found["answers"]}
        why = own.get("/v1/explain", entity=name, relation="died in", answer="Ulm")
        assert why["question"]["entity"] == name


def test_history_lists_what_came_and_went(own: Live) -> None:
    own.add(("Nobody", "born in", "Ulm"))
    own.post("/v1/update", {"retract": [ULM]})
    events = own.get("/v1/history", since=1)["events"]
    changes = [(one["sequence"], one["sign"], one["fact"]) for one in events]
    assert changes == [
        (2, "+", ["Nobody", "born in", "Ulm"]),
        (3, "-", ULM),
    ]
    first = own.get("/v1/history", limit=10)
    second = own.get("/v1/history", limit=10, cursor=first["next"])
    assert len({json.dumps(one) for one in first["events"] + second["events"]}) == 20


def test_who_listens_hears_of_changes_and_resumes_where_it_was_cut_off(
    own: Live,
) -> None:
    heard: list[tuple[str, str]] = []

    def listen(last: str | None, until: int) -> None:
        headers = {} if last is None else {"Last-Event-ID": last}
        with own.client.stream("GET", "/v1/events", headers=headers) as response:
            number = ""
            for line in response.iter_lines():
                name, _, value = line.partition(": ")
                if name == "id":
                    number = value
                if name == "data":
                    heard.append((number, value))
                    if number == str(until):
                        return

    listener = Thread(target=listen, args=(None, 3))
    listener.start()
    give_up = time.monotonic() + PATIENCE
    while not heard and time.monotonic() < give_up:
        time.sleep(0.01)
    own.add(("Nobody", "born in", "Ulm"))
    own.add(("Nobody", "born in", "Bonn"))
    listener.join(PATIENCE)
    assert [number for number, _ in heard] == ["1", "2", "3"]
    assert json.loads(heard[1][1])["added"] == [["Nobody", "born in", "Ulm"]]

    own.post("/v1/update", {"retract": ["Nobody"]})
    heard.clear()
    listen("2", 4)
    assert [number for number, _ in heard] == ["3", "4"]
    assert json.loads(heard[1][1])["retracted_count"] == 2


def finished(running: Live, job: dict[str, Any]) -> dict[str, Any]:
    give_up = time.monotonic() + PATIENCE
    seen = job
    while seen["finished"] is None and time.monotonic() < give_up:
        time.sleep(0.02)
        seen = running.get(f"/v1/jobs/{job['job']}")
    return seen


def test_jobs_propose_and_audit_and_their_results_are_files(own: Live) -> None:
    wanted = {
        "kind": "complete",
        "relations": ["citizen of"],
        "lacking": True,
        "best": 5,
    }
    job = own.post("/v1/jobs", {**wanted, "min_probability": 0}, status=202)
    done = finished(own, job)
    assert (done["state"], done["rows"]) == ("done", 5)
    rows = own.get(f"/v1/jobs/{job['job']}/rows", limit=2)
    assert rows["rows"][0]["relation"] == "citizen of"
    assert rows["rows"][0]["reason"]
    lines = own.client.get(f"/v1/jobs/{job['job']}/result").text.splitlines()
    assert [json.loads(line) for line in lines][:2] == rows["rows"]
    table = own.client.get(f"/v1/jobs/{job['job']}/result", params={"format": "csv"})
    assert len(list(csv.reader(StringIO(table.text.lstrip("\ufeff"))))) == 6

    audit = own.post(
        "/v1/jobs", {"kind": "audit", "relations": ["born in"], "top": 3}, status=202
    )
    assert finished(own, audit)["rows"] == 3
    assert own.get(f"/v1/jobs/{audit['job']}/rows")["rows"][0]["doubt"] > 0
    assert [one["kind"] for one in own.get("/v1/jobs")["jobs"]] == ["audit", "complete"]

    wrong = own.post(
        "/v1/jobs", {"kind": "audit", "relations": ["no such relation"]}, status=202
    )
    failed = finished(own, wrong)
    assert failed["state"] == "failed"
    assert "no such relation" in failed["problem"]
    assert own.client.get(f"/v1/jobs/{wrong['job']}/rows").status_code == 409


def test_a_job_that_is_cancelled_ends(own: Live) -> None:
    jobs = [own.post("/v1/jobs", {"kind": "audit"}, status=202) for _ in range(2)]
    for job in jobs:
        assert own.client.delete(f"/v1/jobs/{job['job']}").status_code == 200
    states = {finished(own, job)["state"] for job in jobs}
    assert states <= {"cancelled", "done"}
    assert "cancelled" in states
    assert own.client.get("/v1/jobs/none").status_code == 404


@pytest.mark.parametrize(
    ("path", "params", "status", "says"),
    [
        (
            "/v1/ask",
            {"entity": "Albert Einstein", "relation": "citizn of"},
            404,
            "citizen of",
        ),
        ("/v1/entity", {"entity": "Albert Einstien"}, 404, "Albert Einstein"),
        ("/v1/ask", {**EINSTEIN, "top": 1001}, 422, "top"),
        ("/v1/ask", {"entity": "Albert Einstein"}, 422, "relation"),
        ("/v1/explain", {**EINSTEIN, "answer": "Nowhere"}, 404, "Nowhere"),
        ("/v1/clusters/members", {"cluster": 2**31 - 1}, 404, "cluster"),
        ("/v1/nothing", {}, 404, "Not Found"),
    ],
)
def test_problems_say_what_is_wrong(
    served: Live, path: str, params: dict[str, Any], status: int, says: str
) -> None:
    response = served.client.get(path, params=params)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["status"] == status
    assert says in response.json()["detail"]


def test_a_label_that_several_have_is_a_conflict_that_names_them(own: Live) -> None:
    named = [{"name": name, "label": "the same"} for name in ("Ulm", "Bonn")]
    own.post("/v1/update", {"describe": named})
    response = own.client.get("/v1/entity", params={"entity": "the same"})
    assert response.status_code == 409
    assert response.json()["names"] == ["Bonn", "Ulm"]


def test_metrics_count_requests_by_route(own: Live) -> None:
    own.get("/v1/ask", **EINSTEIN)
    own.client.get("/v1/jobs/one")
    text = own.client.get("/metrics").text
    assert (
        'casegraph_requests_total{method="GET",route="/v1/ask",status="200"} 1.0'
        in text
    )
    assert 'route="/v1/jobs/{job}",status="404"} 1.0' in text
    assert "casegraph_sequence 1.0" in text
    assert f"casegraph_facts {float(len(world.facts()))}" in text


def test_a_question_that_takes_too_long_is_refused_and_says_so(tmp_path: Path) -> None:
    with live(tmp_path / "store", limits=Limits(seconds=0.0)) as running:
        response = running.client.get("/v1/ask", params=EINSTEIN)
        assert response.status_code == 503
        assert response.headers["retry-after"]
        assert "takes longer" in response.json()["detail"]


def test_reads_do_not_wait_for_a_write(own: Live) -> None:
    """While the store is being written, questions are answered from the state before."""
    with own.service.store._turn:  # as an update that takes long would hold it
        writing = Thread(target=own.add, args=(("Nobody", "born in", "Ulm"),))
        writing.start()
        found = own.get("/v1/ask", **EINSTEIN)
        assert found["sequence"] == 1
        assert writing.is_alive()
    writing.join(PATIENCE)
    assert own.get("/v1/info")["sequence"] == 2
