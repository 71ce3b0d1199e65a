"""Inputs and answers in other forms than lines of CSV: the forecasts are the same."""

import json

import polars as pl
import pytest
from stream_command import run, small

import mixable as mx


def answers(path):
    """Forecasts of each line, from JSON lines."""
    return [json.loads(line)["p"] for line in path.read_text().splitlines()]


@pytest.fixture
def expected(tmp_path):
    """The events as JSON lines, and the answers to them."""
    lines = [line.strip().split(",") for line in small(80)[1:]]
    rows = [{"a": float(a), "b": float(b), "y": y} for a, b, y in lines]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(tmp_path, "--target", "y", "--out", tmp_path / "out.jsonl", source="in.jsonl", model="m")
    return pl.DataFrame(rows), answers(tmp_path / "out.jsonl")


@pytest.mark.parametrize("name", ["in.parquet", "in.arrow"])
def test_parquet_and_arrow_are_read_and_continued(tmp_path, expected, name):
    table, wanted = expected
    write = pl.DataFrame.write_parquet if name.endswith("parquet") else pl.DataFrame.write_ipc
    write(table, tmp_path / name)
    options = ("--target", "y", "--out", tmp_path / "got.jsonl")
    run(tmp_path, *options, source=name)
    assert answers(tmp_path / "got.jsonl") == wanted
    said = run(tmp_path, *options, source=name).stderr.decode()
    assert "going on after line 80" in said
    assert mx.load(tmp_path / "model").counts["learned"] == 80


@pytest.mark.parametrize("name", ["out.parquet", "out.arrow"])
def test_answers_become_a_table(tmp_path, expected, name):
    _, wanted = expected
    run(tmp_path, "--target", "y", "--out", tmp_path / name, source="in.jsonl")
    read = pl.read_parquet if name.endswith("parquet") else pl.read_ipc
    table = read(tmp_path / name)
    assert table["line"].to_list() == list(range(1, 81))
    for label in ("up", "down"):
        assert table[f"p.{label}"].to_list() == [p.get(label) for p in wanted]


@pytest.mark.parametrize(
    ("mark", "said"), [(";", b"a semicolon"), ("\t", b"a tab"), (",", None)], ids=["; ", "tab", ","]
)
def test_separators_are_recognised_and_said(tmp_path, expected, mark, said):
    table, wanted = expected
    (tmp_path / "in.csv").write_text(table.write_csv(separator=mark))
    options = ("--target", "y", "--out", tmp_path / "got.jsonl")
    done = run(tmp_path, *options, source="in.csv").stderr
    assert (b"the separator is" in done) == (said is not None)
    assert said is None or said in done
    assert answers(tmp_path / "got.jsonl") == wanted


def test_a_comma_within_a_name_is_no_separator(tmp_path):
    (tmp_path / "in.csv").write_text('"a, b";y\n1;up\n2;down\n')
    run(tmp_path, "--target", "y", source="in.csv")
    assert list(mx.load(tmp_path / "model").columns) == ["a, b"]


def test_zstd_is_unpacked_and_damage_is_said(tmp_path, expected):
    zstandard = pytest.importorskip("zstandard", reason='pip install "mixable[cli]"')
    _, wanted = expected
    text = (tmp_path / "in.jsonl").read_bytes()
    packed = zstandard.compress(text[:900]) + zstandard.compress(text[900:])  # two frames
    (tmp_path / "in.jsonl.zst").write_bytes(packed)
    options = ("--target", "y", "--out", tmp_path / "got.jsonl")
    run(tmp_path, *options, source="in.jsonl.zst")
    assert answers(tmp_path / "got.jsonl") == wanted
    (tmp_path / "cut.jsonl.zst").write_bytes(zstandard.compress(text)[:-20])
    done = run(tmp_path, *options, source="cut.jsonl.zst", model="cut", status=2).stderr
    assert b"the zstd data" in done


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'[{"a": 1, "y": "up"}]\n', b"an array of JSON"),
        (b"[\n  {\n", b"an array of JSON"),
        ("a,y\n1,up\n".encode("utf-16"), b"UTF-16"),
        (b"PAR1 and more", b"it is Parquet, which a pipe cannot bring"),
        (b"a,y\xff\n1,up\n", b"not UTF-8"),
    ],
)
def test_inputs_that_cannot_be_read_are_told_by_name(tmp_path, data, reason):
    assert reason in run(tmp_path, "--target", "y", data=data, status=2).stderr


def test_many_labels_that_are_numbers_ask_for_regression(tmp_path):
    asked, declared = [], ("--classes", ",".join(map(str, range(30))))
    for n, word, more in (
        (120, "", ()),
        (30, "", ()),
        (20, "", ()),
        (30, "", declared),
        (30, "w", ()),
    ):
        lines = "".join(f"{t % 7},{word}{t}\n" for t in range(n))
        (tmp_path / "in.csv").write_text(f"a,y\n{lines}")
        more = ("--linear", *more)
        done = run(tmp_path, "--target", "y", *more, source="in.csv", model=f"m{len(asked)}").stderr
        asked.append(b"regression? --regression" in done)
        assert (b"outcomes that are numbers need --regression" in done) == (n == 120)
    assert asked == [True, True, False, False, False]
