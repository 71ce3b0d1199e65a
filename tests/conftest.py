"""Fixtures: the core that is tested, and random numbers; the builds that this machine can run.

There is one BLAS thread, since the tests' matrices are small.
"""

import contextlib
import gc
import importlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

# For this process, the workers and the commands that tests start. It must be set before NumPy and
# SciPy load their BLAS.
os.environ.update(OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np
import pytest
from hypothesis import settings

from mixable._core import _cpu, _has, isa

# A busy machine must not turn a test red.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def runnable_builds() -> list[str]:
    """Those that are installed; the best is the last."""
    if isa == "plain":
        return ["plain"]
    return [f"v{level}" for level in range(2, _cpu.x86_level() + 1) if _has(f"v{level}")]


@pytest.fixture
def core() -> ModuleType:
    """The compiled core: the best build, or the one that MIXABLE_ISA names."""
    return importlib.import_module(f"mixable._core._{isa}")


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers that do not depend on which test ran before."""
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order(request: pytest.FixtureRequest) -> None:
    """The random numbers of a module begin anew with each test: workers share tests by chance."""
    for name in ("RNG", "rng"):
        if isinstance(vars(request.module).get(name), np.random.Generator):
            setattr(request.module, name, np.random.default_rng(0))


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what thousands of tests and their modules are made of."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def servers_end(tmp_path: Path) -> Iterator[None]:
    """A page or a notebook that fails leaves no server behind: the next run needs its port."""
    yield
    for lock in tmp_path.glob("*.lock"):
        with contextlib.suppress(ValueError, ProcessLookupError):
            os.kill(int(lock.read_text()), signal.SIGKILL)
