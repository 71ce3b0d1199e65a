"""What engines share: rows are dealt out once, and a fit goes on where it stopped."""

import json

import numpy as np
import pandas as pd
import pytest
from shards import X, Y, distance

import mixable as mx
from mixable import persistence
from mixable.engines import rounds
from mixable.engines.rounds import PartitionError, Rounds

FRAME = pd.DataFrame(X, columns=list("abcd")).assign(label=Y)


def linear():
    return mx.GAFClassifier(kernel=None, effort="low")


def by_hand(model, parts, *, n_rounds, checkpoint=None, stop=None, warmup=100):
    """A fit in this process."""
    state = Rounds(
        model, rounds=n_rounds, partitions=len(parts), target="label", checkpoint=checkpoint
    )
    if state.is_new and warmup:
        tries = enumerate(parts)
        state.warm_up(
            (i, lambda i=i, p=p: rounds.warmed_up(state.model, p, "label", part=i, most=warmup))
            for i, p in tries
        )
    while state.done < n_rounds and state.done != stop:
        each = [
            rounds.learned(state.model, part, "label", part=i, span=state.span(i))
            for i, part in enumerate(parts)
        ]
        state.finish(rounds.merged(each, state.model))
    return mx.loads(state.model)


PARTS = [FRAME[:250], FRAME[250:250], FRAME[250:450], FRAME[450:]]


def test_every_row_is_learned_once():
    model = by_hand(linear(), PARTS, n_rounds=3)
    assert model.learner_.forecaster.steps == 600
    assert model.learner_.inputs.state()["count"].tolist() == [[600.0] * 4]
    one = linear().partial_fit(FRAME[list("abcd")], Y)
    assert distance(model, one, FRAME[list("abcd")][:50]) < 0.1


def test_one_partition_in_one_round_is_one_pass():
    model = by_hand(linear(), [FRAME], n_rounds=1)
    assert distance(model, linear().partial_fit(FRAME[list("abcd")], Y), FRAME[list("abcd")]) == 0


def test_a_fit_goes_on_where_it_stopped(tmp_path):
    whole = by_hand(linear(), PARTS, n_rounds=4)
    by_hand(linear(), PARTS, n_rounds=4, checkpoint=tmp_path, stop=2)
    assert json.loads((tmp_path / "rounds.json").read_text())["done"] == 2
    again = by_hand(linear(), PARTS, n_rounds=4, checkpoint=tmp_path)
    assert again.learner_.forecaster.steps == 600
    assert distance(again, whole, FRAME[list("abcd")][:50]) == 0
    with pytest.raises(ValueError, match="of another fit: rounds was 4 and is 5"):
        by_hand(linear(), PARTS, n_rounds=5, checkpoint=tmp_path)


def test_partitions_with_other_scales_are_not_refused_in_mid_fit():
    """The base says by which scale nonlinear features see the rows of a round."""
    far = FRAME.assign(a=FRAME.a * np.where(np.arange(600) < 350, 1.0, 30.0))
    parts = [far[:250], far[250:450], far[450:]]
    model = by_hand(mx.GAFClassifier(kernel=mx.kernels.Auto(8)), parts, n_rounds=2, warmup=150)
    assert model.forecaster_.steps == 600
    (nonlinear, *_), shaped = (
        [each for each in model.forecaster_.inputs if hasattr(each, name)]
        for name in ("maps", "shapes")
    )
    for scaler in (nonlinear.scaled.scaler, *(each.scaler for each in shaped)):
        sd = scaler.moments()[1]
        assert sd[0] == pytest.approx(far.a.std(), rel=0.2)  # of all rows; outliers count less


def test_what_an_engine_returns_goes_by_all_statistics():
    """Though one partition alone has learned, and nothing was merged."""
    model = by_hand(mx.GAFClassifier(kernel=mx.kernels.Auto(5)), [FRAME[:300]], n_rounds=2)
    scalers = [each.scaled.scaler for each in model.forecaster_.inputs if hasattr(each, "maps")]
    assert scalers
    for scaler in scalers:
        assert not scaler.state()["held"][2].any()


def test_workers_keep_the_landmarks_of_the_first_model():
    kernel = {"kernel": mx.kernels.RBF(5, method="nystroem")}
    model = by_hand(
        mx.GAFClassifier(**kernel), PARTS[:1] + PARTS[2:], n_rounds=2
    )  # not yet complete
    assert model.learner_.forecaster.steps == 600


def test_a_model_that_knows_something_begins_with_it():
    begun = linear().partial_fit(FRAME[list("abcd")][:300], Y[:300])
    model = by_hand(begun, [FRAME[300:450], FRAME[450:]], n_rounds=2)
    assert model.learner_.forecaster.steps == 600
    assert begun.learner_.forecaster.steps == 300


@pytest.mark.parametrize("records", [False, True])
def test_the_default_estimator_is_fitted_in_rounds(records):
    """Kinds of columns are guessed once, and landmarks chosen once, by the first model."""
    frame = FRAME
    if records:
        frame = FRAME.assign(colour=np.array(["red", "blue", "green"])[(Y + Y**2 + X.shape[1]) % 3])
    parts = [frame[:250], frame[250:250], frame[250:450], frame[450:]]
    model = by_hand(mx.GAFClassifier(kernel=mx.kernels.Auto(8)), parts, n_rounds=2, warmup=150)
    assert model.forecaster_.steps == 600
    named = zip(model.forecaster_.design.names, model.forecaster_.experts, strict=True)
    # The kernel of indicators begins anew while these double, that of columns with its weights.
    anew = ("kernel of indicators", "selected columns")
    assert {each.steps for name, each in named if name not in anew} == {600}
    features = frame.drop(columns="label")
    one = mx.GAFClassifier(kernel=mx.kernels.Auto(8)).partial_fit(features, Y)
    losses = [mx.metrics.log_loss(each.predict_proba(features), Y) for each in (model, one)]
    assert losses[0] < 1.2 * losses[1]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (FRAME.rename(columns={"a": "e"}), "partition 2 cannot be learned"),
        (FRAME.drop(columns="label"), "partition 2 .*no column 'label'"),
        (FRAME.assign(a="text"), "partition 2"),
        ([{"a": 1.0}], "partition 2 .*rows must be dictionaries"),
    ],
)
def test_errors_name_the_partition(rows, text):
    base = mx.dumps(linear().fit(FRAME[list("abcd")], Y))
    with pytest.raises(PartitionError, match=text):
        rounds.learned(base, rows, "label", part=2, span=(0, 0, 1))


def test_a_model_of_a_later_version_is_refused_and_the_partition_named(monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(persistence, "FORMAT", 99)
        base = mx.dumps(linear().fit(FRAME[list("abcd")], Y))
    with pytest.raises(PartitionError, match=r"partition 2 cannot be learned .*has format 99"):
        rounds.learned(base, FRAME, "label", part=2, span=(0, 0, 1))


def test_labels_that_one_partition_has_are_known_to_all():
    two = [FRAME[FRAME.label < 2][:100], FRAME[FRAME.label > 0][:100]]
    assert by_hand(linear(), two, n_rounds=2, warmup=0).classes_.tolist() == [0, 1, 2]


def test_dictionaries_and_plain_forecasters():
    f = mx.GAF(4, 3)
    rounds.teach(f, FRAME[:50], "label")
    twin = mx.GAF(4, 3)
    twin.run(X[:50], Y[:50])
    assert distance(f, twin) == 0
    named = mx.river.GAFClassifier(kernel=None)
    rounds.teach(named, FRAME[:50].to_dict("records"), "label")
    assert named._learner.forecaster.steps == 50
    table = mx.river.GAFClassifier(kernel=None)
    rounds.teach(table, FRAME[:50], "label")
    assert table.predict_proba_one(FRAME.iloc[60, :4].to_dict()) == pytest.approx(
        named.predict_proba_one(FRAME.iloc[60, :4].to_dict()), abs=1e-12
    )


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"rounds": 0}, "rounds"),
        ({"partitions": 0}, "data has no partitions"),
        ({"target": 3}, "target must be the name of a column"),
    ],
)
def test_bad_arguments_are_refused_first(options, error):
    good = {"rounds": 2, "partitions": 2, "target": "label", "checkpoint": None}
    with pytest.raises((ValueError, TypeError), match=error):
        Rounds(linear(), **{**good, **options})


def test_what_cannot_be_merged_is_refused_first():
    with pytest.raises(TypeError, match="FTRL cannot be merged"):
        Rounds(mx.FTRL(4, 3), rounds=1, partitions=1, target="label", checkpoint=None)
    np.testing.assert_equal(len(FRAME), 600)


def test_what_is_missing_is_named_with_the_extra():
    assert rounds.need("json", "dask", "Dask").dumps(1) == "1"
    wanted = r'mixable.engines.dask needs Dask: pip install "mixable\[dask\]"'
    with pytest.raises(ImportError, match=wanted):
        rounds.need("no_such_module", "dask", "Dask")
