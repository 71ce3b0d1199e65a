"""Landmarks are exchanged where the stream has moved on, and nowhere else."""

import copy
import itertools
import pickle

import numpy as np
import pytest

from mixable.kernels.nystroem import rbf
from mixable.learner import Blend, design_of_classes, exchange


def stream(n, d=4, move=3.0):
    """Products of two columns; after half of the rows the place is another."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int_)
    X[n // 2 :] += move
    return X, y


def blend(landmarks=30, d=4):
    design = design_of_classes(None, {"lam": None}, features=(landmarks, None, "nystroem"))
    return Blend(design, d, 2)


def places(model):
    """Landmarks of the middle and of the narrow kernel; the wide one needs no others."""
    return [each.maps[0].landmarks for each in model.inputs[2:4]]


@pytest.fixture(scope="module")
def moved():
    """Before and after the end of the period in which all rows came from the other place."""
    X, y = stream(4096)
    before = blend()
    before.run(X[:3071], y[:3071])
    after = copy.deepcopy(before)
    after.run(X[3071:3072], y[3071:3072])
    return before, after, X, y


def test_landmarks_go_where_the_stream_is(moved):
    _, after, X, y = moved
    later = copy.deepcopy(after)
    later.run(X[3072:], y[3072:])
    for old, kept, new in zip(*map(places, moved[:2]), places(later), strict=True):
        assert len(kept) < len(old) * (1 - exchange.SHARE) + 1
        assert all((row == old).all(axis=1).any() for row in kept)
        np.testing.assert_array_equal(new[: len(kept)], kept)
        assert len(new) == len(old)
    still, Y = stream(3072, move=0.0)
    model = blend()
    model.run(still[:1024], Y[:1024])
    before = places(model)
    model.run(still[1024:], Y[1024:])
    for one, other in zip(before, places(model), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_posterior_of_what_is_left_is_the_marginal_one(moved):
    """For inputs at which the landmarks dropped would add nothing, logits have the same mean and
    variance: those at the landmarks that were kept.
    """
    before, after, _, _ = moved
    twin = copy.deepcopy(before)  # learns the last row, and keeps its landmarks
    for each in twin.inputs[1:4]:
        each.maps[0].keep_landmarks()
    twin.run(moved[2][3071:3072], moved[3][3071:3072])
    for i in (2, 3):
        kept = after.inputs[i].maps[0].landmarks
        assert 0 < len(kept) < len(twin.inputs[i].maps[0].landmarks)
        rows = []
        for model in (twin, after):
            found = model.inputs[i].maps[0]
            phi = found.transform(kept)
            phi[:, len(found.landmarks) :] = 0.0
            np.testing.assert_allclose(phi @ phi.T, rbf(kept, kept, found.gamma), atol=1e-9)
            rows.append(np.hstack([np.ones((len(kept), 1)), phi, np.zeros((len(kept), 4))]))
        own, other = (
            moments(model.experts[i], z) for model, z in zip((twin, after), rows, strict=True)
        )
        np.testing.assert_allclose(own[0], other[0], rtol=0, atol=1e-8)
        np.testing.assert_allclose(own[1], other[1], rtol=1e-7)


def test_nothing_is_left_of_the_landmarks_that_were_dropped(moved):
    """Their means are 0, and what comes in their place begins there."""
    _, after, _, _ = moved
    for i in (2, 3):
        found, expert = after.inputs[i].maps[0], after.experts[i]
        first, kept = after.inputs[i].intercept, len(found.landmarks)
        gone = slice(first + kept, first + found.n_components)
        state = expert._core.state()
        assert not np.isin(np.arange(gone.start, gone.stop), state["0.places"]).any()
        assert not state["0.V"][:, gone].any()
        row = np.zeros(expert.n_features)
        row[gone.start] = 1.0  # the next landmark, by itself
        np.testing.assert_allclose(expert._core.mean() @ row, 0.0, atol=1e-12)


def moments(expert, Z):
    state = expert._core.state()
    places = state["0.places"][0].astype(int)
    S = np.eye(Z.shape[1]) / state["0.regulariser"]
    S[np.ix_(places, places)] = state["0.S"] - state["0.Q"].T @ state["0.Q"]
    return Z @ state["0.V"].T, Z @ S @ Z.T


@pytest.mark.parametrize("cut", [(0, 3071, 3072, 3300), (0, 1000, 3079, 3300)])
def test_however_rows_come(cut):
    X, y = stream(4096)
    X, y = X[:3300], y[:3300]
    whole = blend()
    expected = whole.run(X, y)
    pieces, single = blend(), blend()
    p = [pieces.run(X[a:b], y[a:b]) for a, b in itertools.pairwise(cut)]
    np.testing.assert_allclose(np.concatenate(p), expected, rtol=0, atol=1e-8)
    single.run(X[:3060], y[:3060])
    single = pickle.loads(pickle.dumps(single))
    for t in range(3060, 3100):
        np.testing.assert_allclose(single.predict(X[t]), expected[t], rtol=0, atol=1e-8)
        single.learn(X[t], y[t])
    for each in (pieces, single):
        for one, other in zip(places(whole), places(each), strict=True):
            n = min(len(one), len(other))
            np.testing.assert_allclose(one[:n], other[:n], rtol=0, atol=1e-9)


def test_streams_and_saved_models_go_on_with_the_same_bits():
    X, y = stream(4096)
    codes = np.where(np.arange(4096) % 7 == 0, -1, y)
    whole, cut = blend(), blend()
    expected, done, reason = whole.follow(X, np.arange(len(codes)), codes)
    assert (done, reason) == (4096, None)
    assert whole.steps == np.count_nonzero(codes >= 0)
    p = []
    for part in (slice(0, 2000), slice(2000, 3583), slice(3583, 4096)):
        cut = pickle.loads(pickle.dumps(cut))
        p.append(cut.follow(X[part], np.arange(len(codes[part])), codes[part])[0])
    np.testing.assert_array_equal(np.concatenate(p), expected)
    assert not any((a[0] == X[0]).all() for a in places(whole))  # some were dropped


def test_rows_without_weight_and_settled_models():
    X, y = stream(4096)
    model = blend()
    model.run(X[:3000], y[:3000])
    before = copy.deepcopy(model)
    model.run(X[3000:3008], y[3000:3008], np.zeros(8))
    np.testing.assert_array_equal(model._recent, before._recent)
    for each in before.inputs[1:4]:
        each.maps[0].keep_landmarks()
    was = places(before)
    before.run(X[3000:3200], y[3000:3200])
    for one, other in zip(was, places(before), strict=True):
        np.testing.assert_array_equal(one, other)


def test_columns_that_come_later_are_unknown_in_rows_that_are_kept():
    X, y = stream(200)
    model = blend()
    model.run(X[:100], y[:100])
    model.add_features(2)
    assert model._recent.shape == (7, 6)
    assert np.isnan(model._recent[:, 4:]).all()
    model.run(np.hstack([X, X[:, :2]])[100:], y[100:])
    assert model._recent.shape == (13, 6)


@pytest.mark.parametrize(
    "rows",
    [np.zeros((65, 4)), np.zeros((2, 3)), np.full((1, 4), np.inf), np.zeros((2, 4), int), [1.0]],
)
def test_forged_rows_are_refused(rows):
    state = blend().__getstate__()
    with pytest.raises(ValueError, match="recent rows"):
        object.__new__(Blend).__setstate__({**state, "recent": rows})


def test_files_without_rows_are_read():
    state = blend().__getstate__()
    state.pop("recent")
    made = object.__new__(Blend)
    made.__setstate__(state)
    assert made._recent.shape == (0, 4)
