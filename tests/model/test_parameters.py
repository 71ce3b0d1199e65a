"""The parameters of the estimators: what each says of itself, and what became of old ones."""

import copy
import inspect
import pickle
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import mixable as mx
from mixable.kernels import RBF, Auto
from mixable.model.parameters import Parameters, estimator, with_defaults

FIXTURES = Path(__file__).parent.parent / "fixtures"
ONLINE = (mx.river.GAFClassifier, mx.river.GAFRegressor)
KINDS = (mx.GAFClassifier, mx.GAFRegressor, *ONLINE)
X = np.random.default_rng(0).normal(size=(30, 2))
Y = (X[:, 0] > 0).astype(int)


def learned(model):
    """The design of a model that has learned something."""
    if isinstance(model, ONLINE):
        model.learn_one({"a": 1.0}, 1)
        return model._learner.design
    return model.partial_fit(X, Y).learner_.design


def plans(design):
    """The kernel features that a design has."""
    parts = getattr(design, "parts", [design, getattr(design, "curved", design)])
    return [part.kernel for part in parts if getattr(part, "kernel", None)]


@pytest.mark.parametrize("kind", KINDS)
def test_each_parameter_says_what_it_is_and_its_default(kind):
    section = kind.__doc__.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^(\w.*)\n((?:    .*\n?)+)", section, re.MULTILINE)
    texts = {name: " ".join(text.split()) for names, text in entries for name in names.split(", ")}
    assert texts.keys() == inspect.signature(kind).parameters.keys()
    for name, text in texts.items():
        assert "default" in text or text.startswith("Deprecated"), name


@pytest.mark.parametrize("kind", KINDS)
def test_a_constructor_only_stores(kind):
    """And a name that it does not have is answered with those that it has."""
    assert kind(lam=-1.0, kernel="no", effort=3).effort == 3
    with pytest.raises(TypeError, match=r"has no parameter 'efort'; did you mean 'effort'\?"):
        kind(efort="low")
    with pytest.raises(TypeError, match="positional"):
        kind(1.0)


def test_a_constructor_keeps_its_signature():
    @estimator
    @dataclass(kw_only=True)
    class Thing:
        """A thing."""

        lam: float = 1.0

    assert str(inspect.signature(Thing)).startswith("(*, lam: ")
    assert Thing(lam=2.0).lam == 2.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"n_components": 8}, Auto(8)),
        ({"kernel": "auto", "n_components": 8, "gamma": 1.0, "method": "fourier"}, Auto(8)),
        ({"kernel": "rbf", "n_components": 8}, RBF(8)),
        ({"kernel": "rbf", "n_components": 8, "gamma": 0.5}, RBF(8, gamma=0.5)),
        ({"kernel": "rbf", "n_components": 8, "method": "nystroem"}, RBF(8, method="nystroem")),
        ({"kernel": RBF(9, gamma=0.5), "n_components": 8}, RBF(8, gamma=0.5)),
        ({"kernel": None, "n_components": 8}, None),
    ],
)
def test_old_parameters_mean_what_they_did_with_a_warning(kind, old, new):
    model = kind(**old)  # does not warn: it only stores
    with pytest.warns(FutureWarning, match="will not stay parameters of the estimators"):
        found = learned(model)
    assert plans(found) == plans(learned(kind(kernel=new)))
    assert bool(plans(found)) == (new is not None)


def test_old_parameters_are_still_those_of_scikit_learn():
    model = mx.GAFClassifier(n_components=4)
    assert model.get_params()["n_components"] == 4
    assert clone(model).n_components == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(n_components="deprecated", kernel=Auto(4)).fit(X, Y)
    for each in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert each.kernel == Auto(4)


@pytest.mark.filterwarnings("ignore:.* will not stay parameters")
@pytest.mark.parametrize("kind", KINDS[::2])
def test_models_are_merged_whichever_way_their_kernel_was_said(kind):
    """A copy of a model with all three old parameters has an object in their place."""
    old = kind(kernel="rbf", n_components=4, gamma=0.5, method="fourier")
    learned(old)
    for other in (kind(kernel=RBF(4, gamma=0.5)), copy.deepcopy(old)):
        learned(other)
        assert mx.merging.steps_of(mx.merge([old, other])) > mx.merging.steps_of(old)
    other = kind(kernel=RBF(4))
    learned(other)
    with pytest.raises(ValueError, match=r"cannot be merged with .*: kernel is"):
        mx.merge([old, other])


@pytest.mark.parametrize("kernel", [Auto(3), RBF(3, gamma=0.5), None])
def test_kernels_are_saved(kernel, tmp_path):
    model = mx.GAFClassifier(kernel=kernel).fit(X, Y)
    mx.save(model, tmp_path / "model")
    again = mx.load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("GAFClassifier", "auto"),
        ("GAFClassifier-auto", Auto(2)),
        ("GAFClassifier-fourier", RBF(2)),
        ("GAFClassifier-nystroem", RBF(2, method="nystroem")),
        ("river.GAFClassifier-records", Auto(2)),
        ("GAFRegressor-sparse", "auto"),
    ],
)
def test_files_of_earlier_versions_have_the_kernel_that_they_were_made_with(name, kernel):
    model = mx.load(FIXTURES / f"{name}.safetensors")  # a warning would be an error
    assert model.kernel == kernel
    assert {model.n_components, model.gamma, model.method} == {"deprecated"}
    model._design()


def test_parameters_that_were_not_saved_have_their_defaults_and_unknown_ones_are_refused():
    state = {"lam": 3.0, "_learner": None}
    whole = with_defaults(mx.GAFRegressor, state, {"_learner"})
    assert whole == {**mx.GAFRegressor().get_params(), **state}
    with pytest.raises(ValueError, match=r"a GAFRegressor has nothing called \['_learner'\]"):
        with_defaults(mx.GAFRegressor, state, set())
    for kind in KINDS:
        with pytest.raises(ValueError, match=r"has nothing called \['evil'\]"):
            kind.__new__(kind).__setstate__({**kind().__getstate__(), "evil": 1})


def test_what_all_share_is_told_once():
    """A parameter of all four estimators is a field of one class."""
    for kind in KINDS:
        assert inspect.signature(Parameters).parameters.keys() <= set(
            inspect.signature(kind).parameters
        )
