"""
How dense the code is: tokens a code line, lines over 100 columns, parallel tuple assignments.

Density is not readability, but projects that good engineers show each other have much in common
here. Their figures stand beside ours; name the folder of an unpacked release to measure it again. A
code line is a line with at least one token that is neither a comment nor part of a docstring. A
parallel assignment has a tuple on both sides (`a, b = x, y`); unpacking a result is none. C++ is
split into tokens by a simple lexer: names, numbers, strings, and operators.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tools.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDE = 100  # columns
MODELS = {
    "Python: sqlite-utils, rich": ("5.7", "0.7–1.2 %", "0.1–0.2 %"),
    "Python: river, implicit, scikit-learn": ("7.2–7.3", "0.0–0.8 %", "0.5–2.5 %"),
    "Python: starlette, fully typed": ("7.5", "1.7 %", "0.3 %"),
    "Python: networkx": ("8.6", "0.1 %", "0.7 %"),
    "C++: hnswlib, pybind11, nanobind": ("7.8–8.4", "0.1–3.5 %", ""),
}
FOLDERS = {
    "casegraph, Python: src": ROOT / "src",
    "casegraph, Python: tests": ROOT / "tests",
    "casegraph, Python: benchmarks": ROOT / "benchmarks",
    "casegraph, Python: tools": ROOT / "tools",
    "casegraph, C++: kernels": ROOT / "kernels",
}
CPP_SUFFIXES = {".cpp", ".hpp", ".cc", ".h"}
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
CPP_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
CPP_TOKEN = re.compile(
    r"""
    "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'      # strings and characters
    | [A-Za-z_]\w*                                  # names
    | \d[\w.']*                                     # numbers
    | <<=|>>=|<=>|->\*|\.\.\.                       # operators, longest first
    | ::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=
    | [^\s\w]
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Density:
    """What was counted in some code; parts add up."""

    tokens: int = 0
    code_lines: int = 0
    lines: int = 0
    wide_lines: int = 0
    assignments: int = 0
    parallel_assignments: int = 0

    def __add__(self, other: Density) -> Density:
        return Density(
            self.tokens + other.tokens,
            self.code_lines + other.code_lines,
            self.lines + other.lines,
            self.wide_lines + other.wide_lines,
            self.assignments + other.assignments,
            self.parallel_assignments + other.parallel_assignments,
        )

    @property
    def figures(self) -> tuple[str, str, str]:
        """Tokens a code line, wide lines and parallel assignments, in print."""
        parallel = (
            _percent(self.parallel_assignments, self.assignments)
            if self.assignments
            else ""
        )
        return (
            f"{self.tokens / max(1, self.code_lines):.1f}",
            _percent(self.wide_lines, self.lines),
            parallel,
        )


def main() -> None:
    """Print our figures, or those of files and folders
    that are named, beside those of the models.
    """
    rows = [("", "tokens a code line", f"over {WIDE} columns", "parallel assignments")]
    rows += [(title, *figures) for title, figures in MODELS.items()]
    places = {place: Path(place) for place in sys.argv[1:]} or FOLDERS
    rows += [
        (title, *total(files_of(place)).figures) for title, place in places.items()
    ]
    width = max(len(row[0]) for row in rows)
    for title, tokens, wide, parallel in rows:
        print(f"{title:{width}}  {tokens:>18}  {wide:>16}  {parallel:>20}".rstrip())


def files_of(place: Path) -> list[Path]:
    """A file itself, or all files of code in a folder."""
    if place.is_file():
        return [place]
    return sorted(
        file for file in place.rglob("*") if file.suffix in {".py", *CPP_SUFFIXES}
    )


def total(files: Iterable[Path]) -> Density:
    """What all files have together."""
    found = Density()
    for file in files:
        text = file.read_text(encoding="utf-8")
        found += python_density(text) if file.suffix == ".py" else cpp_density(text)
    return found


def python_density(text: str) -> Density:
    """The figures of a module of Python."""
    tree = ast.parse(text)
    docstrings = _docstring_lines(tree)
    tokens = 0
    code_lines = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        first_line = token.start[0]
        is_docstring = token.type == tokenize.STRING and first_line in docstrings
        if token.type not in LAYOUT and not is_docstring:
            tokens += 1
            code_lines.add(first_line)
    assignments = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    return Density(
        tokens=tokens,
        code_lines=len(code_lines),
        lines=len(text.splitlines()),
        wide_lines=_wide_lines(text),
        assignments=len(assignments),
        parallel_assignments=sum(map(_is_parallel, assignments)),
    )


def cpp_density(text: str) -> Density:
    """The figures of a file of C++."""
    without_comments = CPP_STRING_OR_COMMENT.sub(_without_comment, text)
    tokens_by_line = [
        len(CPP_TOKEN.findall(line)) for line in without_comments.splitlines()
    ]
    return Density(
        tokens=sum(tokens_by_line),
        code_lines=sum(count > 0 for count in tokens_by_line),
        lines=len(text.splitlines()),
        wide_lines=_wide_lines(text),
    )


def _without_comment(found: re.Match[str]) -> str:
    """A string as it is; of a comment, its ends of lines."""
    return found[0] if found[0].startswith('"') else "\n" * found[0].count("\n")


def _docstring_lines(tree: ast.Module) -> set[int]:
    """The lines on which docstrings, or other strings that are statements, begin."""
    lines = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines.add(node.lineno)
    return lines


def _is_parallel(assignment: ast.Assign) -> bool:
    has_tuple_target = any(
        isinstance(target, ast.Tuple) for target in assignment.targets
    )
    return has_tuple_target and isinstance(assignment.value, ast.Tuple)


def _wide_lines(text: str) -> int:
    return sum(len(line) > WIDE for line in text.splitlines())


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.1f} %"


if __name__ == "__main__":
    main()
