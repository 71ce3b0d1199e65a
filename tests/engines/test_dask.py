"""A fit on a real cluster of two processes: the same model as by hand, whatever dies."""

import os
import signal
from pathlib import Path

import pytest
from engines.test_rounds import FRAME, PARTS, by_hand, linear
from shards import distance

import mixable as mx
from mixable.engines import dask as engine
from mixable.engines.rounds import PartitionError

pytestmark = pytest.mark.xdist_group("dask")
COLUMNS = FRAME[list("abcd")][:50]


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with LocalCluster(**options, dashboard_address=":0") as cluster, Client(cluster) as client:
        yield client


def fit(client, parts, **options):
    return engine.fit(linear(), parts, "label", client=client, warmup=100, **options)


def test_it_is_what_one_process_does(client):
    seen = []
    model = fit(client, PARTS, rounds=3, on_round=lambda done, model: seen.append(done))
    assert seen == [1, 2, 3]
    assert model.learner_.forecaster.steps == 600
    assert distance(model, by_hand(linear(), PARTS, n_rounds=3), COLUMNS) < 1e-9


def test_a_worker_killed_in_mid_round_changes_nothing(client, tmp_path):
    from dask.delayed import delayed

    def deadly(part, marker):  # within the test, or workers would have to import it
        """A partition whose reader is killed, the first time."""
        if not Path(marker).exists():
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return part

    read = delayed(deadly, pure=False)
    parts = [delayed(part) for part in PARTS]
    parts[2] = read(PARTS[2], os.fspath(tmp_path / "killed"))
    model = fit(client, parts, rounds=2)
    assert (tmp_path / "killed").exists()
    assert model.learner_.forecaster.steps == 600
    assert distance(model, by_hand(linear(), PARTS, n_rounds=2), COLUMNS) < 1e-9


def test_a_bad_partition_is_named_and_the_fit_goes_on_when_it_is_mended(client, tmp_path):
    bad = [PARTS[0], PARTS[1], PARTS[2].assign(a=["?" if i == 300 else i for i in range(250, 450)])]
    bad += PARTS[3:]
    with pytest.raises(PartitionError, match=r"partition 2 cannot be learned \(round 1 of 3\)"):
        fit(client, bad, rounds=3, checkpoint=tmp_path)
    model = fit(client, PARTS, rounds=3, checkpoint=tmp_path)
    assert distance(model, by_hand(linear(), PARTS, n_rounds=3), COLUMNS) < 1e-9


def test_frames_and_bags_of_dask(client):
    import dask.bag as db
    import dask.dataframe as dd

    model = fit(client, dd.from_pandas(FRAME, npartitions=3), rounds=2)
    assert model.learner_.forecaster.steps == 600
    bag = db.from_sequence(FRAME[:200].to_dict("records"), npartitions=2)
    named = mx.river.GAFClassifier(kernel=None, effort="low")
    model = engine.fit(named, bag, "label", client=client, rounds=2, warmup=50)
    assert model._learner.forecaster.steps == 200
    assert named._learner is None
