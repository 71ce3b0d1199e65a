"""The journal: what was written comes back; a torn end is cut off, other damage is refused."""

import json
import os

import pytest

from mixable.events.serve import journal
from mixable.events.serve.journal import DamagedJournalError, Journal, cut, framed, parts

LIMITS = {"classes": 3}


def written(folder, *batches):
    """A journal with some batches of lines; its file."""
    made = Journal(folder, 1, LIMITS)
    for batch in batches:
        made.append(batch)
    made.close()
    return made.path


def entries(folder):
    return [entry for part in parts(folder) for entry in part.entries]


def test_entries_come_back_with_their_numbers(tmp_path):
    made = Journal(tmp_path, 5, LIMITS)
    assert made.append([b"one", b"two"]) == 5
    assert made.append([b"three"]) == 7
    made.begin()
    assert made.append([b"four"]) == 8
    made.close()
    assert entries(tmp_path) == [(5, b"one"), (6, b"two"), (7, b"three"), (8, b"four")]
    assert {part.id for part in parts(tmp_path)} == {made.id}
    assert [part.limits for part in parts(tmp_path)] == [LIMITS, LIMITS]


def test_entries_are_on_the_disk_before_anybody_is_told(tmp_path, monkeypatch):
    made, synced, sync = Journal(tmp_path, 1, LIMITS), [], journal.to_disk

    def seen(descriptor):
        synced.append(os.fstat(descriptor).st_size)
        sync(descriptor)

    monkeypatch.setattr(journal, "to_disk", seen)
    made.append([b"one", b"two"])
    assert synced == [made.path.stat().st_size]
    made.close()


def test_every_torn_end_is_recognised_and_cut_off(tmp_path):
    path = written(tmp_path, [b"one", b"two"], [b"three"])
    whole = path.read_bytes()
    begin = whole.rindex(journal.MARK)
    for end in range(begin, len(whole)):
        path.write_bytes(whole[:end])
        (part,) = parts(tmp_path)
        assert part.entries == [(1, b"one"), (2, b"two")]
        assert (part.length, part.torn) == (begin, end - begin)
        cut(part)
        assert path.read_bytes() == whole[:begin]
    path.write_bytes(whole)
    assert len(entries(tmp_path)) == 3


def test_a_last_frame_with_any_changed_byte_does_not_count(tmp_path):
    path = written(tmp_path, [b"one"], [b"two"])
    whole = path.read_bytes()
    for at in range(whole.rindex(journal.MARK), len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert entries(tmp_path) == [(1, b"one")]


def test_damage_before_a_whole_frame_is_refused(tmp_path):
    """Those entries had been answered: they must not vanish without a word."""
    path = written(tmp_path, [b"one"], [b"two"], [b"three"])
    whole = path.read_bytes()
    first = whole.index(journal.MARK, 1)
    for at in range(first, whole.rindex(journal.MARK)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(DamagedJournalError, match="is damaged at byte"):
            entries(tmp_path)


def test_a_torn_file_that_is_not_the_last_is_refused(tmp_path):
    made = Journal(tmp_path, 1, LIMITS)
    made.append([b"one"])
    first = made.path
    made.begin()
    made.close()
    first.write_bytes(first.read_bytes()[:-1])
    with pytest.raises(DamagedJournalError, match="damaged at byte"):
        entries(tmp_path)


def test_missing_and_strange_files_are_refused(tmp_path):
    made = Journal(tmp_path, 1, LIMITS)
    for text in (b"one", b"two", b"three"):
        made.append([text])
        made.begin()
    made.close()
    second = tmp_path / "journal-0000000000000002"
    kept = second.read_bytes()
    second.unlink()
    with pytest.raises(DamagedJournalError, match="should begin with entry 2: one is missing"):
        entries(tmp_path)
    other = json.dumps({"id": "other", "limits": LIMITS}).encode()
    second.write_bytes(framed(other, 2) + framed(b"two\n", 2))
    with pytest.raises(DamagedJournalError, match="another journal"):
        entries(tmp_path)
    second.write_bytes(kept[1:])
    with pytest.raises(DamagedJournalError, match="does not begin like a journal"):
        entries(tmp_path)


def test_a_frame_of_another_place_is_refused(tmp_path):
    path = written(tmp_path, [b"one"])
    path.write_bytes(path.read_bytes() + framed(b"again\n", 1))
    with pytest.raises(DamagedJournalError):
        entries(tmp_path)


def test_a_write_that_fails_leaves_nothing(tmp_path):
    made = Journal(tmp_path, 1, LIMITS)
    made.append([b"one"])
    length = made.path.stat().st_size
    good, made._descriptor = made._descriptor, os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(OSError, match="No space"):
        made.append([b"two"])
    os.close(made._descriptor)
    made._descriptor, made.broken = good, None
    assert made.append([b"three"]) == 2
    made.close()
    assert entries(tmp_path) == [(1, b"one"), (2, b"three")]
    assert made.path.stat().st_size > length


def test_a_journal_that_cannot_be_mended_takes_nothing_more(tmp_path):
    made = Journal(tmp_path, 1, LIMITS)
    os.close(made._descriptor)
    made._descriptor = os.open("/dev/full", os.O_WRONLY)  # can be neither written nor cut
    with pytest.raises(OSError, match="No space"):
        made.append([b"one"])
    assert "cannot be mended" in made.broken
    with pytest.raises(OSError, match="cannot be mended"):
        made.append([b"two"])
    made.close()


def test_files_before_are_removed_and_the_rest_goes_on(tmp_path):
    made = Journal(tmp_path, 1, LIMITS)
    made.append([b"one"])
    made.begin()
    made.append([b"two"])
    old = made.others()
    assert [path.name for path in old] == ["journal-0000000000000001"]
    journal.remove(old)
    made.close()
    assert entries(tmp_path) == [(2, b"two")]
