"""Feature maps, the exact kernel forecaster, and the estimators that use a kernel."""

import contextlib
import copy
import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem as BatchNystroem
from sklearn.kernel_approximation import RBFSampler

import mixable as mx
from mixable.datasets import make_drift, make_separable, make_shapes
from mixable.experiments import runs, sources
from mixable.kernels import Fourier, KernelGAF, Nystroem, effective_dimension, rbf
from mixable.learner import Design, KernelPlan, Learner
from mixable.learner.coefficients import kernel_widths
from mixable.learner.kernel_inputs import KernelInputs
from mixable.losses import Logistic, Squared, log_loss

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def numbers_of_its_own():
    """Each test draws the same random numbers, whichever ran before it."""
    global RNG
    RNG = np.random.default_rng(0)


MAPS = {"fourier": Fourier, "nystroem": Nystroem}


def rings(n, seed=0):
    """Two classes, noisy in a way that no linear model sees."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (np.abs(X).sum(axis=1) + 0.3 * rng.normal(size=n) > 1.5).astype(int)


@contextlib.contextmanager
def stopped_at(module, line):
    """Raise KeyboardInterrupt at the `line`-th line of a module that is executed; tells afterwards
    whether it came to that.
    """
    seen, former = [0], sys.gettrace()

    def each(frame, event, _):
        if frame.f_code.co_filename != module:
            return None
        if event == "line":
            seen[0] += 1
            if seen[0] == line:
                raise KeyboardInterrupt
        return each

    stops = []
    sys.settrace(each)
    try:
        yield stops
    except KeyboardInterrupt:
        stops.append(line)
    finally:
        sys.settrace(former)


@pytest.mark.parametrize("kind", MAPS)
def test_looking_is_pure_and_learning_is_looking_row_by_row(kind):
    Z = RNG.normal(size=(600, 3))
    start = MAPS[kind](3, 20, gamma=0.3)
    before = pickle.dumps(start)
    together, after = start.learn(Z)
    each, one = [], start
    for z in Z:
        each.append(one.transform(z[None, :])[0])
        features, one = one.learn(z[None, :])
        assert np.array_equal(features[0], each[-1])
    np.testing.assert_allclose(together, each, atol=1e-12)
    np.testing.assert_allclose(after.transform(Z), one.transform(Z), atol=1e-12)
    assert pickle.dumps(start) == before
    parts = start
    for piece in np.split(Z, [1, 7, 300, 599]):
        _, parts = parts.learn(piece)
    np.testing.assert_allclose(parts.transform(Z), after.transform(Z), atol=1e-12)


@pytest.mark.parametrize("kind", MAPS)
def test_a_map_goes_on_from_its_state_and_refuses_another(kind):
    Z = RNG.normal(size=(50, 3))
    _, learned = MAPS[kind](3, 20, gamma=0.3).learn(Z)
    twin = MAPS[kind](3, 20, gamma=7.0)
    twin.restore(learned.state())
    assert np.array_equal(twin.transform(Z), learned.transform(Z))
    with pytest.raises(ValueError, match=r"shape"):
        MAPS[kind](2, 20, gamma=0.3).restore(learned.state())
    with pytest.raises(ValueError, match=r"shape"):
        MAPS[kind](3, 10, gamma=0.3).restore(learned.state())


def _changed(name, change):
    return lambda state: {**state, name: change(state[name])}


@pytest.mark.parametrize(
    ("kind", "craft", "message"),
    [
        ("fourier", _changed("frequencies", lambda f: f * np.inf), "finite"),
        ("fourier", _changed("phases", lambda f: f * np.nan), "finite"),
        ("fourier", _changed("gamma", lambda f: -f), "gamma"),
        ("nystroem", _changed("landmarks", lambda f: f * np.nan), "finite"),
        ("nystroem", _changed("factor", lambda f: -f), "positive diagonal"),
        ("nystroem", _changed("factor", lambda f: f * 1e-100), "kernel matrix"),
        (
            "nystroem",
            _changed("factor", lambda f: f + np.triu(np.ones_like(f), 1)),
            "kernel matrix",
        ),
        ("nystroem", _changed("landmarks", lambda f: f[::-1]), "kernel matrix"),
        ("nystroem", _changed("gamma", lambda f: f * 2), "kernel matrix"),
    ],
)
def test_a_map_refuses_a_crafted_state_of_the_right_shape(kind, craft, message):
    _, learned = MAPS[kind](3, 20, gamma=0.3).learn(RNG.normal(size=(50, 3)))
    with pytest.raises(ValueError, match=message):
        MAPS[kind](3, 20, gamma=0.3).restore(craft(learned.state()))


@pytest.mark.parametrize(("d", "m"), [(30, 10), (30, 100), (4, 9), (0, 4)])
def test_frequencies_are_orthogonal_in_blocks(d, m):
    frequencies = Fourier(d, m, gamma=0.5).frequencies
    assert frequencies.shape == (d, m)
    for begin in range(0, (m + 1) // 2, max(d, 1)):
        block = frequencies[:, begin : min(begin + d, (m + 1) // 2)]
        np.testing.assert_allclose(block.T @ block, np.diag((block**2).sum(axis=0)), atol=1e-10)


def test_frequencies_have_the_lengths_of_normal_vectors():
    for d in (5, 200):  # in whole blocks, and in a part of one
        squares = [
            (Fourier(d, 40, gamma=0.5, seed=seed).frequencies[:, :20] ** 2).sum(axis=0)
            for seed in range(50)
        ]
        assert np.mean(squares) == pytest.approx(d, rel=0.05)


@pytest.mark.parametrize("kind", MAPS)
def test_new_features_that_are_zero_change_nothing(kind):
    Z = RNG.normal(size=(50, 3))
    _, learned = MAPS[kind](3, 20, gamma=0.3).learn(Z)
    larger = learned.add_features(2)
    np.testing.assert_allclose(
        larger.transform(np.hstack([Z, np.zeros((50, 2))])), learned.transform(Z), atol=1e-14
    )
    assert not np.allclose(larger.transform(np.hstack([Z, np.ones((50, 2))])), learned.transform(Z))


def test_fourier_features_have_norm_1_and_are_closer_to_the_kernel_than_independent_ones():
    Z = RNG.normal(size=(200, 8))
    exact = rbf(Z, Z, 0.1)
    own, theirs = [], []
    for seed in range(10):
        phi = Fourier(8, 64, gamma=0.1, seed=seed).transform(Z)
        np.testing.assert_allclose((phi**2).sum(axis=1), 1, atol=1e-12)
        own.append(np.mean((phi @ phi.T - exact) ** 2))
        phi = RBFSampler(gamma=0.1, n_components=64, random_state=seed).fit_transform(Z)
        theirs.append(np.mean((phi @ phi.T - exact) ** 2))
    assert np.mean(own) < 0.5 * np.mean(theirs)


def test_nystroem_is_the_kernels_projection_on_the_landmarks():
    Z = RNG.normal(size=(300, 3))
    _, learned = Nystroem(3, 40, gamma=0.3).learn(Z)
    assert len(learned.landmarks) == 40
    batch = BatchNystroem(gamma=0.3, n_components=40).fit(learned.landmarks)
    theirs = batch.transform(Z)
    np.testing.assert_allclose(
        learned.transform(Z) @ learned.transform(Z).T, theirs @ theirs.T, atol=1e-6
    )


def test_nystroem_takes_in_no_more_than_it_needs_and_never_changes_old_features():
    Z = np.repeat(RNG.normal(size=(7, 2)), 30, axis=0)[RNG.permutation(210)]
    features, learned = Nystroem(2, 40, gamma=1.0).learn(Z)
    assert len(learned.landmarks) == 7
    half, early = Nystroem(2, 40, gamma=1.0).learn(Z[:5])
    r = len(early.landmarks)
    np.testing.assert_allclose(learned.transform(Z)[:, :r], early.transform(Z)[:, :r], atol=1e-12)
    np.testing.assert_allclose(features[:5], half, atol=1e-12)


def test_rows_that_do_not_count_never_become_landmarks():
    Z = RNG.normal(size=(100, 2))
    counts = RNG.random(100) < 0.5
    features, learned = Nystroem(2, 30, gamma=1.0).learn(Z, counts)
    each, without = [], Nystroem(2, 30, gamma=1.0)
    for z, counted in zip(Z, counts, strict=True):
        each.append(without.transform(z[None, :])[0])
        without = without.learn(z[None, :])[1] if counted else without
    np.testing.assert_allclose(features, each, atol=1e-12)
    np.testing.assert_allclose(learned.landmarks, without.landmarks)


@pytest.mark.parametrize(
    "make", [*MAPS.values(), lambda d, m, **_: KernelGAF(Logistic(2), d, gamma=m)]
)
def test_bad_sizes_are_refused(make):
    with pytest.raises((ValueError, TypeError), match=r"n_components|gamma"):
        make(2, 0, gamma=1.0)
    with pytest.raises((ValueError, TypeError), match=r"n_components|gamma"):
        make(2, "many", gamma=1.0)
    with pytest.raises((ValueError, TypeError), match=r"n_features"):
        make(-1, 2, gamma=1.0)


def test_an_odd_number_of_fourier_features_is_unbiased_too():
    Z = RNG.normal(size=(20, 2))
    each = [Fourier(2, 3, gamma=0.5, seed=seed).transform(Z) for seed in range(2000)]
    np.testing.assert_allclose(
        np.mean([phi @ phi.T for phi in each], axis=0), rbf(Z, Z, 0.5), atol=0.06
    )


@pytest.mark.parametrize("K", [2, 3])
def test_exact_with_a_linear_kernel_is_gaf(K):
    X, y = RNG.normal(size=(120, 3)), RNG.integers(0, K, 120)
    parameters = {"lam": 0.3, "beta": 0.7, "alpha": 2.0}
    weight = RNG.random(120)
    exact = KernelGAF(Logistic(K), 3, gamma=None, **parameters)
    np.testing.assert_allclose(
        exact.run(X, y, weight),
        mx.GenericGAF(Logistic(K), 3, **parameters).run(X, y, weight),
        atol=1e-8,
    )
    if K == 2:
        exact = KernelGAF(Logistic(K), 3, gamma=None, **parameters)
        np.testing.assert_allclose(
            exact.run(X, y), mx.GAF(3, K, mu=0.0, **parameters).run(X, y), atol=1e-8
        )


def test_exact_with_squared_loss_is_the_same_as_explicit_features():
    X = RNG.normal(size=(80, 2))
    y = np.sin(X[:, 0])
    exact = KernelGAF(Squared(), 2, gamma=None, lam=0.5).run(X, y)
    np.testing.assert_allclose(exact, mx.GenericGAF(Squared(), 2, lam=0.5).run(X, y), atol=1e-8)


@pytest.mark.parametrize("causally", [False, True])
@pytest.mark.parametrize("gamma", [0.5, 50.0])
def test_nystroem_with_all_points_as_landmarks_is_exact(causally, gamma):
    X, y = rings(300)
    exact = KernelGAF(Logistic(2), 2, gamma=gamma, lam=0.1).run(X, y)
    features, all_of_them = Nystroem(2, 300, gamma=gamma, tolerance=1e-10).learn(X)
    assert (
        gamma < 1 or len(all_of_them.landmarks) == 300
    )  # a smooth kernel has no more than some 130 directions in double precision
    phi = features if causally else all_of_them.transform(X)
    p = mx.GAF(300, 2, lam=0.1, mu=0.0).run(phi, y)
    np.testing.assert_allclose(np.log(p), np.log(exact), atol=1e-5 if causally else 1e-6)


def test_fourier_forecasts_approach_the_exact_ones_as_the_square_root():
    X, y = rings(500)
    exact = np.log(KernelGAF(Logistic(2), 2, gamma=0.5, lam=0.1).run(X, y))
    sizes, errors = [32, 128, 512, 2000], []
    for m in sizes:
        seeds = range(8 if m < 500 else 3)
        runs = [
            mx.GAF(m, 2, lam=0.1, mu=0.0).run(Fourier(2, m, gamma=0.5, seed=seed).transform(X), y)
            for seed in seeds
        ]
        errors.append(np.mean([np.abs(np.log(p) - exact).mean() for p in runs]))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.65 < slope < -0.35, (slope, errors)
    assert errors[-1] < 0.03


def test_a_landmark_that_was_kept_room_for_is_as_good_as_one_that_add_features_makes_room_for():
    X, y = rings(200)
    features, _ = Nystroem(2, 30, gamma=0.5).learn(X)
    reserved = mx.GAF(30, 2, lam=0.1).run(features, y)
    seen = (
        np.maximum.accumulate((features != 0).cumsum(axis=1).argmax(axis=1)) + 1
    )  # landmarks at each row
    grown, p = mx.GAF(1, 2, lam=0.1), []
    for phi, label, r in zip(features, y, seen, strict=True):
        if r > grown.n_features:
            grown.add_features(int(r) - grown.n_features)
        p.append(grown.predict(phi[:r]))
        grown.learn(phi[:r], label)
    np.testing.assert_allclose(p, reserved, atol=1e-9)


def test_effective_dimension_along_the_stream():
    X, _ = rings(60)
    K = rbf(X, X, 0.5)
    by_hand = [
        np.trace(K[:t, :t] @ np.linalg.inv(K[:t, :t] + 0.1 * np.eye(t))) for t in range(1, 61)
    ]
    np.testing.assert_allclose(effective_dimension(K, 0.1), by_hand, atol=1e-9)
    f = KernelGAF(Logistic(2), 2, gamma=0.5, lam=0.1)
    f.run(X, [0, 1] * 30)
    np.testing.assert_allclose(f.effective_dimension(), by_hand, atol=1e-9)
    with pytest.raises(ValueError, match="square"):
        effective_dimension(K[:3], 0.1)


@pytest.mark.parametrize("kind", ["spirals", "circles", "checkerboard"])
@pytest.mark.parametrize("method", MAPS)
def test_shapes_that_no_linear_model_sees(kind, method):
    X, y = make_shapes(4000, kind)
    late = slice(3000, 4000)
    p = mx.GAFClassifier(kernel="rbf", method=method).prequential(X, y, classes=[0, 1])
    assert log_loss(p[late], y[late]).mean() < (0.12 if kind == "checkerboard" else 0.03)
    p = mx.GAFClassifier().prequential(X, y, classes=[0, 1])
    assert log_loss(p[late], y[late]).mean() > 0.5


@pytest.mark.parametrize("method", MAPS)
def test_vehicle_is_foretold_better_than_by_a_linear_model(method):
    X, y, _ = mx.datasets.load_vehicle()
    order = np.random.default_rng(0).permutation(len(y))
    p = mx.GAFClassifier(kernel="rbf", method=method).prequential(
        X[order], y[order], classes=range(4)
    )
    assert log_loss(p, y[order]).mean() < 0.52  # linear: .546


@pytest.mark.parametrize(
    ("name", "method", "most"), [("segment", "nystroem", 0.21), ("shuttle", "fourier", 0.07)]
)
def test_losses_on_real_data_are_those_promised_with_fewer_components(name, method, most):
    X, y, _ = getattr(mx.datasets, f"load_{name}")()
    order = np.random.default_rng(0).permutation(len(y))[:4000]
    p = mx.GAFClassifier(kernel="rbf", n_components=40, method=method).prequential(
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
    linear = log_loss(mx.GAFClassifier().prequential(X, y, classes=classes), y)[late].mean()
    kernel = log_loss(
        mx.GAFClassifier(kernel="rbf", n_components=50, method=method).prequential(
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
    gammas, trust = zip(*kernel_widths(small("nystroem").fit(X, y).learner_), strict=True)
    assert gammas == (None, 1 / 16, 1 / 2, 8)
    assert trust[0] < 0.01


def test_regression_beyond_linear():
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, size=(1500, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=1500) + 100
    for method in MAPS:
        model = mx.GAFRegressor(kernel="rbf", n_components=100, method=method)
        mean, std = model.prequential(X, y, return_std=True)
        miss = mean[1000:] - y[1000:]
        assert np.sqrt(np.mean(miss**2)) < 0.25 < 0.25 * y.std()
        assert 0.8 < np.mean(np.abs(miss) < 1.645 * std[1000:]) < 0.98
        low, high = model.predict_interval(X[:5]).T
        assert (low < high).all()


def small(method, kind=mx.GAFClassifier, **more):
    return kind(kernel="rbf", n_components=10, method=method, **more)


@pytest.mark.parametrize("method", MAPS)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"gamma": 0.5},
        {"gamma": 0.5, "lam": 0.1, "beta": 1.0, "alpha": 4.0, "drift": 0.0},
        {"forecaster": mx.ONS},
    ],
)
def test_however_a_stream_is_cut_the_forecasts_are_the_same(method, more):
    X, y = rings(300)
    X[7, 0] = 1e6
    whole = small(method, **more).prequential(X, y, classes=[0, 1])
    pieces = small(method, **more)
    cut = [
        pieces.prequential(X[i:j], y[i:j], classes=[0, 1])
        for i, j in ((0, 3), (3, 150), (150, 151), (151, 300))
    ]
    np.testing.assert_allclose(np.vstack(cut), whole, atol=1e-9)
    single, each = small(method, **more).partial_fit(X[:1], y[:1], classes=[0, 1]), []
    for x, label in zip(X[1:], y[1:], strict=True):
        p = single.predict_proba(x[None, :])
        assert np.array_equal(p, single.predict_proba(x[None, :]))  # pure
        each.append(p[0])
        single.partial_fit(x[None, :], [label])
    np.testing.assert_allclose(each, whole[1:], atol=1e-9)
    np.testing.assert_allclose(
        single.predict_proba(X), [single.predict_proba(x[None, :])[0] for x in X], atol=1e-9
    )


@pytest.mark.parametrize("method", MAPS)
def test_however_a_stream_is_cut_with_new_classes_and_weights(method):
    X, y = rings(200)
    y = np.where(np.arange(200) > 120, y + 2 * (X[:, 0] > 1), y)
    weight = 3 * RNG.random(200) * (RNG.random(200) < 0.7)
    weight[0] = 0
    whole = small(method)
    p = whole.prequential(X, y, sample_weight=weight)
    single, row = small(method), slice(0, 1)
    single.partial_fit(X[row], y[row], sample_weight=weight[row])
    for t in range(1, 200):
        q, row = np.zeros(len(whole.classes_)), slice(t, t + 1)
        q[np.searchsorted(whole.classes_, single.classes_)] = single.predict_proba(X[row])[0]
        np.testing.assert_allclose(q, p[t], atol=1e-9)
        single.partial_fit(X[row], y[row], sample_weight=weight[row])
    np.testing.assert_allclose(single.predict_proba(X), whole.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("method", MAPS)
def test_however_a_stream_of_numbers_is_cut(method):
    X, _ = rings(150)
    y, weight = np.sin(X[:, 0]) + 50, 3 * RNG.random(150) * (RNG.random(150) < 0.7)
    weight[:2] = 0, 1
    mean, std = small(method, mx.GAFRegressor).prequential(
        X, y, sample_weight=weight, return_std=True
    )
    single = small(method, mx.GAFRegressor).partial_fit(X[:2], y[:2], sample_weight=weight[:2])
    for t in range(2, 150):
        row = slice(t, t + 1)
        np.testing.assert_allclose(
            np.ravel(single.predict(X[row], return_std=True)), [mean[t], std[t]], rtol=1e-9
        )
        single.partial_fit(X[row], y[row], sample_weight=weight[row])


@pytest.mark.parametrize("method", MAPS)
def test_long_tables_are_learned_and_forecast_in_pieces(method, monkeypatch):
    X, y = rings(300)
    whole = small(method).fit(X, y)
    numbers = small(method, mx.GAFRegressor).fit(X, y)
    newcomers = y + (X[:, 0] > 2)
    p, mean = (
        small(method).prequential(X, newcomers),
        small(method, mx.GAFRegressor).prequential(X, y),
    )
    monkeypatch.setattr("mixable.learner.learner.MOST_NUMBERS", 2000)
    np.testing.assert_allclose(
        small(method).fit(X, y).predict_proba(X), whole.predict_proba(X), atol=1e-9
    )
    pieces = small(method, mx.GAFRegressor).fit(X, y)
    np.testing.assert_allclose(
        pieces.predict(X, return_std=True), numbers.predict(X, return_std=True), atol=1e-9
    )
    np.testing.assert_allclose(pieces.predict_interval(X), numbers.predict_interval(X), atol=1e-9)
    np.testing.assert_allclose(small(method).prequential(X, newcomers), p, atol=1e-9)
    np.testing.assert_allclose(small(method, mx.GAFRegressor).prequential(X, y), mean, atol=1e-9)


@pytest.mark.parametrize("method", MAPS)
def test_saved_copied_or_pickled_it_goes_on_the_same(method, tmp_path):
    X, y = rings(120)
    model = small(method).fit(X[:60], y[:60])
    mx.save(model, tmp_path / "m")
    twins = [mx.load(tmp_path / "m"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    expected = model.prequential(X[60:], y[60:])
    for twin in twins:
        assert np.array_equal(twin.prequential(X[60:], y[60:]), expected)


@pytest.mark.parametrize("method", MAPS)
def test_refused_rows_leave_no_trace(method):
    X, y = rings(60)
    model = small(method).fit(X, y)
    before = model.predict_proba(X)
    for bad in (np.full((2, 2), np.nan), np.full((2, 2), np.inf), np.zeros((2, 3))):
        with pytest.raises(ValueError, match=r"NaN|infinity|features"):
            model.partial_fit(bad, [0, 1])
    with pytest.raises(ValueError, match="sample_weight"):
        model.partial_fit(X[:2], [0, 1], sample_weight=[1.0, -1.0])
    assert np.array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize("newcomer", [False, True])
def test_a_row_too_large_is_named_and_refused_before_any_is_learned(
    kernel, in_pieces, newcomer, monkeypatch
):
    X, y = rings(100)
    X[77, 0] = 1e200
    model = mx.GAFClassifier(kernel=kernel, n_components=10, standardize=False).fit(X[:20], y[:20])
    if in_pieces:
        monkeypatch.setattr("mixable.learner.learner.MOST_NUMBERS", 200)
    before = model.predict_proba(X[:20])
    labels = np.where(np.arange(100) == 50, 7, y) if newcomer else y
    with pytest.raises(ValueError, match=r"X\[77\] is too large"):
        model.prequential(X, labels)
    assert model.forecaster_.steps == 20
    assert np.array_equal(model.predict_proba(X[:20]), before)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "poly"}, "kernel must be None or 'rbf'"),
        ({"kernel": np.array(["rbf", "rbf"])}, "kernel must be None or 'rbf'"),
        ({"kernel": "rbf", "method": "magic"}, "method must be 'fourier' or 'nystroem'"),
        ({"kernel": "rbf", "method": ["fourier"]}, "method must be 'fourier' or 'nystroem'"),
        ({"kernel": "rbf", "gamma": -1.0}, "gamma"),
        ({"kernel": "rbf", "n_components": 0}, "n_components"),
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
            mx.GAFClassifier(kernel="rbf", n_components=10**9, method=method).fit(X, y)


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
    y = y + (X[:, 0] > 1.5)
    model = mx.river.GAFClassifier(kernel="rbf", n_components=20, method=method)
    numbers = mx.river.GAFRegressor(kernel="rbf", n_components=20, method=method)
    for t, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        row = dict(enumerate(x if t > 50 else x[:1]))
        p = model.predict_proba_one(row)
        assert not p or abs(sum(p.values()) - 1) < 1e-9
        model.learn_one(row, label)
        numbers.learn_one(row, float(label))
    assert set(model.predict_proba_one({0: 1.0, 1: 0.2})) == {0, 1, 2}
    assert 0 < numbers.predict_one({0: 0.0, 1: 3.0}) < 2.5


@pytest.mark.parametrize("method", MAPS)
def test_new_features_are_as_if_they_had_been_0(method, monkeypatch):
    X = RNG.normal(size=(60, 3))
    scaler = KernelInputs(
        KernelPlan.of("rbf", 8, None, method), 2, intercept=True, standardize=True
    )
    scaler.commit(scaler.stage(X[:, :2].copy())[1], 60)
    monkeypatch.delattr(KernelPlan, "maps")  # maps are not made only to be thrown away
    larger = scaler.with_features(3)
    missing = np.column_stack([X[:, :2], np.full(60, np.nan)])
    np.testing.assert_allclose(
        larger.transform(missing),
        np.column_stack([scaler.transform(X[:, :2].copy()), np.zeros(60)]),
        atol=1e-12,
    )
    np.testing.assert_allclose(larger.stage(missing)[0][:, -1], 0)


@pytest.mark.parametrize("method", MAPS)
def test_what_stops_half_way_leaves_the_map_in_step_with_the_forecaster(method):
    X, y = rings(80)
    stopped, other = (small(method).partial_fit(X[:20], y[:20]) for _ in range(2))
    weight = np.ones(60)
    weight[:10] = 0, 3, 0, 0, 0, 0.1, 0, 1, 0, 0
    weight[33] = 1e13  # more than can be learned
    with pytest.raises((ValueError, RuntimeError), match="weight"):
        stopped.learner_.run(X[20:], y[20:].tolist(), weight)
    learned = stopped.forecaster_.steps
    assert 20 < learned <= 53
    other.partial_fit(X[20:learned], y[20:learned], sample_weight=weight[: learned - 20])
    np.testing.assert_allclose(stopped.predict_proba(X), other.predict_proba(X), atol=1e-9)


def test_a_map_that_is_stopped_while_it_learns_a_row_is_in_step():
    X, y = rings(30)
    start = small("nystroem").partial_fit(X[:8], y[:8])
    before, line = start.learner_.inputs.state(), 0
    after = copy.deepcopy(start).partial_fit(X[8:9], y[8:9]).learner_.inputs.state()
    stops = [0]
    while stops:
        line += 1
        model = copy.deepcopy(start)
        with stopped_at(Nystroem.learn.__code__.co_filename, line) as stops:
            model.partial_fit(X[8:9], y[8:9])
        state, wanted = (
            model.learner_.inputs.state(),
            before if model.forecaster_.steps == 8 else after,
        )
        assert all(np.array_equal(state[name], wanted[name], equal_nan=True) for name in wanted), (
            line
        )
    assert line > 20


def test_an_exact_forecaster_that_is_stopped_goes_on():
    X, y = rings(12)
    expected, line, stops = KernelGAF(Logistic(2), 2, lam=0.1).run(X, y), 0, [0]
    while stops:
        line += 1
        f = KernelGAF(Logistic(2), 2, lam=0.1)
        f.run(X[:10], y[:10])
        with stopped_at(KernelGAF._absorb.__code__.co_filename, line) as stops:
            f.learn(X[10], y[10])
        if len(f._X) == 10:
            f.learn(X[10], y[10])
        np.testing.assert_allclose(f.predict(X[11]), expected[11], atol=1e-12)
    assert line > 15


def test_the_exact_forecaster_refuses_what_double_precision_or_memory_cannot_hold():
    with pytest.raises(ValueError, match="lam"):
        KernelGAF(Logistic(2), 2, lam=1e-9)
    with pytest.raises(MemoryError, match="KernelGAF with 3000000 examples"):
        KernelGAF(Logistic(2), 1).run(np.zeros((3_000_000, 1)), np.zeros(3_000_000, dtype=int))


@pytest.mark.parametrize("method", MAPS)
def test_rows_of_weight_0_count_for_nothing(method):
    X, y = rings(120)
    weight = (RNG.random(120) < 0.5).astype(float)
    whole, some = (small(method).partial_fit(X[:5], y[:5]) for _ in range(2))
    whole.partial_fit(X[5:], y[5:], sample_weight=weight[5:])
    counts = np.flatnonzero(weight[5:]) + 5
    some.partial_fit(X[counts], y[counts])
    ours, theirs = whole.learner_.inputs.state(), some.learner_.inputs.state()
    for name in ours:
        np.testing.assert_allclose(ours[name], theirs[name], atol=1e-12)


def test_a_race_runs_what_the_estimator_runs():
    layout = sources.survey("vehicle", None)
    X, y, _ = mx.datasets.load_vehicle()
    order = np.random.default_rng(3).permutation(len(y))
    for name, method in (("kernel", "fourier"), ("nystroem", "nystroem")):
        result = runs.run(
            runs.Task("vehicle", layout, name, (("n_components", 10.0),), 3, "causal")
        )
        p = small(method).prequential(X[order], y[order], classes=range(4))
        assert result["log_loss"] == pytest.approx(log_loss(p, y[order]).mean(), abs=1e-9)
    for value in (0.0, 20.9, np.inf, np.nan):
        with pytest.raises(sources.BadDataError, match="n_components must be"):
            runs.Task("vehicle", layout, "kernel", (("n_components", value),), 3, "causal").make()
    for name, parameter in (("nystroem", "method"), ("kernel", "standardize")):
        with pytest.raises(
            sources.BadDataError,
            match=f"no parameter '{parameter}'; there are n_components and gamma",
        ):
            runs.Task("vehicle", layout, name, ((parameter, 0.0),), 3, "causal").make()


@pytest.mark.parametrize("seed", [None, 3])
def test_a_race_with_missing_entries_too(seed, tmp_path):
    X, y = rings(200)
    X[RNG.random(X.shape) < 0.4] = np.nan
    cells = [
        [*("" if np.isnan(value) else repr(float(value)) for value in row), str(label)]
        for row, label in zip(X, y, strict=True)
    ]
    (tmp_path / "some.csv").write_text(
        "\n".join(",".join(row) for row in [["a", "b", "y"], *cells]) + "\n"
    )
    layout = sources.survey(str(tmp_path / "some.csv"), None)
    X, y = sources.table(layout)
    order = np.arange(200) if seed is None else np.random.default_rng(seed).permutation(200)
    for name, method in (("kernel", "fourier"), ("nystroem", "nystroem")):
        result = runs.run(
            runs.Task("some", layout, name, (("n_components", 10.0),), seed, "causal")
        )
        kernel = KernelPlan.of("rbf", 10, None, method)
        learner = Learner(Design.for_classes(None, {"lam": None}, kernel=kernel), 2, range(2))
        p = learner.run(X[order], y[order].tolist(), None)
        assert result["log_loss"] == pytest.approx(log_loss(p, y[order]).mean(), abs=1e-9)


@pytest.mark.parametrize("method", MAPS)
def test_a_crafted_state_is_refused(method):
    X, y = rings(40)
    scaler = small(method).fit(X, y).learner_.inputs
    state = scaler.state()
    name = "map0.factor" if method == "nystroem" else "map0.frequencies"
    for crafted, message in (
        ({name: np.zeros((2, 2))}, "shape"),
        ({name: state[name].astype(np.float32)}, "float64"),
        ({"map7.gamma": state["map0.gamma"]}, "nothing called"),
        ({"amplitude": np.array([np.nan])}, "amplitude"),
    ):
        with pytest.raises(ValueError, match=message):
            scaler.restore({**state, **crafted})
    after = scaler.state()
    assert all(np.array_equal(after[key], state[key], equal_nan=True) for key in state)


@pytest.mark.parametrize("change", [{"linear": False}, {"n_components": 9}])
def test_a_plan_that_is_not_the_forecasters_is_refused(change):
    X, y = rings(40)
    model = small("nystroem").fit(X[:3], y[:3])
    learner = copy.copy(model.learner_)
    learner.design = copy.copy(learner.design)
    learner.design.kernel = replace(learner.design.kernel, **change)
    with pytest.raises(ValueError, match="do not go together"):
        pickle.loads(pickle.dumps(learner))


def test_a_report_tells_experts_of_different_views_apart():
    X, y = rings(300)
    for model in (small("fourier"), small("fourier", mx.GAFRegressor), mx.GAFClassifier()):
        lines = [
            line.partition("%")[2]
            for line in model.fit(X, y).report().splitlines()
            if "lam" in line and ", view" in line
        ]
        assert len(lines) > 1
        assert len(set(lines)) == len(lines)
