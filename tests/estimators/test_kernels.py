"""Estimators with a kernel: what they see that no linear model does, and at what price."""

import copy
import pickle

import numpy as np
import pytest
from kernel_data import MAPS, rings, small
from streams import share

import mixable as mx
from mixable.datasets import make_drift, make_separable, make_shapes
from mixable.kernels import RBF
from mixable.losses import log_loss
from mixable.model.coefficients import kernel_widths


@pytest.mark.parametrize("kind", ["spirals", "circles", "checkerboard"])
@pytest.mark.parametrize("method", MAPS)
def test_shapes_that_no_linear_model_sees(kind, method):
    X, y = make_shapes(4000, kind)
    late = slice(3000, 4000)
    p = mx.GAFClassifier(kernel=mx.kernels.RBF(method=method)).prequential(X, y, classes=[0, 1])
    assert log_loss(p[late], y[late]).mean() < (0.12 if kind == "checkerboard" else 0.03)
    p = mx.GAFClassifier(kernel=None).prequential(X, y, classes=[0, 1])
    assert log_loss(p[late], y[late]).mean() > 0.5


@pytest.mark.parametrize("method", MAPS)
def test_vehicle_is_foretold_better_than_by_a_linear_model(method):
    X, y, _ = mx.datasets.load_vehicle()
    order = np.random.default_rng(0).permutation(len(y))
    p = mx.GAFClassifier(kernel=mx.kernels.RBF(method=method)).prequential(
        X[order], y[order], classes=range(4)
    )
    assert log_loss(p, y[order]).mean() < 0.52  # linear: .546


@pytest.mark.parametrize(
    ("name", "method", "most"), [("segment", "nystroem", 0.21), ("shuttle", "fourier", 0.07)]
)
def test_losses_on_real_data_are_those_promised_with_fewer_components(name, method, most):
    X, y, _ = getattr(mx.datasets, f"load_{name}")()
    order = np.random.default_rng(0).permutation(len(y))[:4000]
    p = mx.GAFClassifier(kernel=mx.kernels.RBF(40, method=method)).prequential(
        X[order], y[order], classes=range(y.max() + 1)
    )
    assert log_loss(p, y[order]).mean() < most  # linear: .22 and .094


def sharp(n=3000, d=10):
    """Classes that are nearly separated by a plane."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(n, d)), 3 * rng.normal(size=d) / np.sqrt(d)
    return X, (rng.random(n) < 1 / (1 + np.exp(-10 * X @ w))).astype(int)


@pytest.mark.parametrize("method", MAPS)
@pytest.mark.parametrize(
    "stream",
    [
        lambda: make_drift(1500, n_features=5, n_classes=3, kind="none"),
        lambda: make_separable(1500, margin=0.1),
        sharp,
    ],
)
def test_where_a_linear_model_is_right_little_is_lost(stream, method):
    X, y = stream()
    classes, late = range(y.max() + 1), slice(len(y) // 3, None)
    plain = mx.GAFClassifier(kernel=None)
    linear = log_loss(plain.prequential(X, y, classes=classes), y)[late].mean()
    kernel = log_loss(
        mx.GAFClassifier(kernel=mx.kernels.RBF(50, method=method)).prequential(
            X, y, classes=classes
        ),
        y,
    )[late].mean()
    assert kernel < 1.05 * linear


def test_the_trust_by_width_is_in_what_the_data_ask_for():
    X, y = sharp(2000)
    shares = kernel_widths(small("fourier").fit(X, y).learner_)
    assert shares[0][0] is None
    assert shares[0][1] > 0.5
    assert sum(share for _, share in shares) == pytest.approx(1)
    X, y = make_shapes(600, "circles")
    gammas, shares = zip(*kernel_widths(small("nystroem").fit(X, y).learner_), strict=True)
    assert gammas == (None, 1 / 16, 1 / 2, 8)
    assert shares[0] < 0.01


def test_regression_beyond_linear():
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, size=(1500, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=1500) + 100
    for method in MAPS:
        model = mx.GAFRegressor(kernel=mx.kernels.RBF(100, method=method))
        mean, std = model.prequential(X, y, return_std=True)
        miss = mean[1000:] - y[1000:]
        assert np.sqrt(np.mean(miss**2)) < 0.25 < 0.25 * y.std()
        assert 0.8 < share(np.abs(miss) < 1.645 * std[1000:]) < 0.98
        low, high = model.predict_interval(X[:5]).T
        assert (low < high).all()


@pytest.mark.parametrize("method", MAPS)
def test_saved_copied_or_pickled_it_goes_on_the_same(method, tmp_path):
    X, y = rings(120)
    model = small(method).fit(X[:60], y[:60])
    mx.save(model, tmp_path / "m")
    twins = [mx.load(tmp_path / "m"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    expected = model.prequential(X[60:], y[60:])
    for twin in twins:
        assert np.array_equal(twin.prequential(X[60:], y[60:]), expected)


@pytest.mark.parametrize("kernel", [None, mx.kernels.RBF(10)])
@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize("newcomer", [False, True])
def test_a_row_too_large_is_named_and_refused_before_any_is_learned(
    kernel, in_pieces, newcomer, monkeypatch
):
    X, y = rings(100)
    X[77, 0] = 1e200
    model = mx.GAFClassifier(kernel=kernel, standardize=False).fit(X[:20], y[:20])
    if in_pieces:
        monkeypatch.setattr("mixable.model.parts.MOST_NUMBERS", 200)
    before = model.predict_proba(X[:20])
    labels = np.where(np.arange(100) == 50, 7, y) if newcomer else y
    with pytest.raises(ValueError, match=r"X\[77\] is too large"):
        model.prequential(X, labels)
    assert model.forecaster_.steps == 20
    assert np.array_equal(model.predict_proba(X[:20]), before)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "poly"}, "kernel must be None, 'rbf' or 'auto'"),
        ({"kernel": np.array(["rbf", "rbf"])}, "kernel must be None, 'rbf' or 'auto'"),
        ({"kernel": RBF(method="magic")}, "method must be 'fourier' or 'nystroem'"),
        ({"kernel": RBF(method=["fourier"])}, "method must be 'fourier' or 'nystroem'"),
        ({"kernel": RBF(gamma=-1.0)}, "gamma"),
        ({"kernel": RBF(0)}, "n_components"),
        ({"kernel": mx.kernels.Auto("4")}, "n_components"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = rings(10)
    for kind in (mx.GAFClassifier, mx.GAFRegressor):
        model = kind(**parameters)
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(X, y)
        assert not hasattr(model, "learner_")


def test_too_many_components_are_refused_at_once():
    X, y = rings(10)
    for method in MAPS:
        with pytest.raises(MemoryError, match="bytes are available"):
            mx.GAFClassifier(kernel=mx.kernels.RBF(10**9, method=method)).fit(X, y)


def test_a_kernel_model_has_no_coefficients():
    X, y = rings(30)
    for model in (small("fourier").fit(X, y), small("nystroem", mx.GAFRegressor).fit(X, y)):
        for name in ("coef_", "intercept_", "coef_std_"):
            assert not hasattr(model, name)
        with pytest.raises(AttributeError, match="with a kernel there is no weight per column"):
            _ = model.coef_
        assert "rbf" in model.report()


@pytest.mark.parametrize("method", MAPS)
def test_new_classes_and_in_river_new_features_turn_up(method):
    X, y = rings(200)
    y = np.where(X[:, 0] > 1.5, y + 1, y)
    model = mx.river.GAFClassifier(kernel=mx.kernels.RBF(20, method=method))
    numbers = mx.river.GAFRegressor(kernel=mx.kernels.RBF(20, method=method))
    for t, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        row = dict(enumerate(x if t > 50 else x[:1]))
        p = model.predict_proba_one(row)
        assert not p or abs(sum(p.values()) - 1) < 1e-9
        model.learn_one(row, label)
        numbers.learn_one(row, float(label))
    assert set(model.predict_proba_one({0: 1.0, 1: 0.2})) == {0, 1, 2}
    assert 0 < numbers.predict_one({0: 0.0, 1: 3.0}) < 2.5


def test_a_report_tells_experts_of_different_views_apart():
    X, y = rings(300)
    for model in (
        small("fourier"),
        small("fourier", mx.GAFRegressor),
        mx.GAFClassifier(kernel=None),
    ):
        lines = [
            line.partition("%")[2]
            for line in model.fit(X, y).report().splitlines()
            if "lam" in line and ", view" in line
        ]
        assert len(lines) > 1
        assert len(set(lines)) == len(lines)
