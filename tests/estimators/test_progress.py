"""Progress: nothing by default, lines or a bar on standard error, and the same forecasts."""

import re
import sys

import numpy as np
import pytest
from streams import logistic_stream

from mixable import GAFClassifier, GAFRegressor
from mixable.estimators import shown

X, Y = logistic_stream(600, 2, 2)
QUICK = {"effort": "low", "kernel": None}


def test_nothing_is_said_by_default(capsys):
    GAFClassifier(**QUICK).fit(X, Y)
    GAFRegressor(**QUICK).prequential(X, Y.astype(float))
    assert capsys.readouterr() == ("", "")


def test_a_last_line_says_how_many_rows_in_which_time(capsys):
    GAFClassifier(verbose=1, **QUICK).fit(X, Y)
    GAFRegressor(verbose=True, **QUICK).prequential(X, Y.astype(float))
    out, err = capsys.readouterr()
    assert out == ""
    for name, line in zip(("GAFClassifier", "GAFRegressor"), err.splitlines(), strict=True):
        pattern = rf"{name}: 600 of 600 rows in \d+\.\d s, [\d,]+ rows a second"
        assert re.fullmatch(pattern, line)


def test_one_row_at_a_time_says_nothing(capsys):
    model = GAFClassifier(verbose=1, **QUICK)
    for row, label in zip(X[:3], Y[:3], strict=True):
        model.partial_fit(row[None], [label], classes=[0, 1])
    assert capsys.readouterr().err == ""


def test_lines_come_as_time_goes_by(capsys, monkeypatch):
    monkeypatch.setattr(shown, "EVERY", 0.0)
    GAFClassifier(verbose=1, **QUICK).fit(X, Y)
    lines = capsys.readouterr().err.splitlines()
    told = [0, *(int(line.split()[1]) for line in lines)]
    assert told[-1] == 600
    assert all(0 < step <= 256 for step in np.diff(told))
    assert all(" s left, " in line for line in lines[:-1])


def test_an_error_ends_with_how_far_it_was(capsys, monkeypatch):
    advance = shown.Lines.advance

    def interrupted(self, rows):
        advance(self, rows)
        raise KeyboardInterrupt

    monkeypatch.setattr(shown.Lines, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        GAFClassifier(verbose=1, **QUICK).fit(X, Y)
    assert re.search(r": [1-9]\d+ of 600 rows", capsys.readouterr().err)


@pytest.mark.parametrize("options", [{}, {"standardize": False}, QUICK])
def test_forecasts_do_not_depend_on_who_watches(options, capsys):
    quiet = GAFClassifier(**options).prequential(X, Y)
    watched = GAFClassifier(verbose=1, **options).prequential(X, Y)
    np.testing.assert_allclose(watched, quiet, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", [None, "auto"])
def test_what_is_refused_later_leaves_nothing_learned(kernel, capsys):
    far = X.copy()
    far[599] = 1e200
    model = GAFClassifier(standardize=False, verbose=1, kernel=kernel)
    with pytest.raises(ValueError, match="too large"):
        model.partial_fit(far, Y)
    assert not hasattr(model, "learner_")


def test_a_terminal_has_a_bar(monkeypatch, capsys):
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in a terminal
    monkeypatch.setenv("COLUMNS", "120")
    GAFClassifier(verbose=1, **QUICK).fit(X, Y)
    assert "600/600" in capsys.readouterr().err


def test_without_rich_there_are_lines_in_a_terminal_too(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setitem(sys.modules, "rich.console", None)
    GAFClassifier(verbose=1, **QUICK).fit(X, Y)
    assert "600 of 600 rows" in capsys.readouterr().err


@pytest.mark.parametrize("bad", [-1, "yes", None, 0.5])
def test_other_values_are_refused_before_anything_is_learned(bad):
    model = GAFClassifier(verbose=bad)
    with pytest.raises(ValueError, match="verbose must be 0"):
        model.fit(X, Y)
    assert not hasattr(model, "learner_")
