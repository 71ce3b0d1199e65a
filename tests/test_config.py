"""What this installation is made of."""

import pytest
import threadpoolctl

from mixable import _config, _core
from mixable._config import MOST_THREADS, __version__, one_blas_thread, show_config, usual_threads


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


@pytest.mark.parametrize(
    ("given", "quota", "threads"),
    [
        (None, None, MOST_THREADS),
        ("1", None, 1),
        ("2,1", None, 2),
        ("many", None, MOST_THREADS),
        ("0", None, 1),
        (None, "250000 100000", 2),
        (None, "20000 100000", 1),
        (None, "max 100000", MOST_THREADS),
        ("64", "6400000 100000", MOST_THREADS),
    ],
)
def test_tables_are_shared_by_the_processors_that_we_may_use(
    monkeypatch, tmp_path, given, quota, threads
):
    monkeypatch.setattr(_config.os, "cpu_count", lambda: 16)
    monkeypatch.setattr(_config.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(_config, "QUOTA", tmp_path / "cpu.max")
    if quota:
        (tmp_path / "cpu.max").write_text(quota + "\n")
    if given is None:
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    else:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert usual_threads.__wrapped__() == threads
    monkeypatch.setattr(_config.os, "sched_getaffinity", lambda _: {5}, raising=False)
    assert usual_threads.__wrapped__() == 1


def test_a_faster_build_that_is_not_installed_is_named(capsys, monkeypatch):
    monkeypatch.setattr(_core._cpu, "x86_level", lambda: 4)
    lines = {"v3": "this machine can run the v4 build", "v4": "numpy", "plain": "numpy"}
    for has, line in lines.items():
        monkeypatch.setattr(_core, "_has", lambda build, has=has: build in ("v2", has))
        show_config()
        assert capsys.readouterr().out.splitlines()[2].startswith(line)
