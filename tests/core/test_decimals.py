"""Where a library has no <charconv> of double precision, ours reads and writes the same."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no GCC here to compare with")
def test_own_decimals_are_those_of_the_library(tmp_path):
    program = tmp_path / "decimals"
    flags = ["-std=c++17", "-O1", "-DMIXABLE_ISA=core", "-DMIXABLE_OWN_DECIMALS"]
    source = Path(__file__).with_name("decimals.cpp")
    subprocess.run(
        ["g++", *flags, f"-I{ROOT / 'src'}", str(source), "-o", str(program)], check=True
    )
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
