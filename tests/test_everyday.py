"""Four new users with files as their tools write them: no manual step, the answers expected."""

import csv
import json
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import click
import pytest
from click.testing import Result as Done
from tests.commands import records, run
from tests.test_formats import KGX_EDGES, KGX_NODES

from casegraph import (
    Benchmark,
    CaseBase,
    CaseStore,
    Description,
    InvalidArgument,
    MalformedFact,
    Settings,
    evaluate,
    read_facts,
    world,
    write_facts,
)
from casegraph.batch.completion import Wanted, complete
from casegraph.cli.output import Result, note, print_result
from casegraph.cli.progress import progress
from casegraph.storage.store.checking import size

pytest.importorskip("pyarrow")
pytest.importorskip("pyoxigraph")


def drugs() -> list[tuple[str, str, str]]:
    """Ten drugs: those of one class treat the same disease, and it is the class that says so."""
    facts = []
    for number in range(10):
        kind = number % 2
        facts.append((f"drug {number}", "in class", f"class {kind}"))
        if number != 4:
            facts.append((f"drug {number}", "treats", f"disease {kind}"))
    return facts


def make_store_of_drugs() -> None:
    with CaseStore.open("store") as store:
        store.update(add=drugs())


def assert_fails(done: Done, message: str) -> None:
    """The command failed, and says why somewhere in its error."""
    assert done.exit_code == 1
    assert message in done.stderr


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_biologist_completes_a_spreadsheet(here: Path) -> None:
    rows = [["Evidence", "Object", "Predicate", "Subject"]]
    for head, relation, tail in drugs():
        rows.append(["x", f"=1+{tail}é", relation, head])
    with Path("drugs.csv").open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, delimiter=";").writerows(rows)

    preview = run("facts", "drugs.csv").stdout
    assert "head from Subject, relation from Predicate, tail from Object" in preview
    done = run(
        "complete",
        "drugs.csv",
        "--relations",
        "treats",
        "--best",
        "1000",
        "--out",
        "new.csv",
    )
    assert done.exit_code == 0, done.stderr
    with Path("new.csv").open(encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file))
    assert table[0]["head"] == "drug 4"
    # A text, and no formula, in any spreadsheet.
    assert table[0]["tail"] == "'=1+disease 0é"
    assert "in class" in table[0]["reason"]
    assert table[0]["precedents"]
    probabilities = [float(row["probability"]) for row in table]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sorted(path.name for path in here.iterdir()) == ["drugs.csv", "new.csv"]


def test_a_thousand_proposals_open_in_a_spreadsheet(here: Path) -> None:
    facts = []
    for number in range(1000):
        drug = f'=drug;"é", {number}'
        facts.append(("class", drug, f"@class {number % 7}"))
        if number % 2:
            facts.append(("treats", drug, f"-disease {number % 7} ß"))
    with Path("drugs.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("relation", "head", "tail"), *facts])
    proposing = ["complete", "drugs.csv", "--relations", "treats", "--best", "1000"]
    assert run(*proposing, "--out", "new.csv").exit_code == 0
    with Path("new.csv").open(encoding="utf-8-sig", newline="") as file:
        written = list(csv.reader(file))
    assert len(written) == 1001
    assert all(row[0].startswith('\'=drug;"é", ') for row in written[1:])

    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        pytest.skip("LibreOffice is not installed")
    command = [
        office,
        f"-env:UserInstallation=file://{here}/profile",
        "--headless",
        "--infilter=CSV:44,34,76,1",
        "--convert-to",
        "csv:Text - txt - csv (StarCalc):44,34,76,1",
        "--outdir",
        "again",
        "new.csv",
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=120
    )
    # That Java is missing is said of the machine, not of the file.
    said = [line for line in done.stderr.lower().splitlines() if "java" not in line]
    assert not any("warn" in line or "error" in line for line in said)
    with Path("again/new.csv").open(encoding="utf-8", newline="") as file:
        again = list(csv.reader(file))
    assert [row[:3] for row in again] == [row[:3] for row in written]


def test_a_neo4j_user_gives_nodes_and_relationships(here: Path) -> None:
    Path("drugs.csv").write_text(
        "drugId:ID(Drug),name,:LABEL\n1,Aspirin,Drug\n2,Ibuprofen,Drug\n3,Naproxen,Drug\n"
    )
    Path("diseases.csv").write_text(
        "diseaseId:ID(Disease),name,:LABEL\n1,Headache,Disease\n2,Fever,Disease\n"
    )
    Path("treats.csv").write_text(
        ":START_ID(Drug),dose:float,:END_ID(Disease),:TYPE\n"
        "1,0.5,1,TREATS\n1,0.5,2,TREATS\n2,0.4,1,TREATS\n2,0.4,2,TREATS\n3,0.2,1,TREATS\n"
    )
    sources = ["drugs.csv", "diseases.csv", "treats.csv"]
    assert run("build", *sources, "--into", "store").exit_code == 0
    asked = [
        "ask",
        "store",
        "naproxen",
        "TREATS",
        "--type",
        "Disease",
        "--known",
        "exclude",
    ]
    (best, *_) = records(*asked)
    assert (best["entity"], best["label"]) == ("Disease:2", "Fever")
    assert run("export", "store", "kg.csv", "--to", "neo4j").exit_code == 0
    assert (
        run(
            "build", "kg_nodes.csv", "kg_relationships.csv", "--into", "again"
        ).exit_code
        == 0
    )
    assert records("ask", "again", *asked[2:]) == records(*asked)


def test_a_researcher_splits_evaluates_and_draws(here: Path) -> None:
    assert run("split", "world", "--into", "folder", "--seed", "1").exit_code == 0
    done = run(
        *["evaluate", "folder", "--no-tune", "--limit", "50", "--per-relation"],
        *["--ranks", "ranks.parquet", "--plot", "ranks.svg", "--out", "metrics.csv"],
    )
    assert done.exit_code == 0, done.stderr
    assert sorted(path.name for path in here.iterdir()) == [
        "folder",
        "metrics.csv",
        "ranks.parquet",
        "ranks.svg",
    ]
    paper = run("evaluate", "folder", "--settings", "paper")
    assert "say whose settings are meant with --dataset" in paper.stderr


@pytest.mark.parametrize("ending", ["tsv", "csv", "parquet", "jsonl"])
def test_the_ending_of_the_file_decides_what_is_written(
    here: Path, ending: str
) -> None:
    write_facts(drugs(), "drugs.tsv")
    out = f"new.{ending}"
    assert run("complete", "drugs.tsv", "--best", "3", "--out", out).exit_code == 0
    columns = ["head", "relation", "tail"]
    facts = list(read_facts(out, columns=columns))
    assert ("drug 4", "treats", "disease 0") in facts
    again = run("complete", "drugs.tsv", "--best", "3", "--out", out)
    assert_fails(again, "is there already")


def test_an_rdf_user_asks_by_label(here: Path) -> None:
    lines = [
        "@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
    ]
    for head, relation, tail in drugs():
        names = [f":{name.replace(' ', '_')}" for name in (head, relation, tail)]
        lines.append(f"{' '.join(names)} . {names[0]} rdfs:label '{head.title()}'@en .")
        lines.append(
            f"{names[2]} a :{tail.split()[0].title()} ; rdfs:label '{tail.title()}' ."
        )
    Path("drugs.ttl").write_text("\n".join(lines))

    assert run("build", "drugs.ttl", "--into", "store").exit_code == 0
    (best, *_) = records("ask", "store", "Drug 4", "treats", "--type", "Disease")
    assert (best["entity"], best["label"]) == ("http://e.org/disease_0", "Disease 0")
    explained = run(
        "ask", "store", "drug 4", "treats", "--type", "Disease", "--explain"
    ).stdout
    assert "Disease 0" in explained
    assert "http://e.org/drug_4" not in explained
    found = records("search", "store", "DISEASE 0")
    assert (found[0]["entity"], found[0]["label"]) == (
        "http://e.org/disease_0",
        "Disease 0",
    )
    proposing = [
        "complete",
        "store",
        "--relations",
        "treats",
        "--type",
        "Disease",
        "--best",
        "9",
    ]
    assert run(*proposing, "--out", "new.csv").exit_code == 0
    with Path("new.csv").open(encoding="utf-8-sig", newline="") as file:
        (proposed, *_) = csv.DictReader(file)
    assert (proposed["head_label"], proposed["tail_label"]) == ("Drug 4", "Disease 0")
    assert "Drug 4" in proposed["reason"]
    assert "http://e.org/drug" not in proposed["reason"] + proposed["precedents"]
    assert run("export", "store", "again.nt").exit_code == 0
    assert run("build", "again.nt", "--into", "again").exit_code == 0
    question = ["Drug 4", "treats"]
    assert records("ask", "again", *question) == records("ask", "store", *question)


def test_a_kgx_user_gives_nodes_and_edges(here: Path) -> None:
    Path("kg_nodes.tsv").write_text(KGX_NODES)
    Path("kg_edges.tsv").write_text(KGX_EDGES)
    assert (
        run("build", "kg_nodes.tsv", "kg_edges.tsv", "--into", "store").exit_code == 0
    )
    shown = run("entity", "store", "Aspirin").stdout
    assert "Aspirin  [DRUG:1]" in shown
    assert "biolink:treats: Headache" in shown
    assert run("export", "store", "kg.tsv", "--to", "kgx").exit_code == 0
    assert run("facts", "kg_nodes.tsv", "kg_edges.tsv").exit_code == 0
    (row,) = [
        row
        for row in records("relations", "store")
        if row["relation"] == "biolink:treats"
    ]
    assert (row["facts"], row["heads"], row["tails"]) == (1, 1, 1)


def test_a_researcher_gives_a_factory_and_gets_a_frame() -> None:
    import numpy as np

    facts = drugs()
    names = sorted({name for head, _, tail in facts for name in (head, tail)})
    relations = sorted({relation for _, relation, _ in facts})
    rows = [
        [names.index(head), relations.index(relation), names.index(tail)]
        for head, relation, tail in facts
    ]

    class Factory:
        entity_to_id = {name: number for number, name in enumerate(names)}  # noqa: RUF012
        relation_to_id = {name: number for number, name in enumerate(relations)}  # noqa: RUF012
        mapped_triples = np.array(rows)

    cases = CaseBase()
    cases.update(add=Factory())
    answers = cases.ask("drug 4", "treats")
    table = answers.to_arrow()
    assert table.column("entity").to_pylist() == [answer.entity for answer in answers]
    assert table.column("entity").to_pylist()[0] == "disease 0"
    why = cases.explain(answers[0]).to_arrow()
    assert sum(why.column("share").to_pylist()) == pytest.approx(answers[0].score)
    assert why.column("sentence").to_pylist()[0].startswith("in class")


def test_an_operator_asks_many_questions_and_sees_every_typo(here: Path) -> None:
    write_facts(drugs(), "drugs.tsv")
    assert run("build", "drugs.tsv", "--into", "store").exit_code == 0
    Path("questions.csv").write_text(
        "drug 4,treats\n?,treats,disease 1\nnobody,treats\n"
    )
    done = run(
        "ask", "store", "--questions", "questions.csv", "--top", "1", "--format", "tsv"
    )
    lines = [line.split("\t")[:5] for line in done.stdout.splitlines()]
    assert lines[1] == ["drug 4", "treats", "tail", "1", "disease 0"]
    assert lines[2][2] == "head"
    assert "'nobody' has never been seen" in done.stderr
    typo = run("retract", "store", "--entity", "drug 44")
    assert_fails(typo, "did you mean 'drug 4'")
    absent = run("retract", "store", "-", given="drug 4\ttreats\tdisease 0\n")
    assert "1 to retract not found" in absent.stdout
    added = run("add", "store", "-", given="drug 4\ttreats\tdisease 0\n").stdout
    assert added == "update 2: 1 fact added; 20 facts in all\n"
    wrong = run("ask", "store", "disease 0", "treats")
    assert "'disease 0' is never the head of 'treats'" in wrong.stderr
    unknown = run("ask", "store", "drug 4", "treat")
    assert (
        "did you mean 'treats'? ('casegraph relations SOURCE' lists all)"
        in unknown.stderr
    )
    assert "facts" in run("info", "drugs.tsv").stdout


def test_every_object_says_what_it_is_in_one_line(here: Path) -> None:
    cases = CaseBase()
    cases.update(add=drugs())
    answers = cases.ask("drug 4", "treats")
    assert repr(cases) == "<CaseBase: 19 facts, 14 entities, 2 relations>"
    assert repr(cases.graph) == "<Graph: 19 facts, 14 entities, 2 relations>"
    assert repr(answers).startswith("<Answers to (drug 4, treats, ?): disease 0 ")
    assert repr(cases.ask("nobody", "treats", candidates=[])).startswith(
        "<Answers to (nobody, treats, ?): 'nobody'"
    )
    assert repr(cases.explain(answers[0])).startswith(
        "<Explanation of disease 0 for drug 4: in cl"
    )
    with CaseStore.open("store") as store:
        assert repr(store) == "<CaseStore 'store': 0 facts after update 0>"
    for thing in (
        cases,
        cases.graph,
        answers,
        cases.explain(answers[0]),
        cases.descriptions,
    ):
        assert "\n" not in repr(thing)


def test_likes_are_printed_once_however_many_answers_are_explained(here: Path) -> None:
    write_facts(drugs(), "drugs.tsv")
    explained = run("ask", "drugs.tsv", "drug 4", "treats", "--explain").stdout
    assert explained.count("score ") == 2
    assert explained.count("entities like drug 4") == 1


def test_html_shows_shares_as_bars_and_escapes_every_name() -> None:
    cases = CaseBase()
    cases.update(add=[tuple(f"<{name}>" for name in fact) for fact in drugs()])  # type: ignore[misc]
    answers = cases.ask("<drug 4>", "<treats>")
    page = answers._repr_html_() + cases.explain(answers[0])._repr_html_()
    assert 'style="width:100.0%"' in page
    assert "&lt;disease 0&gt;" in page
    assert "<drug" not in page
    assert "<disease" not in page


def test_labels_and_probabilities_go_together(here: Path) -> None:
    cases = CaseBase()
    cases.update(add=world.facts())
    named = [
        ("Albert Einstein", "A. E."),
        ("Germany", "Deutschland"),
        ("Wolfgang Pauli", "W. P."),
    ]
    cases.update(describe=[Description(name, label) for name, label in named])
    untuned = cases.ask("A. E.", "citizen of", known="exclude")
    assert f"probability {untuned[0].probability:.2f}" in untuned._repr_html_()
    cases.tune()
    cases.save("world.case")

    best = CaseBase.load("world.case").ask("A. E.", "citizen of", known="exclude")[0]
    explanation = cases.explain(best)
    assert best.probability is not None
    assert f"probability {best.probability:.2f}" in explanation._repr_html_()
    assert any("Wolfgang Pauli" in reason.precedents for reason in explanation)
    assert any("W. P." in reason.sentence for reason in explanation)
    assert "Wolfgang Pauli" not in explanation.text()

    (row,) = records(
        "ask", "world.case", "A. E.", "citizen of", "--known", "exclude", "--top", "1"
    )
    assert list(row) == ["rank", "entity", "label", "probability", "score", "known"]
    assert (row["label"], row["probability"]) == ("Deutschland", best.probability)
    Path("questions.tsv").write_text("A. E.\tcitizen of\n", encoding="utf-8")
    asked = ["ask", "world.case", "--questions", "questions.tsv", "--known", "exclude"]
    assert records(*asked)[0]["probability"] == best.probability


def test_a_notebook_shows_labels_where_there_are_any() -> None:
    cases = CaseBase()
    cases.update(add=drugs())
    names = {
        "drug 4": "Aspirin",
        "disease 0": "Head<ache>",
        "treats": "heals",
        "drug 0": "Old",
    }
    cases.update(describe=[Description(name, label) for name, label in names.items()])
    answers = cases.ask("Aspirin", "heals")
    page = answers._repr_html_()
    assert "Aspirin heals …?" in page
    assert (
        "… heals Head&lt;ache&gt;?"
        in cases.ask_head("heals", "disease 0")._repr_html_()
    )
    assert (
        "Aspirin heals <b>Head&lt;ache&gt;</b>"
        in cases.explain(answers[0])._repr_html_()
    )
    assert "Aspirin" in page
    assert "heals" in page
    assert "Head&lt;ache&gt;" in page
    assert "disease 1" in page  # which has none
    assert "drug 4" not in page
    explanation = cases.explain(answers[0])
    assert "Old" in explanation._repr_html_()
    assert "drug 4" not in explanation._repr_html_()
    assert answers[0].entity == "disease 0"
    assert explanation.as_dict()["labels"]["drug 4"] == "Aspirin"
    assert explanation.as_dict()["answer"]["entity"] == "disease 0"


@pytest.mark.parametrize(
    "arguments",
    [
        ["relations", "drugs.tsv"],
        ["search", "drugs.tsv", "drug"],
        ["ask", "drugs.tsv", "drug 4", "treats"],
        ["similar", "drugs.tsv", "drug 4"],
        ["info", "drugs.tsv"],
        ["audit", "drugs.tsv"],
        ["facts", "drugs.tsv"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_is_printed_as_a_table_can_be_written_as_one(
    here: Path, arguments: list[str]
) -> None:
    from pyarrow import parquet

    write_facts(drugs(), "drugs.tsv")
    rows = records(*arguments)
    for ending in ("csv", "tsv", "jsonl", "json", "parquet"):
        done = run(*arguments, "--out", f"table.{ending}")
        assert done.exit_code == 0, done.stderr
        assert done.stdout == ""
        assert f"table.{ending}: {len(rows):,} rows written" in done.stderr
    lines = Path("table.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == rows
    with Path("table.csv").open(encoding="utf-8-sig", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(rows)
    assert parquet.read_table("table.parquet").num_rows == len(rows)
    printed = run(*arguments, "--format", "json").stdout
    assert Path("table.json").read_text(encoding="utf-8") == printed


def test_an_ending_that_contradicts_the_format_is_an_error(here: Path) -> None:
    for ending, form in (("csv", "json"), ("json", "tsv"), ("xlsx", "csv")):
        done = run("relations", "world", "--out", f"table.{ending}", "--format", form)
        assert done.exit_code == 1
        assert done.stderr.count("\n") == 1
    assert list(here.iterdir()) == []


def test_a_proposal_of_a_type_is_as_probable_as_the_answer(here: Path) -> None:
    cases = CaseBase()
    cases.update(add=world.facts())
    cases.update(
        describe=[Description(name, types=("Rare",)) for name in ("Ireland", "Austria")]
    )
    cases.tune()
    complete(
        cases, Path("new.jsonl"), Wanted(of_type="Rare", min_probability=0.0, top=1)
    )
    lines = Path("new.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines
    for proposed in map(json.loads, lines[:50]):
        answers = cases.ask(
            proposed["head"], proposed["relation"], 1, known="exclude", of_type="Rare"
        )
        assert answers[0].entity == proposed["tail"]
        assert answers[0].probability == proposed["probability"]


def test_search_folds_case_and_accents_and_ranks_beginnings_first() -> None:
    cases = CaseBase()
    names = ["Émile Borel", "borel", "Armand Borel", "x aborel", "Bórelli"]
    cases.update(add=[(name, "r", "y") for name in names])
    cases.update(add=[("Armand Borel", "s", "y")])
    found = [hit.entity for hit in cases.search("BOREL")]
    assert found == ["borel", "Bórelli", "Armand Borel", "Émile Borel", "x aborel"]
    assert [hit.entity for hit in cases.search("borel emile", 10)] == ["Émile Borel"]
    assert cases.search("nothing", 10) == []
    assert cases.search("  ", 10) == []
    assert len(cases.search("e", 2)) == 2


def test_a_rare_word_is_found_among_many_lines_with_a_common_one() -> None:
    cases = CaseBase()
    cases.update(add=[(f"entity number {n}", "r", "y") for n in range(5_000)])
    assert cases.search("number 4999")[0].entity == "entity number 4999"
    assert cases.search("4999 number")[0].entity == "entity number 4999"


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo"],
        [
            "ask",
            "world",
            "Albert Einstein",
            "citizen of",
            "--known",
            "exclude",
            "--explain",
        ],
        ["explain", "world", "John von Neumann", "died in", "Washington, D.C."],
        ["entity", "world", "United States"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_text_fits_a_terminal_of_80_columns(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(*arguments).stdout.splitlines()
    assert len(lines) > 5
    assert [line for line in lines if len(line) > 80] == []


def test_a_table_on_a_terminal_is_as_wide_as_the_terminal_and_numbers_stay_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    rows = [("x" * 50, 1_234_567_890, "y"), ("z", 2, "y" * 30)]
    result = Result(("name", "number", "other"), rows)
    print_result(result, "table")
    # Into a file or a pipe, nothing is shortened.
    assert "x" * 50 in capsys.readouterr().out

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_result(result, "table")
    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) == 40
    assert "1,234,567,890" in lines[1]
    assert "…" in lines[1]


def test_the_bar_says_how_many_facts_were_read_when_nobody_knows_how_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr("casegraph.cli.progress.PATIENCE", 0)
    with progress() as show:
        show("reading facts", 0, 0)
        show("reading facts", 20_000, 0)
        note("had to [count]")
        show("counting", 1, 4)
    text = click.unstyle(shown.getvalue())
    assert "20,000" in text
    assert "25%" in text
    assert "casegraph: had to [count]\n" in text.replace("\r", "")
    assert "100%" not in text


def test_names_are_found_however_they_are_spelled(here: Path) -> None:
    write_facts(drugs(), "drugs.tsv")
    (best, *_) = records("ask", "drugs.tsv", "DRUG 4", "Treats")
    assert best["entity"] == "disease 0"
    Path("two.tsv").write_text("Drug\ttreats\tx\ndrug\ttreats\ty\n", encoding="utf-8")
    assert records("ask", "two.tsv", "Drug", "treats", "--known", "mark") != []
    ambiguous = run("ask", "two.tsv", "DRUG", "treats")
    assert "2 entities are called 'DRUG': 'Drug', 'drug'" in ambiguous.stderr


def test_iris_without_labels_are_called_by_their_ends_where_people_read_them(
    here: Path,
) -> None:
    lines = []
    for head, relation, tail in drugs():
        names = [
            f"<http://e.org/{name.replace(' ', '_')}>"
            for name in (head, relation, tail)
        ]
        lines.append(f"{' '.join(names)} .")
    Path("drugs.nt").write_text("\n".join(lines), encoding="utf-8")
    told = run("explain", "drugs.nt", "drug_4", "treats", "Disease_0").stdout
    assert "in_class" in told
    assert "http" not in told
    (answer, *_) = records("ask", "drugs.nt", "drug_4", "treats")
    assert answer["entity"] == "http://e.org/disease_0"
    wrong_way_round = run("ask", "drugs.nt", "disease_0", "treats")
    assert "'disease_0' is never the head of 'treats'" in wrong_way_round.stderr
    assert "http" not in run("relations", "drugs.nt").stdout
    assert records("relations", "drugs.nt")[0]["relation"] == "http://e.org/in_class"


def test_an_empty_answer_says_what_kept_the_answers_away() -> None:
    cases = CaseBase()
    cases.update(add=drugs())
    cases.update(describe=[Description("class 0", types=("Class",))])
    only_known = cases.ask(
        "drug 0", "treats", known="exclude", candidates=["disease 0"]
    )
    assert "of the candidates only facts that are known" in only_known.note
    assert "none of type 'Class'" in cases.ask("drug 0", "treats", of_type="Class").note
    assert (
        "none among 1 candidate"
        in cases.ask("drug 0", "treats", candidates=["drug 1"]).note
    )


def test_a_header_that_is_not_understood_is_shown_whatever_is_between_its_fields(
    here: Path,
) -> None:
    rows = [f"{head};{relation};{tail}" for head, relation, tail in drugs()]
    Path("three.csv").write_text("\n".join(["Drug Name;Effect;Disease Name", *rows]))
    done = run("facts", "three.csv")
    assert (
        "'Drug Name;Effect;Disease Name', followed by 'drug 0;in class;class 0'"
        in done.stderr
    )
    assert (
        run(
            "facts", "three.csv", "--columns", "Drug Name,Effect,Disease Name"
        ).exit_code
        == 0
    )

    wide = [f"{row};17" for row in rows]
    Path("four.csv").write_text("\n".join(["drug;effect;disease;pmid", *wide]))
    done = run("facts", "four.csv", "--on-error", "skip")
    assert (
        "there are 4 columns and no header that is understood: 'drug;effect;disease;pmid'"
        in done.stderr
    )
    assert records("relations", "four.csv", "--columns", "1,2,3", "--header") != []


def test_a_table_of_primekg_is_read_by_names(here: Path) -> None:
    header = "relation,display_relation,x_index,x_id,x_type,x_name,y_index,y_id,y_type,y_name"
    Path("kg.csv").write_text(
        f"{header}\nindication,treats,0,1,drug,Aspirin,1,1,disease,Pain\n"
    )
    assert list(read_facts("kg.csv")) == [("Aspirin", "indication", "Pain")]


def test_what_cannot_be_built_or_exported_leaves_nothing(here: Path) -> None:
    Path("bad.tsv").write_text("a\tr\tb\na\tr\n")
    assert run("build", "bad.tsv", "--into", "store").exit_code == 1
    assert sorted(path.name for path in here.iterdir()) == ["bad.tsv"]

    with CaseStore.open("store") as store:
        store.update(add=drugs(), describe=[Description("drug 0", "Aspirin", ("a|b",))])
    before = sorted(path.name for path in here.iterdir())
    for arguments in (
        ["kg.tsv"],
        ["kg.tsv", "--to", "kgx"],
        ["kg.csv", "--to", "neo4j"],
    ):
        failed = run("export", "store", *arguments)
        assert_fails(failed, "cannot be written")
    assert sorted(path.name for path in here.iterdir()) == before


def test_an_export_says_what_it_wrote_and_contradicts_no_ending(here: Path) -> None:
    with CaseStore.open("store") as store:
        store.update(
            add=drugs(), describe=[Description("drug 0", "Aspirin", ("Drug",))]
        )
    said = run("export", "store", "kg.tsv").stderr
    assert said == "casegraph: 19 facts written to kg.tsv and kg.names.tsv\n"
    said = run("export", "store", "kg.jsonl.gz", "--to", "kgx").stderr
    assert "kg_edges.jsonl.gz and kg_nodes.jsonl.gz" in said
    assert sorted(read_facts("kg_edges.jsonl.gz")) == sorted(drugs())
    contradicted = run("export", "store", "kg.csv", "--to", "parquet")
    assert_fails(contradicted, "expected 'csv', since the file is called kg.csv")
    assert not Path("kg.csv").exists()


def test_a_file_of_questions_may_have_a_header(here: Path) -> None:
    write_facts(drugs(), "drugs.tsv")
    Path("questions.csv").write_text("entity,relation\ndrug 4,treats\n")
    done = run("ask", "drugs.tsv", "--questions", "questions.csv", "--top", "1")
    assert done.stderr == ""
    assert "disease 0" in done.stdout


def test_a_stream_refuses_options_that_say_how_to_read_a_file(here: Path) -> None:
    make_store_of_drugs()
    refused = run(
        "add", "store", "-", "--every", "1", "--columns", "a,b,c", given="a\tr\tb\n"
    )
    assert refused.exit_code == 2
    assert "do not go with --every" in refused.stderr
    assert len(CaseStore.open("store", read_only=True).graph) == 19


def test_long_objects_are_described_in_a_line(here: Path) -> None:
    write_facts(drugs(), "drugs.tsv")
    reading = read_facts("drugs.tsv")
    next(reading)
    assert repr(reading) == "<Facts of drugs.tsv: 1 fact taken so far>"
    benchmark = Benchmark.of(train=drugs(), test=[("drug 4", "treats", "disease 0")])
    assert repr(benchmark) == "<Benchmark facts: train, test>"
    evaluation = evaluate(benchmark, sides="tail")
    assert repr(evaluation) == "<Evaluation on test of facts: 1 question, MRR 1.0000>"
    assert repr(Settings()) == "Settings()"
    assert repr(Settings(doubt=10.0, best=3)) == "Settings(doubt=10.0, best=3)"
    cases = CaseBase()
    cases.update(add=world.facts())
    tuning = cases.tune()
    assert repr(tuning).startswith("<Tuning to 3,766 facts, by asking for ")
    assert "\n" not in repr(cases.state)


def test_the_size_of_a_store_is_that_of_all_its_files(here: Path) -> None:
    with CaseStore.open("store") as store:
        store.update(add=drugs())
        store.compact()
    files = [path for path in Path("store").rglob("*") if path.is_file()]
    assert size(Path("store")) == sum(path.stat().st_size for path in files)
    assert any(path.parent != Path("store") for path in files)


EXCEL_ROWS = [
    ("Metformin", "treats", "Type 2 diabetes", "PMID:1"),
    ("Glipizide", "treats", "Type 2 diabetes", 'the "classic"; 2001'),
    ("Aspirin", "treats", "Sjögren syndrome", ""),
    ("=SUM(A1)", "treats", "Migraine", ""),
]


def excel(header: str, separator: str, encoding: str, end: str = "\r\n") -> bytes:
    """A table as a spreadsheet saves it."""
    text = StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, lineterminator=end)
    writer.writerow(header.split(","))
    writer.writerows(EXCEL_ROWS)
    writer.writerows([[""] * 4] * 2)  # rows that were emptied, not deleted
    return text.getvalue().encode(encoding)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_table_of_a_spreadsheet_is_read_whatever_its_dialect(
    here: Path, separator: str, encoding: str
) -> None:
    expected = [row[:3] for row in EXCEL_ROWS]
    Path("known.csv").write_bytes(
        excel("subject,predicate,object,ref", separator, encoding)
    )
    assert list(read_facts("known.csv")) == expected
    Path("own.csv").write_bytes(
        excel("Drug,Effect,Disease name,Reference", separator, encoding)
    )
    assert (
        list(read_facts("own.csv", columns=["drug", "effect", "disease name"]))
        == expected
    )
    refused = run("facts", "own.csv")
    assert f"'Drug{separator}Effect".encode("unicode_escape").decode() in refused.stderr
    assert "--columns" in refused.stderr


def test_an_encoding_is_given_and_a_wrong_one_is_named(here: Path) -> None:
    Path("latin.csv").write_bytes(excel("subject,predicate,object,ref", ";", "cp1252"))
    assert "--encoding cp1252" in run("facts", "latin.csv").stderr
    assert records("search", "latin.csv", "sjögren", "--encoding", "cp1252") != []
    wrong = run("facts", "latin.csv", "--encoding", "utf-7x")
    assert "expected the name of an encoding" in wrong.stderr
    wrong = run("facts", "latin.csv", "--encoding", "ascii")
    assert "is not ascii throughout" in wrong.stderr


def test_excels_line_about_the_separator_is_no_row(here: Path) -> None:
    table = excel("subject,predicate,object,ref", ";", "utf-8")
    Path("sep.csv").write_bytes(b"\xef\xbb\xbfsep=;\r\n" + table)
    assert list(read_facts("sep.csv")) == [row[:3] for row in EXCEL_ROWS]
    Path("sep.csv").write_bytes(b"sep=;\r\n" + table + b"a;b\r\n")
    with pytest.raises(MalformedFact, match=r"^sep\.csv:9: "):
        list(read_facts("sep.csv"))


def test_a_table_of_pairs_is_given_its_relation(here: Path) -> None:
    Path("pairs.csv").write_text(
        "Drug,Disease,Score\nMetformin,Diabetes,0.9\n", encoding="utf-8"
    )
    facts = [("Metformin", "treats", "Diabetes")]
    assert (
        list(read_facts("pairs.csv", columns=["drug", "=treats", "disease"])) == facts
    )
    understood = run("facts", "pairs.csv", "--columns", "Drug,=treats,Disease").stdout
    assert "head from Drug, tail from Disease, relation treats for all" in understood

    Path("two.tsv").write_text("Metformin\tDiabetes\n", encoding="utf-8")
    assert "--columns 1,=treats,2" in run("facts", "two.tsv").stderr
    assert list(read_facts("two.tsv", columns=["1", "=treats", "2"])) == facts

    lines = '{"drug": "Metformin", "disease": "Diabetes"}\n'
    Path("pairs.jsonl").write_text(lines, encoding="utf-8")
    assert (
        list(read_facts("pairs.jsonl", columns=["drug", "=treats", "disease"])) == facts
    )

    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(
        arrow.table({"drug": ["Metformin"], "x": ["Diabetes"]}), "pairs.parquet"
    )
    assert list(read_facts("pairs.parquet", columns=["drug", "=treats", "x"])) == facts


def test_a_header_is_no_fact_where_columns_are_given_by_number(here: Path) -> None:
    Path("own.csv").write_bytes(
        excel("Drug,Effect,Disease name,Reference", ",", "utf-8")
    )
    refused = run("facts", "own.csv", "--columns", "1,2,3")
    assert "looks like a header" in refused.stderr
    expected = [row[:3] for row in EXCEL_ROWS]
    assert list(read_facts("own.csv", columns=["1", "2", "3"], header=True)) == expected


def test_a_merged_cell_is_named_with_what_to_do(here: Path) -> None:
    Path("merged.csv").write_text(
        "subject,predicate,object\na,r,b\n,r,c\n", encoding="utf-8"
    )
    assert "fill in merged cells" in run("facts", "merged.csv").stderr


def test_what_apoc_writes_as_json_is_read(here: Path) -> None:
    lines = [
        {
            "type": "node",
            "id": "0",
            "labels": ["User"],
            "properties": {"name": "Adam", "age": 42},
        },
        {"type": "node", "id": "1", "labels": ["User", "Admin"]},
        {
            "id": "0",
            "type": "relationship",
            "label": "KNOWS",
            "properties": {"since": 1993},
            "start": {"id": "0", "labels": ["User"]},
            "end": {"id": "1", "labels": ["User"]},
        },
    ]
    Path("all.json").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    reading = read_facts("all.json")
    assert list(reading) == [("0", "KNOWS", "1")]
    assert reading.described == [
        Description("0", "Adam", ("User",)),
        Description("1", "", ("User", "Admin")),
    ]


def test_a_document_of_json_is_refused_with_what_makes_lines_of_it(here: Path) -> None:
    document = {"nodes": [{"id": "a"}], "edges": [{"subject": "a"}]}
    for indent in (None, 2):
        Path("kgx.json").write_text(
            json.dumps(document, indent=indent), encoding="utf-8"
        )
        assert "jq -c" in run("facts", "kgx.json").stderr


def test_an_ending_that_is_not_written_is_refused(here: Path) -> None:
    make_store_of_drugs()
    for name in ("kg.graphml", "kg.json", "kg.xlsx"):
        refused = run("export", "store", name)
        assert refused.exit_code == 1
        assert not Path(name).exists()
    assert run("export", "store", "kg", "--format", "csv").exit_code == 0
    assert sorted(read_facts("kg", format="csv")) == sorted(drugs())


def test_a_store_without_facts_says_so_and_one_with_facts_says_what_is_next(
    here: Path,
) -> None:
    Path("nodes.tsv").write_text("id\tname\na\tA\n", encoding="utf-8")
    assert "has no facts yet" in run("build", "nodes.tsv", "--into", "empty").stderr
    assert "no facts: give a file of nodes" in run("facts", "nodes.tsv").stdout
    write_facts(drugs(), "drugs.tsv")
    built = run("build", "drugs.tsv", "--into", "store", "--no-tune")
    assert "casegraph relations store" in built.stderr


def test_signed_changes_without_a_stream_say_which_option_reads_them(
    here: Path,
) -> None:
    make_store_of_drugs()
    assert "--every" in run("add", "store", "-", given="+\ta\tr\tb\n").stderr


def test_a_log_of_json_has_nothing_else_on_standard_error(here: Path) -> None:
    make_store_of_drugs()
    done = run("--log-json", "add", "store", "-", "--every", "1", given="+\ta\tr\tb\n")
    said = [json.loads(line) for line in done.stderr.splitlines()]
    assert said[-1]["message"].startswith("update 2: 1 fact added")
    failed = run("--log-json", "ask", "store", "nobody", "treats")
    assert "no entity is named" in json.loads(failed.stderr)["message"]


def test_an_unknown_entity_says_how_to_find_it(here: Path) -> None:
    write_facts(drugs(), "drugs.tsv")
    assert "casegraph search SOURCE" in run("ask", "drugs.tsv", "xyz", "treats").stderr


def test_a_question_of_something_that_is_no_text_is_an_error_of_ours() -> None:
    cases = CaseBase()
    cases.update(add=drugs())
    for entity, relation in ((1, "treats"), ("drug 0", None)):
        with pytest.raises(InvalidArgument, match="expected a name, which is text"):
            cases.ask(entity, relation)  # type: ignore[arg-type]


def test_an_evaluation_takes_a_folder_and_says_how_much_was_asked(here: Path) -> None:
    facts = drugs()
    held_out = [fact for fact in facts if fact[1] == "treats"][:2]
    write_facts([fact for fact in facts if fact not in held_out], "train.txt")
    write_facts(held_out, "test.txt")
    done = evaluate(str(here))
    assert done.questions_by_relation == {"treats": 4}
    interval = done.mrr_interval(draws=50)
    assert interval.low <= interval.mean <= interval.high
    assert interval.mean == done.metrics["both.realistic.inverse_harmonic_mean_rank"]
    with pytest.raises(InvalidArgument, match="expected a folder, or Benchmark"):
        evaluate(3)  # type: ignore[arg-type]
    rows = records("evaluate", ".", "--no-tune", "--per-relation")
    asked = [(row["relation"], row["side"], row["questions"]) for row in rows]
    assert asked == [
        ("(all)", "both", 4),
        ("(all)", "head", 2),
        ("(all)", "tail", 2),
        ("treats", "both", 4),
        ("treats", "head", 2),
        ("treats", "tail", 2),
    ]


def test_several_files_in_the_place_of_one_source_are_told_what_to_do(
    here: Path,
) -> None:
    refused = run("ask", "edges.tsv", "nodes.tsv", "metformin", "treats")
    assert refused.exit_code == 2
    assert "casegraph build FILES --into STORE" in refused.stderr
    Path("folder").mkdir()
    assert "name the files in it" in run("facts", "folder").stderr


def test_a_data_set_is_found_in_any_case_and_a_wrong_name_says_where_names_are(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CASEGRAPH_DATA", str(here))
    Path("UMLS").mkdir()
    write_facts(drugs(), "UMLS/train.txt")
    write_facts(drugs()[:2], "UMLS/test.txt")
    assert run("evaluate", "umls", "--no-tune").exit_code == 0
    assert "casegraph datasets" in run("evaluate", "umlz").stderr
