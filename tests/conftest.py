"""The builds of the core that this machine can run, as a fixture."""

import importlib
from types import ModuleType

import pytest

from mixable._core import _cpu, isa


def runnable_builds() -> list[str]:
    return ["plain"] if isa == "plain" else [f"v{level}" for level in range(2, _cpu.x86_level() + 1)]


@pytest.fixture(params=runnable_builds())
def core(request: pytest.FixtureRequest) -> ModuleType:
    """Each build of the compiled core."""
    return importlib.import_module(f"mixable._core._{request.param}")
