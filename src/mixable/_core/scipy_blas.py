"""SciPy's BLAS and LAPACK for compiled code, without the rest of `scipy.linalg`.

All of that takes twice as long to import as NumPy, and a short command needs none of it.
"""

import importlib.util
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

import scipy


def _loaded(name: str) -> ModuleType:
    full = f"scipy.linalg.{name}"
    folder = str(Path(scipy.__file__).with_name("linalg"))
    spec = None if "scipy.linalg" in sys.modules else PathFinder.find_spec(full, [folder])
    if spec is None or spec.loader is None:
        return importlib.import_module(full)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop(full, None)  # who imports scipy.linalg later finds it there, as always
    return module


blas = _loaded("cython_blas")
lapack = _loaded("cython_lapack")
