"""A service within the process of the tests."""

import contextlib

import pytest
from serve_command import in_thread


@pytest.fixture
def start(tmp_path):
    """Start services in the folder `models`; they end with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *rest, **options: stack.enter_context(
            in_thread(tmp_path / "models", *rest, **options)
        )


@pytest.fixture
def start_in():
    """The same in any folder."""
    with contextlib.ExitStack() as stack:
        yield lambda *rest, **options: stack.enter_context(in_thread(*rest, **options))
