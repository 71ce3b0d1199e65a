"""Which columns matter."""

import numpy as np
import pandas as pd
import pytest
from record_data import events
from scipy.sparse import csr_array
from scipy.stats import spearmanr
from sklearn.inspection import permutation_importance

import mixable as mx
from mixable.events.model import EventModel
from mixable.model import ShapeDesign, design_of_classes
from mixable.model import importance as module
from mixable.model.importance import _by_weights, _is_of, _unmixed, importance
from mixable.records import Columns

RNG = np.random.default_rng(0)


def kept(columns=None):
    return EventModel(design=design_of_classes(None, {"lam": None}), columns=columns)


def test_keys_of_numbers_are_known_by_their_place():
    design = ShapeDesign(linear=True, bins=(2.0, 8.0), whole=True)
    shapes = design.inputs(3).shapes
    x = np.array([[0.3, -7.25, 12.0], [5.0, -99_999.0, 0.0]])
    z = RNG.normal(size=(2, 3)) * 20
    for row, scaled in zip(x, z, strict=True):
        keys = np.array(shapes.features(row, scaled)[0], np.uint64)
        own = [_is_of(_unmixed(keys), place, 2) for place in range(3)]
        np.testing.assert_array_equal(np.sum(own, axis=0), np.ones(9))  # each is of one number
        assert [np.flatnonzero(each).tolist() for each in own] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    others = RNG.integers(0, 2**63, 1000).astype(np.uint64)
    assert not _is_of(_unmixed(others), 0, 2).any()


@pytest.mark.parametrize("strong", ["price", "device", "query", "tags", "at"])
def test_the_column_that_makes_the_label_matters_most(strong):
    """Of each kind, and by its own name."""
    model = kept(Columns(time=["at"], ignore=["note"]))
    for record in events(300, seed=3):
        record = {"price": float(RNG.normal()), **{k: v for k, v in record.items() if k != "price"}}
        if strong not in record or not record[strong]:
            continue
        value = record[strong]
        if strong == "at":
            value = int(value[11:13]) > 11
        elif strong == "price":
            value = value > 0.2
        else:
            value = "new" in value or "red" in value or "phone" in value
        model.learn_one(record, str(value))
    sizes = model.important()
    assert next(iter(sizes)) == strong
    assert set(sizes) <= {"user", "device", "price", "query", "at", "tags"}
    assert list(model.important(2)) == list(sizes)[:2]


def test_linear_models_say_how_far_a_column_moves_the_log_odds():
    X = RNG.normal(size=(400, 3)) * [1, 100, 0.01]
    y = X[:, 1] / 100 + 0.3 * X[:, 2] / 0.01 + 1.5 * RNG.normal(size=400) > 0
    linear = mx.GAFClassifier(kernel=None).fit(X, y)
    sizes = linear.important()
    expected = {j: abs(linear.coef_[0, j]) * X[:, j].std() for j in sizes}
    assert sizes == pytest.approx(expected, rel=0.01)
    pooled = mx.GAFClassifier().fit(X, y).important()  # the same unit, of forecasts as they are
    assert list(pooled) == list(sizes) == [1, 2, 0]
    assert pooled == pytest.approx(expected, rel=0.15, abs=0.15)


def nonlinear(kind: str, n: int = 1200):
    """A table, its outcomes, and the columns that make them; no weight of a column tells."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
    k, z = (rng.choice(list("pqrs"), size=n) for _ in range(2))
    if kind == "xor":
        return X, (X["a"] > 0) ^ (X["b"] > 0), {"a", "b"}
    if kind == "bump":
        return X, X["c"].abs() < 0.6, {"c"}
    if kind == "category":
        return X.assign(k=k, z=z), (k == "p") | (k == "r"), {"k"}
    if kind == "interaction":
        return X.assign(k=k, z=z), X["a"] * np.where(k < "q", 1, -1) > 0, {"a", "k"}
    if kind == "product":
        return X, X["a"] * X["b"], {"a", "b"}
    if kind == "steps":
        return X, np.floor(3 * X["d"].abs()), {"d"}
    return X.assign(k=k, z=z), (X["a"] > 0) * (k == "q") * 5.0, {"a", "k"}


@pytest.mark.parametrize(
    "kind", ["xor", "bump", "category", "interaction", "product", "steps", "gate"]
)
def test_columns_that_matter_nonlinearly_matter_and_noise_hardly(kind):
    X, y, useful = nonlinear(kind)
    model = mx.GAFClassifier() if y.dtype == bool else mx.GAFRegressor()
    model.prequential(X, y)
    sizes = model.important()
    assert set(list(sizes)[: len(useful)]) == useful
    noise = max(sizes.get(name, 0.0) for name in set(X) - useful)
    assert noise < 0.25 * min(sizes[name] for name in useful)
    shares = dict(zip(X, model.feature_importances_, strict=True))
    assert shares == pytest.approx({name: sizes.get(name, 0) / sum(sizes.values()) for name in X})


def test_it_ranks_columns_as_permutations_of_new_rows_do():
    X, y = mx.datasets.load_segment()[:2]
    order = np.random.default_rng(0).permutation(len(y))[:1500]
    X, y = X[order], np.asarray(y)[order]
    model = mx.GAFClassifier().fit(X[:900], y[:900])
    judge = permutation_importance(
        model, X[900:], y[900:], scoring="neg_log_loss", n_repeats=2, random_state=0
    ).importances_mean
    by_weights = _by_weights(model.learner_, range(19))
    weights = [by_weights.get(j, 0.0) for j in range(19)]
    rank, other = (
        spearmanr(each, judge).statistic for each in (model.feature_importances_, weights)
    )
    assert rank > 0.75
    assert rank > other + 0.15


def test_what_classes_are_called_makes_no_difference():
    X, _, _ = nonlinear("xor", 500)
    y = np.digitize(X["a"] * X["b"], [-0.4, 0.4])
    one, other = (
        mx.GAFClassifier().fit(X, np.array([*names])[y]).important() for names in ("xyz", "zxy")
    )
    assert one == pytest.approx(other, rel=1e-6)


def test_saved_models_say_the_same_and_asking_changes_nothing(tmp_path):
    X, y, _ = nonlinear("interaction", 400)
    model = mx.GAFClassifier().fit(X, y)
    before = mx.dumps(model)
    sizes = model.important()
    assert mx.dumps(model) == before
    assert mx.loads(before).important() == sizes


def test_merged_models_say_it_of_all_records():
    X, y, useful = nonlinear("interaction")
    base = mx.GAFClassifier().fit(X[:300], y[:300])
    parts = [mx.loads(mx.dumps(base)) for _ in range(2)]
    for i, part in enumerate(parts):
        mx.merging.freeze(part)
        part.partial_fit(X[300 + i :: 2], y[300 + i :: 2])
    assert set(mx.merge(parts, base=base).important(2)) == useful


def test_columns_that_come_late_matter():
    model = mx.river.GAFClassifier()
    X, y, _ = nonlinear("xor")
    for t, (row, label) in enumerate(zip(X.to_dict("records"), y, strict=True)):
        late = {"b"} if t < 300 else set()
        model.learn_one({name: v for name, v in row.items() if name not in late}, bool(label))
    assert set(model.important(2)) == {"a", "b"}


def test_words_matter_by_the_weight_of_those_that_know_them():
    """Trees keep no words: how far these move a sparse expert counts as much as the expert."""
    X, y, _ = nonlinear("bump")
    words = RNG.choice(["one two", "two three", "one three four", "five six"], size=len(X))
    noise = X.assign(text=words)
    model = kept(Columns(text=["text"]))
    told = kept(Columns(text=["text"]))
    for row, label in zip(noise.to_dict("records"), y, strict=True):
        model.learn_one(row, str(label))
        told.learn_one(row, str("one" in row["text"]))
    sizes = model.important()
    assert next(iter(sizes)) == "c"
    assert sizes["text"] < 0.1 * sizes["c"]
    assert sizes["text"] < 0.5 * _by_weights(model.learner, [])["text"]
    assert next(iter(told.important())) == "text"


def test_rows_of_large_weight_count_more():
    """The column matters among negative ones only."""
    X = RNG.normal(size=(600, 2))
    y = np.minimum(X[:, 0], 0) * (X[:, 1] > 0)
    sizes = [
        mx.GAFRegressor().fit(X, y, sample_weight=np.where(X[:, 1] > 0, w, 1 / w)).important()[0]
        for w in (10.0, 0.1)
    ]
    assert sizes[0] > 1.5 * sizes[1]


def kept_rows_of(learner):
    trees = next(each._core for each in learner.pool.experts if isinstance(each, mx.Trees))
    return module._kept(trees, trees.came)[:2]


def test_rows_that_trees_keep_are_forecast_as_their_records_are():
    """Experts on keys see the values of categories, and of times what they saw."""
    X, y, _ = nonlinear("interaction", 300)
    model = mx.GAFClassifier(shuffle=False).fit(X, y)
    forecasts = np.exp(module._forecasts(model.learner_, *kept_rows_of(model.learner_)))
    np.testing.assert_allclose(forecasts, model.predict_proba(X), rtol=1e-9)

    X["at"] = pd.date_range("2024-01-01", periods=len(X), freq="7min").astype(str)
    model = mx.GAFClassifier(shuffle=False, columns=Columns(time=["at"])).fit(X, y)
    learner = model.learner_
    rows = learner.inputs.transform(X)
    hours = np.isin(rows.keys, [*learner.inputs.encoder.registry.columns["at"].key_names()])
    rows.indptr = np.concatenate([[0], np.cumsum(~hours)[rows.indptr[1:] - 1]])
    rows.keys, rows.values = rows.keys[~hours], rows.values[~hours]
    x, keys = kept_rows_of(learner)
    x[:, learner.inputs.encoder.registry.columns["at"].places[-1]] = rows.dense[:, -1]
    forecasts = np.exp(module._forecasts(learner, x, keys))
    np.testing.assert_allclose(forecasts, learner.pool.predict(rows), rtol=1e-9)


def test_of_few_records_and_of_columns_that_trees_do_not_see_weights_say_it(monkeypatch):
    X, y, _ = nonlinear("xor", 400)
    few = mx.GAFClassifier()
    few.partial_fit(X[:31], y[:31])
    weights = _by_weights(few.learner_, list(X))
    assert few.important() == {name: size for name, size in weights.items() if size > 0}
    few.partial_fit(X[31:32], y[31:32])
    assert few.important() != pytest.approx(_by_weights(few.learner_, list(X)))
    monkeypatch.setattr(module, "n_seen", lambda columns: min(columns, 2))
    model = mx.GAFClassifier().fit(X, y)
    sizes, weights = model.important(), _by_weights(model.learner_, list(X))
    share = module._share_of_weights(model.learner_.pool)
    assert list(sizes)[:2] in (["a", "b"], ["b", "a"])
    for name in "cdef":
        assert sizes.get(name, 0.0) == pytest.approx(share * weights[name])


def test_of_many_columns_those_are_tried_that_seem_to_matter(monkeypatch):
    X, y, useful = nonlinear("interaction")
    model = mx.GAFClassifier().fit(X, y)
    learner, full = model.learner_, model.important()
    weights = _by_weights(learner, [])
    seen = []
    likely = module._likely
    monkeypatch.setattr(module, "_likely", lambda *args: seen.append(likely(*args)) or seen[-1])
    monkeypatch.setattr(module, "SECONDS", 0.02)
    few = importance(learner, [])
    assert {column.name for column in seen[0][:2]} == useful
    assert set(list(few)[:2]) == useful
    untried = [column.name for column in seen[0][-2:]]
    share = module._share_of_weights(learner.pool)
    assert [few[name] for name in untried] == pytest.approx([share * weights[n] for n in untried])
    assert few != full
    monkeypatch.setattr(module, "SECONDS", 1e-4)
    assert importance(learner, []) == pytest.approx(weights)


def test_columns_of_sparse_matrices_and_counts_matter():
    S = (RNG.random((300, 40)) < 0.2).astype(float)
    model = mx.GAFClassifier().fit(csr_array(S), S[:, 7].astype(int))
    assert next(iter(model.important(1))) == 7
    bags = kept()
    for row in S:
        bags.learn_one({f"w{j}": 1 for j in np.flatnonzero(row)}, str(row[7]))
    assert next(iter(bags.important(1))) == "w7"


def test_nothing_is_known_at_first():
    assert kept().important() == {}
    model = kept(Columns(category=["a"]))
    model.begin_records([{"a": "x"}])
    assert model.important() == {}
    with pytest.raises(ValueError, match="n must be"):
        model.important(0)
