"""What the kinds of columns have in common."""

import pytest

from mixable.records.cells import ABSENT
from mixable.records.column import Column
from mixable.records.registry import CLASSES
from mixable.records.tables import Cells


def test_names_that_look_alike_have_different_keys():
    names = [1, "1", 1.0, True, None, "None", ("a", 1), "('a', 1)", ""]
    columns = [CLASSES["number"](name) for name in names]
    keys = {column.key for column in columns} | {column.missing_key for column in columns}
    assert len(keys) == 2 * len(names)


def test_cells_are_made_into_a_list_once_and_only_if_they_are_read():
    calls = []
    cells = Cells(lambda: calls.append("made") or [1, ABSENT, None])
    assert not calls
    assert cells.items is cells.items
    assert cells.absent(3).tolist() == [False, True, False]
    assert calls == ["made"]


@pytest.mark.parametrize("kind", sorted(CLASSES))
def test_what_was_learned_is_restored_and_what_cannot_be_is_refused(kind):
    column = CLASSES[kind]("x", guessed=True)
    column.n, column.missing, column.was = 5, 2, ("text", 16)
    again = CLASSES[kind]("x")
    again.restore(column.state())
    base = Column.state(column)
    assert base == Column.state(again)
    assert base["kind"] == kind
    wrong = [{"missing": 6}, {"n": -1}, {"guessed": 1}, {"was": (1, 16)}, {"places": [-1]}]
    for each in wrong:
        with pytest.raises((ValueError, TypeError)):
            CLASSES[kind]("x").restore({**column.state(), **each})
