"""Sizes that memory, or the length of a file, does not allow."""

import math

import pytest

from mixable import _validate


def test_what_does_not_fit_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr(_validate, "available_memory", lambda: 2.0**30)
    _validate.memory(2.0**30, "a matrix")
    with pytest.raises(
        MemoryError, match=r"a matrix would need 2147483648 bytes \(2\.0 GiB\); 107"
    ):
        _validate.memory(2.0**31, "a matrix")


def test_while_a_file_is_loaded_its_length_is_the_limit():
    assert _validate.allowance.get() == math.inf
    token = _validate.allowance.set(1000.0)
    try:
        _validate.claim(1000.0, "labels")
        _validate.memory(1001.0, "labels")  # what an array confirms is not limited
        with pytest.raises(ValueError, match="labels would need 1001 bytes, which a file"):
            _validate.claim(1001.0, "labels")
    finally:
        _validate.allowance.reset(token)
    _validate.claim(1001.0, "labels")


def test_there_is_some_memory_and_not_more_than_the_machine_has():
    assert 2**20 < _validate.available_memory() < 2**50
