"""Models are deleted for good, also while they learn; others of the name begin anew."""

import shutil
import threading

from serve_command import Caller, in_thread

LEARN = {"features": {"a": 1}, "label": "x"}


def learn(call, name="shop"):
    return call("POST", f"/models/{name}/learn", LEARN)


def test_a_model_is_deleted_and_one_of_the_name_begins_anew(tmp_path):
    folder = tmp_path / "models"
    with in_thread(folder, seconds=1000) as (_, call):
        assert call("DELETE", "/models/shop")[0] == 404
        assert call("PUT", "/models/shop")[0] == 201
        for _ in range(3):
            assert learn(call)[0] == 200
        assert call("DELETE", "/models/shop") == (200, {"name": "shop", "deleted": True})
        for method, path in (("GET", ""), ("POST", "/learn"), ("DELETE", "")):
            assert call(method, f"/models/shop{path}", LEARN)[0] == 404
        assert call("GET", "/models")[1] == {"models": ["default"]}
        assert call("PUT", "/models/shop")[0] == 201
        assert call("GET", "/models/shop")[1]["learned"] == 0
        assert learn(call)[1]["step"] == 1
    with in_thread(folder) as (_, call):
        assert call("GET", "/models/shop")[1]["learned"] == 1
        assert call("DELETE", "/models/default")[0] == 200
        assert call.predict(features={})[0] == 404


def test_what_is_deleted_stays_so_after_a_crash(tmp_path):
    folder, later = tmp_path / "models", tmp_path / "later"
    with in_thread(folder, seconds=1000) as (_, call):
        for name in ("gone", "again"):
            assert call("PUT", f"/models/{name}")[0] == 201
            assert learn(call, name)[0] == 200
            assert call("DELETE", f"/models/{name}")[0] == 200
        assert call("PUT", "/models/again")[0] == 201
        assert learn(call, "again")[1]["step"] == 1
        shutil.copytree(folder, later)  # what a crash would leave
    for left in (folder, later):
        with in_thread(left) as (_, call):
            assert call("GET", "/models")[1] == {"models": ["again", "default"]}
            assert call("GET", "/models/again")[1]["learned"] == 1


def test_a_model_is_deleted_and_made_while_others_learn_into_it(tmp_path):
    """Each label is answered by a model that was there; the last one has what came after it."""
    folder = tmp_path / "models"
    with in_thread(folder, seconds=0.05) as (_, call):
        port, ends, wrong = call._connection.port, threading.Event(), []
        assert call("PUT", "/models/shop")[0] == 201

        def work():
            own = Caller(port)
            while not ends.is_set():
                status, answer = learn(own)
                if status not in (200, 404):
                    wrong.append((status, answer))
            own.close()

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(10):
            assert call("DELETE", "/models/shop")[0] == 200
            assert call("PUT", "/models/shop")[0] == 201
        ends.set()
        for thread in threads:
            thread.join()
        assert not wrong
        learned = call("GET", "/models/shop")[1]["learned"]
        assert learn(call)[1]["step"] == learned + 1
    with in_thread(folder) as (_, call):
        assert call("GET", "/models/shop")[1]["learned"] == learned + 1


def test_who_watches_a_model_that_is_deleted_sees_the_end(start):
    _, call = start()
    watcher = Caller(call._connection.port)
    assert call("PUT", "/models/shop")[0] == 201
    watcher._connection.request("GET", "/models/shop/live")
    live = watcher._connection.getresponse()
    assert live.readline().startswith(b"data: ")
    assert call("DELETE", "/models/shop")[0] == 200
    live.read()
    watcher.close()


def test_of_many_who_make_a_model_one_does(start):
    _, call = start()
    port, statuses = call._connection.port, []

    def make():
        own = Caller(port)
        statuses.append(own("PUT", "/models/shop")[0])
        own.close()

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * 7 + [201]
