"""`mixable decide`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from mixable._config import one_blas_thread
from mixable.bandits import evaluate, read_log, read_open_bandit, read_vw
from mixable.bandits.deciding import Decider
from mixable.cli.consoles import Messages
from mixable.events.files import Lock, StreamError

READERS = {"decide": read_log, "vw": read_vw, "open-bandit": read_open_bandit}


class LogFormat(str, Enum):
    """Whose log it is."""

    decide = "decide"
    vw = "vw"
    open_bandit = "open-bandit"


def run_decide(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[IN]",
            help="JSON lines of contexts and rewards; standard input if not given. With "
            "--evaluate, a log.",
        ),
    ] = None,
    log: Annotated[
        Path | None, typer.Option(help="The log of decisions: made on first use, then continued.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Where the agent is saved; without, the log is read again.")
    ] = None,
    actions: Annotated[
        str | None, typer.Option(help="The actions by commas, or JSON with their features.")
    ] = None,
    reward: Annotated[str | None, typer.Option(help="binary, unit or number.")] = None,
    explore: Annotated[
        str | None, typer.Option(help="auto, fastcb, optimistic, thompson or greedy.")
    ] = None,
    floor: Annotated[
        float | None, typer.Option(help="The least probability of each action.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seeds the choices.")] = None,
    every: Annotated[int, typer.Option(min=1, help="Lines after which --model is saved.")] = 10_000,
    evaluate_: Annotated[
        str | None,
        typer.Option(
            "--evaluate", metavar="ACTION", help='What "always ACTION" would have earned.'
        ),
    ] = None,
    format_: Annotated[
        LogFormat, typer.Option("--format", help="Of the log that is evaluated.")
    ] = LogFormat.decide,
    reward_range: Annotated[
        str, typer.Option(help="The least and the largest reward, for --evaluate.")
    ] = "0,1",
    least: Annotated[
        float | None, typer.Option(help="The smallest propensity possible, for --evaluate.")
    ] = None,
) -> None:
    """Choose actions for contexts, learn rewards when they come, evaluate policies by the log."""
    messages = Messages()
    with (
        messages.failing(ValueError, TypeError, StreamError, where=source or log),
        one_blas_thread(),
    ):
        if evaluate_ is not None:
            _evaluate(source or log, evaluate_, format_, reward_range, least)
            return
        if log is None:
            raise ValueError("--log FILE is needed")
        given = {"actions": _actions(actions), "reward": reward, "explore": explore}
        options = {**given, "floor": floor, "seed": seed}
        lock = Lock(log)
        try:
            known = {k: v for k, v in options.items() if v is not None}
            in_vain = _decide(source, log, model, every, known, messages)
        finally:
            lock.release()
    raise typer.Exit(1 if in_vain else 0)


def _actions(text: str | None) -> Any:
    if text is None:
        return None
    if text.lstrip()[:1] in ("{", "["):
        return json.loads(text)
    return [each.strip() for each in text.split(",")]


def _decide(
    source: Path | None,
    log: Path,
    model: Path | None,
    every: int,
    options: dict[str, Any],
    messages: Messages,
) -> bool:
    """Answer the lines; whether all were rejected."""
    with Decider(log, options, model=model, every=every) as decider:
        if source is None or source == Path("-"):
            n, refused, first = _answer(decider.run(sys.stdin.buffer))
        else:
            with source.open("rb") as lines:  # what the log has of a file is not learned again
                n, refused, first = _answer(decider.run(lines, is_whole=True))
        agent = decider.agent
        messages.say(
            f"{agent.decisions:,} decisions, {agent.rewards:,} rewards, {len(agent.waiting):,} "
            f"wait, {decider.rejected:,} lines rejected{first}"
        )
    return 0 < n == refused


def _answer(answers: Iterable[dict[str, Any]]) -> tuple[int, int, str]:
    """Print the answers; how many lines there were, how many were bad, and the first of these."""
    names = ("id", "action", "propensity", "line", "error")
    n, refused, first = 0, 0, ""
    for out in answers:
        n += 1
        shown = {name: out[name] for name in names if name in out}
        if len(shown) > 1:
            print(json.dumps(shown), flush=True)
        if "error" in out:
            refused += 1
            first = first or f" (the first at line {out['line']}: {out['error']:.300})"
    return n, refused, first


def _evaluate(
    source: Path | None, action: str, format_: LogFormat, reward_range: str, least: float | None
) -> None:
    if source is None:
        raise ValueError("name the log that is to be evaluated")
    entries = list(READERS[format_.value](source))
    low, high = (float(each) for each in reward_range.split(","))
    chosen: Any = action
    if any(isinstance(each.action, int) for each in entries):
        chosen = int(action)
    print(f"always {chosen}:")
    print(evaluate(entries, chosen, reward_range=(low, high), least=least))
