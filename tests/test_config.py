"""What this installation is made of."""

import subprocess
import sys

import threadpoolctl

from mixable import _core
from mixable._config import __version__, one_blas_thread, show_config


def blas_threads():
    info = threadpoolctl.threadpool_info()
    return [each["num_threads"] for each in info if each["user_api"] == "blas"]


def test_blas_has_one_thread_within_and_those_before_afterwards():
    with one_blas_thread():
        pass  # now the library is loaded
    with threadpoolctl.threadpool_limits(2):
        before = blas_threads()
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_a_bug_report_names_version_build_and_blas(capsys, monkeypatch):
    monkeypatch.setattr(_core, "missing_build", lambda: "")
    show_config()
    first, core, libraries, *blas = capsys.readouterr().out.splitlines()
    assert first == f"mixable {__version__}"
    assert core.startswith(f"core: {_core.isa} build, {_core.vector_width} doubles a vector")
    assert libraries.startswith("numpy ")
    assert len(blas) == len(blas_threads())
    assert all(line.startswith("BLAS of ") for line in blas)


def test_a_faster_build_that_is_not_installed_is_named(capsys, monkeypatch):
    monkeypatch.setattr(_core._cpu, "x86_level", lambda: 4)
    lines = {"v3": "this machine can run the v4 build", "v4": "numpy", "plain": "numpy"}
    for has, line in lines.items():
        monkeypatch.setattr(_core, "_has", lambda build, has=has: build in ("v2", has))
        show_config()
        assert capsys.readouterr().out.splitlines()[2].startswith(line)


def test_blas_is_that_of_scipy_without_the_rest_of_it():
    code = """
import sys
import mixable
mixable.AutoGAF(3, 2).learn([1.0, 2.0, 3.0], 1)
print("scipy.linalg" in sys.modules)
import scipy.linalg.cython_blas
from mixable._core import scipy_blas
print(scipy.linalg.cython_blas.__pyx_capi__["dgemm"] is scipy_blas.blas.__pyx_capi__["dgemm"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\nTrue\n"
