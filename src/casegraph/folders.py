"""
The folders of the user, by the convention of each system: configuration, and caches.

CASEGRAPH_DATA names another folder for data sets.
"""

import os
import sys
from pathlib import Path

DATA_VARIABLE = "CASEGRAPH_DATA"


def configuration_folder() -> Path:
    """Where the user's configuration is."""
    folder = _user_folder(
        windows=("APPDATA", "AppData/Roaming"),
        mac="Library/Application Support",
        other=("XDG_CONFIG_HOME", ".config"),
    )
    return folder / "casegraph"


def cache_folder() -> Path:
    """Where files are kept that can be made or downloaded again."""
    folder = _user_folder(
        windows=("LOCALAPPDATA", "AppData/Local"),
        mac="Library/Caches",
        other=("XDG_CACHE_HOME", ".cache"),
    )
    return folder / "casegraph"


def download_folder() -> Path:
    """Where data sets are downloaded to: the folder that CASEGRAPH_DATA names, else the cache."""
    return data_folders()[0]


def data_folders() -> list[Path]:
    """The folders that hold data sets, in the order in which they are searched."""
    chosen = os.environ.get(DATA_VARIABLE)
    in_cache = cache_folder() / "data"
    return [Path(chosen), in_cache] if chosen else [in_cache]


def _user_folder(*, windows: tuple[str, str], mac: str, other: tuple[str, str]) -> Path:
    """A folder of the user.

    windows  the environment variable that names it, and where it is below the home folder if
             the variable is not set
    mac      where it is below the home folder
    other    like `windows`, for all other systems
    """
    home = Path.home()
    if sys.platform == "darwin":
        return home / mac
    variable, below_home = windows if sys.platform == "win32" else other
    return Path(os.environ.get(variable) or home / below_home)
