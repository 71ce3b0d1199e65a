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


def test_make_shop_has_the_stated_columns_rates_and_delays():
    shop = datasets.make_shop(20_000)
    again = datasets.make_shop(20_000)
    assert shop.records == again.records
    assert shop.labels == again.labels
    assert shop.records != datasets.make_shop(20_000, seed=1).records
    labels = np.array(shop.labels)
    for label, rate in (("leave", 0.784), ("basket", 0.2), ("buy", 0.016)):
        for half in (labels[:10_000], labels[10_000:]):  # everything changes but the rates
            chance = 4 * np.sqrt(rate / 10_000)
            assert np.count_nonzero(half == label) / 10_000 == pytest.approx(rate, abs=chance)
    missing = [record for record in shop.records if record["price"] is None]
    assert len(missing) / 20_000 == pytest.approx(0.2, rel=0.1)
    users = [record["user"] for record in shop.records]
    assert len(set(users)) > 2000
    assert users.count("u1") > 2000
    assert shop.delays[labels == "buy"].mean() == pytest.approx(500, rel=0.2)
    assert shop.delays[labels != "buy"].mean() == pytest.approx(50, rel=0.1)
    times = [record["time"] for record in shop.records]
    assert times == sorted(times)
