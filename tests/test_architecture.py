"""Data flows one way: a module imports only what comes before it. And what the package promises."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import casegraph
from casegraph import kernels

# Packages and modules in reading order; one may import only what comes before it.
LAYERS = [
    "errors",
    "disk",
    "folders",
    "frames",
    "settings",
    "graph.arrays",
    "kernels",
    "running",
    "graph.directions",
    "graph.names",
    "graph.descriptions",
    "graph.facts",
    "graph.batches",
    "graph.edges",
    "graph.change",
    "graph.rows",
    "graph.graph",
    "graph.lookup",
    "graph.search",
    "graph.digest",
    "formats",
    "similarity.profiles",
    "similarity.retrieval",
    "similarity.clusters",
    "statistics.sums",
    "statistics.path_types",
    "statistics.backlog",
    "statistics.counts",
    "statistics.own_hits",
    "statistics.incremental",
    "statistics.cluster_updates",
    "statistics.hits",
    "statistics.reach_plan",
    "statistics.sampling",
    "statistics.statistics",
    "answering.state",
    "answering.cache",
    "answering.weights",
    "answering.query",
    "answering.pair_strengths",
    "answering.ranks",
    "answering.pair_strengths",
    "answering.belief",
    "answering.results",
    "answering.arguments",
    "answering.questions",
    "answering.notes",
    "answering.asking",
    "answering.evidence",
    "answering.support",
    "answering.reasons",
    "answering.counterfactual",
    "execution.executor",
    "tuning.sample",
    "tuning.fitting",
    "tuning.pairs",
    "tuning.questions",
    "tuning.grid",
    "tuning.choice",
    "tuning.tuning",
    "storage.array_files",
    "storage.edge_arrays",
    "storage.count_columns",
    "storage.case_files",
    "casebase",
    "storage.store",
    "summary",
    "execution.shards",
    "execution.shard_files",
    "execution.dask",
    "batch",
    "evaluation",
    "service",
    "client",
    "experiments.journal",
    "experiments.arrivals",
    "experiments.stream_questions",
    "experiments.verification",
    "experiments.stream",
    "cli.output",
    "cli.logs",
    "cli.configuration",
    "cli.progress",
    "cli.reader",
    "cli.counted_files",
    "cli.streams",
    "cli.loader",
    "cli.options",
    "cli.group",
    "cli.commands",
    "cli",
    "__main__",
]
DATA = {"world"}  # a graph that comes with the package, not a layer
ROOT = Path(casegraph.__file__).parent
FILES = sorted(
    file for file in ROOT.rglob("*.py") if not DATA & set(file.relative_to(ROOT).parts)
)
EXTRAS = [
    "click",
    "rich",
    "fastapi",
    "uvicorn",
    "pydantic",
    "httpx",
    "pyarrow",
    "pyoxigraph",
    "rdflib",
    "dask",
    "distributed",
    "scipy",
    "matplotlib",
    "torch",
    "pykeen",
]
PUBLIC = """
    AmbiguousName Answer Answers Benchmark CaseBase CaseStore CasegraphError Counterfactual
    DamagedStore Description Evaluation Event Explanation Fact
    IncompatibleFile InvalidArgument MalformedFact Neighbour NotABenchmark ReadOnlyStore Reason
    Settings StoreInUse Tuning UnknownName UnreadableFile Update evaluate read_facts write_facts
""".split()  # noqa: SIM905


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


def layer_of(module: str) -> str:
    """The layer that a module, named without the package, is in; empty if in none."""
    return next((layer for layer in LAYERS if f"{module}.".startswith(f"{layer}.")), "")


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imported_layers(source: str) -> set[str]:
    """Our layers that a module imports, at the top or late."""
    modules: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "our own names are imported by their full name"
            modules += [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            modules += [name.name for name in node.names]
    layers = set()
    for module in modules:
        package, _, name = module.partition(".")
        is_layered = name.split(".")[0] not in DATA and not name.startswith("__")
        if package == "casegraph" and name and is_layered:
            layers.add(layer_of(name))
    return layers


@pytest.mark.parametrize(
    "file", [file for file in FILES if layer_of(module_of(file))], ids=name_of
)
def test_imports_point_upstream(file: Path) -> None:
    layer = layer_of(module_of(file))
    assert imported_layers(file.read_text()) <= set(LAYERS[: LAYERS.index(layer) + 1])


def test_the_layers_of_an_import_are_seen_however_it_is_written() -> None:
    source = """if True:
        import os
        import casegraph.cli.output
        from casegraph.batch.audit import audit
        def late():
            from casegraph import settings
            from casegraph.graph import names
    """
    assert imported_layers(source) == {"cli.output", "batch", "settings", "graph.names"}


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_nothing_is_pickled_or_evaluated(file: Path) -> None:
    evaluating = {"eval", "exec", "compile", "__import__"}
    pickling = {"pickle", "cPickle", "marshal", "shelve", "dill", "joblib"}
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Call(func=ast.Name(id=called)):
                assert called not in evaluating
            case ast.Import(names=names):
                assert not {name.name.split(".")[0] for name in names} & pickling
            case ast.ImportFrom(module=module, names=names):
                assert (module or "").split(".")[0] not in pickling
                assert not {name.name for name in names} & pickling
            case ast.keyword(arg="allow_pickle", value=value):
                assert isinstance(value, ast.Constant)
                assert value.value is False


def test_only_our_own_modules_are_there() -> None:
    packages = {layer.rpartition(".")[0] for layer in LAYERS}
    modules = {module_of(file) for file in FILES}
    in_no_layer = {module for module in modules if not layer_of(module)}
    assert in_no_layer <= {"", *packages}


def test_importing_casegraph_imports_none_of_the_extras() -> None:
    program = f"import sys, casegraph; print(*(name for name in {EXTRAS} if name in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []


def test_the_public_names_are_these() -> None:
    assert casegraph.__all__ == sorted(PUBLIC)
    assert all(inspect.getdoc(getattr(casegraph, name)) for name in PUBLIC)


STUB = ast.parse((ROOT / "kernels.pyi").read_text())


def stub() -> dict[str, ast.ClassDef | ast.FunctionDef]:
    return {
        node.name: node
        for node in STUB.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }


def constants_in_stub() -> set[str]:
    return {
        node.target.id
        for node in STUB.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def test_the_stub_names_exactly_what_the_kernels_have() -> None:
    in_kernels = {name for name in dir(kernels) if not name.startswith("_")}
    assert set(stub()) | constants_in_stub() == in_kernels


@pytest.mark.parametrize(
    "name", [name for name, node in stub().items() if isinstance(node, ast.ClassDef)]
)
def test_the_stub_of_a_class_names_exactly_its_members(name: str) -> None:
    members = set()
    for part in stub()[name].body:
        match part:
            case (
                ast.AnnAssign(target=ast.Name(id=member)) | ast.FunctionDef(name=member)
            ):
                members.add(member)
    in_kernels = {
        member for member in dir(getattr(kernels, name)) if not member.startswith("_")
    }
    assert members - {"__init__"} == in_kernels


@pytest.mark.parametrize(
    "name", [name for name, node in stub().items() if isinstance(node, ast.FunctionDef)]
)
def test_the_stub_of_a_function_names_its_arguments_in_their_order(name: str) -> None:
    node = stub()[name]
    assert isinstance(node, ast.FunctionDef)
    signature, _, _ = (getattr(kernels, name).__doc__ or "").partition("->")
    arguments = [argument.arg for argument in node.args.args]
    assert re.findall(r"[(,] ?([a-z_]+): ", signature) == arguments
