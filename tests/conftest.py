"""The builds of the core that this machine can run, as a fixture; one BLAS thread, since the tests' matrices are small."""

import importlib
from collections.abc import Iterator
from types import ModuleType

import pytest
from threadpoolctl import threadpool_limits

from mixable._core import _cpu, isa


def runnable_builds() -> list[str]:
    return ["plain"] if isa == "plain" else [f"v{level}" for level in range(2, _cpu.x86_level() + 1)]


@pytest.fixture(params=runnable_builds())
def core(request: pytest.FixtureRequest) -> ModuleType:
    """Each build of the compiled core."""
    return importlib.import_module(f"mixable._core._{request.param}")


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread() -> Iterator[None]:
    import scipy.linalg.cython_blas  # noqa: F401  # its library must be loaded to be limited

    with threadpool_limits(1):
        yield
