"""What cannot be saved says why, and what to do instead."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mixable
from mixable import GAFClassifier
from mixable.persistence import why_unsaved as why

MODEL = GAFClassifier(effort="low", kernel=None)


def test_a_pipeline_whose_first_steps_are_needless():
    text = why(make_pipeline(StandardScaler(), MODEL))
    assert "mixable.save(pipeline[-1], path)" in text
    assert "Leave out 'standardscaler': GAFClassifier scales numbers" in text
    assert "skops" not in text


def test_a_pipeline_whose_first_steps_are_needed():
    text = why(make_pipeline(HashingVectorizer(), MODEL))
    assert "Keep 'hashingvectorizer' by skops.io.dump(pipeline[:-1], other)" in text
    assert "Leave out" not in text


def test_what_it_says_works(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    pipeline = make_pipeline(StandardScaler(), MODEL).fit(X, X[:, 0] > 0)
    with pytest.raises(TypeError, match="cannot be saved whole"):
        mixable.save(pipeline, tmp_path / "model")
    assert not any(tmp_path.iterdir())
    mixable.save(pipeline[-1], tmp_path / "model")
    again = make_pipeline(pipeline[:-1], mixable.load(tmp_path / "model"))
    assert np.array_equal(again.predict_proba(X), pipeline.predict_proba(X))


def test_other_things():
    assert "is a class, not a model" in why(GAFClassifier)
    assert "its last step, 'logisticregression', is a LogisticRegression" in why(
        make_pipeline(LogisticRegression())
    )
    assert "not a model of this library" in why([1])
    assert "a part of" in why(MODEL.fit([[0.0], [1.0]], [0, 1]).learner_)


def test_a_pipeline_of_river():
    compose = pytest.importorskip("river.compose")
    from river.preprocessing import OneHotEncoder

    from mixable.river import GAFClassifier as RiverClassifier

    pipeline = compose.Pipeline(OneHotEncoder(), RiverClassifier())
    text = why(pipeline)
    assert "mixable.save(pipeline['GAFClassifier'], path)" in text
    assert "Make 'OneHotEncoder' again" in text
    assert isinstance(pipeline["GAFClassifier"], RiverClassifier)
