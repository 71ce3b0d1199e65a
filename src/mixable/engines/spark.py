"""One model from the partitions of a Spark DataFrame, and one model for each key of a stream."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from mixable import _validate
from mixable._verbs import verbs
from mixable.engines import rounds as common
from mixable.engines.rounds import WARMUP, Rounds
from mixable.merging import merge
from mixable.persistence import dumps, loads

if TYPE_CHECKING:
    import pandas as pd

STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"


def fit(
    model: Any,
    data: Any,
    target: str,
    *,
    rounds: int = 16,
    checkpoint: str | os.PathLike[str] | None = None,
    warmup: int = WARMUP,
    on_round: Callable[[int, Any], None] | None = None,
) -> Any:
    """Return a model that has learned every row of a Spark DataFrame once.

    As `mixable.engines.dask.fit`: parameters and errors are the same, `data` is a DataFrame of
    Spark. Its partitions must be the same rows in the same order each time they are read: read it
    from files, or `persist` it. A partition must fit in the memory of its worker.
    """
    common.need("pyspark", "spark", "PySpark 4 and Java 17")
    warmup = _validate.count(warmup, "warmup", least=0)
    state = Rounds(
        model,
        rounds=rounds,
        partitions=int(data.rdd.getNumPartitions()),
        target=target,
        checkpoint=checkpoint,
    )
    if warmup and state.is_new:
        sizes = _outcomes(data, lambda part, rows: str(len(rows)).encode())
        part = min((part for part, rows in sizes if int(rows)), default=0)
        base = state.model

        def first_rows(own: int, rows: Any) -> bytes | None:
            if own != part:
                return None
            return common.warmed_up(base, rows, target, part=own, most=warmup)

        state.warm_up([(part, lambda: _outcomes(data, first_rows)[0][1])])
    while state.done < state.rounds:
        state.finish(_one_round(data, state, target))
        if on_round is not None:
            on_round(state.done, loads(state.model))
    return loads(state.model)


def _one_round(data: Any, state: Rounds, target: str) -> bytes:
    base = data.sparkSession.sparkContext.broadcast(state.model)
    skip, done, rounds = state.skip, state.done, state.rounds

    def learn(part: int, rows: Any) -> bytes:
        span = skip[1] if part == skip[0] else 0, done, rounds
        return common.learned(base.value, rows, target, part=part, span=span)

    def both(a: bytes, b: bytes) -> bytes:
        return common.merged([a, b], base.value)

    try:
        models = _by_partition(data, learn).rdd.map(lambda row: bytes(row[1]))
        return bytes(models.treeReduce(both, depth=2))
    except Exception as error:
        raise _named(error) from error
    finally:
        base.unpersist()


def _by_partition(data: Any, work: Callable[[int, Any], bytes | None]) -> Any:
    """A frame (part, outcome) of what `work` returns for each partition that it returns any for."""

    def each(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None  # there is one in a worker
        part = context.partitionId()
        found = list(batches)
        rows = pa.Table.from_batches(found).to_pandas() if found else []
        outcome = work(part, rows)
        if outcome is not None:
            yield pa.RecordBatch.from_pydict({"part": [part], "outcome": [outcome]})

    return data.mapInArrow(each, "part long, outcome binary")


def _outcomes(data: Any, work: Callable[[int, Any], bytes | None]) -> list[tuple[int, bytes]]:
    try:
        found = _by_partition(data, work).collect()
    except Exception as error:
        raise _named(error) from error
    return [(int(part), bytes(outcome)) for part, outcome in found]


def _named(error: Exception) -> Exception:
    """The error of a worker, which Spark passes on as text."""
    for line in str(error).splitlines():
        _, found, text = line.partition("PartitionError: ")
        if found:
            return common.PartitionError(text)
    return error


def keyed(
    data: Any,
    key: str,
    model: Any,
    *,
    target: str,
    keep: Iterable[str] = (),
    order: str | None = None,
) -> Any:
    """Return a stream of forecasts, made by one model for each key of a stream of events.

    Each event is predicted by the model of its key before its label is learned. A model is a value
    in the state of Structured Streaming: its checkpoints make each event count once, also when a
    query is stopped or killed and started again.

    Parameters
    ----------
    data
        A streaming DataFrame: key, features (numbers), and the target, null where it is not known.
    key
        The column of keys.
    model
        What the model of each key begins with: an estimator, or a forecaster of labels 0..K-1.
    target
        The column of labels or numbers.
    keep
        Columns that are passed on with the forecasts, such as an identifier.
    order
        A column by which the events of a key in one batch are sorted, since Spark keeps no order.

    Returns
    -------
    DataFrame
        The key, `keep`, and `forecast`: a map from labels, as text, to probabilities, or a number.
        The session must use RocksDB for state (`spark.sql.streaming.stateStore.providerClass`).
    """
    common.need("pyspark", "spark", "PySpark 4 and Java 17")
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    merge([model])  # refuses what is no model
    if data.sparkSession.conf.get(PROVIDER, None) != STORE:
        raise ValueError(f"keyed models need RocksDB for state: set {PROVIDER} to {STORE}")
    kept = [*dict.fromkeys(keep)]
    columns = [field.name for field in data.schema.fields]
    for name in [key, target, *kept, *([order] if order else [])]:
        if name not in columns:
            raise ValueError(f"data has no column {name!r}: columns are {columns!r:.200}")
    features = [name for name in columns if name not in {key, target, order, *kept}]
    is_number = not (hasattr(model, "n_classes") or hasattr(model, "predict_proba"))
    kinds = {field.name: field.dataType.simpleString() for field in data.schema.fields}
    forecast = "double" if is_number else "map<string,double>"
    shape = ", ".join(f"`{name}` {kinds[name]}" for name in [key, *kept])
    first, name_of_key = dumps(model), key

    class KeyedModel(StatefulProcessor):
        """The model of a key, as bytes, in the state of the query."""

        def init(self, handle: Any) -> None:
            self._state = handle.getValueState("model", "data binary")

        def handleInputRows(  # noqa: N802 (Spark's name)
            self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
        ) -> Iterator[pd.DataFrame]:
            import pandas as pd

            known = self._state.get() if self._state.exists() else None
            own = loads(first if known is None else bytes(known[0]))
            events = pd.concat(list(rows))
            if order is not None:
                events = events.sort_values(order, kind="stable")
            out = events[kept].copy()
            out.insert(0, name_of_key, key[0])
            out["forecast"] = followed(own, events, features, target)
            self._state.update((dumps(own),))
            yield out

        def close(self) -> None:
            pass

    return data.groupBy(key).transformWithStateInPandas(
        KeyedModel(), f"{shape}, forecast {forecast}", outputMode="Append", timeMode="None"
    )


def followed(model: Any, events: pd.DataFrame, features: list[str], target: str) -> list[Any]:
    """Forecasts of events in turn, each made before its label, if it has one, is learned."""
    import pandas as pd

    predict, learn = verbs(model)
    X, out = events[features].to_numpy(dtype="float64"), []
    for x, y in zip(X, events[target].tolist(), strict=True):
        out.append(_forecast(model, predict, x))
        if not pd.isna(y):
            learn(model, x, y, 1.0)
    return out


def _forecast(model: Any, predict: Any, x: Any) -> Any:
    if hasattr(model, "predict_proba"):
        if not hasattr(model, "learner_"):  # no label was met yet
            return {}
        labels = model.classes_.tolist()
    elif hasattr(model, "n_classes"):
        labels = list(range(model.n_classes))
    else:
        is_new = hasattr(model, "partial_fit") and not hasattr(model, "learner_")
        return None if is_new else float(predict(model, x))
    return dict(zip(map(str, labels), predict(model, x).tolist(), strict=True))
