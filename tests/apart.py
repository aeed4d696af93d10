"""
Functions run in a process of their own:
what crashes or hangs there is a failure of one test, and not its end.

    done = apart(function, 3, "words", seconds=60)

What is given and what is returned goes through JSON. Run as a program it is the other side of this.
"""

import faulthandler
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
# Seconds after which a process is taken to hang, on however slow a machine.
HANGS = 1500
SHOWN = 4000  # characters of what a failed process said
GRACE = 5  # seconds in which a process that takes too long says where it is


def apart(function: Callable[..., Any], *given: Any, seconds: float = HANGS) -> Any:
    """What a function of a test module returns.

    Fails the test if it fails, crashes, or takes too long.
    """
    name = f"tests.{function.__module__.removeprefix('tests.')}:{function.__qualname__}"
    command = [
        sys.executable,
        "-X",
        "faulthandler",
        "-m",
        "tests.apart",
        name,
        json.dumps(given),
    ]
    command.append(str(seconds - GRACE))
    # No memory set aside for threads, beyond any limit.
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    try:
        done = subprocess.run(
            command,
            check=False,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as late:
        pytest.fail(f"{name} has not ended after {late.timeout:.0f} s", pytrace=False)
    if done.returncode:
        pytest.fail(
            f"{name} ended with {done.returncode}\n{done.stderr[-SHOWN:]}",
            pytrace=False,
        )
    return json.loads(done.stdout.splitlines()[-1])


def main(name: str, given: str, seconds: str) -> None:
    """Call a function, and print what it returns.

    After so many seconds, print where every thread is.
    """
    faulthandler.dump_traceback_later(float(seconds), exit=True)
    import_module("tests.conftest")  # which build is tested
    module, _, function = name.partition(":")
    call = getattr(import_module(module), function)
    returned = call(*json.loads(given))
    print(json.dumps(returned), flush=True)
    # Threads that still run are what a test is about, and do not hold it up.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
