"""Files are written whole or not at all, whatever happens."""

import os
import signal
import subprocess
import sys
import time

import pytest

import mixable as mx


def test_what_cannot_be_saved_is_refused_and_leaves_the_old_file(saved):
    before = saved.read_bytes()

    class Own(mx.losses.Squared):
        pass

    for thing in (object(), {"a": 1}, mx.losses.Squared(), mx.GenericGAF(Own(), 2)):
        with pytest.raises(TypeError, match="cannot be saved"):
            mx.save(thing, saved)
    assert saved.read_bytes() == before


@pytest.mark.parametrize("step", ["fsync", "replace", "fdopen"])
def test_a_failure_at_any_step_leaves_the_old_file_and_nothing_else(saved, monkeypatch, step):
    before = saved.read_bytes()

    def fail(*_, **__):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="no space"):
        mx.save(mx.GAF(2, 2), saved)
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_killing_the_writer_leaves_a_whole_file(tmp_path):
    path = tmp_path / "m.safetensors"
    mx.save(mx.GAF(2, 3), path)
    script = f"""
import mixable as mx
models = [mx.GAF(60, 4), mx.GAF(50, 4)]
print("ready", flush=True)
while True:
    for model in models:
        mx.save(model, {str(path)!r})
"""
    for wait in (0.0, 0.02, 0.05, 0.11):
        process = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "ready\n"
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert mx.load(path).n_features in (2, 50, 60)


def test_files_get_the_usual_permissions(saved):
    (saved.parent / "plain").write_text("")
    assert saved.stat().st_mode == (saved.parent / "plain").stat().st_mode


def test_links_stay_links_and_files_keep_their_permissions(saved):
    link = saved.parent / "link"
    link.symlink_to(saved)
    saved.chmod(0o600)
    mx.save(mx.GAF(2, 2), link)
    assert link.is_symlink()
    assert mx.load(saved).n_classes == 2
    assert saved.stat().st_mode & 0o777 == 0o600
    long = saved.parent / ("x" * 250)
    mx.save(mx.GAF(2, 2), long)
    assert mx.load(long).n_classes == 2


def test_only_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError, match="is not a file"):
            mx.save(mx.GAF(2, 2), path)
    assert (tmp_path / "pipe").is_fifo()
