"""Numbers and dates as people write them: read if clear, else by the column, else asked about."""

import copy
import datetime as dt
import math
import warnings

import numpy as np
import pytest

from mixable import _core, merge
from mixable.records import Columns, Encoder
from mixable.records.cells import MISSING, NUMBER, UNCLEAR, WORD, votes_of
from mixable.river import GAFClassifier

READ = {  # what a text is: with no mark, with a point, with a comma; and its vote
    "1,5": (1.5, 1.5, 1.5, -1),
    "0,125": (0.125, 0.125, 0.125, -1),
    "1234,567": (1234.567, 1234.567, 1234.567, -1),
    "-1.234.567,89": (-1234567.89, -1234567.89, -1234567.89, -1),
    "1.234.567": (1234567.0, 1234567.0, 1234567.0, -1),
    "1,234,567.89": (1234567.89, 1234567.89, 1234567.89, 1),
    "1,234,567": (1234567.0, 1234567.0, 1234567.0, 1),
    "9.99": (9.99, 9.99, 9.99, 1),
    "$9.99": (9.99, 9.99, 9.99, 1),
    "-$5": (-5.0, -5.0, -5.0, 0),
    "€ 9,99": (9.99, 9.99, 9.99, -1),
    "9,99\u00a0€": (9.99, 9.99, 9.99, -1),
    "CHF 1'234'567.50": (1234567.5, 1234567.5, 1234567.5, 1),
    "1\u202f234\u202f567": (1234567.0, 1234567.0, 1234567.0, 0),
    "1 234,50": (1234.5, 1234.5, 1234.5, -1),
    "15 %": (0.15, 0.15, 0.15, 0),
    "\u22123,5": (-3.5, -3.5, -3.5, -1),
    "1.234": (1.234, 1.234, 1234.0, 0),
    "1,234": (None, 1234.0, 1.234, 0),
    "$1,234": (None, 1234.0, 1.234, 0),
    "€1.234": (None, 1.234, 1234.0, 0),
    "12 345": (None, 12345.0, 12345.0, 0),
    "1e3": (1000.0, 1000.0, 1000.0, 0),
}
WORDS = "1,2,3|192.168.100.200|12,34,56|01,5|1,|$|5 kg|1,234,5|10.1,234|$5%|1.234,567,890|--5|1,5,"


@pytest.mark.parametrize("text", READ)
def test_a_number_is_read_as_people_write_it(text):
    *values, vote = READ[text]
    for mark, value in zip(("", ".", ","), values, strict=True):
        read, what, told = _core.read_number(text, mark)
        if value is None:
            assert (what, told) == (UNCLEAR, 0)
            assert math.isnan(read)
        else:
            assert (read, what, told) == (value, NUMBER, vote)
        arrays = _core.read_numbers([text, " " + text, None, 2.0], mark)
        np.testing.assert_array_equal(arrays[0], [read, read, math.nan, 2.0])
        assert arrays[1].tolist() == [what, what, MISSING, NUMBER]
        assert arrays[2].tolist() == [told, told, 0, 0]
    is_plain = text in ("9.99", "1.234", "1e3")
    assert _core.read_number(text, "plain")[1] == (NUMBER if is_plain else WORD)


@pytest.mark.parametrize("text", WORDS.split("|"))
def test_what_is_no_number_is_a_word_and_has_no_vote(text):
    for mark in ("", ".", ","):
        assert _core.read_number(text, mark)[1:] == (WORD, 0)


DAY = dt.datetime(2024, 2, 1, tzinfo=dt.timezone.utc).timestamp()  # the first of February
OTHER = dt.datetime(2024, 1, 2, tzinfo=dt.timezone.utc).timestamp()
LAST = dt.datetime(2024, 12, 31, tzinfo=dt.timezone.utc).timestamp()
DATES = {  # with no order, day first, month first; and the vote
    "31.12.2024": (LAST, LAST, LAST, 1),
    "31/12/2024": (LAST, LAST, LAST, 1),
    "31-12-2024": (LAST, LAST, LAST, 1),
    "12/31/2024": (LAST, LAST, LAST, -1),
    "12/31/2024 1:05 PM": (LAST + 47100, LAST + 47100, LAST + 47100, -1),
    "12/31/2024, 12:00 am": (LAST, LAST, LAST, -1),
    "2024/12/31": (LAST, LAST, LAST, 0),
    "2024-2-1": (DAY, DAY, DAY, 0),
    "01.02.2024": (DAY, DAY, OTHER, 0),
    "01/02/2024": (None, DAY, OTHER, 0),
    "1-2-2024 00:00": (None, DAY, OTHER, 0),
    "1/2/24": (None, DAY, OTHER, 0),
    "12/31/24": (None, LAST, LAST, 0),  # the first could be the year
}


@pytest.mark.parametrize("text", DATES)
def test_a_date_is_read_as_people_write_it(text):
    *values, vote = DATES[text]
    for order, value in zip(("", "day", "month"), values, strict=True):
        wall, utc, told = _core.read_time(text, order)
        row = _core.read_times([text], order)[0]
        if value is None:
            assert math.isnan(wall)
            assert math.isnan(row[0])
        else:
            assert wall == utc == value == row[0] == row[1]
            assert order != "" or told == row[2] == vote


@pytest.mark.parametrize(
    "text", ["31.4.2024", "13/13/2024", "1.2.3", "01/02/2024x", "0/5/2024", "1/2-2024"]
)
def test_what_is_no_date_is_none(text):
    for order in ("", "day", "month"):
        assert _core.read_time(text, order) is None


def test_marks_and_orders_are_what_they_are():
    with pytest.raises(ValueError, match="mark"):
        _core.read_number("1", ";")
    with pytest.raises(ValueError, match="order"):
        _core.read_time("1", "year")
    assert votes_of(["1,5", "31/12/2024", "x"], [2, 3, 4]) == {"number": [0, 2], "time": [3, 0]}


def prices(n, seed=0):
    """Records as a German, an American and a spreadsheet write them."""
    rng = np.random.default_rng(seed)
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(366, size=n)]
    amounts = np.round(rng.uniform(0, 5000, n), rng.integers(3))
    swap = str.maketrans(",.", ".,")
    return [
        {
            "de": f"{amount:,.2f}".translate(swap) + " €"
            if t % 3
            else f"{amount:,.0f}".translate(swap),
            "us": f"${amount:,.2f}" if t % 3 else f"{amount:,.0f}",
            "share": f"{amount / 50:.0f}%",
            "eu_day": day.strftime("%d/%m/%Y"),
            "us_day": day.strftime("%m/%d/%Y"),
            "word": "red" if t % 2 else "blue",
        }
        for t, (amount, day) in enumerate(zip(amounts, days, strict=True))
    ]


TAKEN = {
    "de": "number, decimal comma",
    "us": "number",
    "share": "number",
    "eu_day": "time, day first",
    "us_day": "time, month first",
    "word": "category",
}


def test_a_table_is_read_as_its_records_one_by_one():
    records = prices(300)
    one, other = Encoder(), Encoder()
    for record in records:
        one.learn(record)
    other.guess(records[:1])
    for begin, end in ((0, 16), (16, 100), (100, 128), (128, 300)):
        other.commit(other.stage(records[begin:end])[1])
    assert one.taken_for == other.taken_for == TAKEN
    assert one.describe() == other.describe()
    np.testing.assert_equal(one.__getstate__()["columns"], other.__getstate__()["columns"])
    row = one.encode({**records[0], "de": "1.234", "us": "1,234", "share": "50%"})
    assert row.dense[:3].tolist() == [1234.0, 1234.0, 0.5]
    day, month = (one.encode({"eu_day": "01/02/2024"}), one.encode({"us_day": "02/01/2024"}))
    first = one.dense_names.index("eu_day: week sin"), one.dense_names.index("us_day: week sin")
    assert day.dense[first[0]] == month.dense[first[1]]


def test_a_format_is_declared():
    columns = Columns(decimal_comma=["price"], month_first=["at"], number=["n"])
    encoder = Encoder(columns)
    record = {"price": "1.234", "at": "02/01/2024", "n": "1,234"}
    row = encoder.encode(record)
    assert [row.dense[0], row.dense[-1]] == [1234.0, 1234.0]
    for _ in range(200):
        encoder.learn({"price": "9.99", "at": "31/12/2024", "n": "1,5"})
    taken = {
        "price": "number, decimal comma",
        "at": "time, month first",
        "n": "number, decimal comma",
    }
    assert encoder.taken_for == taken  # what was declared stays, whatever values say
    again = copy.deepcopy(encoder)
    assert again.taken_for == taken
    assert again.encode(record).dense[0] == 1234.0


def test_what_can_be_read_in_two_ways_is_asked_about_once():
    encoder = Encoder()
    records = [
        {"n": f"{t % 9 + 1},234", "at": f"0{t % 9 + 1}/0{t % 7 + 1}/2024", "m": "7"}
        for t in range(40)
    ]
    records[5]["m"] = "1,234"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for record in records[:15]:
            encoder.learn(record)
            encoder.ask()
    for record in records[15:]:
        encoder.learn(record)
    with pytest.warns(UserWarning, match="taken as words") as told:
        encoder.ask()
    texts = sorted(str(each.message) for each in told)
    assert len(texts) == 3
    assert "day_first=['at'], month_first=['at']" in texts[0]
    assert "'m' has values such as '1,234'" in texts[1]
    assert "decimal_comma=['n']" in texts[2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.ask()
        encoder.ask(least=0)


def test_a_column_that_came_late_is_asked_about_when_it_has_had_some_records():
    encoder = Encoder()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in range(16):
            encoder.learn({"word": "ab"[t % 2], **({"n": "1,234"} if t > 9 else {})})
            encoder.ask()
    with pytest.warns(UserWarning, match="column 'n'"):
        encoder.ask(least=0)


def test_a_table_of_a_stream_ends_where_votes_are_counted():
    encoder = Encoder(Columns(number=["n"]))
    encoder.learn({"n": "1"})
    records = [{"n": "1,5"}] * 40
    assert encoder.registry.alike(records, records) == 15
    given = Encoder(Columns(decimal_comma=["n"]))
    given.learn({"n": "1"})
    assert given.registry.alike(records, records) == 40


def test_a_column_that_is_declared_and_never_comes_is_asked_about():
    model = GAFClassifier(columns=Columns(category=["zip"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in range(127):
            model.learn_one({"zip_code": t % 3}, t % 2)
    with pytest.warns(UserWarning, match="'zip' is declared, and none of 128 records.*'zip_code'"):
        model.learn_one({"zip_code": 1}, 1)


def test_files_without_formats_are_read_and_forged_ones_refused():
    encoder = Encoder()
    for record in prices(20):
        encoder.learn(record)
    state = encoder.__getstate__()
    names = ("format", "votes", "unclear", "is_given")
    old = {
        **state,
        "columns": [{k: v for k, v in each.items() if k not in names} for each in state["columns"]],
    }
    made = Encoder.__new__(Encoder)
    made.__setstate__(old)
    assert made.encode({"de": "1,5"}).dense[0] == 1.5
    forged = [
        ("format", ";"),
        ("votes", [1]),
        ("votes", [99, 0]),
        ("unclear", 99),
        ("is_given", 2),
        ("votes", 3),
    ]
    for name, value in forged:
        columns = [{**each} for each in state["columns"]]
        columns[0][name] = value
        with pytest.raises((ValueError, TypeError)):
            Encoder.__new__(Encoder).__setstate__({**state, "columns": columns})


def test_models_that_read_a_column_in_two_ways_do_not_merge():
    base = GAFClassifier()
    base.learn_one({"n": "1", "word": "a"}, "x")
    parts = []
    for text in ("1,5", "1.5"):
        part = copy.deepcopy(base)
        for t in range(20):
            part.learn_one({"n": text, "word": "ab"[t % 2]}, "xy"[t % 2])
        parts.append(part)
    merged = merge([parts[0], copy.deepcopy(parts[0])], base=base)
    assert merged.encoder.taken_for["n"] == "number, decimal comma"
    assert merged.encoder.registry.columns["n"].votes == [0, 40]
    with pytest.raises(ValueError, match="column 'n' in two ways"):
        merge(parts, base=base)
