"""Linear and nonlinear experts under a pool: what an estimator with kernel="auto" is."""

import numpy as np
import pandas as pd
import pytest

import mixable as mx
from mixable.datasets import (
    load_segment,
    load_shuttle,
    load_vehicle,
    make_drift,
    make_shapes,
    make_shop,
)
from mixable.losses import log_loss
from mixable.model import Learner, PooledDesign, RecordPool, design_of_classes, design_of_records

NOTHING = {"lam": None, "beta": None, "alpha": None, "drift": None}
FEATURES = (30, None, "fourier")


def design(fixed=NOTHING, **options):
    return design_of_classes(None, fixed, kernel="auto", features=FEATURES, **options)


def test_what_is_asked_for_is_not_pooled():
    assert isinstance(design(), PooledDesign)
    assert isinstance(design(effort="high"), PooledDesign)
    for other in (
        design(effort="low"),
        design_of_classes(mx.ONS, NOTHING, kernel="auto", features=FEATURES),
    ):
        assert not isinstance(other, PooledDesign)
        assert other.is_linear


@pytest.mark.parametrize(
    ("fixed", "structure"),
    [
        ({"lam": 0.1}, None),
        ({"drift": 0.0}, None),
        ({"alpha": 4.0, "beta": 0.5}, "blocks"),
        ({"lam": 0.1, "beta": 1.0, "alpha": 4.0, "drift": 1e-3}, None),
        ({}, "diagonal"),
    ],
)
def test_parameters_are_those_of_the_linear_part_beside_the_others(fixed, structure):
    plain, made = design(), design({**NOTHING, **fixed}, structure=structure)
    assert made.names == plain.names
    linear = made.parts[0]
    for at, name in enumerate(("lam", "beta", "drift")):
        if name in fixed:
            assert {setting[at] for setting in linear.parameters["grid"]} == {fixed[name]}
    if "alpha" in fixed:
        assert linear.parameters["alphas"] == (fixed["alpha"],)
    assert linear.parameters.get("structure") == structure
    assert PooledDesign(made.parts[1:]).is_like(PooledDesign(plain.parts[1:]))
    RecordPool(made, 3, 2)


@pytest.mark.parametrize("given", [{"lam": 0.1}, {"drift": 0.0}, {"structure": "blocks"}])
def test_what_is_curved_is_learned_whatever_is_given(given):
    """A checkerboard, of which a plane knows nothing."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(400, 2))
    y = (np.floor(X).sum(axis=1) % 2).astype(int)
    p = mx.GAFClassifier(kernel=mx.kernels.Auto(40), **given).prequential(X, y, classes=[0, 1])
    assert -np.log(p[np.arange(400), y])[250:].mean() < 0.55


@pytest.mark.parametrize(
    ("n_components", "most"), [(200, [100, 250, 200, 80]), (10, [5, 12, 10, 4]), (1, [1, 1, 1, 1])]
)
def test_the_middle_bandwidth_has_the_most_landmarks(n_components, most):
    made = design_of_classes(None, NOTHING, features=(n_components, None, "nystroem"))
    plans = [part.kernel for part in made.parts if getattr(part, "kernel", None) is not None]
    assert [plan.bandwidths for plan in plans] == [(0.125,), (1.0,), (4.0,), (1.0,)]
    assert [plan.n_components for plan in plans] == most
    assert [plan.beside for plan in plans] == [True, False, True, False]
    assert [plan.weighted for plan in plans] == [False, False, False, True]


@pytest.mark.parametrize(
    ("load", "n", "target"),
    [(load_vehicle, None, 0.5), (load_segment, None, 0.162), (load_shuttle, 4000, 0.029)],
)
def test_untuned_log_loss_on_raw_inputs(load, n, target):
    """0.498, 0.158 and 0.0275; linear, 0.547, 0.225 and 0.091."""
    X, y, _ = load()
    order = np.random.default_rng(0).permutation(len(y))[:n]
    X, y = X[order], y[order]
    p = mx.GAFClassifier().prequential(X, y, classes=range(y.max() + 1))
    assert log_loss(p, y).mean() < target


@pytest.mark.parametrize("kind", ["spirals", "circles", "checkerboard"])
def test_shapes(kind):
    X, y = make_shapes(4000, kind)
    loss = log_loss(mx.GAFClassifier().prequential(X, y, classes=[0, 1]), y)[3000:].mean()
    assert loss < (0.11 if kind == "checkerboard" else 0.002)


@pytest.mark.parametrize("kind", ["slow", "jump", "none"])
def test_where_a_linear_model_is_right_nothing_is_lost(kind):
    X, y = make_drift(3000, kind=kind)
    loss, linear = (
        log_loss(mx.GAFClassifier(kernel=kernel).prequential(X, y, classes=range(4)), y).mean()
        for kernel in ("auto", None)
    )
    assert loss < 1.01 * linear


def test_a_size_at_which_a_row_takes_more_than_10_ms_says_so():
    with pytest.warns(UserWarning, match="kernel=None is linear and faster"):
        Learner(design_of_classes(None, NOTHING, features=(200, None, "fourier")), 784, range(10))


def test_a_design_of_something_else_is_refused():
    for designs in ([], [1], [design()], "designs"):
        with pytest.raises(TypeError, match="a pool must have designs"):
            PooledDesign.__new__(PooledDesign).__setstate__({"parts": designs, "standardize": True})


def test_records_need_experts_that_can_stand_in_a_pool():
    linear = design(effort="low")
    assert design_of_records(linear).names == ["sparse", "linear"]
    assert design_of_records(linear, numbers=False, crosses=True).names == ["sparse", "crosses"]
    pooled = design_of_records(design())
    kernels = ["kernel 0.125", "kernel 1", "selected columns"]
    of_categories = ["linear", "kernel of indicators", "frequencies"]
    assert pooled.names == ["sparse", *kernels, "leaves", "trees", "naive Bayes", *of_categories]
    assert (pooled.least_gain, design().least_gain) == (0.002, 0.002)  # docs/guides/nonlinear.md
    assert not pooled.is_like(design())
    assert pooled.is_like(design_of_records(design()))
    for other in (
        design_of_classes(mx.ONS, NOTHING),
        design_of_classes(None, dict.fromkeys(NOTHING, 1.0), kernel=None),
        design_of_classes(None, NOTHING, kernel="rbf"),
    ):
        with pytest.raises(TypeError, match="need kernel='auto', or"):
            design_of_records(other)


def test_a_rare_class_is_forecast_as_often_as_it_comes():
    """Within the noise of chance, on events of a shop of which 1.6% buy."""
    records, labels, _ = make_shop(6000)
    model = mx.GAFClassifier()
    p = model.prequential(pd.DataFrame(records), labels)[2000:, 1]
    came = np.array(labels[2000:]) == "buy"
    assert model.classes_[1] == "buy"
    assert abs(p.sum() - came.sum()) < 3 * np.sqrt((p * (1 - p)).sum())
    assert p[came].mean() > 1.2 * p.mean()  # and not as the same for all
