"""What a fresh wheel must do: be imported, learn, predict, be saved and loaded.

    python tests/smoke.py

It needs no more than the dependencies of the package, and refuses to test the source folder.
"""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

import mixable as mx


def main() -> None:
    """Fit, save, load, and compare; with each build of the core that is installed."""
    assert Path(mx.__file__).parent != Path(__file__).parent.parent / "src" / "mixable"
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))  # it learns in one pass
    X, y = X[order], y[order]
    model = mx.GAFClassifier().fit(X, y)
    accuracy = model.score(X, y)
    assert accuracy > 0.9, accuracy
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        mx.save(model, path)
        again = mx.load(path)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    with ThreadPoolExecutor(4) as threads:  # a lock for each model, also where Python has none
        same = list(threads.map(lambda _: again.predict_proba(X[:9]), range(40)))
        assert all(np.array_equal(p, same[0]) for p in same)
        list(threads.map(lambda t: again.partial_fit(X[t : t + 1], y[t : t + 1]), range(40)))
    assert again.forecaster_.steps == len(y) + 40
    print(f"mixable {mx.__version__}, {mx._core.isa} build: iris {accuracy:.3f}, saved and loaded")


if __name__ == "__main__":
    main()
