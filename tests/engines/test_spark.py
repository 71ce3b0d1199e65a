"""Spark: one model of a frame, and a model for each key of a stream that is killed and goes on.

They need PySpark (the extra `spark`) and Java 17; without, those that do are skipped, and say so.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

import keyed_query
import numpy as np
import pandas as pd
import pytest
from engines.test_rounds import FRAME, by_hand, linear
from shards import X, Y, distance

import mixable as mx
from mixable.engines import spark as engine
from mixable.engines.rounds import PartitionError

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.filterwarnings("ignore")]
HAS_JAVA = shutil.which("java") or os.environ.get("JAVA_HOME")
EVENTS = FRAME.assign(key=[f"k{i % 3}" for i in range(len(FRAME))], i=np.arange(len(FRAME)))[:60]
FILES = 4


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark.sql", reason='needs PySpark: pip install "mixable[spark]"')
    if not HAS_JAVA:
        pytest.skip("needs Java 17 or later, which is not installed")
    session = keyed_query.session()
    yield session
    session.stop()


def pieces(data):
    """The partitions of a frame, as it has them."""
    return [pd.DataFrame(rows, columns=data.columns) for rows in data.rdd.glom().collect()]


def test_it_is_what_one_process_does(spark):
    """Of four partitions, some are empty, and none has all labels."""
    data = spark.createDataFrame(FRAME).repartition(4, "label").persist()
    parts = pieces(data)
    assert {len(part) > 0 for part in parts} == {True, False}
    seen = []
    model = engine.fit(
        linear(), data, "label", rounds=2, warmup=100, on_round=lambda n, _: seen.append(n)
    )
    assert seen == [1, 2]
    assert model.learner_.forecaster.steps == 600
    wanted = by_hand(linear(), parts, n_rounds=2)
    assert distance(model, wanted, FRAME[list("abcd")][:50]) < 1e-9


def test_the_default_estimator_learns_records(spark):
    colours = np.array(["red", "blue", "green"])[(Y + np.arange(600) // 50) % 3]
    data = spark.createDataFrame(FRAME.assign(colour=colours)).repartition(2).persist()
    model = mx.GAFClassifier(kernel=mx.kernels.Auto(5))
    model = engine.fit(model, data, "label", rounds=1, warmup=150)
    assert model.forecaster_.steps == 600
    known = model.learner_.inputs.encoder.registry.columns["colour"]
    assert sum(known.counts) == 600
    assert set(known.known) == {"red", "blue", "green"}


def test_a_bad_partition_is_named_and_nothing_is_lost(spark, tmp_path):
    data = spark.createDataFrame(FRAME).repartition(2).persist()
    parts = pieces(data)
    last = float(parts[1]["a"].iloc[-1])  # of the second round
    bad = data.replace(last, float("inf"), "a").persist()
    fit = {"rounds": 2, "warmup": 100, "checkpoint": tmp_path}
    with pytest.raises(PartitionError, match=r"partition 1 cannot be learned \(round 2 of 2\)"):
        engine.fit(linear(), bad, "label", **fit)
    assert (tmp_path / "round-00001.safetensors").exists()
    model = engine.fit(linear(), data, "label", **fit)
    wanted = by_hand(linear(), parts, n_rounds=2)
    assert distance(model, wanted, FRAME[list("abcd")][:50]) < 1e-9
    with pytest.raises(PartitionError, match=r"partition 0 .*no column 'nothing'"):
        engine.fit(linear(), data, "nothing", rounds=2, warmup=100)


def test_a_query_that_is_killed_goes_on_and_counts_each_event_once(spark, tmp_path):
    """Killed with its Java in mid-stream, and started again: as if it had never been."""
    (tmp_path / "in").mkdir()
    for number, part in enumerate(np.array_split(np.arange(60), FILES)):
        path = tmp_path / "in" / f"{number}.parquet"
        EVENTS.iloc[part].to_parquet(path)
        os.utime(path, (1e9 + number, 1e9 + number))  # Spark reads the oldest first
    command = [sys.executable, keyed_query.__file__, os.fspath(tmp_path)]
    said = tmp_path / "said"
    with said.open("w") as file:
        query = subprocess.Popen(command, start_new_session=True, stdout=file, stderr=file)
    try:
        done = _wait_for_batches(tmp_path / "state" / "commits", query, said)
    finally:
        os.killpg(query.pid, signal.SIGKILL)
        query.wait()
    assert 1 <= done < FILES
    keyed_query.run(spark, tmp_path)
    got = spark.read.parquet(os.fspath(tmp_path / "out")).toPandas().sort_values("i")
    assert got["i"].tolist() == list(range(60))
    models = {}
    for i, forecast in zip(got["i"], got["forecast"], strict=True):
        model = models.setdefault(EVENTS.key[i], keyed_query.prototype())
        wanted = model.predict(X[i]).tolist()
        assert [dict(forecast)[str(c)] for c in range(3)] == pytest.approx(wanted, abs=1e-12)
        model.learn(X[i], int(Y[i]))


def _wait_for_batches(commits, query, said, patience=300):
    """How many batches a query has done when it has done one or more."""
    end = time.monotonic() + patience
    while time.monotonic() < end and query.poll() is None:
        done = len(list(commits.glob("[0-9]*"))) if commits.exists() else 0
        if done:
            return done
        time.sleep(0.02)
    raise AssertionError(f"no batch; the query returned {query.poll()}: {said.read_text()}")


def test_events_without_a_label_are_predicted_and_not_learned():
    model, events = mx.GAFClassifier(kernel=None, effort="low"), EVENTS.copy()
    events["label"] = events["label"].astype(float)
    events.loc[10:, "label"] = np.nan
    forecasts = engine.followed(model, events, list("abcd"), "label")
    assert model.learner_.forecaster.steps == 10
    assert forecasts[0] == {}
    assert sum(forecasts[-1].values()) == pytest.approx(1)
    numbers = engine.followed(mx.GAFRegressor(), EVENTS, list("abcd"), "label")
    assert numbers[0] is None
    assert all(isinstance(each, float) for each in numbers[1:])
