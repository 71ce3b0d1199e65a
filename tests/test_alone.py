"""Threads that share a model: each call is whole, forecasts wait, and locks are never copied."""

import copy
import gc
import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import mixable as mx
from mixable import _alone, river
from mixable._alone import alone, call_alone
from mixable.events.model import EventModel
from mixable.model import design_of_classes

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
LABELS, TARGETS = np.where(X[:, 0] > 0, "a", "b"), X @ [1.0, 2, 0, 0]


def together(*works):
    """Run some functions in threads that begin at once; raise what they raise."""
    barrier = threading.Barrier(len(works))

    def begun(work):
        barrier.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(begun, work) for work in works]]


@pytest.mark.parametrize(
    ("model", "y"),
    [(mx.GAFRegressor(), TARGETS), (mx.GAFClassifier(), LABELS)],
    ids=["regressor", "classifier"],
)
def test_what_is_learned_while_others_forecast_is_learned_whole(model, y):
    model.fit(X, y)
    rounds = 8

    def learn():
        for _ in range(rounds):
            model.partial_fit(X, y)

    def forecast():
        for _ in range(rounds):
            assert np.isfinite(model.predict_proba(X) if y is LABELS else model.predict(X)).all()

    together(learn, forecast, learn, forecast)
    assert model.forecaster_.steps == (1 + 2 * rounds) * len(X)


def test_dictionaries_with_new_features_from_four_threads_make_a_model_that_can_be_loaded():
    model = river.GAFClassifier(kernel=None)

    def learner(own):
        def learn():
            for t in range(12):
                x = {f"x{i}": float(i * t) for i in range(10)} | {f"{own}{t // 6}": 1.0}
                model.predict_proba_one(x)
                model.learn_one(x, "ab"[t % 2])

        return learn

    together(*(learner(own) for own in "pqrs"))
    again = mx.loads(mx.dumps(model))
    assert again._steps == 48
    assert len(again._columns) == 18  # none was lost


def test_a_model_of_a_stream_is_shared_too():
    model = EventModel(design=design_of_classes(None, {}, kernel=None))
    together(*(lambda: [model.learn_one({"x": t % 3}, t % 2) for t in range(10)],) * 3)
    assert mx.loads(mx.dumps(model))._steps == 30


@pytest.mark.parametrize(
    "copied",
    [
        lambda m: pickle.loads(pickle.dumps(m)),
        copy.deepcopy,
        copy.copy,
        lambda m: mx.loads(mx.dumps(m)),
    ],
)
def test_what_is_saved_or_copied_meanwhile_is_a_model_between_two_calls(copied):
    frame = pd.DataFrame(X, columns=list("pqrs")).assign(word=LABELS)
    model = mx.GAFClassifier().partial_fit(frame[:20], LABELS[:20])
    done = threading.Event()

    def learn():
        for _ in range(20):
            model.partial_fit(frame[:20], LABELS[:20])
        done.set()

    def keep():
        found = []
        while not done.is_set() or not found:
            found.append(copied(model))
        return found

    _, found = together(learn, keep)
    for each in found:
        assert each.forecaster_.steps % 20 == 0
        assert each.forecaster_.steps == each.learner_.inputs.encoder.n
    last = found[-1].partial_fit(frame[:20], LABELS[:20])  # it has a life of its own
    assert last.forecaster_.steps % 20 == 0
    assert model.forecaster_.steps == 420


def test_no_lock_is_part_of_a_model():
    model = mx.GAFClassifier().fit(X, LABELS)
    assert not [value for value in vars(model).values() if "lock" in type(value).__name__.lower()]
    known = id(model)
    assert known in _alone._locks
    for made in (
        clone(model).fit(X, LABELS),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
    ):
        np.testing.assert_array_equal(made.predict_proba(X), model.predict_proba(X))
    del model, made
    gc.collect()
    assert known not in _alone._locks  # nobody else inherits it


class Slow(mx.GAFRegressor):
    """A model that stays in a call until it is let go."""

    @alone
    def stay(self, begun, end):
        begun.set()
        assert end.wait(10)


def test_a_call_waits_for_another_and_none_for_itself():
    model, begun, end = Slow().fit(X, TARGETS), threading.Event(), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(model.stay, begun, end)
        assert begun.wait(10)
        forecast = pool.submit(model.predict, X)
        time.sleep(0.02)
        assert not forecast.done()
        end.set()
        slow.result()
        assert len(forecast.result()) == len(X)
    assert call_alone(model, lambda each: len(each.predict(X))) == len(X)
    assert call_alone(3, lambda each: each + 1) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_threads_of_its_parent():
    model, begun, end = Slow().fit(X, TARGETS), threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(model.stay, begun, end)
        assert begun.wait(10)
        child = os.fork()
        if not child:
            os._exit(0 if len(model.predict(X[:1])) == 1 else 1)
        status = None
        for _ in range(1000):
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                break
            time.sleep(0.01)
        else:
            os.kill(child, 9)
            os.waitpid(child, 0)
        end.set()
        slow.result()
    assert (pid, status) == (child, 0)


def test_a_pickle_of_another_version_warns(monkeypatch):
    for model in (mx.GAFClassifier().fit(X, LABELS), river.GAFClassifier()):
        written = pickle.dumps(model)
        pickle.loads(written)  # warnings are errors here
        with monkeypatch.context() as patch:
            patch.setattr(_alone, "__version__", "9.9")
            with pytest.warns(UserWarning, match=r"written by mixable .* and this is 9\.9"):
                pickle.loads(written)
