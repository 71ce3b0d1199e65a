"""Models in several threads, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from streams import logistic_stream
from threadpoolctl import threadpool_info, threadpool_limits

from mixable import GAF, AutoGAF, GAFClassifier


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


two_processors = pytest.mark.skipif(
    (os.cpu_count() or 1) < 2, reason="one processor has no work for two threads"
)


@two_processors
@pytest.mark.parametrize(
    ("make", "d", "K", "usual"),
    [
        (lambda n: GAFClassifier(n_jobs=n), 8, 3, True),
        (lambda n: AutoGAF(8, 3, threads=n), 8, 3, False),  # has too little to do
        (lambda n: AutoGAF(60, 10, threads=n), 60, 10, True),
        (lambda n: AutoGAF(50, 10, structure="full", threads=n), 50, 10, True),
    ],
)
def test_a_table_is_shared_by_as_many_threads_as_were_asked_for_or_blas_has(make, d, K, usual):
    """The share of others than the calling thread in the processor time; the bits are the same."""
    X, y = logistic_stream(1500 if d != 50 else 200, d, K)
    forecasts = []
    cases = [(1, 2, False), (2, 1, True), (None, 1, False), (None, 2, usual)]
    for threads, of_blas, shared in cases:
        model = make(threads)
        run = getattr(model, "prequential", None) or model.run
        with threadpool_limits(of_blas):
            run(X[:5], y[:5])
            time.sleep(0.2)  # for as long, threads of BLAS that had work before wait by spinning
            everyone, own = time.process_time(), time.thread_time()
            forecasts.append(run(X, y))
            everyone, own = time.process_time() - everyone, time.thread_time() - own
        part = (everyone - own) / everyone
        assert part > 0.05 if shared else part < 0.02, (threads, of_blas, part)
    assert all(np.array_equal(p, forecasts[0]) for p in forecasts)


def threads_of_blas():
    """How many SciPy's BLAS has; NumPy's, if that is another one, keeps its own."""
    import scipy.linalg.cython_blas  # noqa: F401  # a library must be loaded to be asked

    found = [each for each in threadpool_info() if each["user_api"] == "blas"]
    if any(each["internal_api"] != "openblas" for each in found):
        pytest.skip("only OpenBLAS is told how many threads to use")
    return min(each["num_threads"] for each in found)


@pytest.mark.parametrize(
    ("make", "d", "K", "seen"),
    [
        (lambda: GAFClassifier(), 8, 3, 1),
        (lambda: AutoGAF(8, 3, threads=1), 8, 3, 1),
        (lambda: GAF(150, 10), 150, 10, 2),  # has enough to do for the threads of BLAS
    ],
)
def test_blas_has_one_thread_while_a_small_model_learns_and_those_before_afterwards(
    make, d, K, seen
):
    X, y = logistic_stream(40_000 // d if d < 100 else 80, d, K)
    model, other = make(), make()
    run = getattr(model, "prequential", None) or model.run
    with threadpool_limits(2):
        if threads_of_blas() < 2:
            pytest.skip("this BLAS has one thread only")
        run(X[:5], y[:5])

        def learn():  # the first call may meet a forecast of the loop below, and is refused then
            for _ in range(1000):
                with suppress(RuntimeError):
                    return run(X, y)

        thread = threading.Thread(target=learn)
        thread.start()
        during = set()
        while thread.is_alive():
            during.add(threads_of_blas())
            with suppress(RuntimeError):  # it is being used; an estimator would wait
                getattr(model, "learner_", model).predict(X[:1])
            (getattr(other, "prequential", None) or other.run)(X[:2], y[:2])
        thread.join()
        assert seen in during
        assert seen == 1 or during == {2}
        assert threads_of_blas() == 2


def test_joblibs_workers_have_one_thread_each():
    def threads():
        return GAFClassifier()._threads

    assert threads() is None
    assert GAFClassifier(n_jobs=2)._threads == 2
    with parallel_config("threading", n_jobs=2):
        assert threads() == 2
    assert Parallel(n_jobs=2, backend="threading")(delayed(threads)() for _ in range(2)) == [1, 1]


def test_a_forked_process_has_the_threads_of_blas_again():
    code = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")  # Python 3.12 and later advise against forks among threads
import numpy as np
from mixable import AutoGAF
from threadpoolctl import threadpool_info, threadpool_limits
import scipy.linalg.cython_blas

def seen():
    return min(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")

X, y = np.random.default_rng(0).normal(size=(60_000, 20)), np.arange(60_000) % 3
threadpool_limits(2)
before = seen()
thread = threading.Thread(target=AutoGAF(20, 3).run, args=(X, y))
thread.start()
while thread.is_alive() and seen() == before > 1:
    pass
child = os.fork()
if child == 0:
    AutoGAF(20, 3).learn(X[0], 0)
    os._exit(0 if seen() == before else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
