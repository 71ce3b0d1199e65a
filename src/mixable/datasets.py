"""The paper's three data sets, shipped with the package, and generated streams.

All three are from the UCI Machine Learning Repository, CC BY 4.0; `data/README.md` in the package
has sources and attribution.
"""

from __future__ import annotations

import gzip
from datetime import datetime, timedelta
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from mixable import _validate
from mixable._types import Array, Labels, Stream


class Names(NamedTuple):
    """Names of the columns of X and of the labels 0, 1, ... of y."""

    features: list[str]
    classes: list[str]


class Dataset(NamedTuple):
    """X (n, d) raw values in the source's order, y (n,) labels 0..K-1 in order of their names."""

    X: Array
    y: Labels
    names: Names


class Shop(NamedTuple):
    """Events of a shop: records, the label of each, and after how many later events it is known."""

    records: list[dict[str, Any]]
    labels: list[str]
    delays: Labels


def load_vehicle() -> Dataset:
    """Statlog vehicle silhouettes: 846 examples, 18 features, 4 classes.

    >>> X, y, names = load_vehicle()
    >>> X.shape, names.classes
    ((846, 18), ['bus', 'opel', 'saab', 'van'])
    """
    return _load("vehicle")


def load_shuttle() -> Dataset:
    """Statlog shuttle: 58,000 examples, 9 features with heavy tails, 7 classes, one of 79%."""
    return _load("shuttle")


def load_segment() -> Dataset:
    """Statlog image segmentation: 2,310 examples, 19 features (one constant), 7 classes of 330."""
    return _load("segment")


def make_hazan(n: int, chi: int, seed: int = 0, eps: float = 0.01, *, n_classes: int = 2) -> Stream:
    """The hard regime of Hazan, Koren and Levy (2014): X (n, K - 1) and labels y (n,), K classes.

    With B = log n, an example of two classes is (1 - sqrt(eps)/(2 B), label 1) with probability
    sqrt(eps)/(2 B) + chi eps/B, else (sqrt(eps)/B, label 0). `chi` is -1 or +1, and eps at most 1/4
    (beyond, the probability would be negative). The lower bound for proper forecasters is for eps
    tuned to n, of the order (log(n) / n)^(2/3), and margin weights of norm B.

    With more classes, each example is one of K - 1 such problems, drawn at random: class j against
    class 0, on feature j - 1 alone. (This is the library's own; no lower bound is proved for it.)

    Parameters
    ----------
    n
        Number of examples, at least 2. B depends on it, so a shorter stream is no part of a longer.
    chi
        Which of two truths holds, -1 or +1: whether label 1 is a little rarer or more frequent. One
        of them is hard for a proper forecaster.
    seed
        Another seed, another stream; the same one, the same numbers.
    eps
        How far apart the two truths are, above 0 and at most 1/4.
    n_classes
        Number of classes K, at least 2.

    Examples
    --------
    >>> X, y = make_hazan(10_000, chi=1, seed=0)
    >>> X.shape, int(y.sum()), float(X.max()) < 1
    ((10000, 1), 56, True)
    >>> X, y = make_hazan(10_000, chi=1, n_classes=4)
    >>> X.shape, bool(((X > 0).sum(axis=1) == 1).all())
    ((10000, 3), True)
    """
    if chi not in (-1, 1):
        raise ValueError(f"chi must be -1 or 1, got {chi!r}")
    n, eps = _validate.count(n, "n", least=2), _validate.real(eps, "eps", above=0, most=0.25)
    K = _validate.count(n_classes, "n_classes", least=2)
    B, root = np.log(n), np.sqrt(eps)
    rng = np.random.default_rng(seed)
    is_one = rng.random(n) < root / (2 * B) + chi * eps / B
    problem = rng.integers(0, K - 1, n)
    X = np.zeros((n, K - 1))
    X[np.arange(n), problem] = np.where(is_one, 1 - root / (2 * B), root / B)
    return X, np.where(is_one, problem + 1, 0).astype(np.int_)


def make_drift(
    n: int, n_features: int = 10, n_classes: int = 4, *, kind: str = "slow", seed: int = 0
) -> Stream:
    """A stream whose truth changes: normal inputs X (n, n_features), labels of a softmax.

    The softmax is of weights with variance 36 / n_features. They are redrawn every 2,000 examples
    (`kind` "jump"), wander so that half of them is new after some 1,400 ("slow"), do so from the
    middle of the stream on ("late"), or stay ("none").

    Parameters
    ----------
    n
        Number of examples.
    n_features
        Number of features, each with mean 0 and variance 1.
    n_classes
        Number of classes, at least 2. All are equally frequent on average.
    kind
        How the truth changes: "slow" (default), "jump", "late" or "none".
    seed
        Another seed, another stream; the same one, the same numbers.

    Examples
    --------
    >>> X, y = make_drift(5000, kind="jump")
    >>> X.shape, int(y.max())
    ((5000, 10), 3)
    """
    if kind not in ("jump", "slow", "late", "none"):
        raise ValueError(f"kind must be 'jump', 'slow', 'late' or 'none', got {kind!r}")
    n, d = _validate.count(n, "n"), _validate.count(n_features, "n_features")
    K = _validate.count(n_classes, "n_classes", least=2)
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(n, d)), rng.gumbel(size=(n, K))
    W, rho = rng.normal(size=(K, d)), 1 - 1 / 2000
    y = np.empty(n, dtype=np.int_)
    for t in range(n):
        if kind == "jump" and t and t % 2000 == 0:
            W = rng.normal(size=(K, d))
        elif kind == "slow" or (kind == "late" and t >= n // 2):
            W = rho * W + np.sqrt(1 - rho**2) * rng.normal(size=(K, d))
        y[t] = (6 / np.sqrt(d) * W @ X[t] + noise[t]).argmax()
    return X, y


def make_shapes(n: int, kind: str = "spirals", *, seed: int = 0) -> Stream:
    """Two classes in the plane that no linear model separates: X (n, 2) and labels y (n,).

    Parameters
    ----------
    n
        Number of examples.
    kind
        "spirals" (default: two, of one and a half turns each), "circles" (one around the other) or
        "checkerboard" (4 x 4 cells).
    seed
        Another seed, another stream; the same one, the same numbers.

    Examples
    --------
    >>> X, y = make_shapes(1000, "checkerboard")
    >>> X.shape, int(y.max()), bool(0.45 < y.mean() < 0.55)
    ((1000, 2), 1, True)
    """
    if kind not in ("spirals", "circles", "checkerboard"):
        raise ValueError(f"kind must be 'spirals', 'circles' or 'checkerboard', got {kind!r}")
    n, rng = _validate.count(n, "n"), np.random.default_rng(seed)
    if kind == "checkerboard":
        X = rng.uniform(size=(n, 2))
        return X, (np.floor(4 * X).sum(axis=1) % 2).astype(np.int_)
    y, noise = rng.integers(0, 2, n), rng.normal(size=(n, 2))
    if kind == "circles":
        angle, radius, width = rng.uniform(0, 2 * np.pi, n), np.where(y == 1, 1.0, 0.5), 0.05
    else:
        radius, width = np.sqrt(rng.uniform(size=n)), 0.01
        angle = 3 * np.pi * radius + np.pi * y
    return (radius * np.array([np.cos(angle), np.sin(angle)])).T + width * noise, y


def make_separable(
    n: int, n_features: int = 10, n_classes: int = 3, *, margin: float = 0.1, seed: int = 0
) -> Stream:
    """A stream that a linear model can classify: the best class leads by at least `margin`.

    Parameters
    ----------
    n
        Number of examples.
    n_features
        Number of features, each normal.
    n_classes
        Number of classes, at least 2.
    margin
        By how much the linear score of the best class is above that of the next one, from 0 to 1
        (the scores themselves have a variance of about 1). A larger one is easier.
    seed
        Another seed, another stream; the same one, the same numbers.

    Examples
    --------
    >>> X, y = make_separable(1000, margin=0.5)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 10), [0, 1, 2])
    """
    n, d = _validate.count(n, "n"), _validate.count(n_features, "n_features")
    K = _validate.count(n_classes, "n_classes", least=2)
    margin = _validate.real(margin, "margin", least=0, most=1)
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(K, d)) / np.sqrt(d)
    rows: list[Array] = []
    while sum(map(len, rows)) < n:
        X = rng.normal(size=(2 * n, d))
        best = np.sort(X @ W.T, axis=1)
        rows.append(X[best[:, -1] - best[:, -2] >= margin])
    X = np.vstack(rows)[:n]
    return X, (X @ W.T).argmax(axis=1)


OUTCOMES = ("leave", "basket", "buy")
FREQUENCIES = np.array([0.784, 0.2, 0.016])


def make_shop(n: int, seed: int = 0) -> Shop:
    """Generate events of a shop: records with text, times and missing values, and late labels.

    An event is a visit: `user` (by a power law: few come often, most once), `country`, `device`,
    `price` (missing in a fifth of the events), `query` (up to four words, sometimes none), `time`
    (ISO 8601, in order) and `tags` (a list). The visitor may "leave" (78%), put something in the
    "basket" (20%) or "buy" (1.6%), by a softmax of effects of all columns and of the user, with one
    of country and device together. Half-way all effects but those of the users are drawn anew. The
    label of event t is known once event t + delays[t] has come: 50 events later on average, and 500
    later for those that buy.

    >>> records, labels, delays = make_shop(1000)
    >>> sorted(records[0])
    ['country', 'device', 'price', 'query', 'tags', 'time', 'user']
    >>> sorted(set(labels))
    ['basket', 'buy', 'leave']
    """
    n, rng = _validate.count(n, "n"), np.random.default_rng(seed)
    countries, devices = (
        ("DE", "FR", "IN", "JP", "NG", "PL", "UK", "US"),
        ("app", "desktop", "phone"),
    )
    words = [f"{first}{last}" for first in _SYLLABLES for last in _SYLLABLES]
    tags = ("bulk", "eco", "gift", "new", "sale", "sports", "toys", "used")
    user = np.minimum(rng.zipf(1.3, n), 10 * n)
    country, device = rng.choice(8, n, p=_falling(8)), rng.choice(3, n, p=_falling(3))
    price, no_price = np.exp(rng.normal(3.0, 1.0, n)), rng.random(n) < 0.2
    query = np.where(  # up to four words; -1 is none
        rng.random((n, 4)) < 0.6, rng.choice(len(words), (n, 4), p=_falling(len(words))), -1
    )
    tagged = rng.random((n, len(tags))) < 0.2
    seconds = np.cumsum(rng.exponential(40.0, n))
    hour = seconds / 3600 % 24
    users, owner = np.unique(user, return_inverse=True)
    own = rng.normal(0, 0.8, (len(users), 3))[owner]
    late = np.arange(n) >= n // 2
    y = np.zeros(n, dtype=np.int_)
    for part in (~late, late):
        effect = {name: rng.normal(0, 0.7, (size, 3)) for name, size in _EFFECTS.items()}
        of_words = np.concatenate([effect["word"], np.zeros((1, 3))])[query].sum(axis=1)
        size = np.where(no_price, 0.0, np.log(price) - 3)[:, None]
        clock = np.stack([np.sin(hour * np.pi / 12), np.cos(hour * np.pi / 12)], axis=1)
        score = own + effect["country"][country] + effect["device"][device] + of_words
        score = score + effect["pair"][3 * country + device] + tagged @ effect["tag"]
        score = score + size * effect["price"][0] + clock @ effect["hour"]
        score = score + np.where(no_price[:, None], effect["missing"][0], 0.0)
        p = _with_frequencies(score[part]) if part.any() else np.zeros((0, 3))
        y[part] = np.count_nonzero(
            rng.random(len(p))[:, None] > np.cumsum(p, axis=1)[:, :2], axis=1
        )
    start = datetime(2024, 1, 1)
    records: list[dict[str, Any]] = [
        {
            "user": f"u{user[t]}",
            "country": countries[country[t]],
            "device": devices[device[t]],
            "price": None if no_price[t] else round(float(price[t]), 2),
            "query": " ".join(words[word] for word in query[t] if word >= 0),
            "time": (start + timedelta(seconds=int(seconds[t]))).isoformat(),
            "tags": [tags[tag] for tag in np.flatnonzero(tagged[t])],
        }
        for t in range(n)
    ]
    delays = rng.exponential(np.where(y == 2, 500.0, 50.0)).astype(np.int_) + 1
    return Shop(records, [OUTCOMES[label] for label in y], delays)


_SYLLABLES = ("ba", "co", "di", "fu", "ga", "ke", "li", "mo", "na", "pe", "ro", "si", "tu", "ve")
_EFFECTS = {"country": 8, "device": 3, "pair": 24, "word": 196, "tag": 8, "price": 1, "hour": 2}
_EFFECTS["missing"] = 1


def _falling(size: int) -> Array:
    """Probabilities that fall as 1, 1/2, 1/3, ..."""
    share: Array = 1 / np.arange(1.0, size + 1)
    share /= share.sum()
    return share


def _with_frequencies(score: Array) -> Array:
    """The softmax of scores (n, 3), shifted so that the mean of each class is its rate."""
    shift = np.log(FREQUENCIES)
    for _ in range(50):
        p: Array = np.exp(score + shift)
        p /= p.sum(axis=1, keepdims=True)
        shift = shift + np.log(FREQUENCIES / p.mean(axis=0))
    return p


def _load(name: str) -> Dataset:
    with (
        (resources.files("mixable") / "data" / f"{name}.csv.gz").open("rb") as packed,
        gzip.open(packed, "rt", encoding="utf-8") as lines,
    ):
        header = next(lines).rstrip("\n").split(",")
        rows = [line.rstrip("\n").rpartition(",") for line in lines]
    X = np.array([values.split(",") for values, _, _ in rows], dtype=np.float64)
    classes, y = np.unique([label for _, _, label in rows], return_inverse=True)
    return Dataset(X, y.astype(np.int_), Names(header[:-1], [str(name) for name in classes]))
