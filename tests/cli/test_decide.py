"""`mixable decide`."""

import json

from command_line import in_process

LINES = [{"id": t, "context": {"x": t % 3}} for t in range(12)]
REWARDS = [{"id": t, "reward": t % 2} for t in range(12)]


def written(path, entries):
    path.write_text("".join(json.dumps(each) + "\n" for each in entries))
    return path


def test_contexts_are_answered_and_the_log_is_evaluated(tmp_path):
    log, model = tmp_path / "log.jsonl", tmp_path / "agent"
    source = written(tmp_path / "in.jsonl", [*LINES, *REWARDS, {"id": 99, "reward": 1}])
    common = ("decide", source, "--log", log, "--model", model)
    first = in_process(*common, "--actions", "a,b", "--floor", "0.2")
    assert first.exit_code == 0, first.stderr
    answers = [json.loads(line) for line in first.stdout.splitlines()]
    assert [each["id"] for each in answers[:12]] == list(range(12))
    assert all(0.2 <= each["propensity"] <= 0.8 for each in answers[:12])
    assert "does not wait" in answers[12]["error"]
    assert "12 decisions, 12 rewards, 0 wait, 1 lines rejected" in " ".join(first.stderr.split())
    written(source, [*LINES, *REWARDS, {"id": 99, "reward": 1}, {"x": 1}])
    again = in_process(*common)  # goes on where it was
    assert [json.loads(line)["id"] for line in again.stdout.splitlines()] == [12]
    found = in_process("decide", log, "--evaluate", "a", "--least", "0.2")
    assert found.exit_code == 0, found.stderr
    assert "12 decisions, mean reward 0.5 in the log" in found.stdout


def test_bad_lines_have_numbers_and_blank_ones_are_none(tmp_path):
    source, log = tmp_path / "in", tmp_path / "log"
    source.write_text('\n{"id": 1, "context": {}}\n \nno JSON\n')
    done = in_process("decide", source, "--log", log, "--actions", "a,b")
    assert (done.exit_code, len(log.read_text().splitlines())) == (0, 3)
    assert json.loads(done.stdout.splitlines()[1])["line"] == 4
    assert "1 lines rejected (the first at line 4: " in " ".join(done.stderr.split())
    source.write_text(source.read_text() + "\n[]\n")
    again = in_process("decide", source, "--log", log)
    assert [json.loads(line)["line"] for line in again.stdout.splitlines()] == [6]
    assert again.exit_code == 1  # all of them were rejected


def test_logs_of_others_are_evaluated(tmp_path):
    source = tmp_path / "vw.txt"
    source.write_text("1:1:0.5 | a\n2:0:0.5 | b\n")
    found = in_process(
        "decide", source, "--evaluate", 2, "--format", "vw", "--reward-range", "-1,0"
    )
    assert found.exit_code == 0, found.stderr
    assert "always 2" in found.stdout


def test_what_is_wrong_is_said(tmp_path):
    source = written(tmp_path / "in", LINES[:1])
    for arguments, reason in (
        ((source,), "--log FILE is needed"),
        (("--evaluate", "a"), "name the log"),
        ((source, "--log", tmp_path / "x", "--reward", "much"), "reward must be one of"),
        ((source, "--evaluate", "a"), "log is empty"),
    ):
        done = in_process("decide", *arguments)
        assert done.exit_code == 2
        assert reason in " ".join(done.stderr.split())
