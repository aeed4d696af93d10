"""The Dockerfile and the compose file: read strictly, and their steps run without Docker."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from casegraph.cli import cli

ROOT = Path(__file__).parents[1]
KNOWN = {"FROM", "RUN", "WORKDIR", "COPY", "USER", "VOLUME", "ENTRYPOINT", "CMD"}


class Step(NamedTuple):
    """An instruction of the Dockerfile."""

    instruction: str
    text: str


def steps() -> list[Step]:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [Step(*line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def of(instruction: str) -> list[str]:
    return [step.text for step in steps() if step.instruction == instruction]


def test_every_instruction_is_one_that_docker_knows() -> None:
    assert {step.instruction for step in steps()} <= KNOWN


def test_images_have_a_version_and_every_list_of_packages_is_removed() -> None:
    assert all(
        re.search(r"^[\w./-]+:\d[\w.-]*(?: AS \w+)?$", image) for image in of("FROM")
    )
    for run in of("RUN"):
        if "apt-get" in run:
            assert "--no-install-recommends" in run
            assert run.endswith("rm -rf /var/lib/apt/lists/*")
        if "pip " in run:
            assert "--no-cache-dir" in run


def test_the_command_runs_as_no_root_and_takes_arguments() -> None:
    assert of("USER")[-1] != "root"
    entry = json.loads(of("ENTRYPOINT")[-1])
    arguments = json.loads(of("CMD")[-1])
    assert entry == ["casegraph"]
    assert CliRunner().invoke(cli, arguments).exit_code == 0


def copied(into: Path) -> None:
    """Copy what the first stage copies."""
    for text in of("COPY"):
        *sources, target = shlex.split(text)
        if sources[0].startswith("--from"):
            continue
        for source in sources:
            place = into / target
            if (ROOT / source).is_dir():
                shutil.copytree(
                    ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__")
                )
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, place)


def test_what_is_copied_is_not_ignored() -> None:
    kept = {
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    }
    wanted: set[str] = set()
    for text in of("COPY"):
        *sources, _ = shlex.split(text)
        if not sources[0].startswith("--from"):
            wanted.update(sources)
    assert kept == wanted


@pytest.mark.skipif(sys.platform != "linux", reason="the image is one of Linux")
def test_what_is_copied_makes_a_wheel(tmp_path: Path) -> None:
    (build,) = [run for run in of("RUN") if run.startswith("pip wheel")]
    source = tmp_path / "source"
    copied(source)
    command = shlex.split(build.replace("/wheels", str(tmp_path / "wheels")))
    here = [
        "--no-build-isolation",
        "--no-index",
        "--quiet",
        "--disable-pip-version-check",
    ]
    subprocess.run([sys.executable, "-m", *command, *here], cwd=source, check=True)
    (wheel,) = (tmp_path / "wheels").iterdir()
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
    assert any(name.endswith("share/man/man1/casegraph.1") for name in names)
    assert any(re.fullmatch(r"casegraph/kernels\.[\w.-]*so", name) for name in names)
    assert "casegraph/cli/__init__.py" in names


def test_the_commands_of_the_compose_file_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    shown = re.findall(r"docker compose run --rm casegraph (.+)", text)
    (watched,) = re.findall(r"command: \[(.+)\]", text)
    monkeypatch.chdir(tmp_path)
    Path("facts.tsv").write_text("Planck\tborn in\tKiel\nKiel\tcity in\tGermany\n")
    names = {"ENTITY": "Planck", "RELATION": "born in"}
    for line in [*shown, f"{watched.replace(',', '')} --for 0"]:
        arguments = [names.get(word, word) for word in line.split()]
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == 0, done.stderr
