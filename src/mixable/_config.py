"""What this installation is made of."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from mixable import _core

__version__ = version("mixable")


MOST_THREADS = 4  # more have too little to do each
QUOTA = Path("/sys/fs/cgroup/cpu.max")


@cache
def usual_threads() -> int:
    """Threads for the work on a table: one for each processor we may use, four at most.

    OMP_NUM_THREADS lowers it, as of other libraries. Engines that run several workers set it.

    >>> 1 <= usual_threads() <= 4
    True
    """
    allowed = [float(os.cpu_count() or 1), float(MOST_THREADS)]
    if hasattr(os, "sched_getaffinity"):
        allowed.append(len(os.sched_getaffinity(0)))
    with suppress(OSError, ValueError):  # the quota of a container
        quota, period = QUOTA.read_text().split()
        allowed.append(float(quota) / float(period))
    with suppress(ValueError):  # "4,2" are threads of nested regions
        allowed.append(float(os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]))
    return max(1, int(min(allowed)))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread: its bits depend on their number, and small work has none for more.

    >>> with one_blas_thread():
    ...     pass
    """
    import scipy.linalg.cython_blas  # noqa: F401  # a library must be loaded to be limited
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def show_config() -> None:
    """Print version, build of the core, BLAS and threads: what a bug report needs.

    >>> show_config()  # doctest: +ELLIPSIS
    mixable ...
    """
    import numpy
    import scipy.linalg.cython_blas  # loads the library that the next line asks about
    import threadpoolctl

    print(f"mixable {__version__}")
    print(
        f"core: {_core.isa} build, {_core.vector_width} doubles a vector, "
        f"{usual_threads()} threads for tables, compiler {_core.compiler}"
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
