"""What this installation is made of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from typing import Any

__version__ = version("mixable")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread: its bits depend on their number, and small work has none for more.

    >>> with one_blas_thread():
    ...     pass
    """
    with _libraries().limit(limits=1):
        yield


@cache
def _libraries() -> Any:
    """Those with threads of their own; to find them takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    from mixable._core import scipy_blas  # noqa: F401  # must be loaded to be limited

    return ThreadpoolController()


def show_config() -> None:
    """Print version, build of the core, BLAS and threads: what a bug report needs.

    >>> show_config()  # doctest: +ELLIPSIS
    mixable ...
    """
    import numpy
    import scipy
    import threadpoolctl

    from mixable import _core
    from mixable._core import scipy_blas  # noqa: F401  # loads the library that is shown

    print(f"mixable {__version__}")
    print(
        f"core: {_core.isa} build, {_core.vector_width} doubles a vector, compiler {_core.compiler}"
    )
    if missing := _core.missing_build():
        print(f"this machine can run the {missing} build, which is faster: {_core.ALL_BUILDS}")
    print(f"numpy {numpy.__version__}, scipy {scipy.__version__}")
    for library in threadpoolctl.threadpool_info():
        if library["user_api"] == "blas":
            owners = {"scipy.libs": "scipy (used by the core)", "numpy.libs": "numpy"}
            path = library["filepath"]
            owner = next((owners[folder] for folder in owners if folder in path), "system")
            kernels = library.get("architecture", "unknown")
            print(
                f"BLAS of {owner}: {library['internal_api']} {library['version']}, {kernels} "
                f"kernels, {library['num_threads']} threads"
            )
