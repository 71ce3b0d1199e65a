"""Streams of records with a number to predict, for benchmarks/regression.py --records: made here.

A record has a user (by a power law: few come often, most rarely), categories, numbers of which some
are missing, a text, a time and tags. The first 20 streams chose what `GAFRegressor` does with
records; the last 8 were held out of the choice. Nothing is downloaded.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Array = NDArray[np.float64]
START = datetime(2024, 1, 1)
SYLLABLES = ("ba", "co", "di", "fu", "ga", "ke", "li", "mo", "na", "pe", "ro", "si", "tu", "ve")
WORDS = ["".join(parts) for parts in product(SYLLABLES, repeat=3)]
TAGS = ("bulk", "eco", "gift", "new", "sale", "sports", "toys", "used")


class RecordStream(NamedTuple):
    """Records and targets, in the order in which all see them."""

    name: str
    records: list[dict[str, Any]]
    y: Array


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The size of each effect, in deviations of the target; 0 leaves its column out."""

    n: int = 1500
    user: float = 0.5
    users: float = 1.3  # exponent of the power law
    country: float = 0.5
    device: float = 0.3
    pair: float = 0.0  # of country and device together
    slope: float = 0.0  # of the price, by country
    text: float = 0.3
    words: int = 200
    tags: float = 0.2
    hour: float = 0.3
    weekday: float = 0.0
    price: float = 0.5
    curve: float = 0.0  # of two numbers together
    noise: float = 0.5
    tails: str = "normal"  # of the noise: "normal", "t", "outliers" or "uneven"
    change: str = "none"  # "jump": all is drawn anew half-way; "walk": users and countries wander
    form: str = "plain"  # "skewed": the exponential of half the target; "counts": whole numbers
    unit: float = 1.0
    offset: float = 0.0


def _falling(size: int) -> Array:
    """Probabilities that fall as 1, 1/2, 1/3, ..."""
    share: Array = 1 / np.arange(1.0, size + 1)
    return share / share.sum()


def _unit(effect: Array, size: float) -> Array:
    """An effect of mean 0 and this deviation over the rows."""
    centred = effect - effect.mean()
    return size * centred / max(float(centred.std()), 1e-12)


def _of_values(rng: Generator, value: Any, plan: Plan, n: int) -> Array:
    """An effect drawn for each value of a column, that may change."""
    size = int(value.max()) + 1
    own = rng.normal(size=size)[value]
    if plan.change == "jump":
        return np.where(np.arange(n) < n // 2, own, rng.normal(size=size)[value])
    if plan.change == "walk":  # each value as a wave of its own
        phase, turns = rng.uniform(0, 6.3, size)[value], rng.uniform(0.5, 2, size)[value]
        return own + 1.5 * np.sin(phase + turns * 6.3 * np.arange(n) / n)
    return own


def _noise(rng: Generator, plan: Plan, country: Any) -> Array:
    n = plan.n
    if plan.tails == "t":
        return rng.standard_t(3, n) / np.sqrt(3)
    if plan.tails == "outliers":
        return np.where(rng.random(n) < 0.02, 20.0, 1.0) * rng.normal(size=n)
    if plan.tails == "uneven":
        return np.array([0.3, 0.6, 1.0, 2.0])[country % 4] * rng.normal(size=n)
    return rng.normal(size=n)


def make(name: str, plan: Plan, seed: int) -> RecordStream:
    """A stream of a plan."""
    rng, n = np.random.default_rng(seed), plan.n
    user = np.unique(np.minimum(rng.zipf(plan.users, n), 10 * n), return_inverse=True)[1]
    country, device = rng.choice(30, n, p=_falling(30)), rng.choice(4, n, p=_falling(4))
    price, weight = np.exp(rng.normal(3.0, 0.8, n)), rng.normal(70, 12, n)
    no_price = rng.random(n) < 0.1
    words = rng.choice(plan.words, (n, 6), p=_falling(plan.words))
    spoken = rng.random((n, 6)) < 0.6
    tagged = rng.random((n, len(TAGS))) < 0.2
    seconds = np.cumsum(rng.exponential(7 * 86400 * 4 / n, n))
    hour, day = seconds / 3600 % 24, (seconds // 86400).astype(int) % 7
    size, heavy = np.where(no_price, 0.0, (np.log(price) - 3) / 0.8), (weight - 70) / 12
    of_words = np.where(np.arange(plan.words) < plan.words // 2, rng.normal(size=plan.words), 0)
    effects = {
        "user": _of_values(rng, user, plan, n),
        "country": _of_values(rng, country, plan, n),
        "device": _of_values(rng, device, plan, n),
        "pair": rng.normal(size=120)[4 * country + device],
        "slope": rng.normal(size=30)[country] * size,
        "text": (of_words[words] * spoken).sum(axis=1),
        "tags": tagged @ rng.normal(size=len(TAGS)),
        "hour": np.sin(hour * np.pi / 12 + 1) + np.where(np.abs(hour - 18) < 2, 0.5, 0.0),
        "weekday": rng.normal(size=7)[day],
        "price": size - 0.5 * heavy + 0.7 * no_price,
        "curve": np.sin(2 * size) * heavy + heavy**2 / 2,
        "noise": _noise(rng, plan, country),
    }
    target = sum(_unit(each, getattr(plan, name)) for name, each in effects.items())
    if plan.form == "skewed":
        target = np.exp(target)
    elif plan.form == "counts":
        target = rng.poisson(np.exp(1 + 0.7 * np.minimum(target, 3))).astype(float)
    columns = _columns(plan)
    records = [
        {
            "user": f"u{user[t]}",
            "country": f"c{country[t]}",
            "device": f"d{device[t]}",
            "price": None if no_price[t] else round(float(price[t]), 2),
            "weight": round(float(weight[t]), 1),
            "text": " ".join(WORDS[13 * word] for word in words[t][spoken[t]]),
            "time": (START + timedelta(seconds=int(seconds[t]))).isoformat(),
            "tags": [TAGS[tag] for tag in np.flatnonzero(tagged[t])],
        }
        for t in range(n)
    ]
    kept = [{key: value for key, value in each.items() if key in columns} for each in records]
    return RecordStream(name, kept, plan.offset + plan.unit * np.asarray(target, dtype=float))


def _columns(plan: Plan) -> set[str]:
    numbers = plan.price or plan.slope or plan.curve
    wanted = {
        "user": plan.user,
        "country": plan.country or plan.pair or plan.slope,
        "device": plan.device or plan.pair,
        "price": numbers,
        "weight": numbers,
        "text": plan.text,
        "time": plan.hour or plan.weekday,
        "tags": plan.tags,
    }
    return {name for name, size in wanted.items() if size}


ALL = Plan()
NOTHING = Plan(user=0, country=0, device=0, text=0, tags=0, hour=0, price=0)
CHOICE = {
    "all": ALL,
    "quiet": replace(ALL, noise=0.15),
    "noisy": replace(ALL, noise=2.0),
    "users": replace(ALL, user=1.5, users=1.5, country=0.1, text=0.1),
    "strangers": replace(ALL, user=1.0, users=1.1),
    "text": replace(NOTHING, text=1.0),
    "long-text": replace(NOTHING, text=1.0, words=211, noise=0.2, country=0.3, n=2000),
    "categories": replace(NOTHING, user=0.7, country=0.7, device=0.5),
    "pairs": replace(ALL, pair=0.8),
    "slopes": replace(ALL, slope=0.8),
    "curves": replace(ALL, curve=1.0, price=0.3),
    "numbers": replace(ALL, user=0.05, country=0.1, text=0.05, price=1.5),
    "times": replace(ALL, hour=0.8, weekday=0.8),
    "jump": replace(ALL, change="jump", country=1.0),
    "walk": replace(ALL, change="walk", country=1.0),
    "heavy": replace(ALL, tails="t", noise=1.0),
    "outliers": replace(ALL, tails="outliers"),
    "uneven": replace(ALL, tails="uneven"),
    "skewed": replace(ALL, form="skewed"),
    "offset": replace(ALL, unit=1e-3, offset=1e5, n=1000),
}
KEPT_OUT = {
    "shop": replace(ALL, user=0.8, users=1.4, country=0.4, pair=0.3, hour=0.5, noise=0.7),
    "counts": replace(ALL, form="counts", user=0.7),
    "visits": replace(NOTHING, user=1.0, users=1.6, hour=0.6, weekday=0.4, noise=0.6),
    "reviews": replace(NOTHING, text=0.8, user=0.5, words=150, country=0.3, noise=0.7, n=2000),
    "walk-curves": replace(ALL, change="walk", curve=0.7),
    "jump-heavy": replace(ALL, change="jump", tails="t", users=1.5, country=0.8),
    "skewed-uneven": replace(ALL, form="skewed", tails="uneven", unit=100.0),
    "short": replace(ALL, n=500, country=0.8),
}


def streams(half: str) -> Iterator[RecordStream]:
    """The streams of "choice" or "kept-out"."""
    plans, seed = {"choice": (CHOICE, 100), "kept-out": (KEPT_OUT, 500)}[half]
    for i, (name, plan) in enumerate(plans.items()):
        yield make(name, plan, seed + i)
