"""Files as other tools write them are read as they are meant, and what is written reads back."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from casegraph import (
    CaseBase,
    Description,
    MalformedFact,
    UnreadableFile,
    read_facts,
    write_facts,
)
from casegraph.cli import options
from casegraph.cli.commands import inspection
from casegraph.formats import registry, writing
from casegraph.graph.descriptions import NO_DESCRIPTIONS

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyoxigraph")

TREATS = ("DRUG:1", "biolink:treats", "DISEASE:7")
CAUSES = ("DRUG:1", "biolink:causes", "DISEASE:8")

# What each tool writes, by the endings of the files; small, but as its documentation shows it.
KGX_NODES = (
    "id\tcategory\tname\tprovided_by\n"
    "DRUG:1\tbiolink:Drug|biolink:ChemicalEntity\tAspirin\tus\n"
    "DISEASE:7\tbiolink:Disease\tHeadache\tus\n"
)
KGX_EDGES = (
    "id\tsubject\tpredicate\tobject\trelation\tcategory\n"
    "urn:uuid:1\tDRUG:1\tbiolink:treats\tDISEASE:7\tRO:1\tbiolink:Association\n"
    "urn:uuid:2\tDRUG:1\tbiolink:causes\tDISEASE:8\tRO:2\tbiolink:Association\n"
)
KGX_JSON_NODES = (
    '{"id": "DRUG:1", "category": ["biolink:Drug"], "name": "Aspirin", "xref": ["x:1"]}\n'
    '{"id": "DISEASE:7", "name": "Headache", "category": ["biolink:Disease"], "n": {"a": 1.5}}\n'
)
KGX_JSON_EDGES = (
    '{"id": "1", "subject": "DRUG:1", "predicate": "biolink:treats", "object": "DISEASE:7", '
    '"weight": 0.5}\n\n'
    '{"id": "2", "subject": "DRUG:1", "predicate": "biolink:causes", "object": "DISEASE:8"}\n'
)
NEO4J_NODES = (
    "movieId:ID(Movie),title,year:int,:LABEL\n"
    "tt0133093,The Matrix,1999,Movie;Film\n"
    "1,Solo,,Movie\n"
)
NEO4J_PEOPLE = (
    'personId:ID(Person),name,:LABEL\nkeanu,Keanu Reeves,Actor\n1,"Moss, C.",Actor\n'
)
NEO4J_ROLES = (
    ":START_ID(Person),role,:END_ID(Movie),:TYPE\n"
    'keanu,"Neo",tt0133093,ACTED_IN\n'
    "1,Trinity,1,IN\n"
)
BIOCYPHER_HEADER = ":ID;name;taxon:long;:LABEL\n"
BIOCYPHER_PART = 'G1;"Gene one";9606;"Gene|Entity"\n'
APOC = (
    '"_id","_labels","name","born","_start","_end","_type","roles"\n'
    '"0",":Person:Actor","Keanu Reeves","1964",,,,\n'
    '"1",":Movie","The Matrix","",,,,\n'
    ',,,,"0","1","ACTED_IN","[""Neo""]"\n'
)
HETIONET = (
    "source\tmetaedge\ttarget\nGene::9021\tGpBP\tBiological Process::GO:0071357\n"
)
TURTLE = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:aspirin a :Drug ; rdfs:label "Aspirine"@fr, "Aspirin"@en ; :treats :headache ; :mass 180.2 .
:headache rdfs:label "Headache" .
[] :treats :headache .
"""
EX = "http://example.org/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def read(
    tmp_path: Path, name: str, text: str, **options: Any
) -> tuple[list[Any], dict[str, Any]]:
    """The facts of a file of this name and content, and its descriptions by name."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    reading = read_facts(tmp_path / name, **options)
    facts = [tuple(fact) for fact in reading]
    return facts, {said.name: said for said in reading.described}


def test_a_kgx_table_of_edges_is_read_by_its_header(tmp_path: Path) -> None:
    assert read(tmp_path, "kg_edges.tsv", KGX_EDGES) == ([TREATS, CAUSES], {})


def test_a_kgx_table_of_nodes_describes_entities(tmp_path: Path) -> None:
    facts, described = read(tmp_path, "kg_nodes.tsv", KGX_NODES)
    assert facts == []
    assert described["DRUG:1"] == (
        "DRUG:1",
        "Aspirin",
        ("biolink:Drug", "biolink:ChemicalEntity"),
    )


def test_kgx_json_lines_are_read_by_their_keys(tmp_path: Path) -> None:
    assert read(tmp_path, "kg_edges.jsonl", KGX_JSON_EDGES)[0] == [TREATS, CAUSES]
    _, described = read(tmp_path, "kg_nodes.jsonl", KGX_JSON_NODES)
    assert described["DISEASE:7"] == ("DISEASE:7", "Headache", ("biolink:Disease",))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"subject": "a", "predicate": "r"}', "expected the keys of a fact"),
        (
            '{"subject": "a", "predicate": "r", "object": NaN}',
            "expected a name as 'object'",
        ),
        ('{"subject": "a", "predicate": "r", "object": ""}', "the object is empty"),
        ('["a", "r", "b"]', "expected an object of JSON"),
        ('{"subject": ', "expected an object of JSON"),
    ],
)
def test_a_json_line_that_is_no_fact_is_named(
    tmp_path: Path, line: str, problem: str
) -> None:
    with pytest.raises(MalformedFact) as raised:
        read(tmp_path, "bad.jsonl", KGX_JSON_EDGES + line + "\n")
    assert raised.value.line == 4
    assert problem.replace("object is", "tail is") in str(raised.value)
    assert (
        len(
            read(tmp_path, "bad.jsonl", line + "\n" + KGX_JSON_EDGES, on_error="skip")[
                0
            ]
        )
        == 2
    )


def test_neo4j_import_files_keep_id_spaces_apart(tmp_path: Path) -> None:
    _, movies = read(tmp_path, "movies.csv", NEO4J_NODES)
    _, people = read(tmp_path, "people.csv", NEO4J_PEOPLE)
    facts, _ = read(tmp_path, "roles.csv", NEO4J_ROLES)
    assert facts == [
        ("Person:keanu", "ACTED_IN", "Movie:tt0133093"),
        ("Person:1", "IN", "Movie:1"),
    ]
    assert movies["Movie:tt0133093"] == (
        "Movie:tt0133093",
        "The Matrix",
        ("Movie", "Film"),
    )
    assert people["Person:1"].label == "Moss, C."


def test_a_header_in_a_file_of_its_own_is_found(tmp_path: Path) -> None:
    (tmp_path / "Gene-header.csv").write_text(BIOCYPHER_HEADER)
    facts, described = read(tmp_path, "Gene-part000.csv", BIOCYPHER_PART)
    assert (facts, described["G1"]) == ([], ("G1", "Gene one", ("Gene", "Entity")))


def test_nodes_and_relationships_of_apoc_are_in_one_file(tmp_path: Path) -> None:
    facts, described = read(tmp_path, "all.csv", APOC)
    assert facts == [("0", "ACTED_IN", "1")]
    assert described["0"] == ("0", "Keanu Reeves", ("Person", "Actor"))


def test_hetionet_is_read_by_its_header(tmp_path: Path) -> None:
    assert read(tmp_path, "edges.sif", HETIONET)[0] == [
        ("Gene::9021", "GpBP", "Biological Process::GO:0071357")
    ]


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
def test_the_separator_of_csv_is_known_by_its_header(
    tmp_path: Path, separator: str
) -> None:
    text = "object,subject,predicate,weight\nb,a,r,1\n".replace(",", separator)
    assert read(tmp_path, "facts.csv", text)[0] == [("a", "r", "b")]


@pytest.mark.parametrize(
    "header",
    [
        "gene,relationship,disease",
        "head,link,tail",
        "subject,verb,object",
        "Drug,Effect,Disease",
        "drug,indication,weight",
    ],
)
def test_a_header_that_is_not_understood_is_shown(tmp_path: Path, header: str) -> None:
    rows = "aspirin,treats,pain\naspirin,causes,ulcer\nibuprofen,treats,fever\n"
    with pytest.raises(MalformedFact) as raised:
        read(tmp_path, "facts.csv", f"{header}\n{rows}")
    message = str(raised.value)
    assert f"{tmp_path / 'facts.csv'}:1: " in message
    assert (
        f"{header!r}, followed by 'aspirin,treats,pain' and 'aspirin,causes,ulcer'"
        in message
    )
    assert "--columns" in message
    assert len(read(tmp_path, "facts.csv", f"{header}\n{rows}", header=True)[0]) == 3
    assert len(read(tmp_path, "facts.csv", f"{header}\n{rows}", header=False)[0]) == 4
    columns = header.split(",")
    assert (
        len(read(tmp_path, "facts.csv", f"{header}\n{rows}", columns=columns)[0]) == 3
    )


@pytest.mark.parametrize(
    "first",
    [
        "aspirin,type,drug",
        "gene,part of,genome",
        "drug,treats,disease",
        "head,part of,body",
    ],
)
def test_a_fact_of_common_words_is_no_header(tmp_path: Path, first: str) -> None:
    text = f"{first}\nx,treats,y\nx,type,disease\ngenome,part of,cell\n"
    assert len(read(tmp_path, "facts.csv", text)[0]) == 4


@pytest.mark.parametrize("name", ["facts.xlsx", "facts.jsonld", "facts.ODS"])
def test_a_format_that_is_not_ours_is_refused_by_its_ending(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b"a\tr\tb\n")
    with pytest.raises(UnreadableFile, match="neither read nor written; use"):
        read_facts(tmp_path / name)
    with pytest.raises(UnreadableFile, match="neither read nor written; use"):
        write_facts([("a", "r", "b")], tmp_path / name)


def test_columns_may_be_given_by_number(tmp_path: Path) -> None:
    text = "0.9\tb\ta\tr\n0.8\tc\ta\tr\n"
    assert read(tmp_path, "f.tsv", text, columns=["3", "4", "2"])[0][0] == (
        "a",
        "r",
        "b",
    )


def test_turtle_gives_facts_labels_and_types(tmp_path: Path) -> None:
    (tmp_path / "kg.ttl").write_text(TURTLE)
    reading = read_facts(tmp_path / "kg.ttl")
    assert [tuple(fact) for fact in reading] == [
        (f"{EX}aspirin", RDF_TYPE, f"{EX}Drug"),
        (f"{EX}aspirin", f"{EX}treats", f"{EX}headache"),
        ("_:anonymous1", f"{EX}treats", f"{EX}headache"),
    ]
    described = {said.name: said for said in reading.described}
    assert described[f"{EX}aspirin"] == (f"{EX}aspirin", "Aspirin", (f"{EX}Drug",))
    assert reading.left_out == {"literals": 1}


def test_literals_of_rdf_are_kept_if_that_is_wanted(tmp_path: Path) -> None:
    facts, _ = read(tmp_path, "kg.ttl", TURTLE, literals="keep")
    decimal = "http://www.w3.org/2001/XMLSchema#decimal"
    assert (f"{EX}aspirin", f"{EX}mass", f'"180.2"^^<{decimal}>') in facts


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.nt", f"<{EX}a> <{EX}r> <{EX}b> ."),
        ("a.nq", f"<{EX}a> <{EX}r> <{EX}b> <{EX}graph> ."),
        ("a.trig", f"<{EX}graph> {{ <{EX}a> <{EX}r> <{EX}b> . }}"),
        (
            "a.rdf",
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
            f'xmlns:e="{EX}"><rdf:Description rdf:about="{EX}a"><e:r rdf:resource="{EX}b"/>'
            "</rdf:Description></rdf:RDF>",
        ),
    ],
)
def test_every_syntax_of_rdf_is_read(tmp_path: Path, name: str, text: str) -> None:
    assert read(tmp_path, name, text + "\n")[0] == [(f"{EX}a", f"{EX}r", f"{EX}b")]


def test_an_error_of_rdf_names_file_and_line(tmp_path: Path) -> None:
    good = f"<{EX}a> <{EX}r> <{EX}b> .\n"
    with pytest.raises(MalformedFact) as raised:
        read(tmp_path, "bad.nt", good + good + "this is no triple\n")
    assert (raised.value.line, raised.value.source) == (3, str(tmp_path / "bad.nt"))


def table(**columns: Any) -> Any:
    return pyarrow.table(columns)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_file_of_arrow_is_read_by_the_names_of_its_columns(
    tmp_path: Path, ending: str
) -> None:
    from pyarrow import feather, parquet

    rows = table(
        weight=[1.0, 2.0], object=["b", "c"], subject=["a", "a"], predicate=["r", "s"]
    )
    write = parquet.write_table if ending == "parquet" else feather.write_feather
    write(rows, tmp_path / f"facts.{ending}")
    facts = list(read_facts(tmp_path / f"facts.{ending}"))
    assert facts == [("a", "r", "b"), ("a", "s", "c")]


def test_a_file_that_is_not_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "facts.parquet").write_bytes(b"no parquet at all")
    with pytest.raises(UnreadableFile) as raised:
        list(read_facts(tmp_path / "facts.parquet"))
    assert raised.value.source == str(tmp_path / "facts.parquet")
    with pytest.raises(UnreadableFile, match="no such file"):
        list(read_facts(tmp_path / "missing.parquet"))


class Factory:
    """What of a `TriplesFactory` of PyKEEN is looked at."""

    def __init__(self) -> None:
        self.entity_to_id = {"a": 0, "b": 1}
        self.relation_to_id = {"r": 0}
        self.mapped_triples = np.array([[0, 0, 1], [1, 0, 0]])


class Frame:
    """A frame of a library that is not installed here: all we know is that it speaks Arrow."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)


class OldFrame:
    """What of a frame of pandas is looked at: columns, and rows of anything."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = list(columns)
        self._rows = list(zip(*columns.values(), strict=True))
        self.iloc = self

    def __getitem__(self, places: Any) -> "OldFrame":
        _, chosen = places
        rows = list(zip(*self._rows, strict=True))
        return OldFrame({self.columns[place]: list(rows[place]) for place in chosen})

    def __len__(self) -> int:
        return len(self._rows)

    def itertuples(self, *, index: bool, name: None) -> Any:
        assert (index, name) == (False, None)
        return iter(self._rows)


GOOD = {
    "tuples": [("a", "r", "b")],
    "lists": [["a", "r", "b"]],
    "generator": (fact for fact in [("a", "r", "b")]),
    "array": np.array([["a", "r", "b"]]),
    "array of objects": np.array([["a", "r", "b"]], dtype=object),
    "numpy's strings": [tuple(np.array(["a", "r", "b"]))],
    "arrow": table(head=["a"], relation=["r"], tail=["b"]),
    "frame": Frame(table(t=["b"], r=["r"], h=["a"])),
    "pandas": OldFrame({"w": [1.0], "tail": ["b"], "head": ["a"], "relation": ["r"]}),
    "unnamed columns": table(x=["a"], y=["r"], z=["b"]),
}


@pytest.mark.parametrize("given", GOOD.values(), ids=GOOD.keys())
def test_a_case_base_takes_what_programs_hold(given: Any) -> None:
    cases = CaseBase()
    assert cases.update(add=given).added == 1
    (fact,) = cases.graph.facts()
    assert fact == ("a", "r", "b")
    assert {type(name) for name in fact} == {str}


def test_a_case_base_takes_a_triples_factory() -> None:
    cases = CaseBase()
    cases.update(add=Factory())
    assert set(cases.graph.facts()) == {("a", "r", "b"), ("b", "r", "a")}


NAN = float("nan")
BAD: dict[str, tuple[Any, str]] = {
    "nan": (
        [("a", "r", "b"), ("a", "r", NAN)],
        "facts:2: expected a name, which is text, found nan",
    ),
    "nan in an array": (
        np.array([["a", "r", "b"], ["a", "r", NAN]]),
        "ndarray:2: found 'nan'",
    ),
    "nan in objects": (
        np.array([["a", "r", "b"], ["a", "r", NAN]], dtype=object),
        "ndarray:2: expected a name",
    ),
    "none": ([("a", None, "b")], "facts:1: expected a name, which is text, found None"),
    "bytes": ([("a", b"r", "b")], "facts:1: expected a name"),
    "number": ([("a", "r", 5)], "facts:1: expected a name, which is text, found 5"),
    "bare string": ("abc", "facts:1: expected facts, found"),
    "strings": (["abc"], "facts:1: expected head, relation and tail"),
    "mapping": ({"a": "b"}, "facts:1: expected rows"),
    "a number": (5, "facts:1: expected facts"),
    "tab": ([("a", "r", "b"), ("a", "r", "b\tc")], "facts:2: the tail has a tab"),
    "newline": (
        [("a\n", "r", "b")],
        "facts:1: the head has a tab or the end of a line",
    ),
    "empty": ([("a", "", "b")], "facts:1: the relation is empty"),
    "blank": (
        [("a", "r", "b"), (" ", "r", "b")],
        "facts:2: the head is empty or only white",
    ),
    "array of two columns": (
        np.array([["a", "r"]]),
        "ndarray:1: expected rows of three names",
    ),
    "missing in a table": (
        table(h=["a", "b"], r=["r", "r"], t=["b", None]),
        "Table:2: expected",
    ),
    "numbers in a table": (
        table(h=["a"], r=["r"], t=[5]),
        "Table:1: expected a name, which is text, found 5",
    ),
    "pandas with nan": (
        OldFrame({"h": ["a", "a"], "r": ["r", "r"], "t": ["b", NAN]}),
        "OldFrame:2: expected a name, which is text, found nan",
    ),
    "pandas with a number": (
        OldFrame({"h": ["a"], "r": ["r"], "t": [5]}),
        "OldFrame:1: expected a name, which is text, found 5",
    ),
    "pandas with other columns": (
        OldFrame({"drug": ["a"], "x": ["r"], "y": ["b"], "z": ["c"]}),
        "OldFrame:0: found the columns 'drug, x, y, z'",
    ),
    "other columns": (
        table(gene=["a"], link=["r"], p=["b"], q=["c"]),
        "Table:0: found the colu",
    ),
}


@pytest.mark.parametrize(("given", "message"), BAD.values(), ids=BAD.keys())
def test_what_is_no_fact_is_refused_and_nothing_is_taken_in(
    given: Any, message: str
) -> None:
    cases = CaseBase()
    cases.update(add=[("x", "r", "y")])
    with pytest.raises(MalformedFact) as raised:
        cases.update(add=given)
    assert str(raised.value).startswith(message)
    assert list(cases.graph.facts()) == [("x", "r", "y")]


def test_a_frame_of_pandas_is_taken() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"tail": ["b"], "head": ["a"], "relation": ["r"]})
    cases = CaseBase()
    assert cases.update(add=frame).added == 1
    with pytest.raises(MalformedFact, match="DataFrame:2"):
        cases.update(
            add=pandas.DataFrame({"h": ["a", "b"], "r": ["r", "r"], "t": ["b", None]})
        )


names = st.text(
    st.characters(exclude_characters="\t\n\r\0", exclude_categories=["Cs"]), min_size=1
).filter(str.strip)
odd_names = names | st.sampled_from(
    [
        "=1+1",
        '"',
        "a,b",
        "http://e.org/a b",
        "urn:casegraph:x",
        "_:b0",
        "é%20",
        "<a>",
        " a ",
        "'",
        "a|b;c",
        "sep=;",
        ";;",
        ",,",
        "=treats",
        "subject",
        "predicate",
        "object",
        "+",
    ]
)
facts = st.lists(st.tuples(odd_names, odd_names, odd_names), min_size=1, unique=True)
labels = st.text(st.characters(exclude_categories=["Cs", "Cc"]))
types = st.lists(
    st.sampled_from(["Disease", "biolink:Gene", "http://e.org/T", "=T"]), unique=True
)
descriptions = st.lists(
    st.builds(Description, odd_names, labels, types.map(tuple)),
    unique_by=lambda said: said.name,
)
WRITTEN = {
    "f.tsv": ["f.tsv"],
    "f.tsv.gz": ["f.tsv.gz"],
    "f.csv": ["f.csv"],
    "f.nt": ["f.nt"],
    "f.ttl": ["f.ttl"],
    "f.jsonl": ["f.jsonl"],
    "f.parquet": ["f.parquet"],
    "f.kgx": ["f_edges.tsv", "f_nodes.tsv"],
    "f.jsonl.gz": ["f.jsonl.gz"],
    "f.csv.gz": ["f.csv.gz"],
    "f.nt.gz": ["f.nt.gz"],
    "f.neo4j": ["f_relationships.csv", "f_nodes.csv"],
}


@pytest.mark.parametrize(("name", "files"), WRITTEN.items(), ids=WRITTEN.keys())
@given(facts, descriptions)
def test_facts_and_labels_survive_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    files: list[str],
    facts: list[Any],
    descriptions: list[Description],
) -> None:
    folder = tmp_path_factory.mktemp("round")
    said = NO_DESCRIPTIONS.updated(descriptions)
    ending = name.rpartition(".")[2]
    form: Any = ending if ending in ("kgx", "neo4j") else None
    assert write_facts(facts, folder / name, format=form, described=said) == len(facts)

    header = False if name.startswith("f.tsv") else None
    again = CaseBase()
    for file in files:
        again.update(add=read_facts(folder / file, header=header))
    assert set(again.graph.facts()) == set(facts)
    assert list(again.descriptions) == [one for one in said if one.label or one.types]


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("old\n")
    with pytest.raises(MalformedFact):
        write_facts([("a", "r", "b"), ("a", "r", "\n")], tmp_path / "facts.tsv")
    with pytest.raises(MalformedFact):
        write_facts([("a", "r", "\t")], tmp_path / "facts.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["facts.tsv"]
    assert (tmp_path / "facts.tsv").read_text() == "old\n"


def test_names_are_read_from_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("DRUG:1\tAspirin\nDISEASE:7\tHeadache\n")
    reading = read_facts(
        io.BytesIO(b"DRUG:1\tbiolink:treats\tDISEASE:7\n"),
        names=tmp_path / "labels.txt",
    )
    cases = CaseBase()
    assert cases.update(add=reading).described == 2
    assert cases.descriptions.label("DRUG:1") == "Aspirin"
    (tmp_path / "labels.txt").write_text("DRUG:1\tAspirin\njust one\n")
    with pytest.raises(
        MalformedFact, match=r"labels.txt:2: expected a name and its label"
    ):
        list(read_facts(io.BytesIO(b"a\tr\tb\n"), names=tmp_path / "labels.txt"))


def test_the_command_line_names_the_formats_that_there_are() -> None:
    """It has lists of its own, so that `--help` does not import what reads and writes."""
    assert options.FORMAT_NAMES == registry.FORMAT_NAMES
    assert inspection.WRITTEN == writing.WRITTEN
