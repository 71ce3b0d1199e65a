"""Files are written whole, and parts that were left are cleared: see also persistence/."""

import os

import pytest

from mixable._files import _prefix, clear_parts, write_whole


def part_of(path, monkeypatch):
    """What a writer leaves that is killed before it renames its part."""

    def killed(*_):
        raise KeyboardInterrupt

    before = set(path.parent.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        patch.setattr(os, "unlink", lambda name: None)
        with pytest.raises(KeyboardInterrupt):
            write_whole(path, b"new")
    (part,) = set(path.parent.iterdir()) - before
    return part


def test_parts_of_a_file_are_cleared_and_nothing_else(tmp_path, monkeypatch):
    names = ["model", "model.part", ".model.part", "x" * 250]
    names.append(_prefix(tmp_path / "model") + "mine.part")
    for name in names:
        write_whole(tmp_path / name, b"old")
    part = part_of(tmp_path / "model", monkeypatch)
    clear_parts(tmp_path / "x")  # of another file
    assert part.read_bytes() == b"new"
    clear_parts(tmp_path / "model")
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(names)
    assert (tmp_path / "model").read_bytes() == b"old"


def test_parts_in_a_folder_are_cleared_whosever_they_are(tmp_path, monkeypatch):
    write_whole(tmp_path / "kept", b"")
    part_of(tmp_path / ("y" * 250), monkeypatch)
    clear_parts(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]


def test_a_folder_is_not_replaced(tmp_path):
    with pytest.raises(OSError, match="is not a file that could be replaced"):
        write_whole(tmp_path, b"")
