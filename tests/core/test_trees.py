"""The compiled trees against plain Python: splits, sums, the online step; and forged states."""

import numpy as np
import pytest

from mixable import _core

RNG = np.random.default_rng(11)


def nodes_of(state, prefix):
    """Masks, columns and children of saved nodes."""
    words = state[f"{prefix}nodes"]
    small = words.view(np.int16).reshape(-1, 8)
    return words[0::2], words.view(np.int32).reshape(-1, 4)[:, 2], small[:, 6:8]


def grown(core, X, keys, y, wanted):
    """Learn rows, again and again, until the state is what is wanted."""
    for t in np.tile(np.arange(len(y)), 10):
        core.learn(X[t : t + 1], None if keys is None else keys[t : t + 1], y[t], 1.0)
        state = core.state()
        if wanted(state):
            return state
    raise AssertionError("there was no such moment")


def scores(state, rows, K):
    """Gradient and curvature sums of some rows, in the unit of their file: whole numbers."""
    lanes = 4 if K <= 2 else 8
    sums = state["tree_sums"].reshape(-1, lanes)[rows].astype(object)
    classes = len(state["tree_classes"])
    total = sums.sum(axis=0) if len(rows) else np.zeros(lanes, object)
    return [int(g) for g in total[:classes]], int(total[lanes - 2])


def gain(state, left, right, K):
    """The gain of a split, from its rows alone."""

    def value(rows):
        G, H = scores(state, rows, K)
        squares = sum((g * state["tree_g_unit"]) ** 2 for g in G)
        return squares / (H * state["tree_h_unit"] + 1)

    factor = 2 if K == 2 else 1
    return factor * (value(left) + value(right) - value(np.concatenate([left, right])))


@pytest.mark.parametrize("K", [0, 2, 4])
@pytest.mark.parametrize("with_missing", [False, True])
def test_the_first_split_is_the_best_of_all(K, with_missing):
    """By exhaustive search over all thresholds, and both sides for what is missing."""
    n, d = 60, 3
    X = np.round(RNG.normal(size=(n, d)), 1)
    if with_missing:
        X[RNG.uniform(size=X.shape) < 0.2] = np.nan
    z = np.nan_to_num(X[:, 1]) + 0.3 * RNG.normal(size=n)
    y = z if K == 0 else np.digitize(z, np.quantile(z, np.arange(1, K) / K)).astype(float)
    core = _core.Trees(d, 0, K)

    def has_split(state):
        return state["stage"] == 6 and len(state["tree_nodes"]) >= 2 and state["rows"] >= 30

    state = grown(core, X, None, y, has_split)
    codes = state["codes"].reshape(-1, d)
    rows = np.sort(state["tree_order"])
    least = state["tree_least_rows"]
    best = 0.0
    for column in range(d):
        own = codes[rows, column]
        for threshold in range(64):
            for missing_left in (False, True):
                goes_left = (own <= threshold) & (own > 0) | ((own == 0) & missing_left)
                left, right = rows[goes_left], rows[~goes_left]
                if min(len(left), len(right)) >= least:
                    best = max(best, gain(state, left, right, K))
    masks, columns, _ = nodes_of(state, "tree_")
    goes_right = np.array([(int(masks[0]) >> int(c)) & 1 for c in codes[rows, columns[0]]], bool)
    found = gain(state, rows[~goes_right], rows[goes_right], K)
    assert found == pytest.approx(best, rel=1e-9)
    assert state["tree_gains"][0] == pytest.approx(best, rel=1e-9)


def test_the_first_split_of_categories_is_the_best_subset():
    """Of two classes the order by G / (H + 1) has the best subset: here against all of them."""
    n, values = 80, 6
    keys = RNG.integers(1, values + 1, (n, 1)).astype(np.uint64)
    y = (RNG.uniform(size=n) < np.array([0.9, 0.1, 0.5, 0.8, 0.2, 0.6])[keys[:, 0] - 1]) * 1.0
    core = _core.Trees(0, 1, 2)
    X = np.empty((n, 0))

    def has_split(state):
        return state["stage"] == 6 and len(state["tree_nodes"]) >= 2 and state["rows"] >= 40

    state = grown(core, X, keys, y, has_split)
    codes, rows = state["codes"], np.sort(state["tree_order"])
    here = np.unique(codes[rows])
    penalty = 0.5 * (len(here) - 2)
    gains = []
    for subset in range(1, 2 ** len(here) - 1):
        chosen = here[[bool(subset >> i & 1) for i in range(len(here))]]
        goes_left = np.isin(codes[rows], chosen)
        if min(goes_left.sum(), (~goes_left).sum()) >= state["tree_least_rows"]:
            gains.append(gain(state, rows[goes_left], rows[~goes_left], 2))
    # With H + 1 in place of H the order is nearly the best: within 2 percent of it.
    assert state["tree_gains"][0] == pytest.approx(max(gains) - penalty, rel=0.02)


def reference_scores(state, X, K):
    """F and the leaf of each tree, walked in Python."""
    d = X.shape[1]
    edges = state["live_edges"].reshape(d, 64)
    codes = np.array(
        [[0 if np.isnan(v) else 1 + (edges[j] < v).sum() for j, v in enumerate(x)] for x in X]
    )
    masks, columns, children = nodes_of(state, "live_")
    first, M = state["live_first_leaf"], 1 if K <= 2 else K
    value = state["live_value"].reshape(-1, M).astype(float)
    F = np.tile(state["live_base"], (len(X), 1))
    leaves = np.zeros((len(X), len(first) - 1), int)
    for i, code in enumerate(codes):
        for t in range(len(first) - 1):
            begin, at = first[t] - t, 0
            count = first[t + 1] - first[t] - 1
            while at >= 0 and count:
                side = int(masks[begin + at]) >> int(code[columns[begin + at]]) & 1
                at = int(children[begin + at][side])
            leaves[i, t] = first[t] + (-1 - at if count else 0)
            F[i] += value[leaves[i, t]]
    return F, leaves


def probabilities(F, K):
    if K == 2:
        F = np.column_stack([-F[:, 0], F[:, 0]])
    e = np.exp(F - F.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("K", [2, 3])
def test_the_online_step_is_the_one_of_the_book(K):
    """H += h and v += eta g / H at the leaf of each tree, g and h of the forecast before."""
    n, d = 300, 3
    X = RNG.normal(size=(n, d))
    X[RNG.uniform(size=X.shape) < 0.1] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0]), [0.0] if K == 2 else [-0.5, 0.5]).astype(float)
    core = _core.Trees(d, 0, K)
    core.run(X, None, y, None)
    before = core.state()
    x, label = X[:1].copy(), 1
    F, leaves = reference_scores(before, x, K)
    p = probabilities(F, K)[0]
    core.learn(x, None, float(label), 1.0)
    after = core.state()
    if after["live_start"] != before["live_start"] or len(after["live_value"]) != len(
        before["live_value"]
    ):
        pytest.skip("a new ensemble came with this step")
    M = 1 if K == 2 else K
    g = (np.eye(K)[label] - p)[-M:] if K == 2 else np.eye(K)[label] - p
    h = (p * (1 - p) * K / (K - 1))[-M:]
    eta = 4 / leaves.shape[1]
    H = before["live_curvature"].reshape(-1, M).astype(float)
    v = before["live_value"].reshape(-1, M).astype(float)
    for leaf in leaves[0]:
        H[leaf] += h
        v[leaf] += eta * g / H[leaf]
    np.testing.assert_allclose(after["live_curvature"].reshape(-1, M), H, rtol=1e-5)
    np.testing.assert_allclose(after["live_value"].reshape(-1, M), v, rtol=1e-4, atol=1e-6)


def test_values_of_leaves_are_newton_steps_on_all_rows():
    """G and H of the file against sums over the rows, by the gradient of each."""
    n, d = 900, 2
    X = RNG.normal(size=(n, d))
    y = (X[:, 0] + 0.5 * RNG.normal(size=n) > 0).astype(float)
    core = _core.Trees(d, 0, 2)

    def is_last(state):
        is_full = state["builds"] == 0 or len(state.get("next_first_leaf", ())) > 15
        return state["stage"] == 8 and state["at"] == 0 and state["rows"] > 600 and is_full

    state = grown(core, X, None, y, is_last)
    g, leaf = state["g"].astype(float), state["leaf"]
    used = state["size"] >= 0
    q = np.abs(g)
    for each in range(len(state["G"])):
        own = (leaf == each) & used
        assert state["G"][each] == pytest.approx(g[own].sum(), rel=1e-4, abs=1e-4)
        assert state["H"][each] == pytest.approx((2 * q * (1 - q))[own].sum(), rel=1e-4)
    rate = state["next_rate"] if state["builds"] else state["live_rate"]
    step = np.clip(state["G"] / (state["H"] + 1), -4, 4)
    np.testing.assert_allclose(state["leaf_value"], rate * step, rtol=1e-5)
    # About half of the rows were in the tree, those with large gradients first.
    inside = np.zeros(len(g), bool)
    inside[state["tree_order"]] = True
    assert 0.25 < inside.mean() < 0.65
    assert np.abs(g[inside]).mean() > 1.3 * np.abs(g[~inside & used]).mean()


def states():
    """Some moments of builds, of labels, of numbers, with categories."""
    rng = np.random.default_rng(3)
    n = 260
    X = rng.normal(size=(n, 3))
    keys = rng.integers(0, 5, (n, 2)).astype(np.uint64)
    z = X[:, 0] + keys[:, 0] * (keys[:, 1] > 2)
    for K in (0, 2, 7):
        y = z if K == 0 else np.digitize(z, np.quantile(z, np.arange(1, K) / K)).astype(float)
        core = _core.Trees(3, 2, K)
        found = {}
        for t in range(n):
            core.learn(X[t : t + 1], keys[t : t + 1], y[t], 1.0)
            state = core.state()
            found[state["stage"], state.get("tree_stage")] = state
        for state in found.values():
            yield K, state, X, keys, y


STATES = list(states())


def test_forged_states_are_refused_or_work():
    """Numbers of all kinds in all places: a ValueError, or a model that predicts and learns."""
    rng = np.random.default_rng(0)
    numbers = [-1, 0, 1, 2, 3, 63, 64, 255, 2**31 - 1, -(2**31), 2**53, 2**62, -(2**62)]
    floats = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-300, 1e30, 1e300, -1e308]
    refused = 0
    for _ in range(1500):
        K, state, X, keys, y = STATES[rng.integers(len(STATES))]
        forged = dict(state)
        for _ in range(rng.integers(1, 3)):
            name = list(forged)[rng.integers(len(forged))]
            value = forged[name]
            if isinstance(value, int):
                forged[name] = int(rng.choice(numbers))
            elif isinstance(value, float):
                forged[name] = float(rng.choice(floats))
            elif rng.uniform() < 0.3:
                forged[name] = value[: rng.integers(len(value) + 1)].copy()
            elif rng.uniform() < 0.2:
                forged[name] = np.concatenate([value, value])
            elif len(value):
                value = value.copy()
                at = rng.integers(len(value), size=rng.integers(1, 4))
                if value.dtype.kind == "f":
                    with np.errstate(over="ignore"):
                        value[at] = rng.choice(floats)
                else:
                    limits = np.iinfo(value.dtype)
                    value[at] = rng.integers(
                        limits.min, limits.max, dtype=value.dtype, endpoint=True
                    )
                forged[name] = value
        core = _core.Trees(3, 2, K)
        try:
            core.restore(forged)
        except (ValueError, TypeError, RuntimeError, KeyError):
            refused += 1
            assert core.steps == 0
            continue
        core.predict(X, keys)
        core.run(X[:120], keys[:120], y[:120], None)
    assert refused > 300


def test_a_state_of_another_shape_is_refused():
    K, state, *_ = STATES[-1]
    for shape in ((3, 3, K), (2, 2, K), (4, 2, K), (3, 2, 2), (3, 2, 0)):
        with pytest.raises(ValueError, match="saved"):
            _core.Trees(*shape).restore(state)
    for name in ("codes", "x", "live_nodes", "stage"):
        missing = {k: v for k, v in state.items() if k != name}
        with pytest.raises((ValueError, KeyError, RuntimeError)):
            _core.Trees(3, 2, K).restore(missing)


def test_a_split_by_categories_does_not_depend_on_how_much_is_explained_already():
    """Numbers explain nearly all: what is left is found in categories, with little noise."""
    n = 2000
    keys = RNG.integers(1, 9, size=(n, 1)).astype(np.uint64)
    X = RNG.choice([-1.0, 1.0], size=(n, 1))
    shift = 0.05 * RNG.permutation(8)[keys[:, 0].astype(int) - 1]
    core = _core.Trees(1, 1, 0)
    core.run(X, keys, 10.0 * (X[:, 0] > 0) + shift + 0.01 * RNG.normal(size=n), None)
    core.finish()
    said = core.predict(X, keys)[:, 0] - 10.0 * (X[:, 0] > 0)
    assert np.corrcoef(said, shift)[0, 1] > 0.9
