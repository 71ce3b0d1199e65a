"""Columns of text: words and pairs of words, and how much they count."""

import math

import numpy as np
import pytest

from mixable.records.cells import ABSENT
from mixable.records.column import Draft
from mixable.records.tables import Cells
from mixable.records.text import MOST_CHARACTERS, Text

MOST = 8  # values that are remembered


def put(cell):
    column, draft = Text("q"), Draft([])
    column.put(column.plain(cell), draft)
    return dict(zip(draft.keys, draft.values, strict=True))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_text_has_a_norm_of_the_fourth_root_of_its_words_and_pairs(n):
    text = " ".join(f"word{i}" for i in range(n))
    values = np.array(list(put(text).values()))
    assert len(values) == 2 * n - 1
    assert np.linalg.norm(values) == pytest.approx(len(values) ** 0.25, rel=1e-6)


def test_a_word_that_comes_again_counts_by_its_logarithm():
    column, values = Text("q"), put("Red, red RED")
    named = {name: values[key] for key, name in column.labels("Red, red RED").items()}
    assert set(named) == {"q: red", "q: red red"}
    ratio = (1 + math.log(3)) / (1 + math.log(2))
    assert named["q: red"] / named["q: red red"] == pytest.approx(ratio, rel=1e-6)


def test_what_is_beyond_the_longest_text_is_not_read():
    longest = ("a" * 9 + " ") * (MOST_CHARACTERS // 10)
    assert put(longest + "b") == put(longest)
    assert put("b " + longest) != put(longest)
    column = Text("q")
    for text in (longest, longest + "b"):
        column.learn(column.plain(text), MOST)
    assert column.cut == 1


def test_a_table_has_the_rows_of_its_cells():
    items = ["red hat", None, ABSENT, "", ["red", "hat"], 7]
    column = Text("q")
    part = column.stage(Cells(items))
    assert part.counts.tolist() == [3, 1, 0, 1, 3, 1]
    ends = np.cumsum(part.counts)
    for row, (cell, count, end) in enumerate(zip(items, part.counts, ends, strict=True)):
        own = slice(end - count, end)
        pairs = dict(zip(part.keys[own].tolist(), part.values[own].tolist(), strict=True))
        assert pairs == ({} if cell is ABSENT else put(cell)), row
    column.commit(part, 4, MOST)
    assert (column.n, column.missing) == (3, 2)
    assert list(column.texts(part, 5)) == [(0, "red hat"), (4, "red hat")]
