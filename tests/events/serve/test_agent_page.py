"""The page of an agent: its numbers and axes; without a name, the agents that there are."""

import pytest
from browser import CHROMIUM, opened

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to show the page")

TEXT = "document.body.innerText"


def earn(call, name, rewards, kind="number"):
    about = {"kind": "agent", "actions": ["a"], "reward": kind}
    assert call("PUT", f"/models/{name}", about)[0] == 201
    for reward in rewards:
        answer = call("POST", f"/models/{name}/decide", {})[1]
        body = {"id": answer["id"], "reward": reward}
        assert call("POST", f"/models/{name}/reward", body)[0] == 200


def test_numbers_of_the_page_are_those_of_the_log(start, tmp_path):
    _, call = start()
    earn(call, "shop", [200, 300])
    address = f"http://127.0.0.1:{call._connection.port}/"
    with opened(f"{address}agent#shop", tmp_path / "browser") as page:
        page.until("document.querySelectorAll('#always tr').length == 1")
        assert "The last 2 decisions with a reward: 250 each." in page.value(TEXT)
        cells = page.value("[...document.querySelectorAll('#always td')].map(e => e.textContent)")
        assert cells[2:] == ["200 to 300", "250", "2"]
        said = page.value(
            "[0, 0.00123, 0.5, 1, 10, 99.96, 100, 250, 1000, -250, 123456].map(short)"
        )
        assert said == ["0", "0.00123", "0.5", "1", "10", "100", "100", "250", "1K", "-250", "123K"]
