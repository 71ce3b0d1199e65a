"""The leaderboard (benchmarks/leaderboard): scores, peers, what is kept, and that the documents
quote what the results have.
"""

import importlib.util
import json
import math
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # benchmarks are no part of what is installed

from benchmarks.leaderboard import curves, encode, page, results, run, streams  # noqa: E402
from benchmarks.leaderboard.peers import PEERS, Known, Peer  # noqa: E402

BOARD = results.load()
ABSENT = {name for name in ("vowpalwabbit", "lightgbm") if importlib.util.find_spec(name) is None}
PACKAGE = {"Vowpal Wabbit": "vowpalwabbit", "LightGBM, refitted": "lightgbm"}
# CapyMOA starts a Java machine in its process; the tests do without.
HERE = [
    peer for peer in PEERS.values()
    if peer.kind != "CapyMOA" and not {PACKAGE.get(peer.kind), PACKAGE.get(peer.name)} & ABSENT
]  # fmt: skip


def stream(number, last=None, n=36):
    """Records of all kinds, with a label or a number; `last` is another last one."""
    y = [t * 1.5 % 7 if number else "yes" if t % 3 else "no" for t in range(n)]
    records = [
        {"user": f"u{t % 3}", "price": None if t % 5 == 0 else 1.5 * t,
         "query": "a red hat " * (1 + t % 3), "at": f"2024-03-01T{t % 24:02}:00:00"}
        for t in range(n)
    ]  # fmt: skip
    frame = pd.DataFrame(records).assign(y=[*y[:-1], y[-1] if last is None else last])
    return streams.of_frame("some", frame, "y", number)


def forecasts(peer, data):
    known = Known(data.K, encode.schema(data.records))
    model = peer.make(known, {})
    if peer.whole:
        return np.asarray(model(data.records, data.y, lambda factor: False))
    rows = [model(*pair) for pair in zip(data.records, data.y.tolist(), strict=True)]
    if data.K:
        p = np.zeros((len(rows), data.K))
        run.fill(p, rows)
        return p
    return np.array(rows)


@pytest.mark.parametrize("number", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("peer", HERE, ids=lambda peer: peer.name)
def test_forecasts_do_not_know_their_labels(peer, number):
    """Another last label does not change the forecasts, of which there is one for each row."""
    n = 105 if peer.kind == "refitted" else 36  # these are fitted to 100 rows first
    first = forecasts(peer, stream(number, n=n))
    second = forecasts(peer, stream(number, 99.0 if number else "no", n))
    assert len(first) == n
    np.testing.assert_array_equal(first, second)


def test_what_is_no_forecast_costs_as_much_as_an_unknown_class():
    p = np.zeros((4, 3))
    run.fill(p, [{}, {0: 1.0}, {0: math.nan, 1: 0.5}, np.array([0.0, 0.0, 2.0])])
    losses = run.class_losses(p, np.array([0, 1, 1, 2]))[1]
    unknown = math.log(3 / 0.001)
    assert losses.tolist() == pytest.approx([unknown] * 3 + [-math.log(0.999 + 0.001 / 3)])


def test_scores_of_numbers_are_those_of_the_product():
    from mixable.metrics import NumberScores

    rng = np.random.default_rng(0)
    told, y = np.column_stack([rng.normal(size=50), rng.uniform(0.5, 2, 50)]), rng.normal(size=50)
    scores, squares = run.number_scores(told, y, first=0)
    ours = NumberScores(0.9)
    for (mean, std), target in zip(told, y, strict=True):
        ours.update(mean, std, target)
    assert scores["crps"] == pytest.approx(ours.crps)
    assert scores["coverage"] == pytest.approx(ours.coverage)
    assert math.sqrt(squares.mean()) == pytest.approx(ours.rmse)
    assert run.deviations(np.zeros(3), np.array([3.0, 4.0, 5.0])).tolist() == pytest.approx(
        [0, 0, 4]
    )


def test_baselines_by_hand():
    known = Known(2, encode.schema([{"x": 1}]))
    rates, last = (PEERS[name].make(known, {}) for name in
                   ("class frequencies or mean", "last label"))  # fmt: skip
    assert [rates({}, y)[1] for y in (1, 1, 0)] == pytest.approx([1 / 2, 2 / 3, 3 / 4])
    assert [last({}, y)[1] for y in (1, 1, 0)] == pytest.approx([1 / 2, 1 / 2, 2 / 3])


def test_records_become_features_by_name():
    data = stream(False)
    kinds = encode.schema(data.records)
    assert kinds == (("price",), {"user": 3}, ("query",), ("at",))
    row = encode.Features(kinds)(data.records[2])
    assert {"user=u2", "query=red", "query=hat", "at=hour2", "at=day4", "price"} < set(row)
    assert encode.line(data.records[5], kinds).startswith("user=u2 price=missing query=a")
    assert encode.nominal(data.records[2], kinds)["user"] == "u2"
    matrix = encode.Matrix(kinds)
    assert matrix(data.records[0])[:4].tolist() == pytest.approx([np.nan, 0, 0, 4], nan_ok=True)


def test_runs_are_kept_and_compared_on_the_same_rows(tmp_path):
    """A file for each peer: the best setting is the one with the least loss, and a peer that had
    time for half of the rows is compared on these.
    """
    data = stream(False)
    wrong = Peer("VW", "Vowpal Wabbit", lambda known, setting: _constant(setting), ({"p": 0.3},))
    for peer in (PEERS["mixable"], wrong):
        run.perform(peer, data, 60.0, tmp_path / "some" / f"{peer.name}.json")
    found = json.loads((tmp_path / "some" / "VW.json").read_text())
    assert found["best"] == 1
    assert [each["rows"] for each in found["runs"]] == [36, 36]
    board = results.collect(tmp_path)
    assert board.streams["some"]["K"] == 2
    row = board.rival("some", results.anyone)
    ours = np.array(json.loads((tmp_path / "some" / "mixable.json").read_text())["losses"]["0"])
    assert row.ratio == pytest.approx(np.mean(found["losses"]["1"]) / ours.mean(), rel=1e-3)
    found["losses"]["1"] = found["losses"]["1"][:18]
    (tmp_path / "some" / "VW.json").write_text(json.dumps(found))
    half = results.collect(tmp_path).rival("some", results.anyone)
    assert half.ratio == pytest.approx(np.mean(found["losses"]["1"]) / ours[:18].mean(), rel=1e-3)
    assert "some" in page.text(board)


def _constant(setting):
    share = setting.get("p", 0.999)
    return lambda record, y: np.array([share, 1 - share])


def test_what_fails_is_said(tmp_path):
    def bad(known, setting):
        raise RuntimeError("no such thing")

    for peer in (PEERS["mixable"], Peer("VW", "Vowpal Wabbit", bad)):
        run.perform(peer, stream(True), 60.0, tmp_path / "some" / f"{peer.name}.json")
    assert results.collect(tmp_path).failed == {"some: VW": "RuntimeError: no such thing"}


def test_differences_in_standard_errors():
    rng = np.random.default_rng(0)
    ours = rng.normal(size=3000)
    assert results.paired_errors(ours, ours) == 0
    found = [results.paired_errors(ours, ours + rng.normal(size=3000)) for _ in range(200)]
    assert 0.8 < np.std(found) < 1.25  # as it should be of independent rows
    assert results.paired_errors(ours, ours + 0.5 + rng.normal(size=3000)) > 10
    low, high = page.wilson(25, 50)
    assert 0.36 < low < 0.37 < 0.63 < high < 0.64


def test_results_are_read_as_they_were_saved(tmp_path):
    results.save(BOARD, tmp_path / "board.json")
    assert results.load(tmp_path / "board.json") == BOARD
    assert (tmp_path / "board.json").read_bytes() == results.COMMITTED.read_bytes()


def test_results_are_joined_where_mixable_is_the_same():
    """Rows of peers that the first results lack, on streams where mixable's loss is within 1%."""
    name, other = BOARD.names(number=False)[:2]
    ours = {row.stream: row for row in BOARD.of([name, other], "mixable", True)}
    rows = [replace(ours[name], loss=1.005 * ours[name].loss),
            replace(ours[other], loss=1.02 * ours[other].loss),
            *(replace(row, loss=7.0) for row in BOARD.of([name], "VW", True))]  # fmt: skip
    found = results.joined(
        replace(BOARD, streams={each: BOARD.streams[each] for each in (name, other)}, rows=rows),
        BOARD,
    )
    assert found.of([name], "VW --ftrl", True) == BOARD.of([name], "VW --ftrl", True)
    assert [row.loss for row in found.of([name], "VW", True)] == [7.0]
    assert [row.peer for row in found.rows if row.stream == other] == ["mixable"]
    assert results.joined(BOARD, replace(BOARD, rows=rows)) == BOARD


def test_points_of_curves_are_means_between_marks(tmp_path):
    name = curves.long_streams(BOARD)[0]
    (tmp_path / name).mkdir()
    run = {"best": 1, "losses": {"0": [9.0] * 250, "1": [3.0] * 100 + [2.0] * 100 + [1.0] * 50}}
    (tmp_path / name / "mixable.json").write_text(json.dumps(run))
    found = curves.collect(BOARD, tmp_path, "a command")
    assert found["curves"] == {name: {"mixable": [[100, 3.0], [200, 2.0], [250, 1.0]]}}
    curves.save(found, tmp_path / "curves.json")
    assert curves.load(tmp_path / "curves.json") == found
    assert curves.cells(found)[1] == [[name, "200 to 250", "**1.000**", *[""] * 4]]


def test_curves_are_of_held_out_streams():
    found = curves.load()["curves"]
    assert list(found) == curves.long_streams(BOARD)
    assert len(found) >= 8
    assert all(set(peers) == set(curves.SHOWN) for peers in found.values())
    assert not [name for name in found if streams.STREAMS[name].chosen]


def test_enough_streams_are_held_out():
    marks = [about["held_out"] for about in BOARD.streams.values()]
    assert len(marks) >= 45
    assert sum(marks) >= 25
    assert sum(about["K"] == 0 for about in BOARD.streams.values()) >= 10
    assert all(about["held_out"] == (not streams.STREAMS[name].chosen)
               for name, about in BOARD.streams.items())  # fmt: skip


@pytest.mark.parametrize("path", page.pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_documents_quote_the_committed_results(path):
    """If this fails: python -m benchmarks.leaderboard docs"""
    text = path.read_text(encoding="utf-8")
    assert page.rendered(text, BOARD) == text
    assert (
        text.count("<!-- board: ") == text.count("<!-- /board -->") == len(page.MARK.findall(text))
    )


def test_a_wrong_number_in_a_document_is_found():
    name, number = next(iter(page.numbers(BOARD).items()))
    right = f"It has <!-- board: {name} -->{number}<!-- /board --> streams."
    assert page.rendered(right, BOARD) == right
    assert page.rendered(right.replace(f">{number}<", ">7<"), BOARD) == right
    with pytest.raises(ValueError, match="nothing of the name 'nonsense'"):
        page.rendered("<!-- board: nonsense -->1<!-- /board -->", BOARD)


def test_where_others_are_better_is_said_first():
    """Every held-out stream with a peer below mixable is in the first table of the page."""
    text = (ROOT / "docs" / "benchmarks" / "leaderboard.md").read_text(encoding="utf-8")
    tables = page.TABLES.read_text(encoding="utf-8")
    assert {name for name, _ in page.MARK.findall(text + tables)} == set(page.parts(BOARD))
    assert page.MARK.findall(text)[0][0] == "losses"
    told = page.losses(BOARD)
    for name, about in BOARD.streams.items():
        rows = [row for row in BOARD.rows if row.stream == name and row.kind != "mixable"]
        better = about["held_out"] and any(row.best and row.ratio < 1 for row in rows)
        assert (f"| {name} | " in told or f"| {name} (RMSE) | " in told) == better


def test_the_page_shows_each_table_of_its_file_once():
    """On the site a table stands in place of the link to its heading."""
    hook = runpy.run_path(str(ROOT / "docs" / "_hooks" / "tables.py"))
    text = (ROOT / "docs" / "benchmarks" / "leaderboard.md").read_text(encoding="utf-8")
    assert sorted(hook["LINK"].findall(text)) == sorted(hook["_board"]())
    shown = hook["on_page_markdown"](text)
    assert "[table: " not in shown
    assert {name for name, _ in page.MARK.findall(shown)} == set(page.parts(BOARD))


def test_the_pictures_are_drawn(tmp_path):
    page.draw(BOARD, tmp_path / "board.png")
    assert (tmp_path / "board.png").stat().st_size > 10_000
    curves.draw(curves.load(), tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000


def test_a_run_of_mixable_alone_has_nobody_to_be_compared_with(tmp_path):
    run.perform(PEERS["mixable"], stream(False), 60.0, tmp_path / "some" / "mixable.json")
    assert page.text(results.collect(tmp_path)) == "no stream has results of mixable and a peer"


def test_the_command_runs_a_file_of_ones_own(tmp_path):
    rows = "".join(f"{t % 7},{'red' if t % 2 else 'blue'},{t % 2}\n" for t in range(40))
    (tmp_path / "own.csv").write_text(f"x,colour,bought\n{rows}")
    options = ["--file", tmp_path / "own.csv", "--target", "bought", "--results", tmp_path / "r",
               "--only", "mixable", "last"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.leaderboard", "run", *map(str, options)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "== losses" in done.stdout
    assert "| own.csv | held out | a file |" in done.stdout
