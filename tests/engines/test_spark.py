"""Spark: one model of a frame, and a model for each key of a stream that is stopped and goes on."""

import os
import shutil

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


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql", reason='needs PySpark: pip install "mixable[spark]"')
    if not HAS_JAVA:
        pytest.skip("needs Java 17 or later, which is not installed")
    builder = sql.SparkSession.builder.master("local[2]").config(engine.PROVIDER, engine.STORE)
    for name in ("spark.sql.shuffle.partitions", "spark.default.parallelism"):
        builder = builder.config(name, "1")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def test_it_is_what_one_process_does(spark):
    data = spark.createDataFrame(FRAME).repartition(2).persist()
    model = engine.fit(linear(), data, "label", rounds=2, warmup=100)
    parts = [pd.DataFrame(rows, columns=data.columns) for rows in data.rdd.glom().collect()]
    wanted = by_hand(linear(), parts, n_rounds=2)
    assert model.learner_.forecaster.steps == 600
    assert distance(model, wanted, FRAME[list("abcd")][:50]) < 1e-9
    with pytest.raises(PartitionError, match=r"partition 0 .*no column 'nothing'"):
        engine.fit(linear(), data, "nothing", rounds=2, warmup=100)


def run(spark, folder):
    """Go on with the stream until it has read all files there are."""
    schema = "a double, b double, c double, d double, label long, key string, i long"
    stream = spark.readStream.schema(schema).parquet(os.fspath(folder / "in"))
    prototype = mx.GAF(4, 3, structure="blocks")
    out = engine.keyed(stream, "key", prototype, target="label", keep=["i"], order="i")
    query = out.writeStream.format("parquet").option("path", os.fspath(folder / "out"))
    query = query.option("checkpointLocation", os.fspath(folder / "state"))
    query.trigger(availableNow=True).start().awaitTermination()


def test_a_model_for_each_key_and_each_event_once(spark, tmp_path):
    """Stopped after the first file and started again: as if it had never been stopped."""
    (tmp_path / "in").mkdir()
    for part in (slice(0, 30), slice(30, 60)):
        EVENTS[part].to_parquet(tmp_path / "in" / f"{part.start}.parquet")
        run(spark, tmp_path)
    got = spark.read.parquet(os.fspath(tmp_path / "out")).toPandas().sort_values("i")
    assert got["i"].tolist() == list(range(60))
    models = {}
    for i, forecast in zip(got["i"], got["forecast"], strict=True):
        model = models.setdefault(EVENTS.key[i], mx.GAF(4, 3, structure="blocks"))
        wanted = model.predict(X[i]).tolist()
        assert [dict(forecast)[str(c)] for c in range(3)] == pytest.approx(
            wanted.tolist(), abs=1e-9
        )
        model.learn(X[i], int(Y[i]))


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
