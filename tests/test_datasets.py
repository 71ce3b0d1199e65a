"""The embedded data are what their sources say."""

import numpy as np
import pytest

from mixable import datasets
from mixable.datasets import make_hazan


@pytest.mark.parametrize(
    ("load", "shape", "counts"),
    [
        (datasets.load_vehicle, (846, 18), {"bus": 218, "opel": 212, "saab": 217, "van": 199}),
        (
            datasets.load_segment,
            (2310, 19),
            dict.fromkeys(
                ["brickface", "cement", "foliage", "grass", "path", "sky", "window"], 330
            ),
        ),
        (
            datasets.load_shuttle,
            (58_000, 9),
            {
                "Rad Flow": 45586,
                "High": 8903,
                "Bypass": 3267,
                "Fpv Open": 171,
                "Fpv Close": 50,
                "Bpv Open": 13,
                "Bpv Close": 10,
            },
        ),
    ],
)
def test_shapes_and_counts(load, shape, counts):
    X, y, names = load()
    assert X.shape == shape
    assert len(names.features) == shape[1]
    assert np.isfinite(X).all()
    assert {
        names.classes[label]: int(count) for label, count in enumerate(np.bincount(y))
    } == counts


def test_make_hazan_has_the_stated_distribution():
    n, eps = 200_000, 0.04
    for chi in (-1, 1):
        X, y = make_hazan(n, chi, seed=3, eps=eps)
        B = np.log(n)
        chance = np.sqrt(eps) / (2 * B) + chi * eps / B
        assert abs(y.mean() - chance) < 4 * np.sqrt(chance / n)
        np.testing.assert_allclose(X[y == 1], 1 - np.sqrt(eps) / (2 * B))
        np.testing.assert_allclose(X[y == 0], np.sqrt(eps) / B)
    for wrong in ({"chi": 0}, {"chi": 1, "eps": 0.0}, {"chi": 1, "n": 1}):
        with pytest.raises(ValueError, match=r"chi|eps|n must"):
            make_hazan(**{"n": 100, **wrong})


def test_the_hard_stream_of_more_classes_is_made_of_binary_ones():
    n, eps, K = 60_000, 0.1, 4
    X, y = make_hazan(n, 1, seed=1, eps=eps, n_classes=K)
    problem = X.argmax(axis=1)
    assert np.array_equal(np.unique(y), np.arange(K))
    assert (y[y > 0] == problem[y > 0] + 1).all()
    B = np.log(n)
    for j in range(K - 1):
        rows = problem == j
        rate = np.sqrt(eps) / (2 * B) + eps / B
        assert np.count_nonzero(rows) / n == pytest.approx(1 / 3, abs=0.01)
        ones = np.count_nonzero(y[rows]) / np.count_nonzero(rows)
        assert ones == pytest.approx(rate, rel=0.15)
    assert np.unique(X[y == 0].max(axis=1)).tolist() == pytest.approx([np.sqrt(eps) / B])
