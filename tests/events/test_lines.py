"""Bytes of all kinds: rubbish, pipes by name, the longest line."""

import contextlib
import gzip
import os
import signal
import subprocess
import threading
import time
import zlib

import numpy as np
import pytest
from command_line import MIXABLE
from kill_stream import FILES
from stream_command import GAF, appeared, balanced, counts, piped, rejects, run, small

import mixable as mx
from mixable.events.lines import LONGEST


def fuzzed():
    """Name, bytes, and events in them (None: the header itself is unreadable)."""
    rng = np.random.default_rng(0)
    header, *lines = [line.encode() for line in small(200)]
    plain = header + b"".join(lines)

    def count(data):
        return len([line for line in data.split(b"\n")[1:] if line.rstrip(b"\r")])

    noise = rng.integers(0, 256, 20_000, dtype=np.uint8).tobytes()
    yield "random bytes", noise, None
    mixed = header + b"".join(lines[:50]) + noise + b"\n" + b"".join(lines[50:])
    yield "random bytes in the midst", mixed, count(mixed)
    flipped = bytearray(plain)
    for position in rng.integers(len(header), len(plain), 300):
        flipped[position] ^= 1 << int(rng.integers(8))
    yield "flipped bits", bytes(flipped), count(bytes(flipped))
    packed = gzip.compress(plain)
    yield "truncated gzip", packed[: len(packed) // 2], "cut"
    yield "damaged gzip", packed[: len(packed) // 2] + noise[:500], "cut"
    yield "gzip without its end", packed[:-4], 201
    encodings = (
        header
        + lines[0]
        + "1,2,größer\n".encode("latin-1")
        + "1,2,größer\n".encode()
        + "1,2,x\n".encode("utf-16")
        + lines[1]
    )
    yield "mixed encodings", encodings, count(encodings)
    long = (
        header
        + lines[0]
        + b"1,"
        + b"9" * 1_000_000
        + b",up\n"
        + b"," * 1_000_000
        + b"\n"
        + b"1,2,"
        + b"z" * 1_000_000
        + b"\n"
        + lines[1]
    )
    yield "lines of 1 MB", long, 5
    yield "a line without end", header + lines[0] + b"7" * (LONGEST + 300_000) + b"\n" + lines[1], 3
    zeros = header + lines[0] + b"1,2\0,up\n\0\0\0\n" + lines[1]
    yield "NUL bytes", zeros, 4
    yield "duplicate header", b"a,a,y\n" + b"".join(lines), None
    yield "utf-16", plain.decode().encode("utf-16"), None
    yield "quoting", b'"a","b","y"\r\n"1","2","u,""p"\n1,2,"multi\nline"\n', 3
    yield "CRLF", plain.replace(b"\n", b"\r\n"), 200
    yield "BOM", b"\xef\xbb\xbf" + plain, 200
    yield "blank lines", plain.replace(b"\n", b"\n\r\n\n"), 200
    yield "a number of many bytes", header + b"1," + "ä".encode() * 200 + b",up\n", 1
    yield "no end of the last line", plain.rstrip(b"\n"), 200


def unpacked(data):
    """What can be unpacked of gzip data that are cut short or damaged."""
    unpacker, out = zlib.decompressobj(wbits=31), b""
    with contextlib.suppress(zlib.error):
        for byte in data:
            out += unpacker.decompress(bytes([byte]))
    return out


@pytest.mark.parametrize(
    ("name", "data", "events"), [pytest.param(*case, id=case[0]) for case in fuzzed()]
)
def test_rubbish_is_never_fatal_and_nothing_is_lost(tmp_path, name, data, events):
    (tmp_path / "in").write_bytes(data)
    arguments = (
        "--target",
        "y",
        "--out",
        tmp_path / "out.csv",
        "--rejects",
        tmp_path / "rejects",
        *GAF,
    )
    all_bad = name == "a number of many bytes"
    done = run(tmp_path, *arguments, source="in", status=2 if events is None else int(all_bad))
    if events is None:
        assert len(done.stderr.splitlines()) == 1
        return
    if events == "cut":
        assert "gzip" in rejects(tmp_path)[-1]["reason"]
        events = unpacked(data).count(
            b"\n"
        )  # the header is no event, and what could not be unpacked is one
    balanced(tmp_path, events)
    before = [(tmp_path / file).read_bytes() for file in FILES]
    run(tmp_path, *arguments, source="in")  # nothing is left to do
    assert [(tmp_path / file).read_bytes() for file in FILES] == before


def test_random_bytes_in_a_pipe_never_crash(tmp_path):
    rng = np.random.default_rng(3)
    alphabet = np.frombuffer(b'0123456789,.,-e+\n\n",ab\r\x00\xc3\xa4 nif', dtype=np.uint8)
    data = b"a,b,y\n" + rng.choice(alphabet, 60_000).tobytes()
    arguments = (
        "--target",
        "y",
        "--out",
        tmp_path / "out.csv",
        "--rejects",
        tmp_path / "rejects",
        "--forecaster",
        "ons",
    )
    run(tmp_path, *arguments, data=data)
    balanced(tmp_path, len([line for line in data.split(b"\n")[1:] if line.removesuffix(b"\r")]))


def test_pipes_by_name_and_json_by_name(tmp_path):
    for _ in range(2):
        os.mkfifo(tmp_path / "pipe")
        writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text("".join(small(5))))
        writer.start()
        run(tmp_path, "--target", "y", source="pipe")
        writer.join()
        (tmp_path / "pipe").unlink()
    assert mx.load(tmp_path / "model").counts["events"] == 2 * (len(small(5)) - 1)
    (tmp_path / "in.jsonl").write_text('"b":1}\n{"a":1,"y":"up"}\n')
    run(tmp_path, "--target", "y", source="in.jsonl", model="json")
    assert mx.load(tmp_path / "json").counts["rejected"] == 1
    assert (
        b"the header"
        in run(
            tmp_path, "--target", "y", "--format", "csv", source="in.jsonl", model="csv", status=2
        ).stderr
    )


def test_the_longest_line_is_the_same_however_it_arrives(tmp_path):
    line = b"1," + b"2" * (1 << 24) + b",up\n"
    data = b"a,b,y\n1,2,up\n" + line + b"3,4,down\n"
    (tmp_path / "in.csv").write_bytes(data)
    run(tmp_path, "--target", "y", "--rejects", tmp_path / "one", source="in.csv", model="file")
    run(tmp_path, "--target", "y", "--rejects", tmp_path / "two", data=data, model="pipe")
    assert mx.load(tmp_path / "file").counts == mx.load(tmp_path / "pipe").counts
    assert b"longer than 16 MiB" in (tmp_path / "one").read_bytes()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


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
