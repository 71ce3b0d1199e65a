"""Writes src/mixable/_core/__init__.pyi from the signatures in src/bind_*.cpp, by nanobind's
stubgen. Run it when the bindings have changed and the core has been built:

    python tests/make_stub.py
"""

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from mixable import _core

STUB = Path(__file__).parent.parent / "src/mixable/_core/__init__.pyi"

HEADER = '''\
"""The compiled core of mixable. tests/make_stub.py writes this from src/bind_*.cpp."""

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixable.integrals import Rung

SparseRows = tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.float64]]
Features = tuple[SparseRows, SparseRows, bytes]
SparseExpert = tuple[Scaler, Shapes, Sparse, Memory | None]
PoolExpert = tuple[Scaler, Landmarks | None, float, bool, AutoGAF] | SparseExpert

ALL_BUILDS: str

def missing_build() -> str: ...
'''


def stub() -> str:
    """What the stub of the build in use should be, formatted."""
    module = f"mixable._core._{_core.isa}"
    with tempfile.TemporaryDirectory() as folder:
        generate = [
            sys.executable,
            "-m",
            "nanobind.stubgen",
            "-m",
            module,
            "-D",
            "--exclude-values",
        ]
        subprocess.run([*generate, "-q", "-o", f"{folder}/core.pyi"], check=True)
        text = Path(folder, "core.pyi").read_text()
    # The header has the imports: stubgen takes the np of a signature for a module of that name.
    body = text[text.index("isa: str") :]
    ruff = Path(sysconfig.get_path("scripts")) / "ruff"
    command = [ruff, "format", "--stdin-filename", STUB, "-"]
    done = subprocess.run(command, input=HEADER + body, capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    STUB.write_text(stub())
