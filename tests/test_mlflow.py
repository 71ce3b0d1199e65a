"""Models in MLflow, with MLflow itself and files."""

import numpy as np
import pytest

import mixable as mx

pd = pytest.importorskip("pandas")
pytest.importorskip("mlflow", reason='MLflow is in the extra "mlflow"')
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own: of other versions, of file stores


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow

    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield mlflow
    mlflow.set_tracking_uri(None)


@pytest.fixture
def frame():
    numbers = np.random.default_rng(0).normal(size=(40, 2))
    return pd.DataFrame({"x": numbers[:, 0], "word": ["one", "two"] * 20, "z": numbers[:, 1]})


def test_a_logged_model_is_loaded_as_itself_and_as_a_function(store, frame):
    import mixable.mlflow as flavour

    model = mx.GAFClassifier(random_state=0).fit(frame, frame["z"] > 0)
    with store.start_run():
        info = flavour.log_model(model, "model")
    wanted = model.predict_proba(frame)
    served = store.pyfunc.load_model(info.model_uri).predict(frame)
    assert list(served.columns) == ["p_False", "p_True"]
    assert np.array_equal(served.to_numpy(), wanted)
    again = flavour.load_model(info.model_uri)
    assert np.array_equal(again.predict_proba(frame), wanted)
    for each in (model, again):
        each.partial_fit(frame, frame["z"] > 0)
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_a_saved_regressor_has_mean_and_deviation(store, frame, tmp_path):
    import mixable.mlflow as flavour

    model = mx.GAFRegressor().fit(frame[["x"]], frame["z"])
    flavour.save_model(model, tmp_path / "saved")
    served = store.pyfunc.load_model(str(tmp_path / "saved")).predict(frame[["x"]])
    mean, std = model.predict(frame[["x"]], return_std=True)
    assert np.array_equal(served.to_numpy(), np.column_stack([mean, std]))
    assert list(served.columns) == ["mean", "std"]


def test_other_models_are_refused(store):
    import mixable.mlflow as flavour

    with pytest.raises(TypeError, match="model must be a GAFClassifier or a GAFRegressor"):
        flavour.save_model(mx.AutoGAF(2, 2), "nowhere")
