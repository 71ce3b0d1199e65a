"""`mixable stream` as a user meets it: the real command in real pipes, killed, fed with rubbish, in
a terminal.
"""

import contextlib
import csv
import gzip
import io
import itertools
import json
import os
import pty
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time
import zlib
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kill_stream import FILES, MIXABLE, command, kill_and_resume, write_events
from typer.testing import CliRunner

import mixable as mx
from mixable.cli.app import app
from mixable.learner import Design
from mixable.streaming import StreamModel
from mixable.streaming.lines import LONGEST

GAF = ("--forecaster", "gaf", "--lam", "0.1", "--beta", "1")


class Done(NamedTuple):
    stdout: bytes
    stderr: bytes


def run(folder, *arguments, source=None, data=None, status=0, model="model", **options):
    """Run the command with a model in `folder`: on bytes from a pipe in a process of its own, on a
    file in this one, which is quicker.
    """
    paths = () if source is None else (folder / source,)
    words = [str(word) for word in ("stream", "--model", folder / model, *arguments, *paths)]
    if data is None and not options:
        result = CliRunner().invoke(app, words)
        got, done = result.exit_code, Done(b"", result.stderr.encode())
        assert result.exception is None or isinstance(result.exception, SystemExit), (
            result.exception
        )
    else:
        process = subprocess.run([MIXABLE, *words], input=data, capture_output=True, **options)
        got, done = process.returncode, Done(process.stdout, process.stderr)
    assert got == status, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done


@contextlib.contextmanager
def piped(words, **options):
    """The command in a pipe, to be written to bit by bit; what it says on standard error can be
    read.
    """
    options = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "bufsize": 0,
        **options,
    }
    with subprocess.Popen([str(word) for word in words], **options) as process:
        yield process


def appeared(path):
    """Wait until a file is there."""
    limit = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < limit
        time.sleep(0.02)


def counts(folder, model="model"):
    return mx.load(folder / model).counts


def rejects(folder):
    return [json.loads(line) for line in (folder / "rejects").read_text().splitlines()]


def balanced(folder, events):
    """Nothing is lost: all events were predicted or rejected, and each has its line in the answers
    or the rejects.
    """
    got = counts(folder)
    with open(folder / "out.csv", newline="") as file:
        answers = [row for row in csv.reader(file) if row[0].isdigit()]
    assert got["events"] == events == got["predicted"] + got["rejected"]
    assert got["predicted"] == len(answers)
    assert got["rejected"] == len(rejects(folder))
    return got


def small(n=60, seed=0):
    """Lines of a stream of two features and two classes, the header first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)).round(3)
    return [
        "a,b,y\n",
        *(f"{x[0]},{x[1]},{'up' if x.sum() + rng.normal() > 0 else 'down'}\n" for x in X),
    ]


beside_the_one_alone = pytest.mark.xdist_group("alone")  # so that it is run once


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A run that nobody has disturbed, and its input."""
    folder = tmp_path_factory.mktemp("alone")
    write_events(folder / "in.csv", 4000)
    subprocess.run(
        command(folder, folder / "in.csv", "--every", 300, *GAF), check=True, capture_output=True
    )
    return folder


def same(folder, alone):
    for name in FILES:
        assert (folder / name).read_bytes() == (alone / name).read_bytes(), name


@pytest.mark.parametrize("how", ["KILL", "TERM"])
@beside_the_one_alone
def test_ended_at_random_moments_and_resumed_the_bytes_are_the_same(alone, tmp_path, how):
    hit = kill_and_resume(
        tmp_path,
        alone / "in.csv",
        4,
        getattr(signal, f"SIG{how}"),
        np.random.default_rng(),
        "--every",
        300,
        "--seconds",
        0.05,
        *GAF,
    )
    assert hit
    same(tmp_path, alone)
    assert sorted(os.listdir(tmp_path)) == sorted(FILES)  # no locks, no parts


@beside_the_one_alone
def test_a_pipe_in_dribs_gzip_and_small_checkpoints_give_the_same_bytes(alone, tmp_path):
    (packed := tmp_path / "packed").mkdir()
    data = (alone / "in.csv").read_bytes()
    (tmp_path / "in.gz").write_bytes(
        gzip.compress(data[:50_000]) + gzip.compress(data[50_000:]) + bytes(512)
    )
    subprocess.run(
        command(packed, tmp_path / "in.gz", "--every", 17, *GAF), check=True, capture_output=True
    )
    same(packed, alone)

    (dribs := tmp_path / "dribs").mkdir()
    rng, at = np.random.default_rng(0), 0
    with piped(
        command(dribs, "x", "--every", 1000, *GAF)[:-1], stderr=subprocess.DEVNULL
    ) as process:
        while at < len(data):
            step = int(rng.choice([1, 7, 100, 3000, 40_000]))
            process.stdin.write(data[at : at + step])
            at += step
            time.sleep(0.001)
        process.stdin.close()
        assert process.wait() == 0
    same(dribs, alone)


def test_the_mixture_resumes_to_the_same_bytes_in_the_midst_of_growing(tmp_path):
    """JSON lines with new classes and features on the way, in a file that grows between runs."""
    rng = np.random.default_rng(1)
    lines = []
    for t in range(180):
        names = "abcd"[: 2 + (t > 60) + (t > 120)]
        x = dict(zip(names, rng.normal(size=len(names)).tolist(), strict=True))
        lines.append(
            json.dumps({**x, "y": ["no", "yes", 3][int(rng.integers(2 + (t > 100)))]}) + "\n"
        )
    (tmp_path / "in.jsonl").write_text("".join(lines))
    run(tmp_path, "--target", "y", "--out", tmp_path / "out.csv", source="in.jsonl", model="whole")
    whole = (tmp_path / "out.csv").read_bytes()
    for cut in (30, 61, 102, 180):
        (tmp_path / "in.jsonl").write_text("".join(lines[:cut]))
        run(
            tmp_path,
            "--target",
            "y",
            "--out",
            tmp_path / "pieces.csv",
            source="in.jsonl",
            model="pieces",
        )
    assert (tmp_path / "pieces.csv").read_bytes() == whole
    assert (tmp_path / "pieces").read_bytes() == (tmp_path / "whole").read_bytes()
    model = mx.load(tmp_path / "whole")
    assert (list(model.columns), sorted(model.learner.labels)) == (["a", "b", "c", "d"], ["3", "no", "yes"])


@pytest.mark.parametrize(("d", "K"), [(18, 4), (700, 3)])
def test_bits_do_not_depend_on_how_rows_are_spread_over_calls(d, K):
    """Also where BLAS does the products, whose bits in `run` do depend on it; and they are those of
    predict and learn.
    """
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, d)), rng.integers(-1, K, 90)
    design = Design.for_classes(mx.GAF, {})
    outcomes = []
    for cuts in ([0, 90], [0, 1, 8, 50, 51, 90], list(range(91))):
        f, scaler = design.forecaster(d, K), design.inputs(d).scaler
        parts = [f._core.follow(scaler, X[i:j], y[i:j]) for i, j in itertools.pairwise(cuts)]
        assert [part[1:] for part in parts] == [(j - i, None) for i, j in itertools.pairwise(cuts)]
        outcomes.append((np.concatenate([part[0] for part in parts]).tobytes(), f.coef.tobytes()))
    f, scaler, P = design.forecaster(d, K), design.inputs(d).scaler, []
    for x, label in zip(X, y, strict=True):
        z = scaler.transform(x)
        P.append(f.predict(z))
        if label >= 0:
            f.learn(z, label)
            scaler.learn(x)
    outcomes.append((np.array(P).tobytes(), f.coef.tobytes()))
    assert len(set(outcomes)) == 1


TEXTS = st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), min_size=1)


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False), TEXTS, TEXTS, st.floats(-1e3, 1e3)
        ),
        max_size=5,
    ),
    st.booleans(),
)
def test_what_pythons_csv_writes_is_read_to_the_bit(rows, quote_all):
    file = io.StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL).writerows(rows)
    block = file.getvalue().encode()
    X, labels, ids, _, lines, bad, end, count = mx._core.CsvParser(
        [0, -2, -3, 1], list("abcd")
    ).parse(block, 0, len(block), 100, 1000)
    assert X.tolist() == [[row[0], row[3]] for row in rows]
    assert (labels, ids) == ([row[1] for row in rows], [row[2] for row in rows])
    assert (lines.tolist(), bad, end, count) == (list(range(len(rows))), [], len(block), len(rows))
    written = mx._core.format_rows(X, [b""] * len(rows), ["", ","], "\n").decode()
    assert [
        [float(value) for value in line.split(",")] for line in written.splitlines()
    ] == X.tolist()


LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"1e{LARGEST}", None),
        (f"-1E+{LARGEST}", None),
        (f"0.001e{LARGEST}", None),
        (f"1e{LARGEST + 1}", None),
        (f"0e{LARGEST}", 0.0),
        (f"1e-{LARGEST}", 0.0),
        (f"100e-{LARGEST + 1}", 0.0),
        (f"1e-{LARGEST + 2}", 0.0),
        (f"0.{'0' * 400}1e900", None),
        (f"0.{'0' * 400}1e350", 1e-51),
        (f"1{'0' * 400}e-900", 0.0),
        (f"1{'0' * 400}e-350", 1e50),
    ],
    ids=lambda value: str(value)[:30],
)
def test_exponents_of_any_size_are_read_or_refused_as_infinite(text, value):
    X, _, _, _, _, bad, _, _ = mx._core.CsvParser([0], ["a"]).parse(
        text.encode(), 0, len(text), 1, 0
    )
    if value is None:
        assert len(X) == 0
        assert bad[0][2].startswith("column 'a' is infinite: '" + text[:80])
    else:
        assert bad == []
        assert X.tolist() == [[value]]


def test_what_is_too_large_is_refused_and_nothing_of_it_learned():
    f = mx.GAF(2, 2, lam=1e-14)
    scaler = mx._core.Scaler(2, False, False, 1)
    _, done, reason = f._core.follow(
        scaler, np.array([[1.0, 1.0], [1e9, 0.0], [1.0, 1.0]]), np.array([0, 1, 0])
    )
    assert (done, f.steps) == (1, 1)
    assert "too large" in reason


def test_answers_come_at_once_in_a_slow_pipe(tmp_path):
    header, *lines = small(12)
    times = []
    with piped(
        [MIXABLE, "stream", "--model", tmp_path / "model", "--target", "y", "--classes", "up,down"]
    ) as process:
        process.stdin.write(header.encode())
        for number, line in enumerate(lines):
            time.sleep(0.1)
            begin = time.monotonic()
            process.stdin.write(line[:5].encode())
            process.stdin.write(line[5:].encode())
            if number == 0:
                assert process.stdout.readline() == b"line,up,down\n"
            answer = process.stdout.readline().decode().split(",")
            times.append(time.monotonic() - begin)
            assert int(answer[0]) == number + 2
            assert abs(float(answer[1]) + float(answer[2]) - 1) < 1e-12
        process.stdin.close()
        assert process.wait() == 0
    assert statistics.median(times[1:]) < 0.05  # the first waits for the start of Python


def test_sigterm_in_an_idle_pipe_checkpoints_and_exits_0(tmp_path):
    for number, how in enumerate((signal.SIGTERM, signal.SIGINT), start=1):
        with piped(
            [MIXABLE, "stream", "--model", tmp_path / "model", "--target", "y", "--seconds", "0.3"]
        ) as process:
            process.stdin.write("".join(small(5)).encode())
            assert any(line.startswith(b"6,") for line in process.stdout)
            if number == 1:  # --seconds: a checkpoint though nothing more comes
                appeared(tmp_path / "model")
                assert counts(tmp_path)["events"] == 5
            process.send_signal(how)
            said = process.stderr.read().decode()
            assert process.wait() == 0
        assert f"{5 * number} events: {5 * number} predicted, 0 rejected" in said
        assert ("the checkpoint has seen 5 events" in said) == (number == 2)
        assert counts(tmp_path)["events"] == 5 * number


def test_the_model_file_predicts_from_dictionaries_and_agrees_with_river(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small()))
    run(tmp_path, "--target", "y", source="in.csv")
    model = mx.load(tmp_path / "model")
    assert (model.counts["learned"], model.scores.n, list(model.columns)) == (60, 60, ["a", "b"])
    twin = mx.river.GAFClassifier()
    for line in small()[1:]:
        a, b, label = line.strip().split(",")
        twin.learn_one({"a": float(a), "b": float(b)}, label)
    assert model.predict_proba_one({"b": 0.5}) == twin.predict_proba_one({"b": 0.5})
    model.learn_one({"a": 1.0, "c": 2.0}, "sideways")
    assert set(model.predict_proba_one({})) == {"up", "down", "sideways"}


def test_events_without_label_are_only_predicted_and_late_labels_are_learned(tmp_path):
    lines = ["id,a,b,y\n"]
    expected = StreamModel(Design.for_classes(mx.GAF, {"lam": 0.1, "beta": 1.0}))
    for t, line in enumerate(small(40)[1:]):
        a, b, _ = line.strip().split(",")
        lines.append(f"{t},{a},{b},\n")
        if t >= 5:
            old = small(40)[t - 4].strip().split(",")
            lines.append(f"{t - 5},,,{old[2]}\n")
            expected.learn_one({"a": float(old[0]), "b": float(old[1])}, old[2])
    (tmp_path / "in").write_text("".join(lines))
    run(tmp_path, "--target", "y", "--id", "id", "--out", tmp_path / "out.csv", *GAF, source="in")
    model = mx.load(tmp_path / "model")
    assert model.counts == {
        "events": 40,
        "predicted": 40,
        "rejected": 0,
        "learned": 35,
        "late": 35,
        "forgotten": 0,
    }
    assert list(model.waiting) == ["35", "36", "37", "38", "39"]
    assert model.scores.n == 35
    assert model.predict_proba_one({"a": 0.3}) == expected.predict_proba_one({"a": 0.3})
    run(
        tmp_path, "--target", "y", "--id", "id", "--remember", "3", *GAF, source="in", model="short"
    )
    short = counts(tmp_path, "short")
    # nothing tells a label whose event is forgotten from an event whose values are all missing
    assert (short["late"], short["forgotten"], short["events"], short["rejected"]) == (0, 37, 75, 0)


def as_csv(events, path):
    path.write_text(
        "id,a,b,y\n"
        + "".join(
            f"{i},{'' if a is None else a},{'' if b is None else b},{y}\n" for i, a, b, y in events
        )
    )


def as_json(events, path):
    path.write_text(
        "".join(json.dumps({"id": i, "a": a, "b": b, "y": y}) + "\n" for i, a, b, y in events)
    )


@pytest.mark.parametrize("write", [as_csv, as_json])
def test_an_event_whose_values_are_all_missing_is_an_event(tmp_path, write):
    """It was taken for a late label, and refused: 7,453 of 50,000 events."""
    rng = np.random.default_rng(0)
    events, expected = [], StreamModel(Design.for_classes(mx.GAF, {"lam": 0.1, "beta": 1.0}))
    for t in range(300):
        a, b = rng.normal(size=2).round(3).tolist() if rng.random() < 0.8 else (None, None)
        label = "up" if (a or 0) + (b or 0) + rng.normal() > 0 else "down"
        events.append((t, a, b, label))
        expected.learn_one({"a": a, "b": b}, label)
    write(events, tmp_path / "in")
    arguments = (
        "--target",
        "y",
        "--id",
        "id",
        "--out",
        tmp_path / "out.csv",
        "--rejects",
        tmp_path / "rejects",
    )
    run(tmp_path, *arguments, *GAF, source="in")
    assert balanced(tmp_path, 300) == dict(
        events=300, predicted=300, rejected=0, learned=300, late=0, forgotten=0
    )
    assert mx.load(tmp_path / "model").predict_proba_one({"a": 0.3}) == expected.predict_proba_one(
        {"a": 0.3}
    )


@pytest.mark.parametrize("write", [as_csv, as_json])
def test_an_identifier_that_waits_makes_a_line_without_values_a_late_label(tmp_path, write):
    """As it is when the line comes: 1 has its label, 2 is forgotten, 3 waits; lines with values are
    events whoever waits.
    """
    events = [
        (1, 1.5, 2.5, ""),
        (2, 1.0, -1.0, ""),
        (1, None, None, "up"),
        (3, 0.5, 1.0, ""),
        (4, 2.0, 1.0, ""),
        (1, None, None, "up"),
    ]
    events += [
        (2, None, None, "down"),
        (3, None, None, "down"),
        (4, 1.0, 1.0, "new"),
        (4, None, None, "up"),
        (5, None, None, ""),
    ]
    events += [(5, None, None, "up")]
    write(events, tmp_path / "in")
    arguments = (
        "--target",
        "y",
        "--id",
        "id",
        "--out",
        tmp_path / "out.csv",
        "--remember",
        2,
        *GAF,
    )
    run(tmp_path, *arguments, source="in")
    assert counts(tmp_path) == {
        "events": 9,
        "predicted": 9,
        "rejected": 0,
        "learned": 7,
        "late": 3,
        "forgotten": 2,
    }
    answered = [
        line.split(",")[0]
        for line in (tmp_path / "out.csv").read_text().splitlines()
        if line[0].isdigit()
    ]
    assert answered == ["1", "2", "3", "4", "1", "2", "4", "4", "5"]
    run(tmp_path, *arguments, "--every", 1, source="in", model="slow")  # each line is a batch
    assert (tmp_path / "slow").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize(
    "data",
    [
        b'{"id": 1, "a": 1}\n{"id": 9, "y": "up"}\n{"id": 1, "y": "up"}\n{"a": 2, "y": "up"}\n',
        b'{"id": 1, "a": 1}\n{"id": 9, "day": 3, "y": "up"}\n{"id": 1, "day": 3, "y": "up"}\n{"a": '
        b'2, "y": "up"}\n',
    ],
    ids=["keys that are not there", "keys that are no features"],
)
def test_a_label_without_features_whose_event_is_not_remembered_is_refused(tmp_path, data):
    arguments = (
        "--target",
        "y",
        "--id",
        "id",
        "--rejects",
        tmp_path / "rejects",
        "--features",
        "a",
        *GAF,
    )
    (tmp_path / "in").write_bytes(data)
    run(tmp_path, *arguments, source="in")
    assert counts(tmp_path) == {
        "events": 3,
        "predicted": 2,
        "rejected": 1,
        "learned": 2,
        "late": 1,
        "forgotten": 0,
    }
    assert [(entry["line"], entry["reason"]) for entry in rejects(tmp_path)] == [
        (2, "a label for '9', which is not remembered")
    ]


def test_a_file_of_labels_alone_brings_late_labels(tmp_path):
    (tmp_path / "events").write_text("id,a,y\n1,0.5,\n2,1.5,\n3,1,up\n")
    (tmp_path / "labels").write_text("y,id\nup,1\nup,9\ndown,2\n")
    run(tmp_path, "--target", "y", "--id", "id", source="events")
    said = run(tmp_path, "--target", "y", "--id", "id", source="labels").stderr.decode()
    assert counts(tmp_path) == {
        "events": 4,
        "predicted": 3,
        "rejected": 1,
        "learned": 3,
        "late": 2,
        "forgotten": 0,
    }
    assert "1 rejected (the first at line 3: a label for '9', which is not remembered)" in said


def test_no_learn_serves_and_leaves_the_model_alone(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small()))
    run(tmp_path, "--target", "y", source="in.csv")
    before = (tmp_path / "model").read_bytes()
    served = (
        run(tmp_path, "--no-learn", data=b'{"a": 1, "b": 0.5}\n{"b": -2, "strange": "column"}\n')
        .stdout.decode()
        .splitlines()
    )
    model = mx.load(tmp_path / "model")
    assert [json.loads(line)["p"] for line in served] == [
        model.predict_proba_one({"a": 1.0, "b": 0.5}),
        model.predict_proba_one({"b": -2.0}),
    ]
    scored = run(
        tmp_path,
        "--no-learn",
        "--target",
        "y",
        "--id",
        "n",
        data=b"n,a,b,y\n1,0,0,\n1,,,up\n2,1,1,never seen\n",
    )
    assert b"2 events: 2 predicted, 0 rejected, 0 learned, 1 late" in scored.stderr
    assert (tmp_path / "model").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["in.csv", "model"]
    run(tmp_path, "--no-learn", data=b"", model="missing", status=2)


def test_two_processes_cannot_learn_into_one_model_and_a_dead_ones_lock_is_taken_over(tmp_path):
    with piped([MIXABLE, "stream", "--model", tmp_path / "model", "--target", "y"]) as first:
        first.stdin.write("".join(small(3)).encode())
        first.stdout.readline()
        refused = run(tmp_path, "--target", "y", data=b"", status=2)
        assert f"in use by process {first.pid}".encode() in refused.stderr
        first.kill()
    taken = run(tmp_path, "--target", "y", data="".join(small(3)).encode())
    assert f"took over the lock of process {first.pid}".encode() in taken.stderr
    assert os.listdir(tmp_path) == ["model"]


BAD_LINES = [
    ("1,2", "2 fields, and the header has 3"),
    ("1,2,up,4", "4 fields, and the header has 3"),
    ("one,2,up", "column 'a' is not a number: 'one'"),
    ("1,0x10,up", "column 'b' is not a number: '0x10'"),
    ("1,1_000,up", "column 'b' is not a number: '1_000'"),
    ("1,inf,up", "column 'b' is infinite: 'inf'"),
    ("-1e999,2,up", "column 'a' is infinite: '-1e999'"),
    ("1,2,sideways", "no class is called 'sideways'"),
    ('1,"2,up', "a quote that is not closed on its line"),
    ('1,"2"x,up', "text after a closing quote"),
    ('1,2,u"p', "a quote inside a field that does not begin with one"),
    ("1,2\0,up", "a NUL byte"),
]
GOOD_LINES = ['"1"," 2 ","up"', "1e-999,+2,down", ",nan,up", "1,2,", " .5\t,-1E+3,up", "1,2,up\r"]


def test_bad_events_are_skipped_with_line_number_and_reason(tmp_path):
    lines = [
        line
        for pair in zip([bad for bad, _ in BAD_LINES], GOOD_LINES * 2, strict=True)
        for line in pair
    ]
    (tmp_path / "in").write_text("a,b,y\n" + "\n".join(lines), newline="")
    arguments = (
        "--target",
        "y",
        "--classes",
        "up,down",
        "--out",
        tmp_path / "out.csv",
        "--rejects",
        tmp_path / "rejects",
    )
    run(tmp_path, *arguments, source="in")
    assert balanced(tmp_path, 24)["learned"] == 10
    assert [(entry["line"], entry["reason"]) for entry in rejects(tmp_path)] == [
        (2 + 2 * i, reason) for i, (_, reason) in enumerate(BAD_LINES)
    ]
    assert rejects(tmp_path)[0]["text"] == "1,2"


JSON_LINES = [
    ("not json", "not JSON: Expecting value at character 1"),
    ("[1, 2]", "not a JSON object"),
    ('{"a": "x", "y": "up"}', "feature 'a' must be a number"),
    ('{"a": Infinity, "y": "up"}', "feature 'a' is inf"),
    ('{"a": 1' + "0" * 400 + ', "y": "up"}', "int too large"),
    ('{"a": 1, "a": 2}', "a name stands twice"),
    ('{"a": 1, "y": ["up"]}', "the label must be text or a number"),
    ('{"a": 1, "y": NaN}', "the label is nan"),
    ('{"a": 1, "y": "\\ud800"}', "not UTF-8"),
    ("[" * 100_000, "nested too deeply"),
    ("{" + ",".join(f'"f{i}": 1' for i in range(3000)) + "}", "more than 2000 features"),
]


def test_bad_json_lines(tmp_path):
    good = '{"a": 1.5, "b": null, "y": "up"}'
    (tmp_path / "in").write_text(
        "\n".join([good, *(line for bad, _ in JSON_LINES for line in (bad, good))])
    )
    arguments = ("--target", "y", "--out", tmp_path / "out.csv", "--rejects", tmp_path / "rejects")
    run(tmp_path, *arguments, source="in")
    balanced(tmp_path, 1 + 2 * len(JSON_LINES))
    assert list(mx.load(tmp_path / "model").columns) == ["a", "b"]
    for entry, (_, reason) in zip(rejects(tmp_path), JSON_LINES, strict=True):
        assert entry["reason"].startswith(reason)


def test_the_first_reason_stands_in_the_summary_and_nothing_but_bad_events_is_exit_code_1(tmp_path):
    arguments = ("--target", "y", "--classes", "up,down", "--id", "id")

    def summary(*lines, status, more=()):
        (tmp_path / "in").write_text("".join(line + "\n" for line in ("id,a,y", *lines)))
        done = run(
            tmp_path,
            *arguments,
            "--from-start",
            "--out",
            tmp_path / "out.csv",
            *more,
            source="in",
            status=status,
        )
        return done.stderr.decode().splitlines()[-1]

    first = "(the first at line 3: column 'a' is not a number: 'x')"
    assert f"3 events: 1 predicted, 2 rejected {first}, 1 learned; " in summary(
        "1,1,up", "2,x,up", "3", status=0
    )
    # No message of ours may steer a terminal.
    first = "(the first at line 2: column 'a' is not a number: '\\x1b[31mred\\x07')"
    assert f"5 events: 1 predicted, 4 rejected {first}, 1 learned; " in summary(
        "1,\x1b[31mred\x07,up", "2,[/b],up", status=1
    )
    assert "4 rejected, 1 learned" in summary("", status=0)  # no events: none of them was rejected
    assert "4 rejected, 1 learned" in summary("7,1,", status=0)
    first = "(the first at line 2: no class is called 'left')"
    assert f"5 rejected {first}" in summary(
        "8,1,left", "7,,up", status=0
    )  # a late label was of use
    assert "1 rejected (the first" in summary("8,1,left", status=1, more=("--no-learn",))
    assert len(summary(f"8,{'x' * 79},up", "8,1,up", status=0)) < 500


def test_a_stream_of_bad_events_that_is_told_to_stop_ends_in_peace(tmp_path):
    with piped(
        [MIXABLE, "stream", "--model", tmp_path / "model", "--target", "y", "--seconds", "0.1"]
    ) as process:
        process.stdin.write(b"a,y\nx,up\n")
        appeared(tmp_path / "model")
        process.terminate()
        assert b"1 rejected (the first at line 2: " in process.stderr.read()
        assert process.wait() == 0


def test_strict_stops_at_the_first_bad_event_and_goes_on_when_it_is_mended(tmp_path):
    header, *lines = small(30)
    (tmp_path / "in.csv").write_text("".join([header, *lines]))
    arguments = ("--target", "y", "--strict", "--out", tmp_path / "out.csv", *GAF)
    run(tmp_path, *arguments, source="in.csv", model="whole")
    whole = (tmp_path / "out.csv").read_bytes()
    for bad in ("1,2,up,4\n", "x,2,up\n"):
        (tmp_path / "in.csv").write_text("".join([header, *lines[:20], bad, *lines[21:]]))
        for _ in range(2):
            stopped = run(tmp_path, *arguments, source="in.csv", status=2)
            assert b"line 22: " in stopped.stderr
            assert counts(tmp_path)["events"] == 20
    (tmp_path / "in.csv").write_text("".join([header, *lines]))
    run(tmp_path, *arguments, source="in.csv")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (tmp_path / "out.csv").read_bytes() == whole


def fuzzed():
    """Name, bytes, and events in them (None: the header itself is unreadable)."""
    rng = np.random.default_rng(0)
    header, *lines = [line.encode() for line in small(200)]
    plain = header + b"".join(lines)

    def count(data):
        return sum(bool(line.rstrip(b"\r")) for line in data.split(b"\n")[1:])

    noise = rng.integers(0, 256, 20_000, dtype=np.uint8).tobytes()
    yield "random bytes", noise, None
    mixed = header + b"".join(lines[:50]) + noise + b"\n" + b"".join(lines[50:])
    yield "random bytes in the midst", mixed, count(mixed)
    flipped = bytearray(plain)
    for position in rng.integers(len(header), len(plain), 300):
        flipped[position] ^= 1 << int(rng.integers(8))
    yield "flipped bits", bytes(flipped), count(bytes(flipped))
    packed = gzip.compress(plain)
    yield "truncated gzip", packed[: len(packed) // 2], "cut"
    yield "damaged gzip", packed[: len(packed) // 2] + noise[:500], "cut"
    yield "gzip without its end", packed[:-4], 201
    encodings = (
        header
        + lines[0]
        + "1,2,größer\n".encode("latin-1")
        + "1,2,größer\n".encode()
        + "1,2,x\n".encode("utf-16")
        + lines[1]
    )
    yield "mixed encodings", encodings, count(encodings)
    long = (
        header
        + lines[0]
        + b"1,"
        + b"9" * 1_000_000
        + b",up\n"
        + b"," * 1_000_000
        + b"\n"
        + b"1,2,"
        + b"z" * 1_000_000
        + b"\n"
        + lines[1]
    )
    yield "lines of 1 MB", long, 5
    yield "a line without end", header + lines[0] + b"7" * (LONGEST + 300_000) + b"\n" + lines[1], 3
    zeros = header + lines[0] + b"1,2\0,up\n\0\0\0\n" + lines[1]
    yield "NUL bytes", zeros, 4
    yield "duplicate header", b"a,a,y\n" + b"".join(lines), None
    yield "utf-16", plain.decode().encode("utf-16"), None
    yield "quoting", b'"a","b","y"\r\n"1","2","u,""p"\n1,2,"multi\nline"\n', 3
    yield "CRLF", plain.replace(b"\n", b"\r\n"), 200
    yield "BOM", b"\xef\xbb\xbf" + plain, 200
    yield "blank lines", plain.replace(b"\n", b"\n\r\n\n"), 200
    yield "a number of many bytes", header + b"1," + "ä".encode() * 200 + b",up\n", 1
    yield "no end of the last line", plain.rstrip(b"\n"), 200


def unpacked(data):
    """What can be unpacked of gzip data that are cut short or damaged."""
    unpacker, out = zlib.decompressobj(wbits=31), b""
    with contextlib.suppress(zlib.error):
        for byte in data:
            out += unpacker.decompress(bytes([byte]))
    return out


@pytest.mark.parametrize(
    ("name", "data", "events"), [pytest.param(*case, id=case[0]) for case in fuzzed()]
)
def test_rubbish_is_never_fatal_and_nothing_is_lost(tmp_path, name, data, events):
    (tmp_path / "in").write_bytes(data)
    arguments = (
        "--target",
        "y",
        "--out",
        tmp_path / "out.csv",
        "--rejects",
        tmp_path / "rejects",
        *GAF,
    )
    all_bad = name == "a number of many bytes"
    done = run(tmp_path, *arguments, source="in", status=2 if events is None else int(all_bad))
    if events is None:
        assert len(done.stderr.splitlines()) == 1
        return
    if events == "cut":
        assert "gzip" in rejects(tmp_path)[-1]["reason"]
        events = unpacked(data).count(
            b"\n"
        )  # the header is no event, and what could not be unpacked is one
    balanced(tmp_path, events)
    before = [(tmp_path / file).read_bytes() for file in FILES]
    run(tmp_path, *arguments, source="in")  # nothing is left to do
    assert [(tmp_path / file).read_bytes() for file in FILES] == before


def test_random_bytes_in_a_pipe_never_crash(tmp_path):
    rng = np.random.default_rng(3)
    alphabet = np.frombuffer(b'0123456789,.,-e+\n\n",ab\r\x00\xc3\xa4 nif', dtype=np.uint8)
    data = b"a,b,y\n" + rng.choice(alphabet, 60_000).tobytes()
    arguments = (
        "--target",
        "y",
        "--out",
        tmp_path / "out.csv",
        "--rejects",
        tmp_path / "rejects",
        "--forecaster",
        "ons",
    )
    run(tmp_path, *arguments, data=data)
    balanced(tmp_path, sum(bool(line.removesuffix(b"\r")) for line in data.split(b"\n")[1:]))


def test_another_input_is_recognised_and_a_shortened_one_refused(tmp_path):
    header, *lines = small(500)
    arguments = ("--target", "y", "--out", tmp_path / "out.csv", *GAF)
    (tmp_path / "one.csv").write_text("".join([header, *lines]))
    run(tmp_path, *arguments, source="one.csv")
    (tmp_path / "one.csv").write_text("".join([header, *lines, *lines[:10]]))
    grown = run(tmp_path, *arguments, source="one.csv")
    assert b"has seen 500 events; going on after line 501" in grown.stderr
    assert counts(tmp_path)["events"] == 510
    (tmp_path / "one.csv").write_text("".join([header, *lines[:450]]))
    assert b"is shorter, or differs" in run(tmp_path, *arguments, source="one.csv", status=2).stderr
    (tmp_path / "two.csv").write_text("".join(small(40, seed=5)[:31]))
    other = run(tmp_path, *arguments, source="two.csv")
    assert b"another input: reading it from the beginning" in other.stderr
    assert counts(tmp_path)["events"] == 540
    run(tmp_path, *arguments, "--from-start", source="two.csv")
    assert counts(tmp_path)["events"] == 570
    assert (
        len([line for line in (tmp_path / "out.csv").read_text().splitlines() if line[0].isdigit()])
        == 570
    )
    (tmp_path / "out.csv").unlink()
    (tmp_path / "two.csv").write_text("".join(small(40, seed=5)))
    lost = run(tmp_path, *arguments, source="two.csv")
    assert b"does not have what was answered" in lost.stderr
    assert (tmp_path / "out.csv").read_text().splitlines()[0].startswith("line,")


def test_an_empty_input_or_an_early_stop_leaves_the_checkpoint_its_place(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small(20)))
    run(tmp_path, "--target", "y", *GAF, source="in.csv")
    before = (tmp_path / "model").read_bytes()
    run(tmp_path, "--target", "y", data=b"")
    with piped([MIXABLE, "stream", "--model", tmp_path / "model", "--target", "y"]) as process:
        appeared(tmp_path / "model.lock")
        time.sleep(0.3)
        process.terminate()
        process.wait()
    assert (tmp_path / "model").read_bytes() == before
    narrow = run(tmp_path, "--target", "y", data=b"b,y\n1,up\n")
    assert b"the header has no a; what is missing counts as its mean" in narrow.stderr


def test_half_a_line_that_is_completed_later_is_not_taken_for_an_event(tmp_path):
    header, *lines = small(10)
    arguments = (
        "--target",
        "y",
        "--out",
        tmp_path / "out.csv",
        "--rejects",
        tmp_path / "rejects",
        *GAF,
    )
    (tmp_path / "in.csv").write_text("".join([header, *lines[:5]]) + "1.5,2")
    run(tmp_path, *arguments, source="in.csv")
    (tmp_path / "in.csv").write_text("".join([header, *lines[:5]]) + "1.5,2.5,up\n" + lines[6])
    run(tmp_path, *arguments, source="in.csv")
    assert [(entry["line"], entry["text"]) for entry in rejects(tmp_path)] == [
        (7, "1.5,2"),
        (7, ".5,up"),
    ]
    assert balanced(tmp_path, 8)["learned"] == 6


def test_a_full_disk_is_reported_and_the_last_checkpoint_kept(tmp_path):
    header, *lines = small(60)
    (tmp_path / "in.csv").write_text("".join([header, *lines[:30]]))
    run(tmp_path, "--target", "y", source="in.csv")
    before = (tmp_path / "model").read_bytes()
    (tmp_path / "in.csv").write_text("".join([header, *lines]))
    full = run(tmp_path, "--target", "y", "--out", "/dev/full", source="in.csv", status=2)
    assert b"cannot write /dev/full: No space left on device" in full.stderr

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    large = run(tmp_path, "--target", "y", source="in.csv", status=2, preexec_fn=limit)
    assert b"cannot write" in large.stderr
    assert b"the last good checkpoint is kept" in large.stderr
    assert (tmp_path / "model").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["in.csv", "model"]
    run(tmp_path, "--target", "y", source="in.csv")
    assert counts(tmp_path)["events"] == 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "z"), "no column 'z'; it has a, b, y"),
        ((), "--target COLUMN is needed"),
        (("--target", "y", "--id", "n"), "no column 'n'"),
        (("--target", "y", "--out", "missing/out.csv"), "No such file"),
        (("--target", "y", "--classes", "up"), "--classes must be two or more"),
        (("--target", "y", "--classes", "up,,down"), "different names"),
        (("--target", "y", "--forecaster", "ons", "--drift", "0.1"), "--forecaster ons"),
        (("--target", "y", "--lam", "-1"), "lam"),
        (("--target", "y", "nowhere.csv"), "nowhere.csv: No such file"),
        (("--target", "y", "/"), "/: Is a directory"),
    ],
)
def test_mistakes_are_one_line_with_exit_code_2(tmp_path, arguments, message):
    (tmp_path / "in.csv").write_text("".join(small(3)))
    source = {} if arguments[-1:] in (("nowhere.csv",), ("/",)) else {"source": "in.csv"}
    done = run(tmp_path, *arguments, **source, status=2)
    assert message in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1
    assert os.listdir(tmp_path) == ["in.csv"]


def test_a_model_goes_on_only_as_what_it_is(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small(5)))
    run(tmp_path, "--target", "y", "--classes", "up,down", "--features", "b", *GAF, source="in.csv")
    assert list(mx.load(tmp_path / "model").columns) == ["b"]
    run(tmp_path, "--target", "y", source="in.csv")
    for arguments, message in (
        (("--lam", "0.5"), b"another forecaster or other parameters"),
        (("--classes", "up,down,left"), b"other --classes: up, down"),
        (("--features", "a"), b"other --features: b"),
    ):
        assert (
            message in run(tmp_path, "--target", "y", *arguments, source="in.csv", status=2).stderr
        )
    mx.save(mx.GAF(2, 2), tmp_path / "other")
    assert (
        b"holds a GAF"
        in run(tmp_path, "--target", "y", source="in.csv", status=2, model="other").stderr
    )
    (tmp_path / "torn").write_bytes((tmp_path / "model").read_bytes()[:-5])
    assert (
        b"cut short"
        in run(tmp_path, "--target", "y", source="in.csv", status=2, model="torn").stderr
    )


def test_metrics_are_added_at_each_checkpoint_and_survive_a_torn_line(tmp_path):
    header, *lines = small(50)
    (tmp_path / "in.csv").write_text("".join([header, *lines]))
    (tmp_path / "metrics").write_text('{"events": 0}\n{"torn')
    run(
        tmp_path, "--target", "y", "--metrics", tmp_path / "metrics", "--every", 20, source="in.csv"
    )
    entries = [json.loads(line) for line in (tmp_path / "metrics").read_text().splitlines()]
    assert [entry["events"] for entry in entries] == [0, 20, 40, 50]
    scores = mx.load(tmp_path / "model").scores
    assert entries[-1]["log_loss"] == scores.log_loss
    assert entries[-1]["calibration_error"] == scores.calibration_error


def test_answers_as_json_and_csv_with_identifiers_of_all_kinds(tmp_path):
    data = '{"n": "a,\\"b\\"", "x": 1, "y": "ü"}\n{"n": 7, "x": 2, "y": true}\n{"x": 3.5}\n{"n": "", "x": 3.5}\n'.encode()
    lines = [
        json.loads(line)
        for line in run(tmp_path, "--target", "y", "--id", "n", data=data).stdout.splitlines()
    ]
    assert [line["n"] for line in lines] == ['a,"b"', 7, None, None]
    assert list(lines[3]["p"]) == ["ü", "true"]
    run(
        tmp_path,
        "--target",
        "y",
        "--id",
        "n",
        "--out",
        tmp_path / "out.csv",
        data=data,
        model="other",
    )
    rows = (tmp_path / "out.csv").read_text().splitlines()
    assert rows[:5] == ["n", '"a,""b"""', "n,ü", "7,1", "n,ü,true"]
    assert [float(value) for value in rows[5].split(",")[1:]] == list(lines[2]["p"].values())
    assert rows[5].startswith('"",')


def test_in_a_terminal_there_is_a_live_line_and_elsewhere_only_the_summary(tmp_path):
    master, slave = pty.openpty()
    words = [
        MIXABLE,
        "stream",
        "--model",
        tmp_path / "model",
        "--target",
        "y",
        "--out",
        tmp_path / "out.csv",
    ]
    header, *lines = small(60)
    shown = b""
    with piped(
        words, stdout=None, stderr=slave, env={**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    ) as process:
        os.close(slave)
        process.stdin.write(header.encode())
        for line in lines:
            process.stdin.write(line.encode())
            time.sleep(0.01)
        process.stdin.close()
        with contextlib.suppress(OSError):  # which is how Linux says that the other side is closed
            while piece := os.read(master, 4096):
                shown += piece
        assert process.wait() == 0
    os.close(master)
    text = shown.decode()
    assert "/s, log loss" in text
    assert "calibration error" in text
    assert "\x1b[" in text
    assert "60 events: 60 predicted, 0 rejected, 60 learned; log loss" in text
    quiet = run(tmp_path, "--target", "y", data="".join(small(60)).encode(), model="quiet")
    assert quiet.stderr.decode().startswith("mixable: 60 events: 60 predicted")
    assert b"\x1b" not in quiet.stderr


def test_streaming_does_not_import_river_or_scikit_learn():
    code = "import sys, mixable.streaming.loop; print([name for name in ('river', 'sklearn', 'typer', 'rich') if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
        == "[]\n"
    )


def test_a_damaged_gzip_that_is_resumed_loses_nothing(tmp_path):
    lines = small(4000)
    packed = bytearray(gzip.compress("".join(lines).encode()))
    packed[-6] ^= 1  # the check sum
    (tmp_path / "in.gz").write_bytes(packed)
    arguments = ("--target", "y", *GAF, "--every", 50)
    run(
        tmp_path,
        *arguments,
        "--out",
        tmp_path / "alone.csv",
        "--rejects",
        tmp_path / "alone.rejects",
        source="in.gz",
        model="alone",
    )
    out = tmp_path / "out.csv"
    whole = [
        MIXABLE,
        "stream",
        "--model",
        tmp_path / "model",
        *map(str, arguments),
        "--out",
        out,
        "--rejects",
        tmp_path / "rejects",
    ]
    with subprocess.Popen(
        [*map(str, whole), str(tmp_path / "in.gz")], stderr=subprocess.DEVNULL
    ) as process:
        while not (tmp_path / "model").exists() and process.poll() is None:
            time.sleep(0.001)
        process.kill()
    run(tmp_path, *arguments, "--out", out, "--rejects", tmp_path / "rejects", source="in.gz")
    assert out.read_bytes() == (tmp_path / "alone.csv").read_bytes()
    assert (tmp_path / "rejects").read_bytes() == (tmp_path / "alone.rejects").read_bytes()
    assert b"gzip data are damaged" in (tmp_path / "rejects").read_bytes()
    strict = ("--strict", *arguments, "--out", tmp_path / "strict.csv")
    for _ in range(2):  # it does not go past what was refused
        refused = run(tmp_path, *strict, source="in.gz", model="strict", status=2)
        assert b"gzip data are damaged" in refused.stderr


def test_killed_before_its_first_checkpoint_a_continued_model_knows_which_answers_are_its_own(
    tmp_path,
):
    (tmp_path / "first.csv").write_text("".join(small(50)))
    (tmp_path / "second.csv").write_text("".join(small(20_000)))
    arguments = ("--target", "y", *GAF)
    for name in ("alone", "killed"):
        run(
            tmp_path, *arguments, "--out", tmp_path / f"{name}1.csv", source="first.csv", model=name
        )
    run(tmp_path, *arguments, "--out", tmp_path / "alone2.csv", source="second.csv", model="alone")
    out = tmp_path / "killed2.csv"
    command_ = [
        MIXABLE,
        "stream",
        "--model",
        tmp_path / "killed",
        *arguments,
        "--out",
        out,
        tmp_path / "second.csv",
    ]
    with subprocess.Popen([*map(str, command_)], stderr=subprocess.DEVNULL) as process:
        while (not out.exists() or out.stat().st_size == 0) and process.poll() is None:
            time.sleep(0.001)
        process.kill()
    assert 0 < out.stat().st_size < (tmp_path / "alone2.csv").stat().st_size
    run(tmp_path, *arguments, "--out", out, source="second.csv", model="killed")
    assert out.read_bytes() == (tmp_path / "alone2.csv").read_bytes()
    assert (tmp_path / "killed").read_bytes() == (tmp_path / "alone").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "in.csv"), "IN and --out are the same file"),
        (("--rejects", "in.csv"), "IN and --rejects are the same file"),
        (("--metrics", "link"), "IN and --metrics are the same file"),
        (("--out", "model"), "--model and --out are the same file"),
        (("--out", "x", "--rejects", "x"), "--out and --rejects are the same file"),
        (("--id", "y"), "--target and --id are both 'y'"),
        (("--features", "a,y"), "'y' is the target"),
    ],
)
def test_options_that_cannot_be_meant(tmp_path, arguments, message):
    (tmp_path / "in.csv").write_text("".join(small(5)))
    (tmp_path / "link").symlink_to(tmp_path / "in.csv")
    arguments = [
        tmp_path / name if name in ("in.csv", "link", "model", "x") else name for name in arguments
    ]
    refused = run(tmp_path, "--target", "y", *arguments, source="in.csv", status=2)
    assert message in refused.stderr.decode()
    assert (tmp_path / "in.csv").read_text() == "".join(small(5))


def test_files_that_are_not_its_own_are_added_to(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small(20)))
    (tmp_path / "in2.csv").write_text("".join(small(30)))
    run(tmp_path, "--target", "y", "--rejects", tmp_path / "none", source="in.csv")
    (tmp_path / "precious").write_text("mine\n")
    run(
        tmp_path,
        "--target",
        "y",
        "--rejects",
        tmp_path / "precious",
        "--metrics",
        tmp_path / "precious too",
        source="in2.csv",
    )
    assert (tmp_path / "precious").read_text() == "mine\n"
    for _ in range(2):
        run(tmp_path, "--no-learn", "--out", tmp_path / "served.csv", source="in.csv")
    assert len((tmp_path / "served.csv").read_text().splitlines()) == 2 * len(
        small(20)
    )  # with a header each


def test_another_target_is_refused(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small(5)))
    run(tmp_path, "--target", "y", source="in.csv")
    assert (
        b"was made with --target y"
        in run(tmp_path, "--target", "a", source="in.csv", status=2).stderr
    )
    assert (
        b"was made without --id"
        in run(tmp_path, "--target", "y", "--id", "a", source="in.csv", status=2).stderr
    )


def test_many_long_identifiers_can_wait(tmp_path):
    lines = (
        ["id,a,y\n"] + [f"{'x' * 900}{i},{i % 7},\n" for i in range(300)] + [f"{'x' * 1001},1,\n"]
    )
    run(
        tmp_path,
        "--target",
        "y",
        "--id",
        "id",
        "--remember",
        250,
        "--rejects",
        tmp_path / "rejects",
        data="".join(lines).encode(),
    )
    assert "too long" in (tmp_path / "rejects").read_text()
    model = mx.load(tmp_path / "model")
    assert len(model.waiting) == 250
    assert next(iter(model.waiting)) == "x" * 900 + "50"
    run(tmp_path, "--target", "y", "--id", "id", "--remember", 10, data=b"id,a,y\nnew,1,\n")
    assert len(mx.load(tmp_path / "model").waiting) == 10


def test_pipes_by_name_and_json_by_name(tmp_path):
    for _ in range(2):
        os.mkfifo(tmp_path / "pipe")
        writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text("".join(small(5))))
        writer.start()
        run(tmp_path, "--target", "y", source="pipe")
        writer.join()
        (tmp_path / "pipe").unlink()
    assert mx.load(tmp_path / "model").counts["events"] == 2 * (len(small(5)) - 1)
    (tmp_path / "in.jsonl").write_text('"b":1}\n{"a":1,"y":"up"}\n')
    run(tmp_path, "--target", "y", source="in.jsonl", model="json")
    assert mx.load(tmp_path / "json").counts["rejected"] == 1
    assert (
        b"the header"
        in run(
            tmp_path, "--target", "y", "--format", "csv", source="in.jsonl", model="csv", status=2
        ).stderr
    )


def test_a_strict_stream_takes_in_nothing_after_the_bad_line(tmp_path):
    lines = ['{"a":1,"y":"up"}', '{"d":"x"}', '{"a":1,"c":2,"y":"down"}']
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    run(tmp_path, "--target", "y", "--strict", source="in.jsonl", status=2)
    assert list(mx.load(tmp_path / "model").columns) == ["a"]


def test_a_reader_that_is_stuck_does_not_keep_it_from_ending(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small(60_000)))
    command_ = [
        MIXABLE,
        "stream",
        "--model",
        tmp_path / "model",
        "--target",
        "y",
        *GAF,
        tmp_path / "in.csv",
    ]
    with subprocess.Popen(
        [*map(str, command_)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.read(1)
        time.sleep(0.5)
        process.terminate()
        assert process.wait(timeout=20) == 2
        assert b"nobody reads the answers" in process.stderr.read()


def test_closed_standard_descriptors(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small(5)))
    start = f"{MIXABLE} stream --model {tmp_path / 'model'} --target y"
    for rest in ("<&-", f"{tmp_path / 'in.csv'} >&-"):
        done = subprocess.run(f"{start} {rest}", shell=True, capture_output=True)
        assert done.returncode == 2
        assert b"is closed" in done.stderr
    assert (
        subprocess.run(
            f"{start} {tmp_path / 'in.csv'} --out {tmp_path / 'out'} <&- >&- 2>&-", shell=True
        ).returncode
        == 0
    )


def test_labels_of_python_are_text_too(tmp_path):
    run(tmp_path, "--target", "y", data=b"a,y\n1,0\n2,1\n")
    model = mx.load(tmp_path / "model")
    model.learn_one({"a": 1.0}, 1)
    assert model.learner.labels == ["0", "1"]
    mx.save(model, tmp_path / "model")
    run(tmp_path, "--target", "y", data=b"a,y\n1,0\n2,1\n")


def test_a_parser_that_cannot_be():
    for roles, names in (([10_000_000], ["a"]), ([0, 1], []), ([-4], ["a"])):
        with pytest.raises(ValueError, match="do not go together"):
            mx._core.CsvParser(roles, names)


def test_the_longest_line_is_the_same_however_it_arrives(tmp_path):
    line = b"1," + b"2" * (1 << 24) + b",up\n"
    data = b"a,b,y\n1,2,up\n" + line + b"3,4,down\n"
    (tmp_path / "in.csv").write_bytes(data)
    run(tmp_path, "--target", "y", "--rejects", tmp_path / "one", source="in.csv", model="file")
    run(tmp_path, "--target", "y", "--rejects", tmp_path / "two", data=data, model="pipe")
    assert mx.load(tmp_path / "file").counts == mx.load(tmp_path / "pipe").counts
    assert b"longer than 16 MiB" in (tmp_path / "one").read_bytes()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
