"""Kills `mixable serve` at random moments while clients ask an agent and bring rewards: no reward
is lost or counted twice, and decisions are those of an agent that was never disturbed.

python tests/kill_decisions.py [times] [clients]
"""

import json
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from kill_serve import Client, load
from serve_command import Caller, Server, same_models, saved

from mixable.events.decisions import made
from mixable.events.store import Store

OPTIONS = {"kind": "agent", "actions": ["a", "b", "c"], "floor": 0.05, "seed": 3}


class Visitor(Client):
    """Asks for decisions and brings rewards, late, in any order, some twice."""

    def __init__(self, number):
        super().__init__(number, model="shop")
        self.rewards = {}

    def _next(self):
        self.sent += 1
        draw = self._random
        chance = draw.random()
        if chance < 0.4 and self.waiting:
            return "/reward", {"id": draw.choice(sorted(self.waiting)), "reward": chance < 0.15}
        if chance < 0.45 and self.rewards:
            key = draw.choice(sorted(self.rewards))
            return "/reward", {"id": key, "reward": self.rewards[key]}
        context = {"user": f"u{draw.randrange(30)}", "x": draw.gauss(0, 1), "tags": ["t"]}
        body = {"id": f"{self.number}-{self.sent}", "context": context}
        if chance < 0.55:
            body["actions"] = {"a": {"price": 2}, f"new{draw.randrange(3)}": {"price": 1}}
        elif chance < 0.6:
            body["allowed"] = ["b", "c"]
        return "/decide", body

    def _note(self, body, answer):
        if "reward" in body:
            self.waiting.discard(body["id"])
            self.rewards[body["id"]] = body["reward"]
            return
        assert abs(sum(answer["propensities"].values()) - 1) < 1e-9
        self.waiting.add(body["id"])
        self.answered[body["id"]] = answer


def compare(folder, clients):
    """The log, the saved agent and the clients' books; how many decisions and rewards."""
    store = Store(folder, read_only=True)
    key, options = store.models()["shop"], store.options("shop")
    events = list(store.since(key))
    decided = store.rows("SELECT id, forecast FROM events WHERE model = ? ORDER BY number", key)
    outcomes = store.rows("SELECT id, outcome FROM outcomes WHERE model = ?", key)
    store.close()
    assert len({name for name, _ in decided}) == len(decided), "a decision was taken twice"
    assert len({name for name, _ in outcomes}) == len(outcomes), "a reward was counted twice"
    told = {name: float(each) for client in clients for name, each in client.rewards.items()}
    assert dict(outcomes) == told, "rewards were lost"
    model = made(options)
    applied = model.apply(events)
    by_id = {name: json.loads(text) for name, text in decided}
    again = [each.forecast for each in applied if each.forecast is not None]
    assert again == list(by_id.values()), "decisions are others after a recovery"
    for client in clients:
        for name, answer in client.answered.items():
            assert by_id[name].items() >= answer.items(), "the log has another decision"
    known, rest = saved(folder, "shop")
    known.all(rest)
    assert same_models(known, model), "the saved agent is another"
    return len(decided), len(outcomes)


def main(times=30, number=6):
    """Kill it so often."""
    rng, folder = random.Random(), Path(tempfile.mkdtemp())
    try:
        clients = [Visitor(i) for i in range(int(number))]
        for _ in range(int(times)):
            server = Server(folder / "models", "--seconds", 0.2, "--linear")
            caller = Caller(server.port)
            assert caller("PUT", "/models/shop", OPTIONS)[0] in (200, 201)
            caller.close()
            before = sum(client.sent for client in clients)
            threads = load(server, clients, None)
            while sum(client.sent for client in clients) < before + 2 * len(clients):
                assert any(thread.is_alive() for thread in threads), server.said
                time.sleep(0.005)
            time.sleep(rng.random())
            server.end(signal.SIGKILL)
            for thread in threads:
                thread.join()
        server = Server(folder / "models", "--linear")  # for what has no answer yet
        for thread in load(server, clients, 0.3):
            thread.join()
        assert all(client._doubt is None for client in clients)
        assert server.end() == 0
        decided, rewarded = compare(folder / "models", clients)
        print(f"{times} kills; {decided:,} decisions, {rewarded:,} rewards, each once", flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
