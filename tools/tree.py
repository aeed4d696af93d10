"""
The tree of `src/casegraph`: its modules, what each says about itself, and what each imports.

The architecture picture, the table of modules and the pages of the API reference are made from
this, so none of them can name a module that does not exist or omit a module that does.
"""

import ast
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "casegraph"


@dataclass(frozen=True, slots=True)
class Module:
    """A module or a package.

    name        without `casegraph.`, as in "graph.facts"; empty for the package itself
    path        its file; that of a package is its `__init__.py`
    docstring   the first sentence of it, on one line
    imports     the modules of ours that it imports, at the top or inside functions
    """

    name: str
    path: Path
    docstring: str
    imports: frozenset[str]

    @property
    def is_package(self) -> bool:
        """Whether it is a folder."""
        return self.path.name == "__init__.py"


def modules() -> dict[str, Module]:
    """All modules by name, in the order of names; of the kernels, the stub that describes them."""
    files = sorted([*SOURCE.rglob("*.py"), SOURCE / "kernels.pyi"])
    files.remove(SOURCE / "__main__.py")  # two lines, which only start the command
    names = {file: _name(file) for file in files}
    known = set(names.values())
    found = {}
    for file, name in names.items():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found[name] = Module(name, file, _first_sentence(tree), _imports(tree, known))
    return dict(sorted(found.items()))


def _name(file: Path) -> str:
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def _first_sentence(tree: ast.Module) -> str:
    first_paragraph = (ast.get_docstring(tree) or "").split("\n\n")[0]
    on_one_line = " ".join(first_paragraph.split())
    sentence, stop, _ = on_one_line.partition(". ")
    return sentence + stop.rstrip()


def _imports(tree: ast.Module, known: set[str]) -> frozenset[str]:
    """Our modules that are imported; `from casegraph.graph import names` imports `graph.names`."""
    imported: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            imported += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
    ours = [
        name.removeprefix("casegraph.")
        for name in imported
        if name.startswith("casegraph.")
    ]
    return frozenset(
        module for module in (_longest_known(name, known) for name in ours) if module
    )


def _longest_known(name: str, known: set[str]) -> str:
    """The module that a dotted name is in: "graph.facts.Fact" is in "graph.facts"."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name
