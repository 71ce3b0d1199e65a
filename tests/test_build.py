"""What the build says to those who cannot compile."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


COMPILERS = re.compile(r"(.*-)?(cc|c\+\+|gcc|g\+\+|clang|clang\+\+|icpx|nvc\+\+)([-.0-9].*)?")


@pytest.fixture
def configure(tmp_path):
    """Configures with every program on the path but compilers; whether it worked, and its words.

    CMake itself may be a script that needs others.
    """
    if shutil.which("cmake") is None:
        pytest.skip("no CMake here: pip brings its own for a build")
    said = subprocess.run(["cmake", "--version"], capture_output=True, text=True, check=False)
    version = re.search(r"version (\d+)\.(\d+)", said.stdout)
    least = re.search(r"VERSION (\d+)\.(\d+)", (ROOT / "CMakeLists.txt").read_text())
    if version is None or [*map(int, version.groups())] < [*map(int, least.groups())]:
        pytest.skip("the CMake on the path is too old, or none: pip brings its own for a build")
    own = tmp_path / "bin"
    own.mkdir()
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in folder.iterdir() if folder.is_dir() else ():
            place = own / program.name
            if not COMPILERS.fullmatch(program.name) and not place.is_symlink():
                place.symlink_to(program)
    generator = ["-G", "Ninja"] if shutil.which("ninja") is not None else []

    def run(**environment):
        kept = {name: each for name, each in os.environ.items() if name not in ("CXX", "CC")}
        command = ["cmake", *generator, "-S", str(ROOT), "-B", str(tmp_path / "build")]
        environment = {**kept, "PATH": str(own), **environment}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
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
    assert "Windows is not supported" in words
