"""Streams of numbers and dates as people write them, and names that a header does not have."""

import json

import numpy as np
import pytest
from stream_command import run

import mixable as mx
from mixable.records import Encoder

NAMES = ("price", "cost", "day", "sold", "y")


def events(n):
    rng = np.random.default_rng(0)
    for t in range(n):
        amount = f"{rng.uniform(0, 9000):,.2f}"
        price = amount.translate(str.maketrans(",.", ".,"))
        day = f"{1 + t % 28:02d}/{1 + t % 12:02d}/2024"
        yield price[:-3] if t % 3 else price, f"${amount}", day, f"{1000 + t:,}", "ab"[t % 2]


def test_both_readers_of_csv_read_as_people_write_and_ask_about_the_rest(tmp_path):
    rows = list(events(1060))  # the core reads columns after 1,024
    lines = [",".join(f'"{cell}"' for cell in row) for row in rows]
    (tmp_path / "in.csv").write_text("\n".join([",".join(NAMES), *lines, ""]))
    done = run(tmp_path, "--target", "y", "--out", tmp_path / "out.csv", source="in.csv")
    said = done.stderr.decode()
    assert said.count("column 'sold' has values such as '1,") == 1
    assert "Warning" not in said
    encoder, expected = mx.load(tmp_path / "model").encoder, Encoder()
    for row in rows:
        expected.learn(dict(zip(NAMES[:-1], row, strict=False)))
    taken = ["number, decimal comma", "number", "time, day first", "category"]
    assert list(encoder.taken_for.values()) == list(expected.taken_for.values()) == taken
    record = {"price": "1.234", "cost": "1,234", "day": "01/02/2024"}
    ends = [each.encode(record).dense[[0, 1]].tolist() for each in (encoder, expected)]
    assert ends == [[1234.0, 1234.0]] * 2
    for name in ("price", "cost", "day"):
        ours, theirs = (each.registry.columns[name] for each in (encoder, expected))
        assert (ours.n, ours.missing) == (theirs.n, theirs.missing)
    options = ("--target", "y", "--out", tmp_path / "out.csv", "--day-first", "day")
    again = run(tmp_path, *options, source="in.csv", status=2)
    assert b"was made with other kinds of columns: none given" in again.stderr


@pytest.mark.parametrize(
    ("option", "why"),
    [
        (("--category", "prise"), "no column 'prise', which is declared; did you mean 'price'?"),
        (("--cross", "price*zzz"), "no column 'zzz', which is declared (it has price, cost"),
        (("--month-first", "days"), "did you mean 'day'?"),
        (("--id", "costs"), "the header has no column 'costs'; did you mean 'cost'?"),
    ],
)
def test_a_name_that_the_header_does_not_have_is_refused(tmp_path, option, why):
    (tmp_path / "in.csv").write_text(",".join(NAMES) + '\n"1",2,3,4,a\n')
    done = run(
        tmp_path, "--target", "y", "--out", tmp_path / "out.csv", *option, source="in.csv", status=2
    )
    assert why in done.stderr.decode()
    assert not (tmp_path / "model").exists()


def test_in_json_a_name_that_never_comes_is_said(tmp_path):
    lines = [json.dumps({"price": t % 5, "y": t % 2}) for t in range(140)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    options = ("--target", "y", "--out", tmp_path / "out.csv", "--category", "prise")
    said = run(tmp_path, *options, source="in.jsonl").stderr.decode()
    assert "column 'prise' is declared, and none of" in said
    assert "did you mean 'price'?" in said
