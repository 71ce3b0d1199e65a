"""Answers: at once, and in both formats."""

import json
import statistics
import time

from command_line import MIXABLE
from stream_command import piped, run, small


def test_answers_come_at_once_in_a_slow_pipe(tmp_path):
    header, *lines = small(12)
    times = []
    with piped(
        [MIXABLE, "stream", "--model", tmp_path / "model", "--target", "y", "--classes", "up,down"]
    ) as process:
        process.stdin.write(header.encode())
        for number, line in enumerate(lines):
            time.sleep(0.1)
            begin = time.monotonic()
            process.stdin.write(line[:5].encode())
            process.stdin.write(line[5:].encode())
            if number == 0:
                assert process.stdout.readline() == b"line,up,down\n"
            answer = process.stdout.readline().decode().split(",")
            times.append(time.monotonic() - begin)
            assert int(answer[0]) == number + 2
            assert abs(float(answer[1]) + float(answer[2]) - 1) < 1e-12
        process.stdin.close()
        assert process.wait() == 0
    assert statistics.median(times[1:]) < 0.05  # the first waits for the start of Python


def test_answers_as_json_and_csv_with_identifiers_of_all_kinds(tmp_path):
    data = (
        '{"n": "a,\\"b\\"", "x": 1, "y": "ü"}\n{"n": 7, "x": 2, "y": true}\n'
        '{"x": 3.5}\n{"n": "", "x": 3.5}\n'
    ).encode()
    lines = [
        json.loads(line)
        for line in run(tmp_path, "--target", "y", "--id", "n", data=data).stdout.splitlines()
    ]
    assert [line["n"] for line in lines] == ['a,"b"', 7, None, None]
    assert list(lines[3]["p"]) == ["ü", "true"]
    run(
        tmp_path,
        "--target",
        "y",
        "--id",
        "n",
        "--out",
        tmp_path / "out.csv",
        data=data,
        model="other",
    )
    rows = (tmp_path / "out.csv").read_text().splitlines()
    assert rows[:5] == ["n", '"a,""b"""', "n,ü", "7,1", "n,ü,true"]
    assert [float(value) for value in rows[5].split(",")[1:]] == list(lines[2]["p"].values())
    assert rows[5].startswith('"",')
