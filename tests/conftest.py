"""Which build of the package is tested: the installed one, or the one in the folder that CASEGRAPH_PACKAGE names."""

import os
import sys

if folder := os.environ.get("CASEGRAPH_PACKAGE"):
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildRedirectingFinder"]
    sys.path.insert(0, folder)

    from casegraph import kernels

    assert kernels.__file__.startswith(folder), f"{kernels.__file__} is tested instead of the build in {folder}"
