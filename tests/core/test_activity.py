"""Which experts of a pool are active: core/pool/activity.hpp."""

import numpy as np
import pytest
from streams import logistic_stream

import mixable as mx
from mixable._core import PERIOD
from mixable.experts.pool import judge_state
from mixable.model import RecordPool, design_of_classes

EARLY = 256  # steps after which experts are ranked, as in core/pool/judge.hpp


def judge(core, n=3, least_gain=0.005):
    return core.Judge(n, 2, 1.0, 1e-4, 1e-3, 1e-3, least_gain)


def says(p, y, right):
    """Forecasts that give a label the probability p where they are right, else 1 - p."""
    own = np.where(right, p, 1 - p)
    return np.where(y == 0, own, 1 - own)


def experts(n, seed=0):
    """Labels, and what five experts say of them.

    The first is right most of the time; the second knows something else; the third says what the
    second does, the fourth guesses, the fifth is the first again.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    one, two, guess = (says(0.75, y, rng.random(n) < share) for share in (0.75, 0.75, 0.5))
    first = np.stack([one, two, two, guess, one], axis=1)
    return y, np.stack([first, 1 - first], axis=2)


def followed(made, said, y):
    """A judge after reviews of what experts said."""
    ends = {*range(PERIOD, len(y), PERIOD), len(y)} | ({EARLY} if made.steps == 0 else set())
    at = 0
    for end in sorted(ends):
        rows = slice(at, end)
        made.run(np.ascontiguousarray(said[rows].reshape(len(y[rows]), -1)), y[rows], None)
        made.review()
        at = end
    return made


def test_a_pool_does_without_experts_that_say_nothing_new(core):
    y, said = experts(3 * PERIOD)
    active = followed(judge(core, 5), said, y).active
    assert len(active) == 2
    assert active[0] == 0
    assert active[1] in (1, 2)  # of two that say the same, one is enough
    pair = said[:, [0, 3]]
    assert followed(judge(core, 2), pair, y).active == [0]


def test_an_expert_that_is_right_where_others_are_wrong_is_active(core):
    """Also one whose weight is negative: the others are right where it is not."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 3 * PERIOD)
    noise = rng.normal(size=len(y))
    one = 1 / (1 + np.exp(-(2.0 * (1 - 2 * y) + 2 * noise)))
    other = 1 / (1 + np.exp(-2 * noise))  # of no use by itself
    said = np.stack([np.stack([one, other], axis=1), 1 - np.stack([one, other], axis=1)], axis=2)
    made = followed(judge(core, 2), said, y)
    assert made.active == [0, 1]
    assert made.state()["0.w"][0, 1] < -0.5


def test_what_is_noted_is_what_the_pool_would_lose(core):
    """Weights of experts left out are held at 0, and the others follow, as for a Gaussian."""
    y, said = experts(EARLY + 1)
    made = followed(judge(core, 5), said[:EARLY], y[:EARLY])
    state = made.state()
    order = [int(e) for e in state["activity.order"][0] if e >= 0]
    assert sorted(order) == [1, 2, 3, 4]
    w, A = state["0.w"][0], state["0.A"]
    logs = np.log((1 - 1e-3) * said[EARLY] + 1e-3 / 2)

    def log_p(u):
        z = u @ logs
        return z[y[EARLY]] - np.log(np.exp(z).sum())

    last = np.ascontiguousarray(said[EARLY:].reshape(1, -1))
    made.run(last, y[EARLY:], None)
    cost = made.state()["activity.cost"][0]
    for j in range(3):
        out = order[: j + 1]
        rest = [e for e in range(5) if e not in out]
        u = np.zeros(5)
        u[rest] = w[rest] + np.linalg.solve(A[np.ix_(rest, rest)], A[np.ix_(rest, out)] @ w[out])
        assert cost[j] == pytest.approx(log_p(w) - log_p(u), abs=1e-6)
    own = said[EARLY, 0, y[EARLY]]
    assert cost[3] == pytest.approx(log_p(w) - np.log(own), abs=1e-6)  # the first by itself
    assert made.state()["activity.loss"] == pytest.approx(-np.log(own))


def test_the_first_review_leaves_out_who_gains_nothing(core):
    """But the most useful one: of two experts both go on until the second."""
    y, said = experts(2 * PERIOD)
    made = followed(judge(core, 5), said[:PERIOD], y[:PERIOD])
    assert 3 not in made.active
    assert {1, 2} & {*made.active}
    pair = followed(judge(core, 2), said[:PERIOD, [0, 3]], y[:PERIOD])
    assert pair.active == [0, 1]
    assert followed(pair, said[PERIOD:, [0, 3]], y[PERIOD:]).active == [0]


def test_they_are_tried_again_less_and_less_often(core):
    y, said = experts(24 * PERIOD)
    made, waits = judge(core, 2), []
    for at in range(0, len(y), PERIOD):
        before = len(made.active)
        followed(made, said[at : at + PERIOD, [0, 3]], y[at : at + PERIOD])
        if before == 2 and len(made.active) == 1:
            waits.append(int(made.state()["activity.left"][0, 1]))
    assert waits == [4, 14, 44]


def test_an_expert_that_grows_is_not_judged_in_the_first_two_reviews(core):
    """Others that guess go meanwhile."""
    y, said = experts(3 * PERIOD)
    made = judge(core, 3)
    made.set_growing(1)
    followed(made, said[: 2 * PERIOD, [0, 3, 3]], y[: 2 * PERIOD])
    assert made.active == [0, 1]
    assert followed(made, said[2 * PERIOD :, [0, 3, 3]], y[2 * PERIOD :]).active == [0]


def test_an_expert_that_grows_stays_for_little_and_is_tried_sooner_and_for_longer(core):
    """As trees, which know little of the last rows just before they are made anew."""
    n = 40 * PERIOD
    y, said = experts(n)
    little = said[:, [0, 1]].copy()  # the second helps where it speaks, and hardly ever does
    little[np.arange(n) % 128 > 0, 1] = 0.5
    usual, growing = judge(core, 2, 0.05), judge(core, 2, 0.05)
    growing.set_growing(1)
    followed(usual, little[: 3 * PERIOD], y[: 3 * PERIOD])
    followed(growing, little[: 3 * PERIOD], y[: 3 * PERIOD])
    assert (usual.active, growing.active) == ([0], [0, 1])
    made, active = judge(core, 2), []
    made.set_growing(1)
    for at in range(0, n, PERIOD):  # it guesses
        followed(made, said[at : at + PERIOD, [0, 3]], y[at : at + PERIOD])
        active.append(len(made.active) == 2)
    begins = [t for t in range(1, len(active)) if active[t] and not active[t - 1]]
    assert begins[-1] > 20
    assert all(active[begins[-1] : begins[-1] + 3])


def test_a_loss_that_jumps_lets_them_be_tried(core):
    y, said = experts(4 * PERIOD)
    made = followed(judge(core, 2), said[: 2 * PERIOD, [0, 3]], y[: 2 * PERIOD])
    assert made.active == [0]
    worse = said[2 * PERIOD :].copy()
    worse[:, 0] = np.where(worse[:, 0] > 0.5, 0.02, 0.98)
    pair = np.ascontiguousarray(worse[:, [0, 3]])
    assert followed(made, pair[:PERIOD], y[2 * PERIOD : 3 * PERIOD]).active == [0, 1]


def test_an_expert_that_comes_back_begins_with_no_weight(core):
    y, said = experts(7 * PERIOD)
    made = followed(judge(core, 2), said[: 2 * PERIOD, [0, 3]], y[: 2 * PERIOD])
    for i in (0, 1):
        assert made.state()[f"{i}.w"][0, 1] == 0
        assert made.state()[f"{i}.S"][0, 1] == 0
    again = followed(made, said[2 * PERIOD : 6 * PERIOD, [0, 3]], y[2 * PERIOD : 6 * PERIOD])
    assert again.active == [0, 1]
    assert again.state()["0.w"][0, 1] == 0


FORGED = [
    {"left": np.array([[0.0, -1.0, 0.0]])},
    {"left": np.array([[0.0, 1e6, 0.0]])},
    {"left": np.array([[1.0, 0.0, 0.0]])},
    {"left": np.array([[0.0, 0.5, 0.0]])},
    {"cost": np.full((1, 3), np.nan)},
    {"order": np.array([[1.0, 1.0, -1.0]])},
    {"order": np.array([[0.0, 1.0, 2.0]])},
    {"order": np.full((1, 3), -1.0)},
    {"reviews": -1},
    {"alone": -1},
    {"trial": -1},
    {"recent": np.inf},
]


@pytest.mark.parametrize("bad", FORGED)
def test_states_that_cannot_be_are_refused(core, bad):
    y, said = experts(PERIOD)
    made = followed(judge(core), said[:, :3], y)
    before = made.state()
    with pytest.raises(ValueError, match="saved"):
        made.restore({**before, **{f"activity.{name}": value for name, value in bad.items()}})
    made.restore(before)


def test_judges_of_version_0_2_go_on(core):
    made = judge(core)
    state = {n: each for n, each in made.state().items() if not n.startswith("activity.")}
    old = {"gain": 0.1, "loss": 1.0, "idle": 2, "left": 500, "alone": 7}
    made.restore(judge_state({**state, **{f"rest.{n}": each for n, each in old.items()}}, 3))
    assert made.active == [0]
    assert made.steps == 7
    made.restore(judge_state({**state, **{f"rest.{n}": 0 for n in old}}, 3))
    assert made.active == [0, 1, 2]


def test_where_a_plane_is_right_the_nonlinear_experts_are_inactive(tmp_path):
    """And forecasts, steps, saved models and any batches are what they were."""
    X, y = logistic_stream(4 * PERIOD + 512, 4, 3)
    whole, parts = (
        mx.GAFClassifier(kernel=mx.kernels.Auto(20)),
        mx.GAFClassifier(kernel=mx.kernels.Auto(20)),
    )
    p = whole.prequential(X, y, classes=range(3))
    assert whole.forecaster_.active == [0]
    names = ", ".join(whole.forecaster_.design.names[1:])
    assert f"Inactive: {names}." in whole.report()
    design = design_of_classes(None, {"lam": None}, features=(20, None, "nystroem"))
    pool = RecordPool(design, 4, 3)
    pool._fallback = None  # which stands beside whoever is active
    first = RecordPool(design.parts[0], 4, 3).run(X, y)
    np.testing.assert_allclose(pool.run(X, y)[4 * PERIOD :], first[4 * PERIOD :], atol=1e-12)
    pieces = np.split(np.arange(len(y)), [5, PERIOD - 1, PERIOD, 2 * PERIOD + 1])
    again = [parts.prequential(X[rows], y[rows], classes=range(3)) for rows in pieces]
    np.testing.assert_allclose(np.concatenate(again), p, rtol=0, atol=1e-9)
    assert parts.forecaster_.steps == whole.forecaster_.steps == len(y)
    mx.save(whole, tmp_path / "model")
    loaded = mx.load(tmp_path / "model")
    for model in (whole, loaded):
        model.partial_fit(X[:1], y[:1])
    np.testing.assert_array_equal(loaded.predict_proba(X), whole.predict_proba(X))


def some_inactive(model, left):
    """Let some experts of a model be inactive, by place."""
    core = model._core
    state = core.state()
    known = state["activity.left"].copy()
    known[0, list(left)] = list(left.values())
    core.restore({**state, "activity.left": known, "activity.level": 1e9 + 0 * known})
    assert core.active == [e for e in range(len(model.experts)) if e not in left]


@pytest.mark.parametrize("least", [1, 50])
def test_a_table_is_the_loop_while_some_are_inactive(tmp_path, least):
    """Also where they become active within it; and saved models go on with the same bits."""
    X, y = mx.datasets.make_shapes(PERIOD + 200, "circles")
    models = [mx.GAFClassifier(kernel=mx.kernels.Auto(5)) for _ in range(2)]
    for model in models:
        model.prequential(X[: PERIOD - 60], y[: PERIOD - 60])
        some_inactive(model.forecaster_, {1: least, 4: least})
    steps = [expert.steps for expert in models[0].forecaster_.experts]
    table, loop = models
    mx.save(table, tmp_path / "model")
    saved = mx.load(tmp_path / "model")
    rest = slice(PERIOD - 60, PERIOD + 200)
    p = table.prequential(X[rest], y[rest])
    np.testing.assert_array_equal(saved.prequential(X[rest], y[rest]), p)
    single = []
    for t in range(rest.start, rest.stop):
        single.append(loop.predict_proba(X[t : t + 1])[0])
        loop.partial_fit(X[t : t + 1], y[t : t + 1])
    np.testing.assert_allclose(single, p, rtol=0, atol=1e-9)
    learned = np.array([expert.steps for expert in table.forecaster_.experts]) - steps
    missed = 60 if least == 1 else 260
    assert learned[[1, 4]].tolist() == [260 - missed] * 2
    # Others may become inactive at the review.
    assert set(np.delete(learned, [1, 4])) <= {60, 260}


def test_columns_may_come_while_they_are_inactive():
    X, y = logistic_stream(2 * PERIOD, 3, 2)
    model = mx.river.GAFClassifier(kernel=mx.kernels.Auto(5))
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(enumerate(row)), label)
    forecaster = model._learner.forecaster
    active = forecaster.active
    assert len(active) < len(forecaster.experts)
    model.learn_one({0: 1.0, 3: 2.0}, 2)
    assert forecaster.active == active
    assert (forecaster.n_classes, forecaster.steps) == (3, 2 * PERIOD + 1)
    assert sum(model.predict_proba_one({0: 1.0, 3: -2.0}).values()) == pytest.approx(1)


def test_where_curves_pay_they_are_active():
    X, y = mx.datasets.make_shapes(3 * PERIOD, "circles")
    model = mx.GAFClassifier(kernel=mx.kernels.Auto(20)).fit(X, y)
    assert len(model.forecaster_.active) > 1
