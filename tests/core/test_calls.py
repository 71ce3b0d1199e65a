"""Calls of a compiled model that meet another one: from within, from another thread, at the end of
Python.
"""

import subprocess
import sys

import pytest


def run(code, *arguments):
    """Run a script that must end by itself, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


REENTRY = """
import faulthandler, numpy as np
from mixable import GAF, VAW, AutoGAF
faulthandler.dump_traceback_later(20, exit=True)

class Argument:
    def __init__(self, call): self.call = call
    def __array__(self, dtype=None, copy=None):
        self.call()
        return np.ones(3)

def check(f):
    plain = f.predict(np.ones(3))
    inner = [
        lambda: f.predict(np.ones(3)),
        lambda: f.predict([1.0, 1.0, 1.0]),
        lambda: f.learn(np.ones(3), 1),
        f._core.state,
    ]
    for outer in (f.predict, lambda x: f.learn(x, 1)):
        for call in inner:
            try:
                outer(Argument(call))
            except RuntimeError as error:
                assert "the call that is under way" in str(error), error
            else:
                raise AssertionError("not refused")
    assert f.steps == 0
    assert np.array_equal(f.predict(np.ones(3)), plain)
    other = type(f)(**f._parameters)  # another model may be used
    assert np.array_equal(f.predict(Argument(lambda: other.predict(np.ones(3)))), plain)

for model in (GAF(3, 3), AutoGAF(3, 3), VAW(3)):
    check(model)
"""


def test_a_call_from_its_own_argument_is_refused():
    run(REENTRY)


def test_a_forecast_from_a_signal_handler_within_a_forecast_is_refused():
    run("""
import faulthandler, signal, numpy as np
from mixable import GAF
faulthandler.dump_traceback_later(20, exit=True)
f = GAF(40, 4)
X = np.random.default_rng(0).normal(size=(40_000, 40))
signal.signal(signal.SIGALRM, lambda *_: f.predict(X[0]))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
try:
    while True:
        f.predict(X)
except RuntimeError as error:
    assert "a signal handler" in str(error), error
signal.setitimer(signal.ITIMER_REAL, 0)
assert np.isfinite(f.predict(X)).all()
""")


def test_a_forecast_that_waits_for_another_thread_can_be_interrupted():
    run("""
import faulthandler, signal, threading, numpy as np
from mixable import GAF
faulthandler.dump_traceback_later(20, exit=True)

class Slow:
    def __array__(self, dtype=None, copy=None):
        begun.set()
        go_on.wait()
        return np.ones(3)

f, begun, go_on = GAF(3, 3), threading.Event(), threading.Event()
thread = threading.Thread(target=f.predict, args=(Slow(),))
thread.start()
begun.wait()
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    f.predict(np.ones(3))
except KeyboardInterrupt:
    go_on.set()
thread.join()
f.predict(np.ones(3))
""")


SHUTDOWN = """
import sys, threading, time, types, numpy as np
from mixable import GAF
f = GAF(20 if sys.argv[1] == "list" else 80, 4)
X = np.random.default_rng(0).normal(size=(2000, f.n_features))
argument = {"row": X[0], "table": X, "list": X[0].tolist()}[sys.argv[1]]
sys.setswitchinterval(1e-5)
begun = threading.Event()

def forecast():
    while True:
        f.predict(argument)
        begun.set()

class Last:
    def __init__(self): self.f, self.x = f, X[0]
    def __del__(self):
        try: self.f.predict(self.x)
        except RuntimeError: pass
        print("the end")

late = sys.modules["late"] = types.ModuleType("late")  # taken down after the threads were stopped
late.last = Last()
del late
for _ in range(3): threading.Thread(target=forecast, daemon=True).start()
begun.wait()
time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize(
    ("argument", "waits"), [("row", [0.003]), ("table", [0.003]), ("list", [0.0, 0.01])]
)
def test_daemon_threads_that_forecast_when_python_ends_do_no_harm(argument, waits):
    for wait in waits:
        assert run(SHUTDOWN, argument, str(wait)) == "the end\n"


def test_python_ends_once_daemon_threads_are_through_with_blas():
    """OpenBLAS, when it is taken down in the middle of a product of two threads, waits for ever for
    one of them.
    """
    code = """
import threading, time, numpy as np
from mixable import GAF
f, X, begun = GAF(1500, 2), np.random.default_rng(0).normal(size=(400, 1500)), threading.Event()
def busy():
    begun.set()
    for _ in range(100):
        f.predict(X)
threading.Thread(target=busy, daemon=True).start()
begun.wait()
time.sleep(0.02)
"""
    for _ in range(2):
        run(code)


def test_a_forked_process_does_not_wait_for_threads_that_it_has_not():
    run("""
import os, threading, time, warnings, numpy as np
from mixable import GAF
warnings.simplefilter("ignore")  # Python 3.12 and later advise against forks among threads
f, X, begun = GAF(80, 4), np.random.default_rng(0).normal(size=(2000, 80)), threading.Event()
def busy():
    begun.set()
    for _ in range(100):
        f.predict(X)
threading.Thread(target=busy, daemon=True).start()
begun.wait()
time.sleep(0.02)
for _ in range(8):
    child = os.fork()
    if child == 0: break
    for _ in range(500):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended: break
        time.sleep(0.01)
    else:
        os.kill(child, 9)
        raise AssertionError("the child does not end")
    assert status == 0, status
    time.sleep(0.003)
""")
