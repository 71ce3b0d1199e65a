"""Each forecaster of the table has all that belongs to one: an export, promises, a fixture, a page,
a fuzzer.
"""

from inspect import signature
from pathlib import Path

import fuzz_arguments
import make_fixtures
import promises
import pytest

import mixable
from mixable.forecasters.base import Forecaster
from mixable.forecasters.table import BY_NAME, FORECASTERS

ROOT = Path(__file__).parents[2]
each_forecaster = pytest.mark.parametrize("entry", FORECASTERS, ids=lambda entry: entry.name)


def kinds(cases):
    return {type(make()).__name__ for make in cases.values()}


@each_forecaster
def test_it_is_exported(entry):
    assert entry.name in mixable.__all__
    assert getattr(mixable, entry.name) is entry.kind


@each_forecaster
def test_it_keeps_promises(entry):
    assert entry.name in kinds(
        promises.NUMBERS if entry.forecasts == "numbers" else promises.LABELS
    )


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
    classes = (getattr(mixable, name) for name in mixable.__all__)
    exported = {
        kind.__name__ for kind in classes if isinstance(kind, type) and issubclass(kind, Forecaster)
    }
    assert exported <= BY_NAME.keys()
    pages = {path.stem for path in (ROOT / "docs" / "forecasters").glob("*.md")}
    assert pages - {"index"} == {entry.page for entry in FORECASTERS}


@each_forecaster
def test_what_the_table_says_of_it_is_true(entry):
    if entry.forecasts != "any":
        f = entry.kind(2) if entry.forecasts != "labels" else entry.kind(2, 3)
        assert hasattr(f, "n_classes") == (entry.forecasts != "numbers")
        assert hasattr(getattr(f, "_core", None), "feature_covariances") == entry.has_posterior
        assert set(entry.searched) <= signature(entry.kind).parameters.keys()
