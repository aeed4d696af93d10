"""The tools that keep the documents true and measure the code do what they say."""

import pytest
from tools.pages import pages, reference, with_links_of_the_site
from tools.reading_ease import cpp_density, python_density
from tools.tree import ROOT, modules

MODULES = modules()
DOCUMENTS = {
    "README.md": "index.md",
    "docs/store.md": "store.md",
    "docs/index.md": "contents.md",
}


def test_docstrings_comments_and_blank_lines_are_no_code() -> None:
    density = python_density('"""A module.\n\nMore."""\n\n# why\nx = 1  # one\n')
    assert density.tokens == 3
    assert density.code_lines == 1
    assert density.lines == 6


def test_only_a_tuple_on_both_sides_is_a_parallel_assignment() -> None:
    density = python_density("a, b = 1, 2\na, b = b, a\nc, d = pair\ne = 1, 2\n")
    assert density.parallel_assignments == 2
    assert density.assignments == 4


def test_a_line_of_more_than_100_columns_is_wide() -> None:
    density = python_density(f"{'a' * 100}\n{'a' * 101}\n")
    assert density.wide_lines == 1
    assert density.lines == 2


def test_cpp_is_split_into_names_numbers_strings_and_operators() -> None:
    density = cpp_density(
        "// why\nx->y += 1.5;  /* no\ncode */\ncall(\"a // b\", 'c');\n"
    )
    assert density.tokens == 13
    assert density.code_lines == 2
    assert density.lines == 4


@pytest.mark.parametrize(
    ("link", "becomes"),
    [
        ("[the store](docs/store.md)", "[the store](store.md)"),
        ("[history](docs/store.md#history)", "[history](store.md#history)"),
        ("[here](#below)", "[here](#below)"),
        (
            "[elsewhere](https://example.org/a.md)",
            "[elsewhere](https://example.org/a.md)",
        ),
        ("![layers](docs/architecture.svg)", "![layers](architecture.svg)"),
        ("[its source](LICENSE)", "its source"),
        (
            "[`graph.facts.Fact`](src/casegraph/graph/facts.py)",
            "[`graph.facts.Fact`](reference/graph.md#casegraph.graph.facts.Fact)",
        ),
        (
            "[`graph.facts._name`](src/casegraph/graph/facts.py)",
            "[`graph.facts._name`](reference/graph.md#casegraph.graph.facts)",
        ),
        (
            "[reading](src/casegraph/graph/facts.py)",
            "[reading](reference/graph.md#casegraph.graph.facts)",
        ),
        (
            "```sh\n[not](docs/store.md) a link\n```",
            "```sh\n[not](docs/store.md) a link\n```",
        ),
    ],
)
def test_a_link_of_the_repository_becomes_one_of_the_site(
    link: str, becomes: str
) -> None:
    assert with_links_of_the_site(link, "README.md", DOCUMENTS, MODULES) == becomes


def test_links_start_from_the_document_they_are_in() -> None:
    text = "[home](../README.md), [the store](store.md)"
    assert (
        with_links_of_the_site(text, "docs/index.md", DOCUMENTS, MODULES)
        == "[home](index.md), [the store](store.md)"
    )


def test_every_module_is_in_the_api_reference_once() -> None:
    lines = "\n".join(reference(MODULES).values()).splitlines()
    named = [
        line.removeprefix("::: casegraph.") for line in lines if line.startswith(":::")
    ]
    assert sorted(named) == sorted(name for name in MODULES if name)


def test_every_page_of_the_site_is_in_its_navigation() -> None:
    navigation = (
        (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    )
    listed = [
        line.rpartition(": ")[2]
        for line in navigation.splitlines()
        if line.endswith(".md")
    ]
    assert sorted(listed) == sorted(pages())


def test_names_explained_in_a_docstring_become_a_table() -> None:
    pytest.importorskip("griffe", reason="the group docs is not installed")
    from tools.docstrings import with_tables

    docstring = (
        'Read.\n\nformat    by default\n          "tsv"\na, b  two | more\n\n'
        "Prose  stays\nprose."
    )
    table = (
        '| | |\n|---|---|\n| `format` | by default "tsv" |\n| `a`, `b` | two \\| more |'
    )
    assert with_tables(docstring) == f"Read.\n\n{table}\n\nProse  stays\nprose."
