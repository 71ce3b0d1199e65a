"""Weight now and over time: the data in what is drawn."""

import matplotlib
import numpy as np
import pandas as pd
import pytest

import mixable as mx
from mixable import plots

matplotlib.use("Agg")


def drawn(ax):
    """Each line of the legend, by its name."""
    named = [line for line in ax.lines if not line.get_label().startswith("_")]
    return {line.get_label(): line.get_xydata() for line in named}


def heights(ax):
    """The areas of a stack, by name: (x, height) at the places where the weight was read."""
    out = {}
    for area in ax.collections:
        ring = area.get_paths()[0].vertices
        ends = {}
        for x, level in ring:
            ends.setdefault(x, []).append(level)
        out[area.get_label()] = {x: max(each) - min(each) for x, each in ends.items()}
    return out


def test_trust_over_time_is_that_of_a_run_and_changes_nothing(stream):
    X, y, *_ = stream
    model = mx.GAFClassifier(kernel=None).fit(X[:200], y[:200])
    before = model.forecaster_.weights
    ax = plots.expert_weights(model, X[200:], y[200:], pieces=4, by="drift")
    assert model.forecaster_.steps == 200
    assert np.array_equal(model.forecaster_.weights, before)
    stack = heights(ax)
    assert list(stack["drift 0"]) == [200, 300, 400, 500, 600]
    for steps in stack["drift 0"]:
        part = slice(model.forecaster_.steps, int(steps))
        if part.stop > part.start:
            model.partial_fit(X[part], y[part])
        f = model.forecaster_
        for drift in (0.0, 0.001, 0.1):
            pairs = list(zip(f.experts, f.expert_weights, strict=True))[
                :-1
            ]  # the fallback is the last
            shares = sum(shares for expert, shares in pairs if expert.drift == drift)
            assert stack[f"drift {drift:g}"][steps] == pytest.approx(shares, abs=1e-9)
        assert stack["fallback"][steps] == pytest.approx(f.expert_weights[-1], abs=1e-9)
        assert sum(each[steps] for each in stack.values()) == pytest.approx(1)


def test_trust_is_by_what_a_posterior_sees(stream):
    X, y, model, _ = stream
    ax = plots.expert_weights(model)
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["linear", "linear, logarithmic in the tails", "class frequencies", "fallback"]
    f = model.forecaster_
    squashed = f.expert_weights[3 * f.views.index(1) : -2].sum()
    rates, fallback = f.expert_weights[-2:]
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == pytest.approx([1 - squashed - rates - fallback, squashed, rates, fallback])

    kernel = mx.GAFClassifier(kernel=mx.kernels.RBF(10))
    stack = heights(plots.expert_weights(kernel, X[:200], y[:200], pieces=2))
    assert list(next(iter(stack.values()))) == [100, 200]  # a new model had no weight before
    assert not hasattr(kernel, "learner_")
    kernel.partial_fit(X[:200], y[:200])
    shares = np.bincount(
        kernel.forecaster_.views,
        kernel.forecaster_.expert_weights.reshape(len(kernel.forecaster_.grid), -1).sum(axis=1),
    )
    assert [each[200] for each in stack.values()] == pytest.approx(shares.tolist(), abs=1e-9)
    gammas = [f"kernel, gamma {width / X.shape[1]:.3g}" for width in (0.125, 1, 16)]
    assert list(stack) == ["linear", *gammas]


def test_trust_in_a_pool_and_its_weights(stream):
    X, y, *_ = stream
    codes = np.unique(y, return_inverse=True)[1]
    d = X.shape[1]
    pool = mx.Pool([mx.GAF(d, 3), mx.GAF(d, 3, lam=100.0), mx.OGD(d, 3)])
    stack = heights(plots.expert_weights(pool, X[:100], codes[:100], pieces=1))
    lines = drawn(plots.expert_weights(pool, X[:100], codes[:100], pieces=1, by="weights"))
    assert pool.steps == 0
    assert list(stack) == ["pool", "pool that forgets", "GAF 0 alone", "GAF 1 alone", "OGD alone"]
    assert list(lines) == ["GAF 0", "GAF 1", "OGD"]
    assert [each[0].tolist() for each in lines.values()] == [[0, pytest.approx(1 / 3)]] * 3
    pool.run(X[:100], codes[:100])
    assert [each[100] for each in stack.values()] == pytest.approx(
        pool.expert_weights.tolist(), abs=1e-9
    )
    assert [each[1, 1] for each in lines.values()] == pytest.approx(pool.weights.tolist())
    bars = plots.expert_weights(pool, by="weights").patches
    assert [bar.get_width() for bar in bars] == pytest.approx(pool.weights.tolist())


def test_experts_of_an_estimators_pool_are_named_by_what_they_see(stream):
    X, y, *_ = stream
    model = mx.GAFClassifier(kernel=mx.kernels.Auto(5))
    model.fit(X[:60], y[:60])
    first, *others = drawn(plots.expert_weights(model, X[60:90], y[60:90], by="weights"))
    assert model.forecaster_.steps == 60
    assert len(others) == len(model.forecaster_.experts) - 1
    names = [tick.get_text() for tick in plots.expert_weights(model).get_yticklabels()]
    alone = {f"{name} alone" for name in (first, *others)}
    assert set(names[:2]) == {"pool", "pool that forgets"}
    assert names[-1].endswith(" others")  # what has the least is added up
    assert set(names[2:-1]) - alone <= {"fallback"}
    assert len(names) == 9
    assert [first, *others] == model.forecaster_.design.names


def test_trust_in_a_mixture_and_in_a_regression(stream):
    X, *_ = stream
    mixture = mx.Mixture([mx.GAF(2, 2), mx.OGD(2, 2)])
    mixture.run(np.eye(2), [0, 1])
    ax = plots.expert_weights(mixture)
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(mixture.weights.tolist())
    stack = heights(
        plots.expert_weights(mx.GAFRegressor(kernel=None), X, X[:, 0], pieces=3, by="noise")
    )
    *large, others = stack
    assert len(large) == 5  # six colours can be told apart
    assert all(name.startswith("noise ") for name in large)
    assert others == "28 others"
    assert sum(each[600] for each in stack.values()) == pytest.approx(1)


def test_trust_takes_tables_with_names_and_new_classes_on_the_way(stream):
    X, y, *_ = stream
    table, labels = pd.DataFrame(X).add_prefix("x"), pd.Series(y, index=np.arange(600)[::-1])
    order = np.argsort(y == "yes", kind="stable")  # "yes" comes last
    model = mx.GAFClassifier(kernel=None)
    ours = heights(plots.expert_weights(model, table.iloc[order], labels.iloc[order], pieces=5))
    plain = heights(plots.expert_weights(model, X[order], y[order].tolist(), pieces=5))
    assert ours == plain
    known = plots.expert_weights(model, X, y, classes=["maybe", "no", "yes"], pieces=1000)
    assert len(heights(known)["linear"]) == 600


def test_the_legend_of_weight_covers_nothing(stream):
    X, y, *_ = stream
    ax = plots.expert_weights(mx.GAFClassifier(kernel=None), X, y, pieces=3, by="drift")
    ax.figure.draw_without_rendering()
    legend = ax.get_legend().get_window_extent()
    assert legend.x0 > ax.get_window_extent().x1
    assert legend.x1 <= ax.figure.bbox.x1
    colours = {tuple(area.get_facecolor()[0]) for area in ax.collections}
    assert len(colours) == len(ax.collections) <= 6
