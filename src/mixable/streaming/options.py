"""What the user of a stream has asked for, the forecaster aside."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mixable.streaming.errors import StreamError
from mixable.streaming.files import refuse_same_files

JSON_SUFFIXES = {".json", ".jsonl", ".ndjson"}


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `mixable stream`.

    Without `source` and `out`, standard input and output are meant. `is_json` says whether events
    are JSON lines; None decides by the name of the file, then by its first line.
    """

    model: Path
    target: str | None
    source: Path | None = None
    out: Path | None = None
    rejects: Path | None = None
    metrics: Path | None = None
    identifier: str | None = None
    remember: int = 10_000
    learns: bool = True
    strict: bool = False
    from_start: bool = False
    every: int = 100_000
    seconds: float = 10.0
    is_json: bool | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        read = {"--model": self.model, "IN": self.source}
        written = {"--out": self.out, "--rejects": self.rejects, "--metrics": self.metrics}
        refuse_same_files({**read, **written})
        if self.target is not None and self.target == self.identifier:
            raise StreamError(f"--target and --id are both {self.target!r}")

    def reads_json(self, first: bytes) -> bool:
        """Whether events are JSON lines; `first` is the first line."""
        if self.is_json is not None:
            return self.is_json
        suffixes = [] if self.source is None else self.source.suffixes
        is_named_so = any(suffix.lower() in JSON_SUFFIXES for suffix in suffixes)
        return is_named_so or first.lstrip().startswith(b"{")

    def writes_json(self, reads_json: bool) -> bool:
        """Whether answers are JSON lines."""
        suffix = "" if self.out is None else self.out.suffix.lower()
        return suffix in JSON_SUFFIXES or (reads_json and suffix != ".csv")
