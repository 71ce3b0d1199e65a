"""A model for each key: as many as you like, those not used lately on disk."""

from __future__ import annotations

import copy
import os
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixable import _validate
from mixable._verbs import verbs
from mixable.merging import delta, merge, tempered
from mixable.persistence import DamagedFileError, dumps, loads

if TYPE_CHECKING:
    from typing_extensions import Self

LIVE = 3.5
"""A model in memory takes about as many times the bytes of a saved one."""

PUT_AWAY = 0.1
"""The part of the models in memory that is written at a time when there is no more room."""

FILE = "bank.sqlite"

Key = str | int


class _Entry:
    """A model in memory, the number of its prior, and whether it has learned since it was saved."""

    __slots__ = ("is_changed", "model", "prior")

    def __init__(self, model: Any, prior: int) -> None:
        self.model, self.prior, self.is_changed = model, prior, False


class Bank:
    """Models by key, each made when its key first learns.

    Parameters
    ----------
    model
        What the models are to be: a forecaster or an estimator of scikit-learn or river. Each is a
        copy of it.
    memory
        Bytes that models in memory may take, roughly. Those not used lately go to disk.
    folder
        Where they go; it must be new, or empty. `Bank.open` opens it again. None is a temporary
        file.
    prior
        A model of the same kind that newcomers begin with; None is `model`. `renew_prior` replaces
        it by what all models together have learned.

    Notes
    -----
    Whatever happens, the folder holds the models as they were at the last `flush`, or later. One
    process at a time may use a folder, and one thread at a time a bank. A bank of 10,000 models of
    20 features takes 260 MB with GAF, 370 MB with GAFClassifier(kernel=None, effort="low").

    Examples
    --------
    >>> from mixable import GAF
    >>> bank = Bank(GAF(2, 3))
    >>> bank.learn("anna", [1.0, 0.0], 2)
    >>> bank.predict("anna", [1.0, 0.0]).argmax(), bank.predict("ben", [1.0, 0.0]).round(2)
    (np.int64(2), array([0.33, 0.33, 0.33]))
    >>> list(bank), bank["anna"].steps
    (['anna'], 1)
    """

    def __init__(
        self,
        model: Any,
        *,
        memory: float = 500e6,
        folder: str | os.PathLike[str] | None = None,
        prior: Any = None,
    ) -> None:
        self._memory = _validate.scale(memory, "memory")
        merge([model] if prior is None else [model, prior])  # refuses what cannot be in a bank
        self._begin(sqlite3.connect(self._new_file(folder)))
        first = dumps(model if prior is None else prior)
        self._execute("CREATE TABLE models (key PRIMARY KEY, data BLOB NOT NULL, prior INTEGER)")
        self._execute("CREATE TABLE priors (number INTEGER PRIMARY KEY, data BLOB NOT NULL)")
        self._execute("INSERT INTO priors VALUES (0, ?)", (first,))
        self._commit()
        self._read_priors()

    @staticmethod
    def _new_file(folder: str | os.PathLike[str] | None) -> str:
        if folder is None:
            return ""  # SQLite's name for a temporary file
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            what = "has a bank: Bank.open opens it" if (path / FILE).exists() else "is not empty"
            raise ValueError(f"folder {os.fspath(folder)!r} {what}")
        return os.fspath(path / FILE)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, memory: float = 500e6) -> Self:
        """Open the bank of a folder, as it was when it was last flushed or closed."""
        path = Path(folder) / FILE
        if not path.is_file():
            raise FileNotFoundError(f"there is no bank in {os.fspath(folder)!r}")
        bank = cls.__new__(cls)
        bank._memory = _validate.scale(memory, "memory")
        try:
            bank._begin(sqlite3.connect(path, timeout=0.5))  # others keep it until they end
            bank._read_priors()
            bank._execute("SELECT key, data, prior FROM models LIMIT 1")
        except (sqlite3.DatabaseError, IndexError) as error:
            if "locked" in str(error):
                what = "is in use by another process, or by another Bank of this one"
                raise RuntimeError(f"the bank in {os.fspath(folder)!r} {what}") from None
            raise DamagedFileError(f"{os.fspath(path)!r} is not a bank: {error}") from error
        return bank

    def _begin(self, store: sqlite3.Connection) -> None:
        self._store = store
        self._execute("PRAGMA locking_mode = EXCLUSIVE")
        self._execute("PRAGMA journal_mode = WAL")
        self._execute("PRAGMA synchronous = NORMAL")
        self._live: OrderedDict[Key, _Entry] = OrderedDict()  # those used last come last

    def _execute(self, *command: Any) -> sqlite3.Cursor:
        return self._store.execute(*command)

    def _commit(self) -> None:
        self._store.commit()

    def _read_priors(self) -> None:
        rows = self._execute("SELECT data FROM priors ORDER BY number").fetchall()
        self._priors = [loads(data) for (data,) in rows]
        self._newcomer = rows[-1][0]
        self._predict, self._learn = verbs(self._priors[0])
        self._room = max(int(self._memory / (LIVE * len(self._newcomer))), 1)

    @property
    def prior(self) -> Any:
        """A copy of what newcomers begin with."""
        return loads(self._newcomer)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, (str, int)):
            return False
        return key in self._live or self._stored(key) is not None

    def __len__(self) -> int:
        (stored,) = self._execute("SELECT COUNT(*) FROM models").fetchone()
        return int(stored) + sum(self._stored(key) is None for key in self._changed())

    def __iter__(self) -> Iterator[Key]:
        stored = [key for (key,) in self._execute("SELECT key FROM models ORDER BY rowid")]
        return iter(dict.fromkeys([*stored, *self._live]))

    def __getitem__(self, key: Key) -> Any:
        """The model of a key. Change it by `learn` alone, or the change may be lost."""
        return self._entry(key).model

    def _entry(self, key: Key) -> _Entry:
        entry = self._known(key)
        if entry is None:
            raise KeyError(key)
        return entry

    def predict(self, key: Key, x: Any) -> Any:
        """The forecast of the key's model for one input; of a new key, that of the prior."""
        entry = self._known(key)
        return self._predict(self._priors[-1] if entry is None else entry.model, x)

    def learn(self, key: Key, x: Any, y: Any, weight: float = 1.0) -> None:
        """Let the key's model learn one example; a new key begins with the prior."""
        entry = self._known(key)
        if entry is not None:
            entry.is_changed = True
            self._learn(entry.model, x, y, weight)
            return
        entry = _Entry(loads(self._newcomer), len(self._priors) - 1)
        self._learn(entry.model, x, y, weight)
        entry.is_changed = True
        self._keep(key, entry)

    def _known(self, key: Key) -> _Entry | None:
        """What is known of a key, which is used now; None if it is new."""
        if isinstance(key, bool) or not isinstance(key, (str, int)):
            raise TypeError(f"key must be a text or an integer, got {key!r:.80}")
        entry = self._live.get(key)
        if entry is not None:
            self._live.move_to_end(key)
            return entry
        row = self._stored(key)
        if row is None:
            return None
        entry = _Entry(loads(row[0]), row[1])
        self._keep(key, entry)
        return entry

    def _stored(self, key: Key) -> tuple[bytes, int] | None:
        if isinstance(key, int) and abs(key) >= 2**63:
            raise ValueError(f"key must be below 2^63 in size, got {key}")
        found = self._execute("SELECT data, prior FROM models WHERE key = ?", (key,)).fetchone()
        return None if found is None else (found[0], found[1])

    def _keep(self, key: Key, entry: _Entry) -> None:
        """Have a model in memory. If there is no more room, those not used lately are put away."""
        self._live[key] = entry
        if len(self._live) <= self._room:
            return
        size = LIVE * len(dumps(entry.model))  # models grow with labels and features
        self._room = max(int(self._memory / size), 1)
        oldest = list(islice(self._live, max(int(PUT_AWAY * self._room), 1)))
        self._write([each for each in oldest if self._live[each].is_changed])
        for each in oldest:
            del self._live[each]

    def _write(self, keys: Iterable[Key]) -> None:
        chosen = [(key, self._live[key]) for key in keys]
        rows = [(key, dumps(entry.model), entry.prior) for key, entry in chosen]
        put = "INSERT INTO models VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET data = ?2"
        self._store.executemany(put, rows)
        self._commit()
        for _, entry in chosen:
            entry.is_changed = False

    def _changed(self) -> list[Key]:
        """The keys that have learned since they were saved."""
        return [key for key, entry in self._live.items() if entry.is_changed]

    def flush(self) -> None:
        """Write all models that have learned since they were last written."""
        self._write(self._changed())

    def close(self) -> None:
        """Write everything and leave the folder to others."""
        self.flush()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def merged(self, keys: Iterable[Key] | None = None) -> Any:
        """One model that knows what all keys, or some, have learned; priors count once.

        It takes some milliseconds for each.
        """
        groups: dict[int, list[Any]] = {}
        for key in list(self) if keys is None else keys:
            entry = self._entry(key)
            groups.setdefault(entry.prior, []).append(entry.model)
        parts = [self._priors[0]]
        for number, models in groups.items():
            base = self._priors[number]
            parts.append(delta(merge(models, base=base), base))
        return merge(parts)

    def renew_prior(self, keys: Iterable[Key] | None = None, *, worth: float = 1.0) -> None:
        """Let newcomers begin with what all keys, or some, have learned.

        What they know is taken to be as certain as if `worth` of them had learned it: a newcomer is
        like the others at first, and can soon be different.
        """
        worth = _validate.scale(worth, "worth")
        chosen = list(self) if keys is None else list(keys)
        if not chosen:
            raise ValueError("no key has learned anything yet")
        prior = tempered(self.merged(chosen), min(worth / len(chosen), 1.0))
        self._execute("INSERT INTO priors VALUES (?, ?)", (len(self._priors), dumps(prior)))
        self._commit()
        self._read_priors()

    def __copy__(self) -> Self:
        raise TypeError("a bank cannot be copied: copy its models, or its folder when it is closed")

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copy.copy(self)

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("a bank cannot be pickled: open its folder where it is wanted")

    def __repr__(self) -> str:
        return f"Bank({self._priors[0]!r}) of {len(self)} models, {len(self._live)} in memory"
