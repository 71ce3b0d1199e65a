"""MLflow: models are logged, and loaded as themselves or as a Python function.

>>> import mixable as mx
>>> import mixable.mlflow  # doctest: +SKIP
>>> mx.mlflow.log_model(mx.GAFClassifier().fit(X, y), "model")  # doctest: +SKIP

They are files of `mixable.save`, which later versions read, no pickles.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from mixable._config import __version__
from mixable.estimators import named
from mixable.persistence import load, save

try:
    import mlflow.pyfunc
except ModuleNotFoundError as error:
    if error.name != "mlflow":
        raise
    raise ModuleNotFoundError(
        'mixable.mlflow needs MLflow: pip install "mixable[mlflow]"', name="mlflow"
    ) from None

FILE = "model.safetensors"


def log_model(model: Any, name: str = "model", **options: Any) -> Any:
    """Log a GAFClassifier or GAFRegressor in the active run; options are `mlflow.pyfunc`'s.

    Returns MLflow's ModelInfo.
    """
    with tempfile.TemporaryDirectory() as folder:
        return mlflow.pyfunc.log_model(name=name, **_described(model, folder, options))


def save_model(model: Any, path: str | Path, **options: Any) -> None:
    """The same in a folder, without a run."""
    with tempfile.TemporaryDirectory() as folder:
        mlflow.pyfunc.save_model(path=str(path), **_described(model, folder, options))


def load_model(model_uri: str) -> Any:
    """The model itself, which goes on learning; `mlflow.pyfunc.load_model` has its forecasts."""
    return mlflow.pyfunc.load_model(model_uri).get_raw_model()


def _described(model: Any, folder: str, options: dict[str, Any]) -> dict[str, Any]:
    save(named.checked(model), Path(folder, FILE))
    needed = {"pip_requirements": [f"mixable=={__version__}"]}
    return {**needed, **options, "loader_module": __name__, "data_path": str(Path(folder, FILE))}


class Forecasts:
    """What MLflow serves: a column `p_LABEL` for each class, or `mean` and `std`."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, frame: Any, params: dict[str, Any] | None = None) -> Any:
        """A frame of forecasts, one for each row."""
        import pandas as pd

        return pd.DataFrame(self.model.forecasts(frame))

    def get_raw_model(self) -> Any:
        """The model itself."""
        return self.model


def _load_pyfunc(data_path: str) -> Forecasts:
    """Called by MLflow."""
    path = Path(data_path)
    return Forecasts(load(path / FILE if path.is_dir() else path))
