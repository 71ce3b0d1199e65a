"""A stream that the mixtures' tests share."""

import pytest
from streams import drifting_stream


@pytest.fixture(scope="module")
def long_stream():
    return drifting_stream("late", n=5000, d=4, K=3)
