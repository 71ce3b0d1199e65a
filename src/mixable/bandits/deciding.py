"""A stream of contexts and rewards, with a log from which a run goes on after a crash.

Each line of the input that is not blank becomes one line of the log: a decision, a reward, or what
is wrong with it. The first line of the log has the options of the agent. What the log has was
answered, and nothing else was: after a crash, its lines are learned again, and give the same
decisions.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from mixable.bandits.agent import Agent, Decision
from mixable.persistence import load, save


def told(event: Mapping[str, Any]) -> dict[str, Any]:
    """What `choose` is told by an event: a context beside actions, allowed, id; or one."""
    given = {name: event[name] for name in ("actions", "allowed", "id") if name in event}
    if "context" in event:
        return {"context": event["context"], **given}
    return {"context": {k: v for k, v in event.items() if k != "id"}, "id": event.get("id")}


def as_json(made: Decision) -> dict[str, Any]:
    """A decision as logs have it."""
    names = ("id", "action", "propensity", "propensities", "expected")
    return {name: getattr(made, name) for name in names}


class Decider:
    """An agent and its log.

    Parameters
    ----------
    log
        The file of the log: made on first use, then continued.
    options
        Arguments of `Agent`. Of a log that is there, they must be those it began with, or left out.
    model
        A file that has the agent at some place of the log, so that not all of it is read again.
    every
        Lines after which the agent is saved there.
    """

    def __init__(
        self,
        log: str | os.PathLike[str],
        options: dict[str, Any] | None = None,
        *,
        model: str | os.PathLike[str] | None = None,
        every: int = 10_000,
    ) -> None:
        self.path, self.model, self.every = Path(log), None if model is None else Path(model), every
        self.lines = 0  # of the input, that the log has
        self.rejected = 0
        self._file: BinaryIO = self.path.open("a+b")
        try:
            self._begin(dict(options or {}))
        except BaseException:
            self._file.close()
            raise

    def _begin(self, options: dict[str, Any]) -> None:
        self._file.seek(0)
        place = 0
        entries = []
        for line in self._file:
            if not line.endswith(b"\n"):
                break  # what was being written when the process died was never answered
            place += len(line)
            entries.append(line)
        self._file.truncate(place)
        if not entries:
            self.agent = Agent(**options)
            self._write({"agent": options})
            return
        known = json.loads(entries[0]).get("agent")
        if not isinstance(known, dict):
            raise ValueError(f"{self.path} is not a log of mixable decide")
        for name, value in options.items():
            if known.get(name) != value:
                raise ValueError(
                    f"{name} is {value!r:.80}, and {self.path} began with {known.get(name)!r:.80}"
                )
        self.agent, done = Agent(**known), 0
        if self.model is not None and self.model.exists():
            self.agent = load(self.model)
            if not isinstance(self.agent, Agent):
                raise ValueError(f"{self.model} holds no agent")
            done = self.agent.decisions + self.agent.rewards
        self._replay(entries[1:], done)

    def _replay(self, entries: list[bytes], done: int) -> None:
        """Learn the lines of the log that the agent does not know yet."""
        self.lines = len(entries)
        for number, line in enumerate(entries, 2):
            entry = json.loads(line)
            if "error" in entry:
                self.rejected += 1
                continue
            done -= 1
            if done >= 0:
                continue
            made = self._apply(entry)
            if made is not None and (made.id, made.action) != (entry["id"], entry["action"]):
                raise ValueError(
                    f"line {number} of {self.path} is not what this agent decides: the log is of "
                    "another version, or was changed"
                )
        if done > 0:
            raise ValueError(f"{self.model} knows more than {self.path}: one of them is another's")

    def _apply(self, event: dict[str, Any]) -> Decision | None:
        if "reward" in event:
            self.agent.learn(event.get("id"), event["reward"])
            return None
        return self.agent.choose(**told(event))

    def run(
        self, lines: Iterable[str | bytes], *, is_whole: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Answer lines of JSON: what each has added to the log. Blank lines are skipped.

        `{"id": 7, "reward": 1}` is a reward. All else is a context, or has one as "context" beside
        "actions", "allowed" and "id". If the input `is_whole`, it begins with what the log has.
        """
        known, begin = (self.lines, 1) if is_whole else (0, self.lines + 1)
        sound = ((number, line) for number, line in enumerate(lines, begin) if line.strip())
        for number, line in islice(sound, known, None):
            yield self._answer(number, line)
            if self.model is not None and self.lines % self.every == 0:
                self.save()

    def _answer(self, number: int, line: str | bytes) -> dict[str, Any]:
        try:
            event = json.loads(line)
            if not isinstance(event, dict):
                raise TypeError("an event must be an object of JSON")
            made = self._apply(event)
        except (ValueError, TypeError, RecursionError) as error:
            self.rejected += 1
            out: dict[str, Any] = {"error": f"{error!s:.500}", "line": number}
        else:
            out = {"id": event.get("id"), "reward": event.get("reward")}
            if made is not None:
                out = {**told(event), **as_json(made)}
        self.lines += 1
        self._write(out)
        return out

    def _write(self, entry: dict[str, Any]) -> None:
        self._file.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
        self._file.flush()

    def save(self) -> None:
        """Write the log to the disk, then the agent to its file."""
        os.fsync(self._file.fileno())
        if self.model is not None:
            save(self.agent, self.model)

    def close(self) -> None:
        """Save, and close the log."""
        self.save()
        self._file.close()

    def __enter__(self) -> Decider:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        # After an error the agent may know a line that the log has not.
        self.close() if kind is None else self._file.close()
