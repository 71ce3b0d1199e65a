"""A stream that is told to stop."""

import signal
import subprocess
import time

from command_line import MIXABLE
from stream_command import GAF, appeared, counts, piped, small


def test_sigterm_in_an_idle_pipe_checkpoints_and_exits_0(tmp_path):
    for number, how in enumerate((signal.SIGTERM, signal.SIGINT), start=1):
        with piped(
            [MIXABLE, "stream", "--model", tmp_path / "model", "--target", "y", "--seconds", "0.3"]
        ) as process:
            process.stdin.write("".join(small(5)).encode())
            assert any(line.startswith(b"6,") for line in process.stdout)
            if number == 1:  # --seconds: a checkpoint though nothing more comes
                appeared(tmp_path / "model")
                assert counts(tmp_path)["events"] == 5
            process.send_signal(how)
            said = process.stderr.read().decode()
            assert process.wait() == 0
        assert f"{5 * number} events: {5 * number} predicted, 0 rejected" in said
        assert ("the checkpoint has seen 5 events" in said) == (number == 2)
        assert counts(tmp_path)["events"] == 5 * number


def test_a_stream_of_bad_events_that_is_told_to_stop_ends_in_peace(tmp_path):
    with piped(
        [MIXABLE, "stream", "--model", tmp_path / "model", "--target", "y", "--seconds", "0.1"]
    ) as process:
        process.stdin.write(b"a,y\n1,2,up\n")
        appeared(tmp_path / "model")
        process.terminate()
        assert b"1 rejected (the first at line 2: " in process.stderr.read()
        assert process.wait() == 0


def test_a_reader_that_is_stuck_does_not_keep_it_from_ending(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small(60_000)))
    command_ = [
        MIXABLE,
        "stream",
        "--model",
        tmp_path / "model",
        "--target",
        "y",
        *GAF,
        tmp_path / "in.csv",
    ]
    with subprocess.Popen(
        [*map(str, command_)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.read(1)
        time.sleep(0.5)
        process.terminate()
        assert process.wait(timeout=20) == 2
        assert b"nobody reads the answers" in process.stderr.read()


def test_closed_standard_descriptors(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small(5)))
    start = f"{MIXABLE} stream --model {tmp_path / 'model'} --target y"
    for rest in ("<&-", f"{tmp_path / 'in.csv'} >&-"):
        done = subprocess.run(f"{start} {rest}", shell=True, capture_output=True)
        assert done.returncode == 2
        assert b"is closed" in done.stderr
    assert (
        subprocess.run(
            f"{start} {tmp_path / 'in.csv'} --out {tmp_path / 'out'} <&- >&- 2>&-", shell=True
        ).returncode
        == 0
    )
