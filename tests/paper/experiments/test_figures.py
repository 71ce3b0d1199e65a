"""The pictures of a race: their titles, and what is drawn."""

import numpy as np
import pytest

from mixable.paper.experiments import report
from mixable.paper.experiments.race import standings, weight_groups


def result(forecaster, seed, loss):
    """A finished run of three examples, of the shape that `race.run` makes."""
    shares = [[n, 1.0, *[0.0] * (len(weight_groups()) - 1)] for n in (1, 2, 3)]
    return {
        "data": "t",
        "forecaster": forecaster,
        "setting": {},
        "seed": seed,
        "n": 3,
        "log_loss": loss,
        "accuracy": 0.5,
        "calibration_error": 0.1,
        "classwise_error": 0.05,
        "microseconds": 1.0,
        "reliability": [[0.0, 1.0, 20, 0.6, 0.5]],
        "worst": {
            "label": "b",
            "forecast": 0.2,
            "rate": 0.1,
            "reliability": [[0, 1, 20, 0.2, 0.1]],
        },
        "curve": [[1, 2 * loss], [2, loss], [3, loss]],
        "weights": shares if forecaster == "auto" else [],
    }


@pytest.mark.parametrize(
    ("forecasters", "names"),
    [
        (("gaf", "ogd"), ["loss", "reliability"]),
        (("auto", "gaf"), ["loss", "reliability", "weights"]),
    ],
)
def test_each_picture_is_there_twice_and_the_same_when_drawn_again(forecasters, names, tmp_path):
    runs = [result(each, seed, 0.4 + 0.1 * seed) for each in forecasters for seed in range(2)]
    rows = standings(runs, {"t": None})
    drawn = report.draw(rows, {"t": 3}, tmp_path)
    assert [path.name for path in drawn] == [f"{name}.svg" for name in names]
    assert all(path.with_suffix(".png").stat().st_size > 1000 for path in drawn)
    before = [path.read_bytes() for path in drawn]
    report.draw(rows, {"t": 3}, tmp_path)
    assert [path.read_bytes() for path in drawn] == before


def test_settings_in_words():
    assert (
        report.in_words({"lam": 0.10, "beta": 3.0, "alpha": "inf"}) == "lam 0.1, beta 3, alpha inf"
    )
    assert report.in_words({}) == ""


def test_styles_differ_in_grey():
    """By lightness or by dashes: no two are alike without their colours."""

    def grey(style):
        red, green, blue = (int(style["color"][i : i + 2], 16) for i in (1, 3, 5))
        return round(np.dot([0.299, 0.587, 0.114], [red, green, blue])), str(style["linestyle"])

    assert len({grey(style)[1] for style in report.STYLES}) == len(report.STYLES)
    assert len({grey(style)[0] for style in report.STYLES}) == len(report.STYLES)


def test_a_long_name_has_its_own_line_above_a_panel():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    for name, title in (
        ("short", "short: 5"),
        ("x" * 54, f"{'x' * 54}\n5"),
        ("x" * 300 + "end", f"…{'x' * 51}end\n5"),
    ):
        report.entitle(axes, name, ": 5")
        assert axes.get_title() == title
