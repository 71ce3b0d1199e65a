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


# The axis of rewards from above, and where the only point is.
AXIS = """(() => [
  [...document.querySelectorAll("#reward text")].slice(0, 3).map(e => +e.textContent).reverse(),
  +document.querySelector("#reward circle").getAttribute("cy"),
])()"""


def test_the_axis_goes_up_and_has_the_curve_within(start, tmp_path):
    _, call = start()
    earned = {"loss": [-1, -1], "losses": [-3, -2], "nothing": [0, 0], "gain": [1, 1]}
    for name, rewards in earned.items():
        earn(call, name, rewards)
    address = f"http://127.0.0.1:{call._connection.port}/agent#"
    with opened(f"{address}loss", tmp_path / "browser") as page:
        for name, rewards in earned.items():
            page.value(f"location.hash = '{name}'")
            page.until(f"document.getElementById('title').textContent.endsWith(' {name}')")
            page.until("document.querySelectorAll('#reward circle').length == 1")
            (high, middle, low), y = page.value(AXIS)
            assert low < middle < high, (name, low, middle, high)
            assert low <= sum(rewards) / 2 <= high
            assert 8 <= y <= 170, (name, y)


def test_without_an_agent_the_page_lists_those_that_there_are(start, tmp_path):
    service, call = start()
    earn(call, "shop", [1, 0], "binary")
    earn(call, "mail", [], "binary")
    assert call("GET", "/models")[1] == {"models": ["default", "mail", "shop"]}
    assert call("GET", "/models?kind=agent")[1] == {"models": ["mail", "shop"]}
    assert call("GET", "/models?kind=model")[1] == {"models": ["default"]}
    assert call("GET", "/models?kind=pool")[0] == 422
    refused = len(service.rejected)
    address = f"http://127.0.0.1:{call._connection.port}/"
    links = "[...document.querySelectorAll('li a')].map(e => e.textContent)"
    with opened(f"{address}agent", tmp_path / "browser") as page:
        page.until("document.querySelectorAll('li a').length == 2")
        assert page.value(links) == ["mail", "shop"]
        assert "Mean reward" not in page.value(TEXT)
        page.size(400)
        assert page.value("document.documentElement.scrollWidth") <= 400
        page.value("document.querySelectorAll('li a')[1].click()")
        page.until("document.querySelectorAll('#shares rect').length > 0")
        assert page.value("document.title") == "Decisions of shop"
        assert page.value(links) == []
        page.value("location.hash = 'default'")
        page.until(f"{TEXT}.includes('default is no agent')")
        page.until("document.querySelectorAll('li a').length == 2")
        page.value("refresh()")
        assert page.value("document.querySelector('a[href=\"/\"]').textContent") == "All models"
        assert len(service.rejected) == refused
        assert not page.complaints


def test_models_are_compared_with_models_only(start, tmp_path):
    _, call = start()
    earn(call, "shop", [], "binary")
    assert call("PUT", "/models/other", {})[0] == 201
    offered = "[...document.getElementById('%s').options].map(e => e.value)"
    with opened(f"http://127.0.0.1:{call._connection.port}/", tmp_path / "browser") as page:
        page.until("document.getElementById('models').options.length == 3")
        page.until("document.getElementById('other').options.length > 1")
        assert page.value(offered % "models") == ["default", "other", "shop"]
        assert page.value(offered % "other") == ["", "other"]
        assert not page.complaints
