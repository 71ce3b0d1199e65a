"""Streams of records: text, categories and times as they stand in CSV and JSON lines."""

import csv
import gzip
import json
import random
import signal
import subprocess

import numpy as np
import pytest
from kill_stream import FILES, command, kill_and_resume, write_records
from stream_command import GAF, balanced, counts, rejects, run

import mixable as mx

HEADER = "id,user,price,query,y\n"


def shop(n=80, seed=0):
    """Events of a shop: (id, user, price, query, y)."""
    rng = np.random.default_rng(seed)
    for t in range(n):
        user = int(rng.integers(6))
        price = "" if rng.random() < 0.1 else f"{rng.exponential():.2f}"
        query = " ".join(rng.choice(["red", "blue", "shoes", "hats"], 3).tolist())
        yield t, f"u{user}", price, f'"{query}, please"', "yes" if user < 3 else "no"


def written(rows):
    return HEADER + "".join(",".join(map(str, row)) + "\n" for row in rows)


def test_a_file_with_words_needs_no_option(tmp_path):
    (tmp_path / "in.csv").write_text(written(shop()))
    arguments = ("--target", "y", "--classes", "yes,no", "--out", tmp_path / "out.csv")
    done = run(tmp_path, *arguments, source="in.csv")
    said = done.stderr.decode()
    assert ", worst class 'yes' (forecast 0." in said or ", worst class 'no' (forecast 0." in said
    assert "id (category), user (category), price (number), query (text)" in said
    model = mx.load(tmp_path / "model")
    assert model.counts["learned"] == model.counts["predicted"] == 80
    assert model.scores.log_loss < 0.6
    p = model.predict_proba_one({"user": "u1", "price": 0.5})
    assert p["yes"] > 0.5 > p["no"]
    again = run(tmp_path, "--target", "y", "--out", tmp_path / "out.csv", source="in.csv")
    assert b"events are records" not in again.stderr


def test_json_records_learn_the_same_and_bring_columns_on_the_way(tmp_path):
    rows = list(shop())
    names = HEADER.strip().split(",")
    events = [dict(zip(names, row, strict=True)) for row in rows]
    for t, event in enumerate(events):
        event["query"] = event["query"].strip('"')
        event["price"] = float(event["price"]) if event["price"] else None
        if t > 30:
            event.update(new=t % 7, tags=["a", "b"][: t % 3], is_good=t % 2 == 0)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    run(tmp_path, "--target", "y", "--out", tmp_path / "out.csv", source="in.jsonl")
    kinds = mx.load(tmp_path / "model").encoder.kinds
    assert {name: kinds[name] for name in ("new", "tags", "is_good", "price")} == {
        "new": "number",
        "tags": "tags",
        "is_good": "category",
        "price": "number",
    }
    assert counts(tmp_path)["learned"] == 80


def test_numbers_alone_are_as_before_and_another_forecaster_takes_numbers_only(tmp_path):
    (tmp_path / "in.csv").write_text("a,b,y\n1,2,up\n2,,down\n3,nan,up\n")
    run(tmp_path, "--target", "y", "--out", tmp_path / "out.csv", source="in.csv")
    assert mx.load(tmp_path / "model").encoder is None
    # An empty cell says nothing of what its column will have.
    (tmp_path / "in.csv").write_text("a,b,y\n1,,up\n2,x,down\n3,y,up\n")
    run(tmp_path, "--target", "y", "--out", tmp_path / "out.csv", source="in.csv", model="words")
    words = mx.load(tmp_path / "words")
    assert words.encoder.kinds == {"a": "number", "b": "category"}
    assert words.counts["learned"] == 3
    (tmp_path / "in.csv").write_text("a,b,y\n1,x,up\n")
    arguments = ("--target", "y", "--out", tmp_path / "out.csv", *GAF)
    run(tmp_path, *arguments, source="in.csv", model="gaf", status=1)
    said = run(tmp_path, *arguments, "--text", "b", source="in.csv", model="other", status=2)
    assert b"without another forecaster" in b" ".join(said.stderr.split())


def test_columns_are_declared_and_a_model_goes_on_only_with_the_same(tmp_path):
    (tmp_path / "in.csv").write_text(written(shop()))
    arguments = ("--target", "y", "--out", tmp_path / "out.csv")
    declared = ("--category", "price", "--ignore", "id,query", "--cross", "user*price")
    run(tmp_path, *arguments, *declared, source="in.csv")
    model = mx.load(tmp_path / "model")
    assert model.encoder.kinds == {
        "id": "ignore",
        "user": "category",
        "price": "category",
        "query": "ignore",
    }
    assert model.feature_names == ["user", "price"]
    run(tmp_path, *arguments, *declared, source="in.csv")
    said = run(tmp_path, *arguments, "--text", "user", source="in.csv", status=2).stderr
    assert b"--category price --ignore id,query --cross user*price" in b" ".join(said.split())
    said = run(tmp_path, *arguments, "--text", "a", "--tags", "a", source="in.csv", status=2).stderr
    assert b"'a' is both text and tags" in said
    run(tmp_path, *arguments, "--cross", "user", source="in.csv", status=2)


def test_features_that_are_named_are_the_only_ones(tmp_path):
    (tmp_path / "in.csv").write_text(written(shop()))
    arguments = ("--target", "y", "--out", tmp_path / "out.csv", "--features", "user,price")
    run(tmp_path, *arguments, source="in.csv")
    model = mx.load(tmp_path / "model")
    assert list(model.encoder.kinds) == ["user", "price"]
    assert model.predict_proba_one({"user": "u1", "other": "x"}) == model.predict_proba_one(
        {"user": "u1"}
    )
    lines = [json.dumps({"user": "u1", "price": 2, "z": "z", "y": "no"})] * 3
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    run(tmp_path, *arguments, source="in.jsonl")
    assert list(mx.load(tmp_path / "model").encoder.kinds) == ["user", "price"]


def test_late_labels_are_learned_with_the_record_of_that_time(tmp_path):
    rows = list(shop(60))
    arguments = ("--target", "y", "--id", "id", "--out", tmp_path / "out.csv")
    direct = [(*row[:4], "yes" if t < 2 else row[4]) for t, row in enumerate(rows)]
    (tmp_path / "in.csv").write_text(written([*direct[:40], (*rows[40][:4], "no"), rows[41]]))
    run(tmp_path, *arguments, source="in.csv", model="direct")
    late = [(*rows[40][:4], ""), (40, "", "", "", "no"), rows[41]]
    (tmp_path / "in.csv").write_text(written([*direct[:40], *late[:1]]))
    run(tmp_path, *arguments, source="in.csv")
    (kept,) = (each.kept for each in mx.load(tmp_path / "model").waiting.values())
    assert kept.record["query"] == rows[40][3].strip('"')
    (tmp_path / "in.csv").write_text(written([*direct[:40], *late]))
    run(tmp_path, *arguments, source="in.csv")
    got, wanted = (mx.load(tmp_path / name) for name in ("model", "direct"))
    assert got.counts["late"] == 1
    assert got.counts["learned"] == wanted.counts["learned"] == 42
    record = {"user": "u1", "price": 1.0, "query": "red hats"}
    assert got.predict_proba_one(record) == wanted.predict_proba_one(record)


def test_no_learn_leaves_the_model_alone_and_gives_the_forecasts_of_the_model(tmp_path):
    (tmp_path / "in.csv").write_text(written(shop()))
    run(tmp_path, "--target", "y", "--out", tmp_path / "out.csv", source="in.csv")
    before = (tmp_path / "model").read_bytes()
    out = tmp_path / "served.csv"
    run(tmp_path, "--no-learn", "--target", "y", "--out", out, source="in.csv")
    assert (tmp_path / "model").read_bytes() == before
    with open(out, newline="") as file:
        answers = list(csv.DictReader(file))
    model = mx.load(tmp_path / "model")
    row = next(shop())
    record = {"id": "0", "user": row[1], "price": row[2], "query": row[3].strip('"')}
    assert float(answers[0]["yes"]) == model.predict_proba_one(record)["yes"]


def test_bad_lines_are_rejected_with_their_reason(tmp_path):
    bad = [b"1,u1,2,x", b"1,u1,\xff,x,yes", b"1,u1,2\0,x,yes", b'1,u"1,2,x,yes', b"1,u1,inf,x,yes"]
    lines = [row.encode() + b"\n" for row in written(shop()).splitlines()]
    for place, line in enumerate(bad):
        lines.insert(10 * place + 5, line + b"\n")
    (tmp_path / "in.csv").write_bytes(b"".join(lines))
    arguments = ("--target", "y", "--out", tmp_path / "out.csv", "--rejects", tmp_path / "rejects")
    run(tmp_path, *arguments, source="in.csv")
    balanced(tmp_path, 85)
    assert [(each["line"], each["reason"]) for each in rejects(tmp_path)] == [
        (6, "4 fields, and the header has 5"),
        (16, "not UTF-8"),
        (26, "a NUL byte"),
        (36, "a quote inside a field that does not begin with one"),
        (46, "column 'price' is 'inf'; numbers must be finite"),
    ]
    strict = ("--target", "y", "--out", tmp_path / "strict.csv", "--strict")
    for line in (6, 6):
        said = run(tmp_path, *strict, source="in.csv", model="strict", status=2).stderr
        assert f"line {line}: 4 fields".encode() in said
    assert counts(tmp_path, "strict")["events"] == 4


def odd_values(random_):
    return random_.choice(
        [
            "ünïcödé \U0001f600",
            "\ud800 half",
            "x" * 10**6,
            "\x00\x1b[31m\x7f",
            "12.5",
            "1e999",
            "inf",
            "nan",
            "",
            "2024-02-30T25:00",
            "2024-02-29T23:59:60Z",
            10**400,
            -0.0,
            float("nan"),
            float("inf"),
            True,
            None,
            [],
            ["a", None, 3],
            [["a"]],
            {"b": 1},
            ["t"] * 1001,
            1e308,
            -1e-320,
            0,
            "0" * 400,
        ]
    )


@pytest.mark.parametrize("seed", [0, 1])
def test_odd_records_are_predicted_or_rejected_with_a_reason(seed, tmp_path):
    random_ = random.Random(seed)
    names = ["a", "b", "c", "at", "user_id", "\x1b", "ü", "n" * 1500]
    with open(tmp_path / "in.jsonl", "w") as file:
        for t in range(120):
            keys = random_.sample(names, random_.randrange(len(names)))
            event = {key: odd_values(random_) for key in keys}
            event.update(id=random_.randrange(40))
            if t % 3:
                event["y"] = random_.choice(["up", "down"])
            file.write(json.dumps(event) + "\n")
    arguments = ("--target", "y", "--out", tmp_path / "out.csv", "--rejects", tmp_path / "rejects")
    arguments += ("--id", "id", "--forecaster", "auto", "--time", "at")
    run(tmp_path, *arguments, source="in.jsonl")
    got = counts(tmp_path)
    assert got["events"] == got["predicted"] + got["rejected"]
    assert got["events"] + got["late"] == 120
    assert got["predicted"] > 10 < got["rejected"] == len(rejects(tmp_path))
    assert all(each["reason"] for each in rejects(tmp_path))


def test_a_stream_of_records_that_is_killed_resumes_to_the_same_bytes(tmp_path):
    write_records(tmp_path / "in.csv", 500)
    more = ("--every", 60, "--forecaster", "auto")
    (alone := tmp_path / "alone").mkdir()
    subprocess.run(command(alone, tmp_path / "in.csv", *more), check=True, capture_output=True)
    (killed := tmp_path / "killed").mkdir()
    rng = np.random.default_rng(0)
    kill_and_resume(killed, tmp_path / "in.csv", 3, signal.SIGKILL, rng, *more)
    (packed := tmp_path / "packed").mkdir()
    (tmp_path / "in.gz").write_bytes(gzip.compress((tmp_path / "in.csv").read_bytes()))
    more = ("--every", 17, "--forecaster", "auto")
    subprocess.run(command(packed, tmp_path / "in.gz", *more), check=True, capture_output=True)
    for folder in (killed, packed):
        for file in FILES:
            same = (folder / file).read_bytes() == (alone / file).read_bytes()
            assert same, f"{file} in {folder.name} differs"
    assert mx.load(alone / "model").encoder.kinds["query"] == "text"
    assert counts(alone)["late"] > 10


def test_numbers_of_which_some_are_marked_as_missing_are_numbers(tmp_path):
    """As in a race: a file with ? and NA is read as with empty fields."""
    rows = [f"{t % 5},{-t},{'xy'[t % 2]}\n" for t in range(20)]
    rows[3], rows[7] = "{0},-3,y\n", "{1},-7,y\n"
    outputs = []
    for one, other in (("?", "NA"), ("", "")):
        text = "a,b,label\n" + "".join(rows)
        (tmp_path / "in.csv").write_text(text.format(one, other))
        options = ("--target", "label", "--out", tmp_path / f"out{one}")
        run(tmp_path, *options, source="in.csv", model=f"model{one}")
        assert mx.load(tmp_path / f"model{one}").encoder is None
        outputs.append((tmp_path / f"out{one}").read_bytes())
    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) > 20
