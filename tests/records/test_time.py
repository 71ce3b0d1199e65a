"""Columns of times: cycles, keys of hours and days, and the time since the latest record."""

import math

import numpy as np
import pytest

from mixable.records.cells import ABSENT
from mixable.records.column import ALL, NOTHING, Draft
from mixable.records.tables import Cells
from mixable.records.time import Time

MOST = 8  # values that are remembered


def new():
    column = Time("at")
    column.places = list(range(5))
    return column


def dense_of(cell):
    column, draft = new(), Draft([math.nan] * 5)
    column.put(column.plain(cell), draft)
    return draft.dense[:4]


def test_cycles_begin_at_midnight_and_on_monday():
    np.testing.assert_allclose(dense_of("2024-01-01"), [0, 1, 0, 1], atol=1e-9)  # a Monday
    np.testing.assert_allclose(dense_of("1969-12-29"), [0, 1, 0, 1], atol=1e-9)
    np.testing.assert_allclose(dense_of("2024-01-04T12:00"), [0, -1, 0, -1], atol=1e-9)
    np.testing.assert_allclose(dense_of("2024-01-08T06:00")[:2], [1, 0], atol=1e-9)


def test_a_moment_just_before_1970_is_in_the_last_hour_of_a_wednesday():
    column = new()
    for wall in (-1e-15, -1.0):
        assert list(column.labels((wall, wall)).values()) == ["at: hour 23", "at: Wednesday"]
    labels = column.labels((0.0, 0.0))
    assert list(labels.values()) == ["at: hour 0", "at: Thursday"]
    names = column.key_names()
    assert len(names) == 24 + 7 + 1
    assert labels.items() <= names.items()


def test_a_table_has_the_rows_of_its_cells_and_learns_the_same():
    """The time since is to the latest before, which is not always the one just before."""
    items = ["2024-01-01T00:00:10", "soon", "2024-01-01T00:00:04", None, ABSENT, 1704067220]
    table, single, dense, keys = new(), new(), [], []
    part = table.stage(Cells(items))
    for cell in items:
        draft = Draft([math.nan] * 5)
        if cell is not ABSENT:
            single.put(single.plain(cell), draft)
            single.learn(single.plain(cell), MOST)
        dense.append(draft.dense)
        keys += draft.keys
    np.testing.assert_allclose(part.dense, dense, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(part.dense[[2, 5], 4], [-math.log1p(6), math.log1p(10)])
    assert part.keys.tolist() == keys
    assert part.counts.tolist() == [2, 1, 2, 1, 0, 2]
    table.commit(part, len(items), MOST)
    assert table.state() == single.state()
    assert (table.n, table.missing, table.words, table.latest) == (5, 1, 1, 1704067220)


def test_times_beyond_any_calendar_are_refused():
    with pytest.raises(ValueError, match="no time of any calendar"):
        new().plain(1e25)
    state = new().state()
    with pytest.raises(ValueError, match="latest"):
        new().restore({**state, "latest": 1e16})


def test_what_experts_on_keys_see_is_saved_and_older_files_show_all():
    column, state = new(), new().state()
    assert column.shown.count(NOTHING) == 2  # of the week, whose days have keys
    column.restore({**state, "shown": [ALL, ALL, NOTHING, ALL, ALL]})
    assert column.state()["shown"] == [ALL, ALL, NOTHING, ALL, ALL]
    del state["shown"]
    column.restore(state)
    assert column.shown == (ALL,) * 5
    for bad in ([ALL] * 4, [3] * 5, [ALL, ALL, ALL, ALL, -1], "11111"):
        with pytest.raises((ValueError, TypeError)):
            new().restore({**state, "shown": bad})
