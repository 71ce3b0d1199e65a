"""Records for tests, and what it means that two encoders made the same rows."""

import math
import random

import numpy as np

from mixable.persistence import to_bytes
from mixable.records import Columns
from mixable.records.rows import categories_at

DECLARED = Columns(
    number=["price"],
    category=["user", "device"],
    text=["query"],
    tags=["tags"],
    time=["at"],
    ignore=["note"],
    cross=[("user", "device"), ("price", "tags"), ("query", "at")],
)

WORDS = ["red", "blue", "shoes", "hat", "coat", "for", "men", "women", "winter"]


def event(rng):
    """A record with something of each kind; what may be missing sometimes is."""
    minutes = rng.randrange(500_000)
    out = {
        "user": f"u{min(int(rng.paretovariate(0.7)), 500)}",
        "device": rng.choice(["phone", "desktop", None, ""]),
        "price": rng.choice([None, math.nan, rng.random() * 90, rng.randrange(9), "7.5", "free"]),
        "query": rng.choice([None, " ".join(rng.choices(WORDS, k=rng.randrange(5)))]),
        "at": f"2024-03-{1 + minutes % 28:02d}T{minutes % 24:02d}:{minutes % 60:02d}:00",
        "tags": rng.sample(["new", "sale", "gift"], rng.randrange(4)),
        "note": object(),
    }
    return {name: cell for name, cell in out.items() if rng.random() < 0.95}


def events(n, seed=0):
    rng = random.Random(seed)
    return [event(rng) for _ in range(n)]


def assert_same_rows(rows, singles):
    """A table's rows are those of its records, each after those before it."""
    assert len(rows) == len(singles)
    width = rows.dense.shape[1]
    for t, one in enumerate(singles):
        # Sines of arrays and of numbers may differ in their last bits.
        np.testing.assert_allclose(rows.dense[t], one.dense_at(width), rtol=1e-12, atol=1e-12)
        own = slice(rows.indptr[t], rows.indptr[t + 1])
        assert rows.keys[own].tolist() == one.keys.tolist()
        np.testing.assert_allclose(rows.values[own], one.values, rtol=1e-6)
        pairs = slice(rows.cross_indptr[t], rows.cross_indptr[t + 1])
        assert rows.cross_keys[pairs].tolist() == one.cross_keys.tolist()
        assert rows.cross_values[pairs].tolist() == one.cross_values.tolist()
        categories = categories_at(one.categories, rows.categories.shape[1])
        assert rows.categories[t].tolist() == categories.tolist()


def assert_same_encoder(a, b):
    """Two encoders have learned the same, in whatever order they remember names of keys."""
    assert dict(a.names) == dict(b.names)
    for each in (a, b):
        each.names = dict(sorted(each.names.items()))
    assert to_bytes(a) == to_bytes(b)


def one_by_one(encoder, records):
    rows = []
    for record in records:
        rows.append(encoder.encode(record))
        encoder.commit(rows[-1])
    return rows
