"""How records are spread over calls changes no bit: of forecasts, nor of what is saved."""

import numpy as np
import pytest

import mixable as mx
from mixable.events.model import EventModel
from mixable.model import design_of_classes

FIXED = dict.fromkeys(("lam", "beta", "alpha", "drift"))


def some_records(n, seed=0):
    """Everything that may depend on the records before: new columns, kinds that turn out to be
    others, times, words that are remembered, names that are counts.
    """
    rng = np.random.default_rng(seed)
    out = []
    for t in range(n):
        record = {
            "user": f"u{int(rng.zipf(1.5)) % 300}",
            "price": float(rng.normal()) if rng.random() < 0.9 else None,
            "query": " ".join(rng.choice(["red", "shoes", "for", "men", "blue"], 4).tolist()),
            "at": f"2024-01-{1 + t % 28:02d}T{t % 24:02d}:{int(rng.integers(60)):02d}",
            "turns": "12" if t < 9 else f"word {t} of many",
        }
        if t > 40:
            record["late"] = int(rng.integers(9))
        if t > 60 and rng.random() < 0.3:
            record["tags"] = rng.choice(["a", "b", "c"], 2).tolist()
        if rng.random() < 0.1:
            record.pop("at")
        if rng.random() < 0.05:
            record["price"] = "unknown"
        out.append(record)
    return out


def followed(records, codes, cuts, **columns):
    declared = mx.records.Columns(**columns) if columns else None
    design = design_of_classes(None, FIXED, kernel=None)
    model = EventModel(design=design, classes=("x", "y"), columns=declared)
    model.begin_records(records[:5])
    P, at = [], 0
    for end in [*cuts, len(records)]:
        piece, done, reason, _ = model.learner.follow(records[at:end], codes[at:end])
        assert reason is None
        assert done == end - at
        P.append(piece)
        at = end
    return np.concatenate(P), model


@pytest.mark.parametrize("columns", [{}, {"cross": ["user*price"], "ignore": ["at"]}])
def test_the_bits_do_not_depend_on_how_records_are_spread_over_calls(columns, tmp_path):
    rng = np.random.default_rng(1)
    records = some_records(200)
    codes = rng.integers(-1, 2, size=200)
    P, model = followed(records, codes, range(1, 200), **columns)
    mx.save(model, tmp_path / "one by one")
    for seed in range(3):
        few = np.random.default_rng(seed).choice(np.arange(1, 200), 5 * seed, replace=False)
        Q, other = followed(records, codes, sorted(few.tolist()), **columns)
        assert Q.tobytes() == P.tobytes()
        mx.save(other, tmp_path / "other")
        assert (tmp_path / "other").read_bytes() == (tmp_path / "one by one").read_bytes()
    assert model.encoder.kinds["turns"] == "text"


def test_a_table_ends_before_a_new_column_and_where_a_kind_is_guessed_again():
    encoder = mx.records.Encoder()
    records = [{"a": "x", "b": 1.0}] * 40
    encoder.guess(records[:5])
    assert encoder.registry.alike(records, records) == 16
    assert encoder.registry.alike(records, [None, records[0]] * 20) == 32
    assert encoder.registry.alike(records, [None] * 40) == 40
    grown = [*records[:3], {"a": "x", "c": 1.0}, *records]
    assert encoder.registry.alike(grown, grown) == 3
    assert encoder.registry.alike(records, grown[:40]) == 3
    assert encoder.registry.alike(grown[3:], grown[3:]) == 1
    missing = [{"a": "x", "c": None, "d": "", "e": float("nan")}] * 9
    assert encoder.registry.alike(missing, missing) == 9
