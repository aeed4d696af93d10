"""The page, in a real browser: asked, explained, changed, gone back in time, and attacked."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from tests.browsing import Window, opened_browser, window
from tests.serving import READ_KEY, WRITE_KEY, Live, live, two_keys
from tests.strategies import arrowed_facts

import casegraph.service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[1]
PAGE = Path(casegraph.service.__file__).parent / "page"
FILES = sorted(path for path in PAGE.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
MOST_BYTES = 500_000  # of the first view
AXE = sorted((ROOT / ".cache").glob("axe-core-*.tgz"))
EINSTEIN = {"entity": "Albert Einstein", "relation": "citizen of"}
ULM = ["Albert Einstein", "born in", "Ulm"]
GERMANY = ["Albert Einstein", "citizen of", "Germany"]

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "<svg onload=alert(3)>",
    "\"><script src='https://elsewhere.example/x.js'></script>",
    "javascript:alert(4)",
    "<a href='javascript:alert(5)'>a</a>",
    "<iframe src='https://elsewhere.example'></iframe>",
    "<link rel=stylesheet href='https://elsewhere.example/x.css'>",
    "<style>@import 'https://elsewhere.example/x.css'</style>",
    "<base href='https://elsewhere.example/'>",
    "<form action='https://elsewhere.example'><input autofocus onfocus=alert(6)>",
    "{{constructor.constructor('alert(7)')()}}",
    "${alert(8)}",
    "`-alert(9)-`",
    "';alert(10)//",
    '"onmouseover="alert(11)',
    "&lt;script&gt;alert(12)&lt;/script&gt;",
    "</title><script>alert(13)</script>",
    "</textarea><script>alert(14)</script>",
    "<!--<img src=x onerror=alert(15)>-->",
    "<![CDATA[<script>alert(16)</script>]]>",
    "<math><mi//xlink:href='data:x,<script>alert(17)</script>'>",
    "<details open ontoggle=alert(18)>",
    "<video><source onerror=alert(19)>",
    "data:text/html,<script>alert(20)</script>",
    "#ask?entity=x&relation=y",
    "?entity=x#overview",
    "../../etc/passwd",
    "%3Cscript%3Ealert(21)%3C/script%3E",
    "%",
    "__proto__",
    "constructor",
    "toString",
    '=HYPERLINK("https://elsewhere.example")',
    "\u202egnirts desrever",
    "a\u0301\u0301\u0301\u0301\u0301 zalgo",
    "👩‍👩‍👧‍👦 family",
    "x" * 1_500,
    "'; DROP TABLE facts; --",
    "\\u003cscript\\u003ealert(22)\\u003c/script\\u003e",
]


def test_there_are_scripts_and_other_files_to_look_into() -> None:
    assert len(SCRIPTS) > 10
    assert len(FILES) > len(SCRIPTS)


def test_the_page_never_makes_html_of_text() -> None:
    for path in SCRIPTS:
        text = path.read_text(encoding="utf-8")
        for way in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ):
            assert way not in text, f"{path.name} has {way}"
        assert "new Function" not in text


def test_the_page_needs_nothing_from_elsewhere() -> None:
    namespace = "http://www.w3.org/2000/svg"
    for path in FILES:
        text = path.read_text(encoding="utf-8").replace(namespace, "")
        assert not re.search(r"https?://|//cdn", text), path.name


def test_every_module_that_is_imported_is_there() -> None:
    for path in SCRIPTS:
        for name in re.findall(
            r"(?:\} from |import\()\"([^\"]+)\"", path.read_text("utf-8")
        ):
            assert (path.parent / name).resolve() in SCRIPTS, (
                f"{path.name} imports {name}"
            )


def test_every_module_is_imported() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
    for path in SCRIPTS:
        assert path.name == "main.js" or f'{path.name}"' in texts, path.name


def test_what_is_imported_is_used_and_exported() -> None:
    for path in SCRIPTS:
        text = path.read_text(encoding="utf-8")
        for names, source in re.findall(r"import \{([^}]+)\} from \"([^\"]+)\"", text):
            given = (path.parent / source).resolve().read_text(encoding="utf-8")
            for name in (part.strip() for part in names.split(",") if part.strip()):
                assert len(re.findall(rf"\b{name}\b", text)) > 1, (
                    f"{path.name}: {name} is unused"
                )
                is_given = re.search(
                    rf"export (async )?(function|class|const|let) {name}\b", given
                )
                assert is_given, f"{source} does not export {name}"


def test_lines_of_the_page_are_as_long_as_elsewhere() -> None:
    for path in FILES:
        if path.suffix in (".js", ".css"):
            lines = path.read_text(encoding="utf-8").splitlines()
            assert max(map(len, lines)) <= 100, path.name


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def served(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    """The bundled graph, which the tests that share it only read."""
    with live(tmp_path_factory.mktemp("served") / "store") as running:
        yield running


@pytest.fixture
def own(browser: Browser, tmp_path: Path) -> Iterator[Live]:
    """A service of one's own, to change."""
    with live(tmp_path / "store") as running:
        yield running


@pytest.fixture
def shown(browser: Browser, served: Live) -> Iterator[Window]:
    """A window on the bundled graph."""
    with window(browser, served.address) as opened:
        yield opened


def test_a_question_is_asked_both_ways_by_typing(shown: Window) -> None:
    page = shown.page
    shown.go()
    page.keyboard.press("/")
    page.keyboard.type("albert ein")
    page.get_by_role("option", name="Albert Einstein").wait_for()
    page.keyboard.press("Enter")
    relation = page.get_by_role("combobox", name="relation asked about")
    relation.click()
    relation.fill("citizen of")
    page.get_by_role("option", name="What is Albert Einstein citizen of?").click()
    page.locator(".answers").get_by_text("Germany").wait_for()
    assert shown.answers()[0] == "Germany"
    assert page.locator("h1").inner_text().startswith("What is")
    assert page.title() == "What is Albert Einstein citizen of? – casegraph"

    shown.go("ask", entity="Germany", relation="citizen of")
    shown.press("⇄ Reverse the question")
    shown.wait_for("is citizen of", ".claim")
    assert "wanted=head" in page.url
    page.wait_for_function(
        "() => document.title === 'What is citizen of Germany? – casegraph'"
    )


def test_enter_takes_what_is_typed_before_its_options_have_come(shown: Window) -> None:
    """Not the first of the options for what was typed before, which are still shown."""
    page = shown.page
    shown.go()
    page.keyboard.press("/")
    page.keyboard.type("a")
    first = page.get_by_role("option", selected=True)
    first.wait_for()
    assert "Albert Einstein" not in first.inner_text()

    with shown.held_up("**/v1/search?words=al*"):
        page.keyboard.type("lbert ein")
        page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('entity=')")
    assert "entity=Albert+Einstein" in page.url


SENTENCES = [
    ("treats", "What does X treat?", "What treats X?"),
    ("carries", "What does X carry?", "What carries X?"),
    ("works at", "What does X work at?", "What works at X?"),
    ("citizen of", "What is X citizen of?", "What is citizen of X?"),
    ("capital", "What is the capital of X?", "What has X as its capital?"),
    ("died in", "What did X die in?", "What died in X?"),
    ("born in", "What was X born in?", "What was born in X?"),
    ("is a", "X is a what?", "What is a X?"),
    ("has part", "X has part what?", "What has part X?"),
    ("_hypernym", "X — _hypernym →\u00a0?", "? — _hypernym → X"),
    ("/a/b/c", "X — /a/b/c →\u00a0?", "? — /a/b/c → X"),
    ("drug treats pain", "X — drug treats pain →\u00a0?", "? — drug treats pain → X"),
    ("result_of", "X — result_of →\u00a0?", "? — result_of → X"),
]


def test_questions_are_sentences_for_relations_of_any_shape(shown: Window) -> None:
    shown.go()
    for relation, for_tail, for_head in SENTENCES:
        read = shown.page.evaluate(
            """async (relation) => {
              const { questionText } = await import("/wording.js");
              const asked = (wanted) => ({ entity: "X", relation, wanted });
              return ["tail", "head"].map((one) => questionText(asked(one), (name) => name));
            }""",
            relation,
        )
        assert read == [for_tail, for_head]


def test_a_reason_opens_into_paths_with_the_predicted_edge_dashed(
    shown: Window,
) -> None:
    shown.go("ask", **EINSTEIN)
    page = shown.page
    shown.wait_for("Why Germany", ".why")
    reasons = page.locator(".reason .head")
    assert reasons.first.get_attribute("aria-expanded") == "true"
    second = page.locator(".reason", has_text="capital").first
    second.locator(".head").click()
    drawing = second.locator("svg")
    drawing.wait_for()
    names = drawing.locator(".node text").all_text_contents()
    assert names[0] == "Albert Einstein"
    assert "Germany" in names
    assert "Berlin" in names
    dashes = drawing.locator(".predicted").evaluate(
        "node => getComputedStyle(node).strokeDasharray"
    )
    assert dashes != "none"
    lefts = [node.bounding_box() for node in drawing.locator(".node").all()]
    assert all(box is not None for box in lefts)
    start, goal = lefts[0], lefts[names.index("Germany")]
    assert start is not None
    assert goal is not None
    assert start["x"] < goal["x"]
    shares = [
        int(re.findall(r"\d+", text)[0])
        for text in page.locator(".share").all_inner_texts()
    ]
    assert shares == sorted(shares, reverse=True)
    reasons.first.click()
    assert reasons.first.get_attribute("aria-expanded") == "false"


def test_a_precedent_leads_to_its_own_question(shown: Window) -> None:
    shown.go("ask", **EINSTEIN)
    shown.page.locator(".precedents.worked a").first.click()
    shown.wait_for("Why", ".why")
    shown.page.wait_for_function("() => !document.title.includes('Einstein')")
    assert "relation=citizen+of" in shown.page.url
    assert "Einstein" not in shown.page.url
    shown.go("ask", **EINSTEIN)
    assert shown.page.locator(".precedents.failed a").count() > 0


def test_neighbours_say_what_they_share_and_answer(shown: Window) -> None:
    shown.go("ask", **EINSTEIN)
    like = shown.page.locator(".like-whom")
    like.get_by_text("Wolfgang Pauli").wait_for()
    assert "shares" in like.inner_text()
    assert "Switzerland" in like.inner_text()


def test_known_answers_are_marked_or_apart(shown: Window) -> None:
    shown.go("ask", **EINSTEIN)
    shown.wait_for("Known answers")
    assert "United States" not in shown.answers()
    shown.press("Include known answers")
    shown.page.locator(".tag.known").first.wait_for()
    assert "United States" in shown.answers()


def test_a_fact_that_is_added_moves_the_ranking_in_every_window(
    browser: Browser, own: Live
) -> None:
    with window(browser, own.address) as one, window(browser, own.address) as other:
        for opened in (one, other):
            opened.go("ask", **EINSTEIN)
            opened.page.locator(".light.on").wait_for()
        before = other.answers()
        assert before[0] == "Germany"

        one.press("Add as a fact")
        for opened in (one, other):
            opened.page.locator(".known-already", has_text="Germany").wait_for()
            opened.page.locator(".answers .changed .move").first.wait_for()
        assert "Germany" not in other.answers()
        assert other.answers()[0] == before[1]
        assert other.answers() == one.answers()
        assert "▲" in other.page.locator(".answers").inner_text()

        one.press("Undo")
        for opened in (one, other):
            opened.page.locator(".answers li", has_text="Germany").wait_for()
            assert opened.answers() == before
        assert "update 3" in other.page.locator("#store").inner_text()


def test_a_fact_is_retracted_in_place_and_the_slider_goes_back(
    browser: Browser, own: Live
) -> None:
    with window(browser, own.address) as opened:
        page = opened.page
        opened.go("ask", **EINSTEIN)
        opened.press("Retract")
        page.locator(".answers .changed").first.wait_for()
        graph = own.service.store.graph
        assert len(graph) == own.get("/v1/info", as_of=1)["facts"] - 1
        opened.page.locator(".reason", has_text="born in").first.wait_for(
            state="detached"
        )

        opened.press("one update earlier")
        opened.wait_for("You look at the graph as it was after update 1")
        page.locator(".reason", has_text="born in").first.wait_for()
        assert "as_of=1" in page.url
        opened.settle()  # until then the slider may still be the one of before
        slider = page.get_by_role("slider", name="as of update")
        slider.focus()
        page.keyboard.press("ArrowRight")
        opened.page.wait_for_url(re.compile(r"^(?!.*as_of)"))
        page.locator(".reason", has_text="born in").first.wait_for(state="detached")


def test_what_if_shows_another_world_and_writes_nothing(
    browser: Browser, own: Live
) -> None:
    with window(browser, own.address) as opened:
        opened.go("ask", **EINSTEIN)
        opened.press("What if Albert Einstein was not born in Ulm?")
        opened.page.locator(".verdict").wait_for()
        said = opened.page.locator("#imagined").inner_text()
        assert "Germany would" in said
        assert "Nothing has been saved" in said
        assert own.service.store.sequence == 1

        address = opened.page.url
        opened.page.goto("about:blank")
        opened.page.goto(address)
        opened.page.locator(".verdict").wait_for()
        assert opened.page.locator("#imagined").inner_text() == said

        opened.press("Discard")
        opened.page.locator("#imagined").wait_for(state="hidden")
        opened.press("What would change this?")
        opened.page.locator(".mind-found li, .mind p").first.wait_for()
        opened.wait_for("combinations were tried", ".mind")


def test_what_takes_a_while_says_so_and_why(browser: Browser, own: Live) -> None:
    with window(browser, own.address) as opened:
        opened.go()
        with opened.held_up("**/v1/ask?*"):
            own.service._is_ready.clear()
            opened.page.evaluate(
                "(asked) => { location.hash = asked; }", f"ask?{urlencode(EINSTEIN)}"
            )
            opened.page.get_by_text("Counting this graph for the first time").wait_for()
        opened.wait_for("Why Germany", ".why")
        opened.page.locator("#waiting").wait_for(state="hidden")


def test_an_answer_of_ones_own_is_imagined_and_added(
    browser: Browser, own: Live
) -> None:
    with window(browser, own.address) as opened:
        opened.go("ask", **EINSTEIN)
        field = opened.page.get_by_role("combobox", name="another answer")
        field.fill("Bohemia, a new name")
        opened.press("What if?")
        opened.page.locator(".verdict").wait_for()
        assert own.service.store.sequence == 1
        opened.go("ask", **EINSTEIN)
        opened.page.get_by_role("combobox", name="another answer").fill(
            "Bohemia, a new name"
        )
        opened.press("Add the fact")
        opened.page.locator(".known-already", has_text="Bohemia").wait_for()
        assert own.service.store.sequence == 2


def test_a_file_is_dropped_on_the_empty_page_built_and_asked(
    browser: Browser, tmp_path: Path
) -> None:
    table = tmp_path / "cities.csv"
    rows = ["person,relation,place"]
    for number in range(12):
        rows.append(f'"Person, {number}",born in,Town {number % 4}')
        rows.append(f"Town {number % 4},town in,Land {number % 2}")
        if number:
            rows.append(f'"Person, {number}",citizen of,Land {number % 2}')
    rows.append(",broken,")
    table.write_text("\n".join(rows), encoding="utf-8")
    with (
        live(tmp_path / "store", facts=[]) as running,
        window(browser, running.address) as opened,
    ):
        page = opened.page
        opened.go()
        opened.wait_for("This graph is empty")
        page.locator("#file").set_input_files(table)
        opened.wait_for("cities.csv")
        page.locator("label", has_text="head").locator("select").select_option("person")
        page.locator("label", has_text="tail").locator("select").select_option("place")
        opened.wait_for("1 line without a whole fact")
        assert "3 relations found" in page.locator("main").inner_text().lower()
        page.get_by_role("button", name=re.compile(r"^Add \d+ facts$")).click()
        page.get_by_role("link", name="Ask", exact=True).last.click()
        opened.settle()
        opened.go("ask", entity="Person, 0", relation="citizen of")
        page.locator(".answers li").first.wait_for()
        assert opened.answers()[0] == "Land 0"


def test_a_first_fact_is_typed_into_an_empty_graph(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        live(tmp_path / "store", facts=[]) as running,
        window(browser, running.address) as opened,
    ):
        opened.go()
        for name, value in (("head", "Ada"), ("relation", "field"), ("tail", "Logic")):
            opened.page.get_by_role("combobox", name=name).fill(value)
        opened.press("Add the fact")
        opened.wait_for("1 fact about 2 entities")
        # Too few facts to suggest questions.
        opened.page.locator(".cards a", has_text="Ada").click()
        opened.page.wait_for_function("() => location.hash.includes('Ada')")
        for view in ("overview", "relations", "clusters", "audit", "proposals", "add"):
            opened.go(view)
            assert opened.page.locator("h1").count() == 1


def test_where_no_question_is_suggested_one_begins_with_an_entity(
    browser: Browser, tmp_path: Path
) -> None:
    facts = [("Anna", "keeps", "Rex"), ("Bert", "keeps", "Mia")]
    with (
        live(tmp_path / "store", facts=facts) as running,
        window(browser, running.address) as opened,
    ):
        opened.go()
        opened.page.locator(".cards a", has_text="Anna").click()
        opened.wait_for("Choose what you want to know about it")


def test_an_address_shows_the_same_again_and_back_goes_back(shown: Window) -> None:
    page = shown.page
    shown.go("ask", **EINSTEIN)
    page.locator(".answers a", has_text="Czechia").click()
    shown.wait_for("Why Czechia", ".why")
    assert "answer=Czechia" in page.url
    address = page.url
    page.locator(".like-whom a").first.click()
    page.wait_for_function("() => !location.hash.includes('Einstein')")
    page.go_back()
    shown.wait_for("Why Czechia", ".why")
    page.go_back()
    shown.wait_for("Why Germany", ".why")
    page.go_forward()
    shown.wait_for("Why Czechia", ".why")
    page.goto("about:blank")
    page.goto(address)
    shown.wait_for("Why Czechia", ".why")


def test_an_unknown_name_is_explained_with_names_that_may_be_meant(
    shown: Window,
) -> None:
    shown.go("ask", entity="Albrt Einstein", relation="citizen of")
    shown.wait_for("No entity is named 'Albrt Einstein'")
    shown.press("Albert Einstein")
    shown.wait_for("Why Germany", ".why")
    shown.go("ask", entity="Zzyzx", relation="citizen of")
    shown.wait_for("add facts about this one")
    shown.go("entity", entity="Nobody at all")
    shown.wait_for("No entity is named 'Nobody at all'")
    shown.go("ask", entity="Albert Einstein", relation="nonsense of")
    shown.page.locator("[role=alert]").wait_for()
    assert "nonsense of" in shown.page.locator("[role=alert]").inner_text()
    shown.go("relation", relation="nonsense of")
    shown.wait_for("no facts with this relation")


def test_hostile_names_are_only_names(browser: Browser, tmp_path: Path) -> None:
    assert len(HOSTILE) == 40
    facts = []
    for place, name in enumerate(HOSTILE):
        after = HOSTILE[(place + 1) % len(HOSTILE)]
        facts += [
            (name, "links to", after),
            (name, name[:200], "Hub"),
            ("Hub", "has", name),
        ]
        facts.append((name, "kind", f"Kind {place % 3}"))
    described = [
        {"name": name, "label": f"{name} (label)", "types": [HOSTILE[0]]}
        for name in HOSTILE[1:9]
    ]
    with live(tmp_path / "store", facts=facts) as running:
        running.post("/v1/update", {"describe": described})
        with window(browser, running.address) as opened:
            for place, name in enumerate(HOSTILE):
                opened.go("entity", entity=name)
                expected = f"{name} (label)" if 1 <= place < 9 else name
                assert opened.page.locator("h1").text_content() == expected
                opened.go("ask", entity=name, relation="kind")
                opened.page.locator(".answers li").first.wait_for()
            opened.go("ask", entity="Hub", relation="has")
            opened.page.locator(".what").wait_for()
            for view in ("overview", "relations", "clusters", "add", "ask"):
                opened.go(view)
            opened.go("relation", relation=HOSTILE[0])
            opened.page.keyboard.press("/")
            opened.go("ask")
            opened.page.get_by_role("combobox", name="entity asked about").fill(
                "script"
            )
            opened.page.get_by_role("option").first.wait_for()


def test_relations_named_like_arrows_are_shown_as_they_are(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        live(tmp_path / "store", facts=arrowed_facts()) as running,
        window(browser, running.address) as shown,
    ):
        question = {"entity": "a → 0⁻¹", "relation": "⁻¹"}
        shown.go("ask", **question, known="mark", answer="c → 0⁻¹")
        explained = running.get("/v1/explain", **question, answer="c → 0⁻¹")
        walked = [one["steps"] for one in explained["reasons"] if one["paths"]]
        shown.page.locator(".why .way").first.wait_for()
        ways = shown.page.locator(".why .way").all()
        steps = [way.locator("bdi").all_text_contents() for way in ways]
        arrows = ["".join(way.all_inner_texts()) for way in ways]
    named = [[step["relation"] for step in steps] for steps in walked]
    assert sorted(steps) == sorted(named)
    assert all(text.startswith(("→ ", "← ")) for text in arrows)


def test_other_views_show_the_graph(shown: Window) -> None:
    page = shown.page
    shown.go("overview")
    shown.wait_for("3,766", ".figures")
    page.get_by_role("link", name="Physics").first.click()
    page.get_by_role("heading", name="Physics", level=1).wait_for()
    assert page.locator("svg .node").count() > 3
    shown.go("relations")
    page.get_by_role("link", name="citizen of").first.click()
    shown.wait_for("Paths from heads to their tails")
    shown.wait_for("born in", ".table")
    shown.go("clusters")
    page.locator("svg .leaf").first.wait_for()
    page.get_by_role("link", name=re.compile(r"^Cluster \d+$")).first.click()
    shown.wait_for("Its best path types")
    page.get_by_label("relation", exact=True).select_option("citizen of")
    shown.wait_for("city in", ".table")


def test_audit_and_proposals_run_as_jobs(browser: Browser, own: Live) -> None:
    with window(browser, own.address) as opened:
        page = opened.page
        opened.go("audit")
        page.get_by_label("relation").select_option("continent")
        opened.press("Start")
        first = page.locator(".findings li").first
        first.wait_for()
        first.get_by_role("button", name="Retract").click()
        first.get_by_role("button", name="Undo").click()
        first.get_by_role("button", name="Retract").wait_for()
        assert own.service.store.sequence == 3

        opened.go("proposals")
        page.get_by_label("relation").select_option("continent")
        page.get_by_label("with a probability of at least").fill("0")
        opened.press("Start")
        page.locator(".findings li").first.get_by_role("button", name="Accept").click()
        page.locator(".toast", has_text="Added").wait_for()
        assert own.service.store.sequence == 4
        page.locator(".findings li").first.get_by_role("link", name="Why?").click()
        opened.wait_for("This is a fact in the graph", ".why")


def test_a_job_that_ends_before_the_page_listens_is_shown(
    browser: Browser, own: Live
) -> None:
    with window(browser, own.address) as opened:
        page = opened.page
        with opened.held_up("**/v1/events"):
            opened.go("audit")
            page.get_by_label("relation").select_option("continent")
            opened.press("Start")
            page.locator(".progress p").wait_for()
            while not own.get("/v1/jobs")["jobs"][0]["finished"]:
                time.sleep(0.02)
        page.locator(".findings li").first.wait_for()


def test_what_is_copied_asks_the_same(browser: Browser, own: Live) -> None:
    permissions = ["clipboard-read", "clipboard-write"]
    with window(browser, own.address, permissions=permissions) as opened:
        opened.go("ask", **EINSTEIN)
        opened.wait_for("Why Germany", ".why")

        def copied(what: str) -> str:
            opened.page.locator(".menu summary").click()
            opened.press(what)
            opened.page.locator(".toast", has_text=f"{what} copied").first.wait_for()
            return str(opened.page.evaluate("navigator.clipboard.readText()"))

        assert copied("Link") == opened.page.url
        document = json.loads(copied("JSON"))
        assert document["answers"][0]["entity"] == "Germany"
        assert document["explanation"]["reasons"]
        assert "1,Germany," in copied("CSV")
        program = [sys.executable, "-c", copied("Python")]
        ran = subprocess.run(
            program, capture_output=True, text=True, check=True, timeout=120
        )
        assert ran.stdout.startswith("1 Germany")
        command = shlex.split(copied("Command"))
        command[:1] = [sys.executable, "-m", "casegraph"]
        folder = own.service.store.folder.parent
        ran = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=120, cwd=folder
        )
        assert "Germany" in ran.stdout.splitlines()[0] + ran.stdout.splitlines()[1]


@pytest.fixture
def locked(browser: Browser, tmp_path: Path) -> Iterator[Window]:
    """A window on a service that wants a key."""
    with (
        live(tmp_path / "store", keys=two_keys()) as running,
        window(browser, running.address) as opened,
    ):
        yield opened


def give(key: str, opened: Window) -> None:
    """Give the page a key that it asks for."""
    opened.page.get_by_label("key", exact=True).fill(key)
    opened.press("Use it")


def test_a_key_is_asked_for_where_one_is_needed(locked: Window) -> None:
    page = locked.page
    page.goto(f"{locked.address}/#ask?{urlencode(EINSTEIN)}")
    give(READ_KEY, locked)
    locked.wait_for("Why Germany", ".why")
    locked.press("Add as a fact")
    give(WRITE_KEY, locked)
    page.locator(".known-already", has_text="Germany").wait_for()
    assert "key" not in page.url


def test_a_request_refused_after_the_key_was_given_does_not_ask_for_it_again(
    locked: Window,
) -> None:
    """It was sent without the key, and its refusal comes late."""
    page = locked.page
    with locked.held_up("**/v1/relations?*"):
        page.goto(f"{locked.address}/#ask?{urlencode(EINSTEIN)}")
        give(READ_KEY, locked)
        page.locator("dialog").wait_for(state="detached")
    locked.wait_for("Why Germany", ".why")


@pytest.mark.parametrize("width", [360, 1360])
def test_nothing_is_wider_than_the_window(
    browser: Browser, served: Live, width: int
) -> None:
    size = {"width": width, "height": 800}
    with window(
        browser, served.address, viewport=size, reduced_motion="reduce"
    ) as opened:
        for view in (
            "ask",
            "overview",
            "relations",
            "clusters",
            "audit",
            "proposals",
            "add",
        ):
            opened.go(view)
            assert too_wide(opened) == [], view
        opened.go("ask", **EINSTEIN, without=json.dumps([ULM]))
        opened.page.locator(".verdict").wait_for()
        assert too_wide(opened) == []
        opened.go("entity", entity="Germany")
        assert too_wide(opened) == []


def too_wide(opened: Window) -> list[str]:
    """What reaches beyond the window."""
    found: list[str] = opened.page.evaluate(
        """() => {
          const width = document.documentElement.clientWidth;
          if (document.documentElement.scrollWidth <= width) return [];
          const nodes = [...document.querySelectorAll("main *")];
          const isOut = (node) => node.getBoundingClientRect().right > width + 1;
          return nodes.filter(isOut).map((node) => `${node.tagName}.${node.className}`);
        }"""
    )
    return found


def test_everything_can_be_done_with_the_keyboard(shown: Window) -> None:
    page = shown.page
    shown.go("ask", **EINSTEIN)
    page.locator(".answers a").first.focus()
    page.keyboard.press("ArrowDown")
    shown.wait_for("Why Czechia", ".why")
    assert page.evaluate("document.activeElement.textContent").startswith("2Czechia")
    page.locator(".reason .head").first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".reason .head").first.get_attribute("aria-expanded") == "false"
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="entity asked about")
    assert field.evaluate("node => node === document.activeElement")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("ArrowDown")
    assert field.get_attribute("aria-activedescendant")
    page.keyboard.press("Escape")
    assert field.get_attribute("aria-expanded") == "false"
    assert field.input_value() == "Albert Einstein"


def test_the_first_view_is_small(browser: Browser, served: Live) -> None:
    with window(browser, served.address) as opened:
        sizes: dict[str, int] = {}

        def note(response: object) -> None:
            request = response.request  # type: ignore[attr-defined]
            if "/v1/events" not in request.url:
                sizes[request.url] = len(response.body())  # type: ignore[attr-defined]

        opened.page.on("requestfinished", lambda request: note(request.response()))
        opened.go("ask", **EINSTEIN)
        opened.wait_for("Why Germany", ".why")
        assert len(sizes) > 10
        assert sum(sizes.values()) <= MOST_BYTES


@pytest.mark.skipif(
    not AXE, reason="axe-core is not in .cache; scripts/chromium fetches it"
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser: Browser, own: Live, scheme: str) -> None:
    with tarfile.open(AXE[-1]) as packed:
        member = packed.extractfile("package/axe.min.js")
        assert member is not None
        axe = member.read().decode()
    own.add(("Ada Lovelace", "field", "Mathematics"))
    with window(
        browser, own.address, color_scheme=scheme, reduced_motion="reduce"
    ) as opened:

        def check(where: str) -> None:
            opened.page.evaluate(axe)
            found = opened.page.evaluate("async () => (await axe.run()).violations")
            faults = [
                f"{where}: {one['id']}: {one['nodes'][0]['html'][:200]}"
                for one in found
                if one["impact"] in ("serious", "critical")
            ]
            assert faults == []

        opened.go()
        check("start")
        opened.go("ask", **EINSTEIN, without=json.dumps([ULM]), as_of="1")
        opened.page.locator(".verdict").wait_for()
        check("ask")
        opened.page.get_by_role("combobox", name="relation asked about").click()
        opened.page.get_by_role("option").first.wait_for()
        check("completion")
        for view in ("overview", "relations", "clusters", "audit", "proposals", "add"):
            opened.go(view)
            check(view)
        opened.go("entity", entity="Germany")
        check("entity")
        opened.go("relation", relation="citizen of")
        check("relation")
        opened.go("cluster", cluster="0")
        check("cluster")
