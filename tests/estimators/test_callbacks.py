"""Scikit-learn's callbacks, with scikit-learn's own and one that counts."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mixable import GAFClassifier, GAFRegressor

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has them from 1.9 on")


class Counter:
    """Counts tasks; asks to stop once so many steps have ended."""

    def __init__(self, most=1000):
        self.begun, self.ended, self.most, self.scores = [], [], most, []

    def setup(self, estimator, context):
        self.begun.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X, metadata):
        self.begun.append((context.task_name, len(X), metadata))

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.ended.append((context.task_name, fitted_estimator.learner_.forecaster.steps))
        self.scores.append(fitted_estimator.score(X, y))
        return len(self.ended) >= self.most

    def teardown(self, estimator, context):
        self.ended.append("teardown")


@pytest.fixture
def data():
    X = np.random.default_rng(0).normal(size=(300, 2))
    return X, X[:, 0] + 0.1 * X[:, 1]


def test_a_fit_is_told_of_in_steps_and_learns_the_same(data):
    X, y = data[0], data[1] > 0
    counter, weight = Counter(), np.ones(300)
    model = GAFClassifier(random_state=0).set_callbacks(counter).fit(X, y, weight)
    parts = ("rows", 300, {"sample_weight": weight})
    assert counter.begun == ["setup", ("fit", *parts[1:]), *[parts] * 20]
    assert counter.ended[-2:] == [("fit", 300), "teardown"]
    steps = [steps for _, steps in counter.ended[:20]]
    assert steps == sorted(steps)
    assert steps[-1] == 300
    assert counter.scores[-1] > 0.95
    plain = GAFClassifier(random_state=0).fit(X, y, weight)
    assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_who_asks_to_stop_has_a_model_of_the_rows_so_far(data):
    counter = Counter(3)
    model = GAFRegressor(random_state=0).set_callbacks(counter).fit(*data)
    learned = model.learner_.forecaster.steps
    assert 300 * 3 / 20 <= learned < 300
    assert np.isfinite(model.predict(data[0])).all()
    assert counter.ended[-2:] == [("fit", learned), "teardown"]


def test_an_error_leaves_nothing_behind_and_ends_the_callbacks(data):
    counter = Counter()
    model = GAFClassifier().set_callbacks(counter)
    with pytest.raises(ValueError, match="inf"):
        model.fit([[np.inf]], [0])
    assert "learner_" not in vars(model)
    assert "_callback_fit_ctx" not in vars(model)
    counter.on_fit_task_end = lambda *_, **__: 1 / 0
    with pytest.raises(ZeroDivisionError):
        model.fit(data[0], data[1] > 0)
    assert counter.ended == ["teardown"]
    assert "learner_" not in vars(model)


def test_scikit_learns_own_callbacks_work_alone_and_in_a_search(data, capsys):
    X, y = data[0], data[1] > 0
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = GAFClassifier(random_state=0).set_callbacks(callback.ProgressBar(), monitor).fit(X, y)
    assert "GAFClassifier - fit" in capsys.readouterr().out
    assert len(monitor.get_logs().data) == 21
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model)._skl_callbacks == model._skl_callbacks
    counter = Counter()
    search = GridSearchCV(GAFClassifier().set_callbacks(counter), {"effort": ["low"]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.9
    assert counter.begun.count("setup") == 3
