"""What the build says to those who cannot compile."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def configure(tmp_path):
    """Configures with nothing but CMake on the path; returns whether that worked, and its words."""
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("no CMake here: pip brings its own for a build")
    ninja = shutil.which("ninja")
    (tmp_path / "bin").mkdir()
    if ninja is not None:
        (tmp_path / "bin" / "ninja").symlink_to(ninja)
    generator = ["-G", "Ninja"] if ninja is not None else []

    def run(**environment):
        own = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), **environment}
        # CMake of pip is a script of Python.
        kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        command = [cmake, *generator, "-S", str(ROOT), "-B", str(tmp_path / "build")]
        done = subprocess.run(
            command, env={**kept, **own}, capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode == 0, " ".join((done.stdout + done.stderr).split())

    return run


@pytest.mark.skipif(sys.platform == "darwin", reason="Xcode finds its compiler without the path")
@pytest.mark.parametrize("environment", [{}, {"CXX": "/nowhere/g++"}])
def test_without_a_compiler_the_message_says_what_to_install(configure, environment):
    worked, words = configure(**environment)
    assert not worked
    assert "there is no C++ compiler here" in words
    for how in ("apt install g++", "dnf install gcc-c++", "xcode-select --install"):
        assert how in words
    assert "Windows is not supported yet" in words
