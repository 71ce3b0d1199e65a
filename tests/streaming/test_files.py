"""The files of a stream: the lock, a full disk, files that are not its own."""

import json
import os
import resource

from command_line import MIXABLE
from stream_command import counts, piped, run, small

import mixable as mx


def test_two_processes_cannot_learn_into_one_model_and_a_dead_ones_lock_is_taken_over(tmp_path):
    with piped([MIXABLE, "stream", "--model", tmp_path / "model", "--target", "y"]) as first:
        first.stdin.write("".join(small(3)).encode())
        first.stdout.readline()
        refused = run(tmp_path, "--target", "y", data=b"", status=2)
        assert f"in use by process {first.pid}".encode() in refused.stderr
        first.kill()
    taken = run(tmp_path, "--target", "y", data="".join(small(3)).encode())
    assert f"took over the lock of process {first.pid}".encode() in taken.stderr
    assert os.listdir(tmp_path) == ["model"]


def test_a_full_disk_is_reported_and_the_last_checkpoint_kept(tmp_path):
    header, *lines = small(60)
    (tmp_path / "in.csv").write_text("".join([header, *lines[:30]]))
    run(tmp_path, "--target", "y", source="in.csv")
    before = (tmp_path / "model").read_bytes()
    (tmp_path / "in.csv").write_text("".join([header, *lines]))
    full = run(tmp_path, "--target", "y", "--out", "/dev/full", source="in.csv", status=2)
    assert b"cannot write /dev/full: No space left on device" in full.stderr

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    large = run(tmp_path, "--target", "y", source="in.csv", status=2, preexec_fn=limit)
    assert b"cannot write" in large.stderr
    assert b"the last good checkpoint is kept" in large.stderr
    assert (tmp_path / "model").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["in.csv", "model"]
    run(tmp_path, "--target", "y", source="in.csv")
    assert counts(tmp_path)["events"] == 60


def test_metrics_are_added_at_each_checkpoint_and_survive_a_torn_line(tmp_path):
    header, *lines = small(50)
    (tmp_path / "in.csv").write_text("".join([header, *lines]))
    (tmp_path / "metrics").write_text('{"events": 0}\n{"torn')
    run(
        tmp_path, "--target", "y", "--metrics", tmp_path / "metrics", "--every", 20, source="in.csv"
    )
    entries = [json.loads(line) for line in (tmp_path / "metrics").read_text().splitlines()]
    assert [entry["events"] for entry in entries] == [0, 20, 40, 50]
    scores = mx.load(tmp_path / "model").scores
    assert entries[-1]["log_loss"] == scores.log_loss
    assert entries[-1]["calibration_error"] == scores.calibration_error
    assert entries[-1]["classwise_error"] == scores.classwise_error
    rates = [each["rate"] for each in entries[-1]["by_class"].values()]
    assert rates == [each.rate for each in scores.by_class()]


def test_files_that_are_not_its_own_are_added_to(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small(20)))
    (tmp_path / "in2.csv").write_text("".join(small(30)))
    run(tmp_path, "--target", "y", "--rejects", tmp_path / "none", source="in.csv")
    (tmp_path / "precious").write_text("mine\n")
    run(
        tmp_path,
        "--target",
        "y",
        "--rejects",
        tmp_path / "precious",
        "--metrics",
        tmp_path / "precious too",
        source="in2.csv",
    )
    assert (tmp_path / "precious").read_text() == "mine\n"
    for _ in range(2):
        run(tmp_path, "--no-learn", "--out", tmp_path / "served.csv", source="in.csv")
    assert len((tmp_path / "served.csv").read_text().splitlines()) == 2 * len(
        small(20)
    )  # with a header each
