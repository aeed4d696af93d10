"""Timed experiments, and those that repeat published ones."""

import os
from pathlib import Path

# Data sets that are beside the checkout are found.
os.environ.setdefault(
    "CASEGRAPH_DATA", str(Path(__file__).parents[2] / "shared" / "data")
)
