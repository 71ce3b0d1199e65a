"""The command line as a user meets it: the real command, its output, its errors."""

import subprocess
import sys
from importlib.metadata import version

import pytest
from command_line import MIXABLE, mixable

from mixable import bounds
from mixable.cli.app import COMMANDS, command_called


@pytest.mark.parametrize("start", [[MIXABLE], [sys.executable, "-m", "mixable"]])
def test_version_is_the_packages(start):
    done = subprocess.run([*start, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"mixable {version('mixable')}\n", "")


def test_bound_prints_the_table():
    done = mixable("bound", "--n", 10000, "--d", 18, "--classes", 4, "--radius", 5)
    assert done.returncode == 0
    for row in bounds.table1(10_000, 18, 4, 5.0):
        (line,) = (line for line in done.stdout.splitlines() if f" {row.algorithm} " in line)
        assert f"{row.regret:,.4g}" in line
    assert "AIOLI" not in done.stdout
    said = " ".join(done.stdout.split("Which forecaster each bound covers:")[1].split())
    for row in bounds.table1(10_000, 18, 4, 5.0):
        assert f"- {row.algorithm}: {row.covers}." in said
    assert said.count("Certified() and its mu = 1/n add 2.1 nats to ") == 3  # each set
    seven = mixable("bound", "--n", 10000, "--d", 18, "--classes", 7, "--radius", 5).stdout
    said = " ".join(seven.split("Which forecaster each bound covers:")[1].split())
    tight = bounds.gaf(10_000, 18, 7, 5.0, 1.0, "tight")
    assert (
        f"GAF.from_theory(horizon=n, constants='tight'): lam = {tight.lam:.3g}; "
        "integrals.Envelope() and its mu = 1/n add " in said
    )
    assert said.count("integrals.Envelope()") == 3  # with each set of constants
    two = mixable("bound", "--n", 100, "--d", 3, "--classes", 2, "--radius", 5, "--bound", 2).stdout
    assert "AIOLI" in two
    assert two.count("integrals.Quadrature() and its mu = 1/n add 2 nats to ") == 3
    assert "Sobol" not in two
    huge = mixable("bound", "--n", 10**13, "--d", 18, "--classes", 4, "--radius", 600)
    assert huge.returncode == 0
    assert "inf" in huge.stdout


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("--n", 0, "--d", 3, "--classes", 2, "--radius", 1), "--n"),
        (("--n", 10, "--d", 3, "--classes", 1, "--radius", 1), "--classes"),
        (("--n", 10, "--d", 3, "--classes", 2, "--radius", -1), "must be above 0"),
        (("--n", 10, "--d", 3, "--classes", 2, "--radius", "nan"), "must be above 0"),
        (("--n", "ten", "--d", 3, "--classes", 2, "--radius", 1), "--n"),
        (("--n", 10), "--d"),
    ],
)
def test_bad_options_are_named_with_exit_code_2(wrong, message):
    done = mixable("bound", *wrong)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "start", [["-c", "from mixable.cli import main; main()"], ["-m", "mixable"]]
)
def test_without_the_extra_the_command_says_what_to_install(start, tmp_path):
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError('No module named typer')")
    done = subprocess.run(
        [sys.executable, *start, "datasets"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode != 0
    assert "mixable[cli]" in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_says_of_each_command_what_it_says_itself():
    for name, (_, sentence) in COMMANDS.items():
        assert command_called(name).help.split("\n\n")[0].replace("\n", " ") == sentence


def test_help_and_errors_import_no_command():
    code = "import sys; from mixable.cli.app import app; app([{!r}], standalone_mode=False)"
    for word, said in (
        ("--help", "Copy the log and all models"),
        ("strem", "Did you mean 'stream'"),
    ):
        ended = f"try:\n    {code.format(word)}\nfinally:\n    print(sorted(sys.modules))"
        done = subprocess.run([sys.executable, "-c", ended], capture_output=True, text=True)
        assert said in done.stdout + done.stderr
        modules = done.stdout.splitlines()[-1]
        assert "'mixable.cli.app'" in modules
        for other in ("mixable.events", "mixable.paper", "scipy", "sklearn"):
            assert f"'{other}'" not in modules
