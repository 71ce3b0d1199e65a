"""A streaming query with a model for each key, run to the end, or until somebody kills it.

    python tests/keyed_query.py FOLDER

reads FOLDER/in, one file a batch, and writes FOLDER/out, with its checkpoints in FOLDER/state.
"""

import os
import sys
from pathlib import Path

import mixable as mx
from mixable.engines import spark as engine

OPTIONS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.ui.enabled": "false",
    # No network.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
SCHEMA = "a double, b double, c double, d double, label long, key string, i long"


def session():
    """A Spark of two threads in this process, or the one that there is."""
    from pyspark.sql import SparkSession

    # Else its workers are of the first python3 on the path, which may lack this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config(engine.PROVIDER, engine.STORE)
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def prototype():
    """What the model of each key begins with."""
    return mx.GAF(4, 3, structure="blocks")


def run(spark, folder, tries=10):
    """Go on with the stream until it has read all files there are.

    Spark gives a Python process ten seconds to start, which a busy machine may not have. Then the
    query goes on from its checkpoint, as after any other crash.
    """
    from pyspark.errors import StreamingQueryException

    for _ in range(tries - 1):
        try:
            return _run(spark, folder)
        except StreamingQueryException as error:
            if "failed to connect back" not in str(error):
                raise
    return _run(spark, folder)


def _run(spark, folder):
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    events = stream.parquet(os.fspath(folder / "in"))
    out = engine.keyed(events, "key", prototype(), target="label", keep=["i"], order="i")
    query = out.writeStream.format("parquet").option("path", os.fspath(folder / "out"))
    query = query.option("checkpointLocation", os.fspath(folder / "state"))
    query.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    run(session(), Path(sys.argv[1]))
