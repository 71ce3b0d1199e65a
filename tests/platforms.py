"""The core on other compilers, C libraries and processors, as far as this machine has them.

    python tests/platforms.py [NAME ...]

Compiles `core_alone.cpp` with each toolchain that is found, runs it (emulated, if it must be), and
compares its forecasts with those of the first one. What is needed: on Debian `apt install clang
libc++-dev libc++abi-dev g++-aarch64-linux-gnu qemu-user`, and `pip install ziglang`.
Not a part of the tests: each takes half a minute of the processor. Exits with 1 if one fails.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ZIG = [sys.executable, "-m", "ziglang", "c++", "-target"]
X86 = "-march=x86-64-v2"
# By name: the compiler with its options, what runs the program (None: it is only compiled), and
# what else must be installed.
PLATFORMS: dict[str, tuple[list[str], list[str] | None, str]] = {
    "g++": (["g++", X86], [], ""),
    "g++ own decimals": (["g++", X86, "-DMIXABLE_OWN_DECIMALS"], [], ""),
    "clang++": (["clang++", X86], [], ""),
    "clang++ libc++": (["clang++", X86, "-stdlib=libc++"], [], ""),
    "aarch64": (
        ["aarch64-linux-gnu-g++", "-static"],
        ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
        "qemu-aarch64",
    ),
    "musl": ([*ZIG, "x86_64-linux-musl", X86.replace("x86-64-", "x86_64_")], [], "ziglang"),
    "aarch64 musl": ([*ZIG, "aarch64-linux-musl"], ["qemu-aarch64"], "ziglang"),
    "macOS": ([*ZIG, "aarch64-macos.11.0"], None, "ziglang"),
}
MOST = 1e-6  # difference of forecasts: sums are in another order, and of hundreds of steps
OPTIONS = ["-std=c++17", "-O1", "-w", "-DMIXABLE_ISA=core", f"-I{HERE.parent / 'src'}"]


def found(compiler: list[str], needs: str) -> bool:
    """Whether a toolchain is here."""
    here = shutil.which(compiler[0]) and (not needs or shutil.which(needs))
    return bool(here) or (needs == "ziglang" and importlib.util.find_spec(needs) is not None)


def built(name: str, folder: Path) -> list[str] | None:
    """How to run the program; None if it cannot be run here."""
    compiler, runner, _ = PLATFORMS[name]
    program = folder / "alone"
    extra = [] if name == "macOS" or "musl" in name else ["-ldl", "-pthread"]
    subprocess.run(
        [*compiler, *OPTIONS, str(HERE / "core_alone.cpp"), "-o", str(program), *extra], check=True
    )
    return None if runner is None else [*runner, str(program)]


def main() -> None:
    """Print a line for each platform."""
    wanted = sys.argv[1:] or list(PLATFORMS)
    if not set(wanted) <= set(PLATFORMS):
        sys.exit(f"{__doc__}\nNAME: {', '.join(PLATFORMS)}")
    first: list[float] = []
    failed = False
    for name in dict.fromkeys(["g++", *wanted]):
        compiler, _, needs = PLATFORMS[name]
        if not found(compiler, needs):
            print(f"{name}: not here", flush=True)
            continue
        begin = os.times()
        with tempfile.TemporaryDirectory() as folder:
            try:
                command = built(name, Path(folder))
                compiled = time.process_time() + os.times().children_user - begin.children_user
                if command is None:
                    print(f"{name}: compiles ({compiled:.0f} s), cannot be run here", flush=True)
                    continue
                said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            except subprocess.CalledProcessError as error:
                print(f"{name}: {error}\n{error.stderr or ''}", flush=True)
                failed = True
                continue
        numbers = [float(line) for line in said.split()]
        first = first or numbers
        worst = max(abs(a - b) for a, b in zip(first, numbers, strict=True))
        differs = not worst <= MOST  # also if one is not a number
        failed |= differs
        print(
            f"{name}: compiled in {compiled:.0f} s, {len(numbers)} numbers, "
            f"largest difference {worst:.2g}{' TOO LARGE' if differs else ''}",
            flush=True,
        )
    sys.exit(failed)


if __name__ == "__main__":
    main()
