"""The page that says how to call a service."""

import pytest
from browser import CHROMIUM, opened

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to show the page")

HEADS = "[...document.querySelectorAll('h2')].map(e => e.textContent)"
# Of the route under a heading, all text up to the next one.
UNDER = """(() => {
  let text = "", element = [...document.querySelectorAll("h2")].find(e => e.textContent === "%s");
  while ((element = element.nextElementSibling) && element.tagName !== "H2")
    text += element.textContent + "\\n";
  return text;
})()"""
# What a service of a later version might say: a reference, and a body that nobody understands.
CHANGED = """(() => {
  const asked = fetch;
  window.fetch = async path => {
    const api = await (await asked(path)).json();
    const kind = each => each.post.requestBody.content["application/json"];
    api.components = {schemas: {Named: kind(api.paths["/versions"]).schema}};
    kind(api.paths["/versions"]).schema = {$ref: "#/components/schemas/Named"};
    kind(api.paths["/learn"]).schema = {$ref: "#/components/nowhere/Lost"};
    return {json: () => api};
  };
  show().then(() => { document.title = "again"; }, e => { document.title = e.message; });
  return true;
})()"""


def test_each_route_is_shown_with_its_fields_and_an_example(start, tmp_path):
    _, call = start()
    paths = call("GET", "/openapi.json")[1]["paths"]
    routes = {f"{verb.upper()} {path}" for path, verbs in paths.items() for verb in verbs}
    address = f"http://127.0.0.1:{call._connection.port}/"
    with opened(f"{address}docs", tmp_path / "browser") as page:
        page.until("!document.body.innerText.includes('Reading')")
        assert set(page.value(HEADS)) == routes
        examples = sum(
            "requestBody" in about for verbs in paths.values() for about in verbs.values()
        )
        assert page.value("document.querySelectorAll('pre').length") == examples
        made = page.value(UNDER % "PUT /models/{name}")
        assert "regression" in made  # of models
        assert 'kind"agent"' in made  # of agents
        assert "floor" in made
        assert "curl -X PUT" in made
        assert "undefined" not in page.value("document.body.innerText")
        page.size(400)
        assert page.value("document.documentElement.scrollWidth") <= 400
        assert page.value(CHANGED)
        page.until("document.title != 'mixable serve: how to call it'")
        assert page.value("document.title") == "again"
        assert set(page.value(HEADS)) == routes
        assert "nameOf a model" in page.value(UNDER % "POST /versions").replace("\n", "")
        assert "cannot be shown" in page.value(UNDER % "POST /learn")
        assert not page.complaints
        assert all(each.startswith((address, "data:")) for each in page.requests)
