"""`mixable serve` as a user meets it: starting, stopping, being killed."""

import configparser
import json
import os
import random
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from command_line import MIXABLE, in_process, mixable
from kill_serve import Client, run
from serve_command import saved, serving

from mixable.cli import serve

EXAMPLES = Path(__file__).parents[2] / "examples" / "serve"
LOCAL = "127.0.0.1"

pytest.importorskip("fastapi", reason='pip install "mixable[serve]"')


def test_it_serves_until_sigterm_and_goes_on_from_there(tmp_path):
    with serving(tmp_path / "models", "--classes", "no,yes") as (server, call):
        forecast = call.predict(features={"a": 1})[1]["probabilities"]
        assert forecast == pytest.approx({"no": 0.5, "yes": 0.5})
        assert call.predict(id="1", features={"a": 1})[0] == 200
        watcher = type(call)(server.port)
        watcher._connection.request("GET", "/live")  # would go on for ever
        refused = mixable("serve", tmp_path / "models", "--port", "0")
        assert f"in use by process {server.process.pid}" in refused.stderr
        assert server.end() == 0
        watcher.close()
        assert "stopped; everything is saved" in server.said
    model, _ = saved(tmp_path / "models")
    assert list(model.waiting) == ["1"]
    assert sorted(os.listdir(tmp_path)) == ["models"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--host", "0.0.0.0"), "--host 0.0.0.0 needs --token-file or --token"),
        (("--token", "short"), "8 characters or more"),
        (("--token", "long-enough", "--token-file", "x"), "two tokens"),
        (("--token-file", "missing"), "No such file"),
        (("--classes", "a,a"), "--classes must be different names"),
        (("--from", "missing"), "No such file"),
        (("--from", "x", "--linear"), "leave --linear out"),
        (("--host", "256.0.0.1", "--token", "long-enough"), "cannot listen at 256.0.0.1"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path, monkeypatch, options, reason):
    monkeypatch.chdir(tmp_path)
    done = in_process("serve", "models", "--port", "0", *options)
    assert (done.exit_code, reason in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "models").exists()


def test_it_goes_on_with_a_model_of_a_stream(tmp_path):
    (tmp_path / "in.csv").write_text("a,y\n" + "1,up\n-1,down\n" * 20)
    kept = tmp_path / "stream.model"
    out = tmp_path / "out.csv"
    in_process("stream", tmp_path / "in.csv", "--model", kept, "--target", "y", "--out", out)
    refused = in_process("serve", kept, "--port", "0")
    assert f"mixable serve FOLDER --from {kept} serves it" in refused.stderr.replace("\n", " ")
    with serving(tmp_path / "models", "--from", kept) as (_, call):
        assert call.predict(features={"a": 1})[1]["probabilities"]["up"] > 0.9
        assert call("PUT", "/models/other")[0] == 201
        assert call("GET", "/models/other")[1]["columns"] == ["a"]


def test_the_container_and_the_unit_start_it(tmp_path, monkeypatch):
    container = (EXAMPLES / "Containerfile").read_text()
    unit = configparser.RawConfigParser(strict=False)
    unit.read(EXAMPLES / "mixable.service")
    commands = [json.loads(container.partition("\nCMD ")[2]), unit["Service"]["ExecStart"].split()]
    (tmp_path / "token").write_text("a-long-token\n")
    bound, hosts = serve._bound, []
    monkeypatch.setattr(serve, "_bound", lambda host, _: hosts.append(host) or bound(LOCAL, 0))
    monkeypatch.setattr(serve, "_run", lambda app, service, sock: service._lock.release())
    for program, *arguments in commands:
        assert program.endswith("mixable")
        here = [
            str(tmp_path / Path(each).name) if each.startswith(("/", "%d")) else each
            for each in arguments
        ]
        done = in_process(*here)
        assert done.exit_code == 0, done.stderr
    assert saved(tmp_path / "clicks")[0].counts["learned"] == 0
    assert hosts == ["0.0.0.0", LOCAL]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_the_unit(tmp_path):
    text = (EXAMPLES / "mixable.service").read_text()
    unit = tmp_path / "mixable.service"
    unit.write_text(text.replace("/opt/mixable/bin/mixable", MIXABLE))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("option", "is_linear"), [((), False), (("--linear",), True)])
def test_new_models_are_curved_unless_told(tmp_path, monkeypatch, option, is_linear):
    monkeypatch.setattr(serve, "_run", lambda app, service, sock: service._lock.release())
    done = in_process("serve", tmp_path / "models", "--port", "0", *option)
    assert done.exit_code == 0, done.stderr
    assert saved(tmp_path / "models")[0].design.is_linear == is_linear


def test_what_version_0_2_has_not_saved_is_refused_in_one_line(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "journal-0000000000000001").write_bytes(b"nothing")
    done = in_process("serve", tmp_path / "models", "--port", "0")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "Let that version learn them" in done.stderr
    assert not list((tmp_path / "models").glob("mixable.db*"))


@pytest.mark.parametrize("name", ["KILL", "TERM"])
def test_what_was_answered_is_learned_once_whenever_it_ends(tmp_path, name):
    """tests/kill_serve.py does this more often, with more clients, and with a full disk."""
    assert hasattr(signal, f"SIG{name}")
    assert run(tmp_path / "models", name, 1, [Client(n) for n in range(4)], random.Random(0)) > 0
