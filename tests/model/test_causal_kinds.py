"""No forecast depends on later rows: a frame is the loop over its rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mixable as mx
from mixable.events.events import CsvEvents, begin_records
from mixable.events.files import Options
from mixable.events.lines import Lines
from mixable.events.model import EventModel
from mixable.events.sources import Source
from mixable.model import design_of_classes

N = 150


def frame(seed=0):
    """First values that mislead, columns that begin late, kinds that turn out to be others."""
    rng = np.random.default_rng(seed)
    children = rng.choice(["1", "2", "3", "more"], N, p=[0.1, 0.1, 0.1, 0.7])
    children[0] = "2"  # a number at first, then a category
    late = np.where(np.arange(N) < 40, None, rng.choice(["red", "blue"], N))
    number = rng.normal(size=N)
    number[:7] = np.nan
    return pd.DataFrame(
        {
            "children": children,
            "late": late,
            "number": number,
            "query": [" ".join(rng.choice(["a", "b", "c", "d"], 2 + t % 3)) for t in range(N)],
            "at": pd.date_range("2024-01-01", periods=N, freq="7h"),
        }
    )


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("weighted", [False, True])
def test_prequential_of_a_frame_is_the_loop_over_its_rows(kind, weighted):
    X, rng = frame(), np.random.default_rng(1)
    y = np.where((X["children"] == "more") ^ (rng.random(N) < 0.1), "yes", "no")
    weight = rng.integers(0, 2, N).astype(float) if weighted else np.ones(N)
    table = X if kind == "pandas" else pl.from_pandas(X)
    whole, loop = (mx.GAFClassifier(kernel=None) for _ in range(2))
    options = {"classes": ["no", "yes"]}
    P = whole.prequential(table, y, sample_weight=weight, **options)
    Q = [
        loop.prequential(table[t : t + 1], y[t : t + 1], sample_weight=weight[t : t + 1], **options)
        for t in range(N)
    ]
    np.testing.assert_allclose(P, np.concatenate(Q), rtol=1e-9, atol=1e-12)
    assert whole.columns_ == loop.columns_
    if not weighted:
        assert whole.columns_["children"].startswith("category")


def test_the_first_forecasts_do_not_change_with_later_rows():
    X = frame()
    y = np.where(X["children"] == "more", "yes", "no")
    short, whole = (
        mx.GAFClassifier(kernel=None).prequential(X[:n], y[:n], classes=["no", "yes"])
        for n in (30, N)
    )
    np.testing.assert_allclose(short, whole[:30], rtol=1e-9, atol=1e-12)


def test_fit_looks_at_more_than_the_first_value():
    X = frame()
    model = mx.GAFClassifier(kernel=None, shuffle=False).fit(X[:10], np.arange(10) % 2)
    assert model.columns_["children"].startswith("category")
    part = mx.GAFClassifier(kernel=None).partial_fit(X[:10], np.arange(10) % 2)
    assert part.columns_["children"].startswith("number")


def test_a_stream_begins_by_its_first_line_whatever_is_at_hand(tmp_path):
    lines = ["a,b,y\n", "1,2,up\n", "2,word,down\n", "3,4,up\n"]
    said = []
    for count in (2, 4):
        path = tmp_path / f"{count}.csv"
        path.write_text("".join(lines[:count]))
        source = Source(path)
        options = Options(model=tmp_path / "m", target="y", source=path)
        model = EventModel(design=design_of_classes(None, {}))
        at_hand = Lines(source)
        at_hand.fill()
        header = at_hand.first()
        at_hand.use_first()
        events = CsvEvents(header, model, options)
        said.append((begin_records(events, at_hand.first(), model), model.encoder))
        source.close()
    assert said == [(None, None), (None, None)]
