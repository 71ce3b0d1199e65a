"""A stream that is ended, killed or cut goes on to the same bytes."""

import gzip
import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest
from command_line import MIXABLE
from kill_stream import FILES, command, kill_and_resume, write_events
from stream_command import GAF, appeared, balanced, counts, piped, rejects, run, small

import mixable as mx

beside_the_one_alone = pytest.mark.xdist_group("alone")  # so that it is run once


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A run that nobody has disturbed, and its input."""
    folder = tmp_path_factory.mktemp("alone")
    write_events(folder / "in.csv", 4000)
    subprocess.run(
        command(folder, folder / "in.csv", "--every", 300, *GAF), check=True, capture_output=True
    )
    return folder


def same(folder, alone):
    for name in FILES:
        assert (folder / name).read_bytes() == (alone / name).read_bytes(), name


@pytest.mark.parametrize("how", ["KILL", "TERM"])
@beside_the_one_alone
def test_ended_at_random_moments_and_resumed_the_bytes_are_the_same(alone, tmp_path, how):
    often, number = ("--every", 300, "--seconds", 0.05), getattr(signal, f"SIG{how}")
    for seed in range(6):  # it may be done before the signal comes
        (folder := tmp_path / str(seed)).mkdir()
        rng = np.random.default_rng(seed)
        hit = kill_and_resume(folder, alone / "in.csv", 2, number, rng, *often, *GAF)
        same(folder, alone)
        assert sorted(os.listdir(folder)) == sorted(FILES)  # no locks, no parts
        if hit:
            break
    assert hit


@beside_the_one_alone
def test_a_pipe_in_dribs_gzip_and_small_checkpoints_give_the_same_bytes(alone, tmp_path):
    (packed := tmp_path / "packed").mkdir()
    data = (alone / "in.csv").read_bytes()
    (tmp_path / "in.gz").write_bytes(
        gzip.compress(data[:50_000]) + gzip.compress(data[50_000:]) + bytes(512)
    )
    subprocess.run(
        command(packed, tmp_path / "in.gz", "--every", 17, *GAF), check=True, capture_output=True
    )
    same(packed, alone)

    (dribs := tmp_path / "dribs").mkdir()
    rng, at = np.random.default_rng(0), 0
    with piped(
        command(dribs, "x", "--every", 1000, *GAF)[:-1], stderr=subprocess.DEVNULL
    ) as process:
        while at < len(data):
            step = int(rng.choice([1, 7, 100, 3000, 40_000]))
            process.stdin.write(data[at : at + step])
            at += step
            time.sleep(0.001)
        process.stdin.close()
        assert process.wait() == 0
    same(dribs, alone)


def test_the_mixture_resumes_to_the_same_bytes_in_the_midst_of_growing(tmp_path):
    """JSON lines with new classes and features on the way, in a file that grows between runs."""
    rng = np.random.default_rng(1)
    lines = []
    for t in range(180):
        names = "abcd"[: 2 + max(t - 1, 0) // 60]
        x = dict(zip(names, rng.normal(size=len(names)).tolist(), strict=True))
        lines.append(
            json.dumps({**x, "y": ["no", "yes", 3][int(rng.integers(3 if t > 100 else 2))]}) + "\n"
        )
    (tmp_path / "in.jsonl").write_text("".join(lines))
    run(tmp_path, "--target", "y", "--out", tmp_path / "out.csv", source="in.jsonl", model="whole")
    whole = (tmp_path / "out.csv").read_bytes()
    for cut in (30, 61, 102, 180):
        (tmp_path / "in.jsonl").write_text("".join(lines[:cut]))
        run(
            tmp_path,
            "--target",
            "y",
            "--out",
            tmp_path / "pieces.csv",
            source="in.jsonl",
            model="pieces",
        )
    assert (tmp_path / "pieces.csv").read_bytes() == whole
    assert (tmp_path / "pieces").read_bytes() == (tmp_path / "whole").read_bytes()
    model = mx.load(tmp_path / "whole")
    assert (list(model.columns), sorted(model.learner.labels)) == (
        ["a", "b", "c", "d"],
        ["3", "no", "yes"],
    )


def test_another_input_is_recognised_and_a_shortened_one_refused(tmp_path):
    header, *lines = small(500)
    arguments = ("--target", "y", "--out", tmp_path / "out.csv", *GAF)
    (tmp_path / "one.csv").write_text("".join([header, *lines]))
    run(tmp_path, *arguments, source="one.csv")
    (tmp_path / "one.csv").write_text("".join([header, *lines, *lines[:10]]))
    grown = run(tmp_path, *arguments, source="one.csv")
    assert b"has seen 500 events; going on after line 501" in grown.stderr
    assert counts(tmp_path)["events"] == 510
    (tmp_path / "one.csv").write_text("".join([header, *lines[:450]]))
    assert b"is shorter, or differs" in run(tmp_path, *arguments, source="one.csv", status=2).stderr
    (tmp_path / "two.csv").write_text("".join(small(40, seed=5)[:31]))
    other = run(tmp_path, *arguments, source="two.csv")
    assert b"another input: reading it from the beginning" in other.stderr
    assert counts(tmp_path)["events"] == 540
    run(tmp_path, *arguments, "--from-start", source="two.csv")
    assert counts(tmp_path)["events"] == 570
    assert (
        len([line for line in (tmp_path / "out.csv").read_text().splitlines() if line[0].isdigit()])
        == 570
    )
    (tmp_path / "out.csv").unlink()
    (tmp_path / "two.csv").write_text("".join(small(40, seed=5)))
    lost = run(tmp_path, *arguments, source="two.csv")
    assert b"does not have what was answered" in lost.stderr
    assert (tmp_path / "out.csv").read_text().splitlines()[0].startswith("line,")


def test_an_empty_input_or_an_early_stop_leaves_the_checkpoint_its_place(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small(20)))
    run(tmp_path, "--target", "y", *GAF, source="in.csv")
    before = (tmp_path / "model").read_bytes()
    run(tmp_path, "--target", "y", data=b"")
    with piped([MIXABLE, "stream", "--model", tmp_path / "model", "--target", "y"]) as process:
        appeared(tmp_path / "model.lock")
        time.sleep(0.3)
        process.terminate()
        process.wait()
    assert (tmp_path / "model").read_bytes() == before
    narrow = run(tmp_path, "--target", "y", data=b"b,y\n1,up\n")
    assert b"the header has no a; what is missing counts as its mean" in narrow.stderr


def test_half_a_line_that_is_completed_later_is_not_taken_for_an_event(tmp_path):
    header, *lines = small(10)
    arguments = (
        "--target",
        "y",
        "--out",
        tmp_path / "out.csv",
        "--rejects",
        tmp_path / "rejects",
        *GAF,
    )
    (tmp_path / "in.csv").write_text("".join([header, *lines[:5]]) + "1.5,2")
    run(tmp_path, *arguments, source="in.csv")
    (tmp_path / "in.csv").write_text("".join([header, *lines[:5]]) + "1.5,2.5,up\n" + lines[6])
    run(tmp_path, *arguments, source="in.csv")
    assert [(entry["line"], entry["text"]) for entry in rejects(tmp_path)] == [
        (7, "1.5,2"),
        (7, ".5,up"),
    ]
    assert balanced(tmp_path, 8)["learned"] == 6


def test_a_damaged_gzip_that_is_resumed_loses_nothing(tmp_path):
    lines = small(4000)
    packed = bytearray(gzip.compress("".join(lines).encode()))
    packed[-6] ^= 1  # the check sum
    (tmp_path / "in.gz").write_bytes(packed)
    arguments = ("--target", "y", *GAF, "--every", 50)
    run(
        tmp_path,
        *arguments,
        "--out",
        tmp_path / "alone.csv",
        "--rejects",
        tmp_path / "alone.rejects",
        source="in.gz",
        model="alone",
    )
    out = tmp_path / "out.csv"
    whole = [
        MIXABLE,
        "stream",
        "--model",
        tmp_path / "model",
        *map(str, arguments),
        "--out",
        out,
        "--rejects",
        tmp_path / "rejects",
    ]
    with subprocess.Popen(
        [*map(str, whole), str(tmp_path / "in.gz")], stderr=subprocess.DEVNULL
    ) as process:
        while not (tmp_path / "model").exists() and process.poll() is None:
            time.sleep(0.001)
        process.kill()
    run(tmp_path, *arguments, "--out", out, "--rejects", tmp_path / "rejects", source="in.gz")
    assert out.read_bytes() == (tmp_path / "alone.csv").read_bytes()
    assert (tmp_path / "rejects").read_bytes() == (tmp_path / "alone.rejects").read_bytes()
    assert b"gzip data are damaged" in (tmp_path / "rejects").read_bytes()
    strict = ("--strict", *arguments, "--out", tmp_path / "strict.csv")
    for _ in range(2):  # it does not go past what was refused
        refused = run(tmp_path, *strict, source="in.gz", model="strict", status=2)
        assert b"gzip data are damaged" in refused.stderr


def test_killed_before_its_first_checkpoint_a_continued_model_knows_which_answers_are_its_own(
    tmp_path,
):
    (tmp_path / "first.csv").write_text("".join(small(50)))
    (tmp_path / "second.csv").write_text("".join(small(20_000)))
    arguments = ("--target", "y", *GAF)
    for name in ("alone", "killed"):
        run(
            tmp_path, *arguments, "--out", tmp_path / f"{name}1.csv", source="first.csv", model=name
        )
    run(tmp_path, *arguments, "--out", tmp_path / "alone2.csv", source="second.csv", model="alone")
    out = tmp_path / "killed2.csv"
    command_ = [
        MIXABLE,
        "stream",
        "--model",
        tmp_path / "killed",
        *arguments,
        "--out",
        out,
        tmp_path / "second.csv",
    ]
    with subprocess.Popen([*map(str, command_)], stderr=subprocess.DEVNULL) as process:
        while (not out.exists() or out.stat().st_size == 0) and process.poll() is None:
            time.sleep(0.001)
        process.kill()
    assert 0 < out.stat().st_size < (tmp_path / "alone2.csv").stat().st_size
    run(tmp_path, *arguments, "--out", out, source="second.csv", model="killed")
    assert out.read_bytes() == (tmp_path / "alone2.csv").read_bytes()
    assert (tmp_path / "killed").read_bytes() == (tmp_path / "alone").read_bytes()


def test_a_misspelt_target_of_json_is_said(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"a":1,"label":"u"}\n{"a":2,"label":"v"}\n')
    done = run(tmp_path, "--target", "lable", source="in.jsonl")
    assert b"no event had a label under 'lable'; did you mean 'label'?" in done.stderr
    done = run(tmp_path, "--target", "label", source="in.jsonl", model="other")
    assert b"no event had" not in done.stderr
