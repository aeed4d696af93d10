"""
The pages of the documentation site, made from the documents and the tree.

The documents are read in the repository too, so they link to files of the repository. Here each of
these links becomes a link of the site: to another page, or, for a file of the source, to the API
reference, where [`graph.facts.Fact`](src/casegraph/graph/facts.py) leads to that very name. A link
to a file that the site does not show becomes plain text. `mkdocs.yml` lists the pages; the build
fails if a page is missing or a link leads nowhere.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tools.tree import ROOT, modules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tree import Module

PAGES = ROOT / "build" / "pages"
STYLE = ROOT / "tools" / "site.css"
DOCUMENTS = {
    "README.md": "index.md",
    "docs/index.md": "contents.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "src/casegraph/world/README.md": "world.md",
}
SOURCE = "src/casegraph/"
PICTURES = (".svg", ".webp")
FENCED = re.compile(r"^(\s*```.*?^\s*```)$", re.MULTILINE | re.DOTALL)
LINK = re.compile(
    r"(?P<text>!?\[(?P<label>[^\]]*)\])\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)"
)
DOTTED_NAME = re.compile(r"`(?P<name>[\w.]+)`")


def main() -> None:
    """Write all pages."""
    shutil.rmtree(PAGES, ignore_errors=True)
    PAGES.mkdir(parents=True)
    for page, content in pages().items():
        path = PAGES / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    for picture in (ROOT / "docs").iterdir():
        if picture.suffix in PICTURES:
            shutil.copy(picture, PAGES / picture.name)
    shutil.copy(STYLE, PAGES / STYLE.name)


def pages() -> dict[str, str]:
    """The content of each page of the site."""
    found = modules()
    documents = {
        f"docs/{file.name}": file.name for file in sorted((ROOT / "docs").glob("*.md"))
    } | DOCUMENTS
    contents = {}
    for document, page in documents.items():
        text = (ROOT / document).read_text(encoding="utf-8")
        contents[page] = with_links_of_the_site(text, document, documents, found)
    return contents | reference(found)


def reference(found: Mapping[str, Module]) -> dict[str, str]:
    """The pages of the API reference, one for each package, with all its modules."""
    contents = {"reference/index.md": _reference_index(found)}
    for name, module in found.items():
        page = reference_page(name)
        if page not in contents:
            contents[page] = f"# {name}\n\n" if name else ""
        if name:
            contents[page] += f"::: casegraph.{name}\n\n"
        assert module.docstring, f"{module.path} has no docstring"
    del contents[reference_page("")]
    return contents


def reference_page(module: str) -> str:
    """The page that a module is on."""
    package = module.partition(".")[0] or "package"
    return f"reference/{package}.md"


def with_links_of_the_site(
    text: str, document: str, documents: Mapping[str, str], found: Mapping[str, Module]
) -> str:
    """A document with its links turned into those of the site.

    document   its path in the repository, which its links start from
    documents  the page that each document of the repository becomes
    """
    here = PurePosixPath(documents[document]).parent
    reference_of = {
        module.path.relative_to(ROOT).as_posix(): module.name
        for module in found.values()
    }

    def linked(link: re.Match[str]) -> str:
        target = link["target"]
        if not target or "://" in target or target.startswith("mailto:"):
            return link[0]
        file = posixpath.normpath((PurePosixPath(document).parent / target).as_posix())
        anchor = link["anchor"] or ""
        if file in documents:
            page = documents[file]
        elif file.endswith(PICTURES):
            page = PurePosixPath(file).name
        elif file in reference_of:
            page = reference_page(reference_of[file])
            anchor = f"#{_reference_anchor(link['label'], reference_of[file])}"
        else:
            return link["label"]
        return f"{link['text']}({posixpath.relpath(page, here.as_posix())}{anchor})"

    outside_and_inside = FENCED.split(text)
    for place in range(0, len(outside_and_inside), 2):
        outside_and_inside[place] = LINK.sub(linked, outside_and_inside[place])
    return "".join(outside_and_inside)


def _reference_anchor(label: str, module: str) -> str:
    """The anchor of what a link names; of its module if it names nothing public in it."""
    name = DOTTED_NAME.fullmatch(label)
    is_public = name is not None and not any(
        part.startswith("_") for part in name["name"].split(".")
    )
    if name is not None and is_public and name["name"].startswith(module):
        return f"casegraph.{name['name']}"
    return f"casegraph.{module}"


def _reference_index(found: Mapping[str, Module]) -> str:
    lines = [
        "# API reference",
        "",
        "Made from the docstrings. The public names, all imported from `casegraph` itself, "
        "come first in",
        "[Python](../python.md); these pages have every module, "
        "for whoever reads or changes the code.",
        "",
        "| package or module | holds |",
        "|---|---|",
    ]
    for name, module in found.items():
        if name and "." not in name:
            page = PurePosixPath(reference_page(name)).name
            lines.append(f"| [`casegraph.{name}`]({page}) | {module.docstring} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
