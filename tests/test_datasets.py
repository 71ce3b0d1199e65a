"""The embedded data are what their sources say."""

import numpy as np
import pytest

from mixable import datasets


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
