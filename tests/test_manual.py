"""The manual page says what the commands say, and is one that `man` can show."""

import os
import shutil
import subprocess

import pytest
from tools import manual

from casegraph.cli import cli

if os.environ.get("CASEGRAPH_WRITE_DOCS") == "1":
    manual.main()
PAGE = manual.PAGE.read_text(encoding="utf-8")


def test_the_page_is_made_from_the_commands_as_they_are() -> None:
    assert manual.manual() == PAGE, "run .venv/bin/python -m tools.manual"


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_is_on_the_page_with_an_example(name: str) -> None:
    section = PAGE.partition(f'.SS "casegraph {name} ')[2].partition("\n.SS ")[0]
    assert "\nExample:" in section or "\nExamples:" in section
    assert "\n.B \\-\\-help" in section


def test_signs_of_roff_are_written_as_signs() -> None:
    assert manual._text(".a") == r"\&.a"
    assert manual._text("'a") == r"\&'a"
    assert manual._text('\\b --c "d"') == r"\eb \-\-c \(dqd\(dq"


def test_a_formatter_has_nothing_to_complain_about() -> None:
    checks = {
        "groff": ["-ww", "-z", "-man", "-Kutf8"],
        "mandoc": ["-Tlint", "-Wwarning"],
    }
    found = next((tool for tool in checks if shutil.which(tool)), None)
    if found is None:
        pytest.skip("neither groff nor mandoc is installed")
    done = subprocess.run(
        [found, *checks[found], str(manual.PAGE)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
