"""The race against the peers (benchmarks/peers): scores, contestants, what is kept, and that the
documents quote what the results have.
"""

import importlib.util
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # benchmarks are no part of what is installed

from benchmarks.peers import __main__ as command  # noqa: E402
from benchmarks.peers import contest, documents, encoding, figures, quotes, race, results, run  # noqa: E402
from benchmarks.peers.streams import Source, Stream, from_file, of_records  # noqa: E402

RACE = results.load()
STREAM = Stream(
    name="two",
    X=np.random.default_rng(0).normal(size=(30, 3)),
    y=np.arange(30) % 2,
    names=("no", "yes"),
)
RECORDS = of_records(
    "records",
    [
        {"user": f"u{t % 3}", "price": None if t % 5 == 0 else 1.5 * t,
         "query": "red hat " * (t % 3), "at": f"2024-03-01T{t % 24:02}:00:00",
         "tags": ["new", "sale"][: t % 3]}
        for t in range(30)
    ],
    [t % 2 for t in range(30)],
)  # fmt: skip
# The tests do without Vowpal Wabbit and LightGBM, but run them where they are.
ABSENT = [name for name in ("vowpalwabbit", "lightgbm") if importlib.util.find_spec(name) is None]
CONTESTANTS = [
    pytest.param(table, each, id=f"{table}-{each.name}")
    for table, own in run.TABLES.items()
    for each in own
    if each.package not in ABSENT and not (table == "curves" and each in run.TABLES["numbers"])
]


def forecasts(contestant, stream):
    p = np.zeros((stream.n, stream.K))
    play = contestant.start(contestant.inputs(stream), stream, {})
    contest.fill(p, play(range(stream.n)))
    return p


def test_what_is_no_forecast_costs_as_much_as_an_unknown_class():
    stream = Stream(
        name="three", X=np.zeros((4, 1)), y=np.array([0, 1, 1, 2]), names=("a", "b", "c")
    )
    p = np.zeros((4, 3))
    contest.fill(p, [{}, {0: 1.0}, {0: math.nan, 1: 0.5}, np.array([0.0, 0.0, 2.0])])
    got = contest.scores(p, stream)
    assert got["log_loss"] == pytest.approx(
        (3 * math.log(3 / 0.001) - math.log(0.999 + 0.001 / 3)) / 4
    )
    assert got["accuracy"] == 0.25


@pytest.mark.parametrize(("table", "contestant"), CONTESTANTS)
def test_forecasts_do_not_know_their_labels(table, contestant):
    """Another last label does not change the forecast of the last row, but an earlier one does."""
    stream = RECORDS if table == "records" else STREAM
    other = Stream(**{**vars(stream), "y": np.append(stream.y[:-1], 1 - stream.y[-1])})
    first, second = forecasts(contestant, stream), forecasts(contestant, other)
    assert np.array_equal(first, second)
    assert (first[5:].sum(axis=1) > 0).all()


def test_baselines_by_hand():
    rates, last = contest.BASELINES
    stream = Stream(name="two", X=np.zeros((3, 1)), y=np.array([1, 1, 0]), names=("a", "b"))
    assert forecasts(rates, stream).tolist() == pytest.approx(
        np.array([[1 / 2, 1 / 2], [1 / 3, 2 / 3], [1 / 4, 3 / 4]])
    )
    assert forecasts(last, stream)[2].tolist() == pytest.approx([1 / 3, 2 / 3])


def test_records_become_features_by_name():
    row = encoding.features(RECORDS)[2]
    assert {"user=u2", "query=red", "query=hat", "at=hour 2", "at=day 4", "tags=sale"} < set(row)
    assert "price=missing" in encoding.features(RECORDS)[0]
    assert encoding.lines(RECORDS)[2].startswith("1 | user=u2:1.0 price:")


def test_files_of_records_are_read(tmp_path):
    table, lines = tmp_path / "a.csv", tmp_path / "b.jsonl"
    table.write_text("x,y\nred,1\n,0\n")
    lines.write_text('{"x": "red", "y": 1}\n{"x": null, "y": 0}\n')
    for path in (table, lines):
        stream = from_file(path, "y")
        assert list(stream.records) == [{"x": "red"}, {"x": None}]
        assert stream.y.tolist() == [1, 0]


def test_a_run_measures_time_and_memory():
    task = run.Task("numbers", Source(name="vehicle", rows=150), "class frequencies", ())
    _, result = run.perform(task)
    assert result["microseconds"] > 0
    assert 0 <= result["megabytes"] < 50
    _, failed = run.perform(task._replace(setting=(("nonsense", 1),), contestant="river AMF",
                                          table="curves"))  # fmt: skip
    assert "nonsense" in failed["error"]


def test_a_store_goes_on_after_a_kill(tmp_path):
    path = tmp_path / "runs.jsonl"
    store = race.Store(path, {"machine": 1})
    store.add("first", {"log_loss": 1.0})
    with path.open("a") as file:
        file.write('{"run": "second", "log_')  # what a kill leaves
    again = race.Store(path, {"machine": 1})
    assert again.runs == {"first": {"log_loss": 1.0}}
    again.add("second", {"log_loss": 2.0})
    assert set(race.Store(path, {"machine": 1}).runs) == {"first", "second"}
    with pytest.raises(SystemExit, match="--fresh"):
        race.Store(path, {"machine": 2})


def test_results_are_read_as_they_were_saved(tmp_path):
    results.save(RACE, tmp_path / "peers.json")
    assert results.load(tmp_path / "peers.json") == RACE
    assert (tmp_path / "peers.json").read_bytes() == results.COMMITTED.read_bytes()


@pytest.mark.parametrize(
    "page", documents.pages(), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_documents_quote_the_committed_results(page):
    """If this fails: python -m benchmarks.peers docs"""
    text = page.read_text(encoding="utf-8")
    assert documents.rendered(text, RACE) == text
    assert (
        text.count("<!-- peers: ")
        == text.count("<!-- /peers -->")
        == len(documents.MARK.findall(text))
    )


def test_a_wrong_number_in_a_document_is_found():
    name = "curves/vehicle/mixable, one by one/log_loss"
    right = f"It has <!-- peers: {name} -->{quotes.value(RACE, name)}<!-- /peers --> nats."
    assert documents.rendered(right, RACE) == right
    wrong = f"It has <!-- peers: {name} -->0.123<!-- /peers --> nats."
    assert documents.rendered(wrong, RACE) == right
    with pytest.raises(ValueError, match="no number of the name 'nonsense'"):
        documents.rendered("<!-- peers: nonsense -->1<!-- /peers -->", RACE)


def test_the_page_of_the_race_has_all_parts():
    page = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")
    assert set(documents.parts(RACE)) == {name for name, _ in documents.MARK.findall(page)} & set(
        documents.parts(RACE)
    )


def test_where_others_are_better_is_said_first():
    """Each loss that a peer has below mixable's is on the page, before any other table."""
    for table in RACE.tables():
        told = documents.parts(RACE)[f"losses-{table}"]
        for stream in RACE.streams_of(table):
            ours = RACE.reference(table, stream)
            better = [row for row in RACE.of(table, stream)
                      if not row.is_ours and row.log_loss < ours.log_loss]  # fmt: skip
            assert (f"| {stream} | log loss |" in told) == bool(better)
    page = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")
    assert page.index("peers: losses-numbers") < page.index("peers: summary-numbers")


def test_the_frontier_has_no_one_below_it():
    spots = [(1.0, 3.0), (2.0, 3.5), (3.0, 1.0), (4.0, 2.0), (5.0, 0.5)]
    assert figures.frontier(spots) == [(1.0, 3.0), (3.0, 1.0), (5.0, 0.5)]


def test_the_command_shows_the_committed_results(capsys):
    command.main(["show"])
    shown = capsys.readouterr().out
    assert shown.index("where mixable loses") < shown.index("mean over the streams")
    assert f"mixable {RACE.machine['mixable']}" in shown


def test_the_command_is_found_from_the_root():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers", "run", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "--records" in done.stdout


def test_each_file_needs_its_target():
    with pytest.raises(SystemExit, match="--target COLUMN"):
        command.main(["run", "--records", "a.csv"])
    assert tuple(run.TABLES) == command.TABLES
