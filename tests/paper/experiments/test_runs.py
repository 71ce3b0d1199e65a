"""One run: grids, scaling, the best model in hindsight."""

import numpy as np
import polars as pl
import pytest
from command_line import mixable

from mixable import GAF
from mixable.losses import log_loss
from mixable.paper.experiments import race, sources


def finished(forecaster, setting, losses, data="t"):
    """Results of runs, of the shape that `race.run` makes."""
    what = {"data": data, "forecaster": forecaster, "setting": setting, "n": 100}
    names = ("accuracy", "calibration_error", "classwise_error", "microseconds")
    scores = dict(zip(names, (0.9, 0.01, 0.02, 1.0), strict=True))
    return [{**what, **scores, "seed": seed, "log_loss": loss} for seed, loss in enumerate(losses)]


def test_the_setting_of_least_mean_loss_stands_for_its_forecaster():
    first, best, worst = {"lam": 1.0}, {"lam": 0.1}, {"lam": 10.0}
    results = [
        *finished("gaf", first, [0.1, 0.2, 0.9]),  # the least median, and the least loss of all
        *finished("ogd", {"step": 1.0}, [0.25, 0.25, 0.25]),
        *finished("gaf", best, [0.4, 0.3, 0.2]),
        *finished("gaf", worst, [0.5, 0.5, 0.5]),
        *finished("gaf", worst, [0.01, 0.01, 0.01], data="other"),
    ]
    ogd, gaf, other = race.standings(results, {"t": 12.0, "other": None})
    assert (ogd.forecaster, other.data, other.regret) == ("ogd", "other", None)
    assert (gaf.forecaster, gaf.setting) == ("gaf", best)
    assert [gaf.low, gaf.median, gaf.high] == pytest.approx([0.25, 0.3, 0.35])
    assert gaf.regret == pytest.approx(100 * 0.3 - 12.0)
    assert [result["log_loss"] for result in gaf.results] == [0.4, 0.3, 0.2]


def test_scaling_as_libsvm_does(tmp_path):
    """Each column's least value becomes -1, its greatest 1, a constant 0.

    A missing entry is the mean of those before it.
    """
    rng = np.random.default_rng(0)
    a, b = rng.normal(5, 3, 200), rng.uniform(100, 300, 200)
    kind = np.where(a + b / 50 + rng.normal(size=200) > 9, "high", "low")
    missing = np.arange(200) % 20 == 19
    table = pl.DataFrame({"a": a, "b": b, "c": 7.0, "kind": kind})
    table.with_columns(b=pl.when(pl.Series(~missing)).then("b")).write_csv(tmp_path / "t.csv")
    options = ("--scale", "libsvm", "--forecasters", "gaf", "--grid", "none", "--keep-order")
    done = mixable("race", tmp_path / "t.csv", *options, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    low, high = b[~missing].min(), b[~missing].max()
    Z = np.ones((200, 4))  # with the intercept first
    Z[:, 1] = 2 * (a - a.min()) / (a.max() - a.min()) - 1
    Z[:, 2] = 2 * (b - low) / (high - low) - 1
    Z[:, 3] = 0
    for t in np.flatnonzero(missing):
        Z[t, 2] = Z[:t, 2][~missing[:t]].mean()
    y = (kind == "low").astype(int)
    expected = log_loss(GAF(4, 2).run(Z, y), y).mean()
    results = pl.read_parquet(tmp_path / "out" / "results.parquet")
    assert results["log_loss"][0] == pytest.approx(expected, abs=1e-9)


def test_the_best_model_in_hindsight_is_skipped_for_large_data(tmp_path, monkeypatch):
    monkeypatch.setattr(race, "MOST_ROWS_IN_HINDSIGHT", 100)
    layout = sources.survey("vehicle", None)
    assert race.hindsight(layout, race.Store(tmp_path)) is None
    task = race.Task(
        data="vehicle", layout=layout, forecaster="ogd", setting=(), seed=0, scale="causal"
    )
    (row,) = race.standings([race.run(task)], {"vehicle": None})
    assert row.regret is None


@pytest.mark.parametrize("parameter", ["lamb", "n_features", "n_classes"])
def test_a_parameter_that_a_forecaster_does_not_have_is_refused_with_those_it_has(parameter):
    task = race.Task(
        data="vehicle",
        layout=sources.survey("vehicle", None),
        forecaster="ons",
        setting=((parameter, 1.0),),
        seed=0,
        scale="causal",
    )
    known = f"no parameter '{parameter}'; there are lam, beta, radius$"
    with pytest.raises(sources.BadDataError, match=known):
        task.make()
