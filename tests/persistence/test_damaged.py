"""Damaged files are refused, and said to be damaged."""

import json
import os
import pickle
import re
import tracemalloc

import numpy as np
import pytest
from make_fixtures import FOLDER
from saved_files import rewritten

import mixable as mx
from mixable import persistence


def test_a_file_cut_short(saved):
    data = saved.read_bytes()
    for length in (0, 5, 8, 9, 100, len(data) // 2, len(data) - 1):
        saved.write_bytes(data[:length])
        with pytest.raises(persistence.DamagedFileError, match=r"cut short|does not begin"):
            mx.load(saved)


HUGE = 3 * 2**30


def head_of(values):
    text = json.dumps(values).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (b"", "does not begin like a safetensors file"),
        (b"PK\x03\x04", "does not begin like a safetensors file"),
        (head_of({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}), "not one that"),
        (HUGE.to_bytes(8, "little") + b"{", "cut short"),
        ((HUGE - 100).to_bytes(8, "little") + b"{", "no header has"),
        (head_of({"__metadata__": {"format": "99", "model": ""}}), "has format 99"),
        (head_of({"__metadata__": {"format": "1", "model": ""}}), "bytes that its header does not"),
        (None, "bytes that its header does not"),
    ],
)
def test_a_huge_file_that_is_no_model_is_refused_by_its_head(saved, first, reason):
    with open(saved, "r+b") as file:
        if first is not None:
            file.truncate(0)
            file.write(first)
        file.truncate(HUGE)  # sparse: it takes no room on the disk
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=reason):
            mx.load(saved)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def test_any_flipped_bit_is_noticed(saved):
    data = saved.read_bytes()
    rng = np.random.default_rng(0)
    for position in {*range(0, 400, 2), *rng.integers(0, len(data), 150).tolist()}:
        changed = bytearray(data)
        changed[position] ^= 1 << int(rng.integers(8))
        saved.write_bytes(bytes(changed))
        with pytest.raises(
            ValueError, match=r"damaged|cut short|does not begin|not one that mixable|has format"
        ):
            mx.load(saved)


def test_a_pickle_in_disguise_is_not_opened(saved, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    for protocol in (2, 4, 5):
        saved.write_bytes(pickle.dumps(Bomb(), protocol=protocol))
        with pytest.raises(persistence.DamagedFileError, match="is a pickle"):
            mx.load(saved)
    assert not (tmp_path / "exploded").exists()


def test_other_files(saved, tmp_path):
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(3)}, tmp_path / "other.safetensors")
    with pytest.raises(persistence.DamagedFileError, match="not one that mixable wrote"):
        mx.load(tmp_path / "other.safetensors")
    saved.write_text("model: yes\nclasses: 3\n")
    with pytest.raises(persistence.DamagedFileError, match="does not begin like"):
        mx.load(saved)
    with pytest.raises(FileNotFoundError):
        mx.load(tmp_path / "missing")


def test_a_later_format_and_unknown_classes(saved):
    data = saved.read_bytes()
    saved.write_bytes(rewritten(data, format="2", library="9.0"))
    with pytest.raises(
        persistence.UnknownFormatError, match=r"has format 2.*reads up to 1.*version 9\.0"
    ):
        mx.load(saved)
    saved.write_bytes(rewritten(data, model='{"object": "os.system", "state": {"dict": []}}'))
    with pytest.raises(persistence.DamagedFileError, match=r"holds a 'os\.system'"):
        mx.load(saved)


@pytest.mark.parametrize("name", ["GAF", "OGD", "VAW", "AutoGAF", "GAFClassifier"])
def test_contents_that_no_model_can_have_are_refused(name):
    from safetensors.numpy import load, save

    data = (FOLDER / f"{name}.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + size])["__metadata__"]
    refused = 0
    for tensor in load(data):
        tensors = load(data)
        if tensors[tensor].dtype != np.float64 or not tensors[tensor].size:
            continue
        tensors[tensor].flat[0] = np.nan
        metadata["checksum"] = persistence._checksum(metadata, tensors)
        with pytest.raises(persistence.DamagedFileError):
            persistence.from_bytes(save(tensors, metadata))
        refused += 1
    assert refused > 0


def test_a_scaler_that_cannot_be(saved):
    from safetensors.numpy import load, save

    data = saved.read_bytes()
    size = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + size])["__metadata__"]
    for tensor, value in (
        ("count", -5.0),
        ("count", 2.5),
        ("count", 1e300),
        ("early", [np.nan] + [0.0] * 15),
        ("square", np.nan),
    ):
        tensors = load(data)
        for name in tensors:
            if name.endswith(f".{tensor}") and "inputs" in name:
                tensors[name][:] = value
        metadata["checksum"] = persistence._checksum(metadata, tensors)
        with pytest.raises(persistence.DamagedFileError, match="statistics"):
            persistence.from_bytes(save(tensors, metadata))


def test_a_header_nested_too_deeply():
    header = b'{"__metadata__":' + b"[" * 200_000
    with pytest.raises(persistence.DamagedFileError):
        persistence.from_bytes(len(header).to_bytes(8, "little") + header)


def test_labels_that_do_not_go_with_the_forecaster(saved):
    data = saved.read_bytes()
    size = int.from_bytes(data[:8], "little")
    described = json.loads(data[8 : 8 + size])["__metadata__"]["model"]
    (labels,) = re.findall(r'\["labels", (\[[^\]]*\])\]', described)
    one, two, three = json.loads(labels)
    for new in ([one, two, three, "d"], [two, one, three], [one, two], None):
        saved.write_bytes(
            rewritten(
                data,
                model=described.replace(f'["labels", {labels}]', f'["labels", {json.dumps(new)}]'),
            )
        )
        with pytest.raises(persistence.DamagedFileError, match="do not go together"):
            mx.load(saved)


def test_metadata_that_are_missing_or_absurd(saved):
    data = saved.read_bytes()
    for format_ in ("9" * 5000, "0", "", "1.0"):
        saved.write_bytes(rewritten(data, format=format_))
        with pytest.raises(persistence.UnknownFormatError):
            mx.load(saved)
    saved.write_bytes(rewritten(data, **{"class": "GAF"}))
    with pytest.raises(persistence.DamagedFileError, match="should hold a GAF"):
        mx.load(saved)


def test_only_files_are_loaded(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(OSError, match=re.escape(f"{str(path)!r} is not a file")):
            mx.load(path)
