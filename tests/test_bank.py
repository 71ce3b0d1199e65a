"""A model for each key: the same forecasts wherever the models are."""

import copy
import gc
import os
import pickle
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from shards import X, Y, distance

import mixable as mx
from mixable.bank import FILE
from mixable.persistence import DamagedFileError

KEYS = np.random.default_rng(0).integers(12, size=len(X)).tolist()


def small():
    return mx.GAF(4, 3, structure="blocks")


def fill(bank, rows=range(300)):
    """Let each key learn its rows; return what was predicted before each."""
    out = []
    for i in rows:
        out.append(bank.predict(KEYS[i], X[i]))
        bank.learn(KEYS[i], X[i], int(Y[i]))
    return np.array(out)


def by_hand(rows=range(300)):
    models = {}
    for i in rows:
        models.setdefault(KEYS[i], small()).learn(X[i], int(Y[i]))
    return models


def test_each_key_has_a_model_of_its_own():
    bank = mx.Bank(small())
    fill(bank)
    models = by_hand()
    assert sorted(bank) == sorted(models)
    assert len(bank) == len(models) == 12
    for key, model in models.items():
        assert distance(bank[key], model) == 0


def test_models_on_disk_go_on_with_the_same_bits():
    """Room for two of twelve models: most calls load one."""
    size = len(mx.dumps(small()))
    bank, twin = mx.Bank(small(), memory=10 * size), mx.Bank(small())
    np.testing.assert_array_equal(fill(bank), fill(twin))
    assert len(bank._live) < 4
    assert len(bank) == 12
    for key in bank:
        assert distance(bank[key], twin[key]) == 0


def test_what_is_used_stays_in_memory():
    size = len(mx.dumps(small()))
    bank = mx.Bank(small(), memory=3.5 * 20.5 * size)  # for 20 models
    for i in range(200):
        bank.learn("often", X[i], int(Y[i]))
        bank.learn(i, X[i], int(Y[i]))
        live = set(bank._live)
        assert "often" in live or i == 0
        assert i in live
        assert len(live) <= 21
    assert 100 not in live
    assert bank["often"].steps == 200
    assert [bank[i].steps for i in range(200)] == [1] * 200


def test_a_folder_survives(tmp_path):
    with mx.Bank(small(), folder=tmp_path / "new") as bank:
        fill(bank, range(200))
    with mx.Bank.open(tmp_path / "new") as again:
        assert len(again) == 12
        fill(again, range(200, 300))
    with mx.Bank.open(tmp_path / "new", memory=1.0) as last:
        for key, model in by_hand().items():
            assert distance(last[key], model) == 0


def test_what_was_flushed_is_there_though_the_process_is_not(tmp_path):
    bank = mx.Bank(small(), folder=tmp_path)
    fill(bank, range(100))
    bank.flush()
    fill(bank, range(100, 150))
    (tmp_path / "copy").mkdir()
    for file in tmp_path.glob("bank.sqlite*"):  # as a machine leaves it that stops now
        (tmp_path / "copy" / file.name).write_bytes(file.read_bytes())
    left = mx.Bank.open(tmp_path / "copy")
    models = by_hand(range(100))
    assert sorted(left) == sorted(models)
    for key, model in models.items():
        assert distance(left[key], model) == 0


def test_one_bank_at_a_time_uses_a_folder(tmp_path):
    bank = mx.Bank(small(), folder=tmp_path)
    with pytest.raises(RuntimeError, match="in use"):
        mx.Bank.open(tmp_path)
    with pytest.raises(ValueError, match=r"has a bank: Bank\.open"):
        mx.Bank(small(), folder=tmp_path)
    bank.close()
    mx.Bank.open(tmp_path).close()


def test_folders_without_a_bank_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no bank"):
        mx.Bank.open(tmp_path)
    (tmp_path / "note").touch()
    with pytest.raises(ValueError, match="not empty"):
        mx.Bank(small(), folder=tmp_path)
    (tmp_path / FILE).write_bytes(b"something else, and long enough to be looked at" * 50)
    with pytest.raises(DamagedFileError, match="is not a bank"):
        mx.Bank.open(tmp_path)


def test_a_changed_model_in_a_folder_is_refused(tmp_path):
    with mx.Bank(small(), folder=tmp_path) as bank:
        bank.learn("a", X[0], 1)
    with sqlite3.connect(tmp_path / FILE) as store:
        (data,) = store.execute("SELECT data FROM models").fetchone()
        store.execute("UPDATE models SET data = ?", (data[:-1] + b"!",))
    store.close()
    with pytest.raises(DamagedFileError):
        mx.Bank.open(tmp_path).predict("a", X[0])


def test_predicting_makes_no_model():
    bank = mx.Bank(small())
    assert bank.predict("nobody", X[0]).tolist() == small().predict(X[0]).tolist()
    assert "nobody" not in bank
    assert len(bank) == 0
    with pytest.raises(KeyError):
        bank["nobody"]


def test_a_refused_example_makes_no_model():
    bank = mx.Bank(small())
    with pytest.raises(ValueError, match="y"):
        bank.learn("a", X[0], 7)
    assert "a" not in bank


@pytest.mark.parametrize("key", [True, 1.5, None, ("a", 1), b"a"])
def test_keys_are_texts_or_integers(key):
    bank = mx.Bank(small())
    with pytest.raises(TypeError, match="key must be a text or an integer"):
        bank.learn(key, X[0], 1)
    with pytest.raises(ValueError, match="2\\^63"):
        bank.predict(2**63, X[0])


def test_a_text_is_not_a_number():
    bank = mx.Bank(small())
    bank.learn(1, X[0], 1)
    bank.learn("1", X[1], 2)
    bank.flush()
    bank._live.clear()
    assert bank[1].predict(X[2]).tolist() != bank["1"].predict(X[2]).tolist()


def test_a_model_that_was_handed_out_is_the_one_that_learns():
    """Though it gets another core by growing."""
    bank = mx.Bank(small())
    bank.learn("a", X[0], 1)
    model = bank["a"]
    model.add_class()
    bank.learn("a", X[1], 3)
    assert model.steps == 2
    assert len(bank.predict("a", X[2])) == 4


def test_a_key_may_be_of_a_subclass():
    """The model that is handed out is the one that learns, whatever the key looks like."""
    bank = mx.Bank(small())
    bank.learn("a", X[0], 1)
    model = bank[np.str_("a")]
    model.add_class()
    bank.learn("a", X[1], 3)
    assert model.steps == 2


def test_what_was_learned_is_written(tmp_path):
    """Though the model was put away, handed out, or written before."""
    size = len(mx.dumps(small()))
    with mx.Bank(small(), folder=tmp_path, memory=3.5 * 20.5 * size) as bank:
        for i in range(300):
            bank.learn(i % 30, X[i], int(Y[i]))
            if i % 7 == 0:
                bank.flush()
            if i % 11 == 0:
                assert bank[i % 30].steps == i // 30 + 1
    with mx.Bank.open(tmp_path) as again:
        assert [again[key].steps for key in range(30)] == [10] * 30


def test_newcomers_begin_with_the_prior():
    prior = small()
    prior.run(X[:100], Y[:100])
    bank = mx.Bank(small(), prior=prior)
    assert bank.predict("a", X[0]).tolist() == prior.predict(X[0]).tolist()
    bank.learn("a", X[100], int(Y[100]))
    prior.learn(X[100], int(Y[100]))
    assert distance(bank["a"], prior) == 0
    with pytest.raises(ValueError, match="lam"):
        mx.Bank(small(), prior=mx.GAF(4, 3, structure="blocks", lam=3.0))


def test_merged_counts_every_row_and_every_prior_once():
    """Keys that began with other priors are merged as if all had begun with nothing."""
    bank = mx.Bank(small())
    fill(bank, range(150))
    assert bank.merged().steps == 150
    bank.renew_prior()
    for i in range(150, 200):
        bank.learn(f"new {KEYS[i]}", X[i], int(Y[i]))
    merged = bank.merged()
    assert merged.steps == 200
    old = [bank[key] for key in set(KEYS[:150])]
    new = [bank[f"new {key}"].delta(bank.prior) for key in set(KEYS[150:200])]
    assert distance(merged, mx.merge([*old, *new])) < 1e-9


def test_what_all_have_learned_helps_the_newcomer():
    """Keys whose streams are alike: a newcomer is better off with the merged prior."""
    bank = mx.Bank(mx.GAFClassifier(kernel=None, effort="low").partial_fit(X[:3], Y[:3], [0, 1, 2]))
    for i in range(3, 400):
        bank.learn(KEYS[i], X[i], int(Y[i]))

    def loss():
        p = np.array([bank.predict("new", x) for x in X[400:]])
        return mx.metrics.log_loss(p, Y[400:])

    before = loss()
    bank.renew_prior()
    assert loss() < before - 0.1
    sure = bank.predict("new", X[0]).max()
    bank.renew_prior(worth=100.0)
    assert bank.predict("new", X[0]).max() != sure


def test_nothing_to_renew_a_prior_with():
    with pytest.raises(ValueError, match="no key has learned"):
        mx.Bank(small()).renew_prior()


def test_banks_are_not_copied():
    bank = mx.Bank(small())
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a bank cannot be"):
            copied(bank)
    assert repr(bank).endswith("of 0 models, 0 in memory")


def test_what_cannot_be_merged_cannot_be_in_a_bank():
    with pytest.raises(TypeError, match="cannot be merged"):
        mx.Bank(object())


def test_a_small_model_takes_little_memory():
    """Models share the points of their integrals, which would take 20 kB of each."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("only Linux says how much memory is resident")

    def resident():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    gc.collect()
    before = resident()
    models = [mx.GAF(20, 2) for _ in range(2000)]
    each = (resident() - before) / len(models)
    assert each < 30_000
    assert models[0].predict(np.zeros(20)).tolist() == [0.5, 0.5]
