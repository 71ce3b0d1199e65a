"""Each forecaster of the table has all that belongs to one: an export, promises, a fixture, a page,
a fuzzer.
"""

from inspect import Parameter
from pathlib import Path

import fuzz_arguments
import make_fixtures
import promises
import pytest

import mixable
from mixable import GAF
from mixable.experts.base import Forecaster
from mixable.experts.table import BY_NAME, FORECASTERS
from mixable.losses import Logistic

ROOT = Path(__file__).parents[2]
each_forecaster = pytest.mark.parametrize("entry", FORECASTERS, ids=lambda entry: entry.name)


def kinds(cases):
    return {type(make()).__name__ for make in cases.values()}


@each_forecaster
def test_it_is_exported(entry):
    assert getattr(mixable, entry.name) is entry.kind


@each_forecaster
def test_it_keeps_promises(entry):
    suites = {"numbers": promises.NUMBERS}
    suite = promises.SPARSE if entry.sparse else suites.get(entry.forecasts, promises.LABELS)
    assert entry.name in kinds({**suite, **promises.TREES})


@each_forecaster
def test_it_has_a_fixture(entry):
    assert type(make_fixtures.MODELS[entry.name]()) is entry.kind
    assert (make_fixtures.FOLDER / f"{entry.name}.safetensors").exists()


@each_forecaster
def test_it_is_fuzzed(entry):
    assert entry.name in fuzz_arguments.MAKERS


@each_forecaster
def test_its_page_is_reached_from_that_of_all_forecasters(entry):
    folder = ROOT / "docs" / "forecasters"
    assert (folder / f"{entry.page}.md").exists()
    assert f"({entry.page}.md)" in (folder / "index.md").read_text()
    assert "forecasters/index.md" in (ROOT / "mkdocs.yml").read_text()


def test_every_forecaster_is_in_the_table():
    """Of those that are exported, or have a page."""
    modules = ("duckdb", "mlflow")  # named after what they need, which may not be there
    classes = (getattr(mixable, name) for name in mixable._HOMES if name not in modules)
    exported = {
        kind.__name__ for kind in classes if isinstance(kind, type) and issubclass(kind, Forecaster)
    }
    assert exported <= BY_NAME.keys()
    pages = {path.stem for path in (ROOT / "docs" / "forecasters").glob("*.md")}
    assert pages - {"index"} == {entry.page for entry in FORECASTERS}


@each_forecaster
def test_what_the_table_says_of_it_is_true(entry):
    if entry.forecasts != "any":
        one_size = entry.sparse or entry.forecasts != "labels"
        f = entry.kind(2) if one_size else entry.kind(2, 3)
        assert hasattr(f, "n_classes") == (entry.forecasts != "numbers")
        assert hasattr(getattr(f, "_core", None), "feature_covariances") == entry.has_posterior
        assert set(entry.searched) <= entry.parameters.keys()


REQUIRED = {"n_features": 2, "n_classes": 3, "loss": Logistic(3), "experts": [GAF(2, 3)]}
REQUIRED["expert"] = GAF(2, 3)


@each_forecaster
def test_its_parameters_and_defaults_are_those_of_a_new_one(entry):
    defaults = entry.parameters
    given = {name: REQUIRED[name] for name in defaults if defaults[name] is Parameter.empty}
    f = entry.kind(**given)
    wanted = {**defaults, **given}
    if isinstance(f, Forecaster):
        assert f._parameters == wanted
    assert {name: getattr(f, name) for name in wanted if hasattr(f, name)} == {
        name: wanted[name] for name in wanted if (entry.name, name) != ("Mixture", "history")
    }
