"""GAF's own constructor, limits and manners: parameters, memory, threads, Ctrl-C."""

import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from streams import logistic_stream

from mixable import GAF, GenericGAF, _core, _validate
from mixable.losses import Logistic, Squared

BAD_PARAMETERS = [
    ({"lam": 0.0}, ValueError, "lam must be above 0"),
    ({"lam": -1.0}, ValueError, "lam"),
    ({"lam": np.nan}, ValueError, "lam"),
    ({"lam": np.inf}, ValueError, "lam"),
    ({"lam": "1"}, TypeError, "lam must be a number"),
    ({"beta": 0.0}, ValueError, "beta"),
    ({"beta": -0.5}, ValueError, "beta"),
    ({"alpha": 0.0}, ValueError, "alpha"),
    ({"alpha": np.nan}, ValueError, "alpha"),
    ({"mu": -0.1}, ValueError, "mu"),
    ({"mu": 0.6}, ValueError, "mu must be at least 0 and at most 0.5"),
    ({"drift": -1e-9}, ValueError, "drift"),
    ({"drift": np.inf}, ValueError, "drift"),
    ({"seed": -1}, ValueError, "seed"),
    ({"seed": 0.5}, TypeError, "seed must be an integer"),
    ({"n_classes": 1}, ValueError, "n_classes must be at least 2"),
    ({"n_classes": 3.0}, TypeError, "n_classes"),
    ({"n_features": 0}, ValueError, "n_features"),
    ({"n_features": "4"}, TypeError, "n_features"),
]


@pytest.mark.parametrize(("wrong", "error", "message"), BAD_PARAMETERS)
def test_bad_parameters(wrong, error, message):
    with pytest.raises(error, match=message):
        GAF(**{"n_features": 4, "n_classes": 3, **wrong})


def test_parameters_can_be_read_and_not_changed():
    f = GAF(4, 3, lam=2, alpha=np.inf)
    assert (f.n_features, f.n_classes, f.lam, f.beta, f.alpha, f.mu, f.drift, f.integrator, f.seed) == (
        4,
        3,
        2.0,
        1.0,
        np.inf,
        1e-6,
        0.0,
        None,
        0,
    )
    assert repr(f) == "GAF(n_features=4, n_classes=3, lam=2.0, beta=1.0, alpha=inf, mu=1e-06, drift=0.0, integrator=None, seed=0)"
    with pytest.raises(AttributeError, match="lam is fixed"):
        f.lam = 1.0
    with pytest.raises(TypeError):
        GAF(4, 3, 0.1)  # keyword-only after the two sizes


def test_generic_gaf_checks_its_arguments():
    with pytest.raises(TypeError, match="loss must have"):
        GenericGAF("squared", 3)
    with pytest.raises(ValueError, match="lam"):
        GenericGAF(Squared(), 3, lam=0)
    with pytest.raises(ValueError, match="y must have shape"):
        GenericGAF(Squared(2), 3).learn([1.0, 2.0, 3.0], [1.0])
    with pytest.raises(MemoryError, match="bytes"):
        GenericGAF(Logistic(1000), 10_000)


def test_a_model_that_would_not_fit_is_refused_with_its_size():
    with pytest.raises(MemoryError) as refusal:
        GAF(100_000, 11)
    needed = int(re.search(r"would need (\d+) bytes", str(refusal.value)).group(1))
    assert 2 * 8 * 10**12 <= needed <= 2.5 * 8 * 10**12
    assert 0 < _validate.available_memory() < np.inf


@pytest.mark.parametrize(("d", "K"), [(64, 10), (1000, 2), (256, 10)])
def test_memory_is_two_and_a_half_matrices_at_most(d, K):
    """Resident memory grows by what the forecaster says, and that is at most 2.5 matrices of D x D doubles."""
    D = (K - 1) * d
    assert _core.gaf_bytes(d, K, False) <= 2.5 * 8 * D * D
    if D < 2000:
        return
    code = f"""
import numpy as np, mixable, resource
mixable.GAF(3, {K}).run(np.ones((40, 3)), np.arange(40) % {K})
X = np.random.default_rng(0).normal(size=(400, {d}))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
mixable.GAF({d}, {K}).run(X, np.arange(400) % {K})
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""
    grown = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert grown <= 2.5 * 8 * D * D


def test_alpha_orders_the_hedge():
    """On inputs the forecaster is sure of, the wider posterior (smaller alpha) gives the flatter forecast."""
    X, y = logistic_stream(60, 3, 4)
    confidence = []
    for alpha in (0.25, 1.0, 4.0, np.inf):
        f = GAF(3, 4, alpha=alpha)
        f.run(X, y)
        confidence.append(f.predict(X).max(axis=1).mean())
    assert confidence == sorted(confidence)


def test_mu_is_the_share_of_the_uniform_forecast():
    X, y = logistic_stream(60, 3, 4)
    plain, smooth = GAF(3, 4, mu=0.0).run(X, y), GAF(3, 4, mu=0.25).run(X, y)
    np.testing.assert_allclose(smooth, 0.75 * plain + 0.25 / 4, rtol=0, atol=1e-15)


def test_drift_follows_a_change():
    X, y = logistic_stream(4000, 3, 3)
    y = np.where(np.arange(4000) < 2000, y, (y + 1) % 3)
    losses = [-np.log(GAF(3, 3, drift=q).run(X, y)[np.arange(2000, 4000), y[2000:]]).mean() for q in (0.0, 1e-2)]
    assert losses[1] < 0.6 * losses[0]


def test_two_classes_have_one_matrix_of_d_by_d():
    f = GAF(7, 2)
    assert f._core.covariance().shape == (7, 7)


def test_threads_with_models_of_their_own_agree_with_one_after_the_other():
    X, y = logistic_stream(3000, 20, 4)
    seeds = range(4)
    expected = [GAF(20, 4, seed=seed).run(X, y) for seed in seeds]
    results: dict[int, np.ndarray] = {}
    threads = [threading.Thread(target=lambda seed=seed: results.update({seed: GAF(20, 4, seed=seed).run(X, y)})) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(results[seed], expected[seed]) for seed in seeds)


def test_the_gil_is_released_and_a_second_thread_on_the_same_model_is_refused():
    X, y = logistic_stream(40_000, 40, 4)
    f = GAF(40, 4)
    thread = threading.Thread(target=f.run, args=(X, y))
    thread.start()
    refused = 0
    while thread.is_alive():
        try:
            f.predict(X[0])
        except RuntimeError:
            refused += 1
        time.sleep(0.001)
    thread.join()
    assert refused > 5
    assert f.steps == 40_000
    assert np.isfinite(f.predict(X[0])).all()


def test_ctrl_c_stops_a_run_between_two_rows():
    code = """
import numpy as np, mixable
X = np.random.default_rng(0).normal(size=(100_000, 100))
f = mixable.GAF(100, 5)
print("ready", flush=True)
try:
    f.run(X, np.arange(100_000) % 5)
except KeyboardInterrupt:
    print("stopped", 0 < f.steps < 100_000, np.isfinite(f.predict(X[0])).all(), flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "stopped True True\n"
    assert time.monotonic() - start < 5


def test_a_state_of_another_shape_is_refused():
    small, large = GAF(3, 3), GAF(4, 3)
    with pytest.raises(ValueError, match="does not fit"):
        large._core.restore(small._core.state())
    broken = {**small._core.state(), "pending": 10**6}
    with pytest.raises(ValueError, match="counters"):
        GAF(3, 3)._core.restore(broken)
