"""Models in several threads, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from streams import logistic_stream

from mixable import GAF, AutoGAF, GAFClassifier
from mixable._config import one_blas_thread


def test_the_first_models_may_be_made_in_several_threads():
    code = """
import threading, mixable
make = lambda: mixable.GAF(3, 3).predict([1.0, 2.0, 3.0])
threads = [threading.Thread(target=make) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_threads_with_models_of_their_own_agree_with_one_after_the_other():
    X, y = logistic_stream(3000, 20, 4)
    seeds = range(4)
    expected = [GAF(20, 4, seed=seed).run(X, y) for seed in seeds]
    results: dict[int, np.ndarray] = {}
    threads = [
        threading.Thread(
            target=lambda seed=seed: results.update({seed: GAF(20, 4, seed=seed).run(X, y)})
        )
        for seed in seeds
    ]
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


def test_forecasts_may_be_asked_for_by_several_threads():
    X, y = logistic_stream(4000, 40, 4)
    f = GAF(40, 4)
    f.run(X, y)
    expected = f.predict(X)
    results = []
    threads = [threading.Thread(target=lambda: results.append(f.predict(X))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    assert all(np.array_equal(p, expected) for p in results)


def test_ctrl_c_stops_a_run_between_two_rows():
    code = """
import os
import signal
import numpy as np, mixable
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
X = np.random.default_rng(0).normal(size=(100_000, 100))
f = mixable.GAF(100, 5)
print("ready", flush=True)
try:
    f.run(X, np.arange(100_000) % 5)
except KeyboardInterrupt:
    print("stopped", 0 < f.steps < 100_000, np.isfinite(f.predict(X[0])).all(), flush=True)
"""
    for pause in (0.3, 2.0, 8.0):  # on a busy machine it may not have begun by then
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        time.sleep(pause)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        if out != "stopped False True\n":
            break
    assert out == "stopped True True\n"
    assert time.monotonic() - start < 5


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor has no work for two threads")
@pytest.mark.parametrize(
    "make", [lambda n: GAFClassifier(n_jobs=n), lambda n: AutoGAF(8, 3, threads=n)]
)
def test_two_threads_share_a_table(make):
    """The processor time of others than the thread that calls; BLAS has one thread."""
    X, y = logistic_stream(1500, 8, 3)
    shares = {}
    for threads in (1, 2):
        model = make(threads)
        run = getattr(model, "prequential", None) or model.run
        with one_blas_thread():
            run(X[:200], y[:200])
            everyone, own = time.process_time(), time.thread_time()
            run(X, y)
            everyone, own = time.process_time() - everyone, time.thread_time() - own
        shares[threads] = (everyone - own) / everyone
    assert shares[1] < 0.02 < 0.05 < shares[2], shares
