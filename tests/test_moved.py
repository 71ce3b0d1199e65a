"""Modules and classes by the names that they had up to version 0.2."""

import importlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import mixable as mx
from mixable._moved import MERGED, MOVED


@pytest.mark.parametrize("name", [*MOVED, *MERGED])
def test_an_old_name_is_the_same_module(name):
    new = {**MOVED, **MERGED}[name]
    assert importlib.import_module(name) is importlib.import_module(new)
    assert importlib.import_module(new).__spec__.name == new


@pytest.mark.parametrize("name", ["forecasters", "forecasters.gaf", "learner", "learner.learner"])
def test_old_folders_are_the_new_ones(name):
    new = name.replace("forecasters", "experts").replace("learner", "model", 1)
    assert importlib.import_module(f"mixable.{name}") is importlib.import_module(f"mixable.{new}")


def test_an_old_name_can_be_the_first_import():
    for name in ("mixable.bounds", "mixable.kernel_gaf", "mixable.forecasters.ons"):
        code = f"import {name}; print({name}.__name__)"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert found.stdout == f"{MOVED[name]}\n", found.stderr


def test_submodules_by_old_names_hide_no_function():
    from mixable.bounds.theorem import gaf
    from mixable.integrals.envelope import Envelope
    from mixable.integrals.expectation import expectation

    assert mx.bounds.gaf is gaf
    assert mx.integrals.expectation is expectation
    assert mx.integrals.Envelope is Envelope
    assert callable(mx.integrals.envelope)
    assert callable(mx.bounds.default)


def test_what_was_never_there_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("mixable.bounds.nothing")
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = importlib.import_module("mixable.forecasters").Nothing


@pytest.mark.parametrize("name", ["AIOLI", "FTRL", "OGD", "ONS", "SMP", "VAW", "Folklore"])
def test_forecasters_are_where_they_were(name):
    assert getattr(importlib.import_module("mixable.forecasters"), name) is getattr(mx, name)


def test_a_pickle_of_version_0_2_is_read():
    """Such a pickle names the class by its old module."""
    forecaster = mx.ONS(2, 3)
    forecaster.learn([1.0, -1.0], 2)
    new, old = b"mixable.paper.baselines.ons", b"mixable.forecasters.ons"
    written = pickle.dumps(forecaster, protocol=0)
    assert new in written
    again = pickle.loads(written.replace(new, old))
    assert type(again) is mx.ONS
    np.testing.assert_array_equal(again.predict([1.0, 0.5]), forecaster.predict([1.0, 0.5]))
