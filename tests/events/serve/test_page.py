"""The page of an operator: ranges, two models side by side, by keyboard, dark and light."""

import pytest
from browser import CHROMIUM, opened

from mixable.events import ModelOptions

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to show the page")

TEXT = "document.body.innerText"
# The lowest contrast of any text with what is behind it (WCAG 2.1, 1.4.3), and that text.
CONTRAST = """(() => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => numbers(colour).slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if (numbers(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  let worst = [99, ""];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    const text = walk.currentNode.data.trim();
    if (!text || element.tagName === "SCRIPT" || !element.checkVisibility()) continue;
    const style = getComputedStyle(element), isDrawn = element.namespaceURI.endsWith("svg");
    const pair = [isDrawn ? style.fill : style.color, behind(element)].map(light);
    const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (contrast < worst[0]) worst = [contrast, text];
  }
  return worst;
})()"""


def key(page, name, code):
    for kind in ("rawKeyDown", "keyUp"):
        about = {"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code}
        page.call("Input.dispatchKeyEvent", **about)


def choose(page, part, value):
    page.value(f"document.getElementById('{part}').value = '{value}'")
    page.value(f"document.getElementById('{part}').dispatchEvent(new Event('change'))")


def test_an_operator_compares_two_models_over_a_range(start, tmp_path):
    _, call = start()
    assert call("PUT", "/models/other", {"classes": ["1", "2"]})[0] == 201
    assert call("PUT", "/models/numbers", {"regression": True})[0] == 201
    for name in ("default", "other", "numbers"):
        for t in range(20):
            body = {"features": {"a": t % 3}, "label": "12"[t % 3 > 1]}
            assert call("POST", f"/models/{name}/learn", body)[0] == 200
    for _ in range(3):
        call.learn(label="1")
    address = f"http://127.0.0.1:{call._connection.port}/"
    with opened(address, tmp_path / "browser") as page:
        page.until("document.querySelectorAll('#clock svg').length == 1")
        assert page.value("document.getElementById('sides').hidden")
        choose(page, "other", "other")
        page.until("document.querySelectorAll('#clock svg .third').length == 1")
        table = "document.getElementById('beside').innerText"
        assert page.value(f"/outcomes learned\\s+20\\s+20/.test({table})")
        assert page.value(f"/requests, 24 hours\\s+23\\s+20/.test({table})")
        assert page.value(f"/refused, 24 hours\\s+3\\s+0/.test({table})")
        assert page.value(f"/features are missing.*\\s+3/.test({TEXT})")  # grouped
        for hours, bins in ((1, 60), (168, 56)):
            choose(page, "range", hours)
            page.until(f"document.querySelectorAll('#table tr').length == {bins + 1}")
        assert page.value(f"/requests, 7 days\\s+23/.test({table})")
        choose(page, "other", "numbers")
        page.until(f"/losses cannot be compared/.test({table})")
        assert page.value("document.querySelectorAll('#clock svg .third').length") == 0
        first = page.value("document.getElementById('features').value")
        page.value("document.getElementById('another').click()")
        assert page.value("document.getElementById('features').value") != first
        assert not page.complaints
        assert all(each.startswith((address, "data:")) for each in page.requests)


def test_the_page_is_used_with_the_keyboard_and_read_in_any_light(start, tmp_path):
    _, call = start(options=ModelOptions(linear=True))
    for t in range(30):
        call.learn(features={"a": t % 3, "colour": "rgb"[t % 3]}, label="xy"[t % 3 > 1])
    call.learn(label="x")
    with opened(f"http://127.0.0.1:{call._connection.port}/", tmp_path / "browser") as page:
        page.until("document.querySelectorAll('#clock svg').length == 1")
        page.until("document.getElementById('features').value != '{}'")
        order = ["models", "other", "range", "A", "SUMMARY", "features", "BUTTON", "another"]
        reached = []
        while len(reached) < len(order):
            key(page, "Tab", 9)
            focus = "document.activeElement"
            reached.append(page.value(f"{focus}.id || {focus}.tagName"))
            if reached[-1] == "range":
                key(page, "ArrowUp", 38)
            if page.value(f"{focus}.textContent") == "Forecast":
                key(page, " ", 32)
        assert reached == order
        page.until("document.getElementById('range').value == '6'")
        page.until(f"/if a feature were missing/.test({TEXT})")
        named = (
            "[...document.querySelectorAll('input, select, textarea')].every(e => e.labels.length)"
        )
        assert page.value(named)
        unnamed = "document.querySelectorAll('svg:not([aria-label]), [tabindex]:not([aria-label])')"
        assert page.value(f"{unnamed}.length") == 0
        page.value("document.querySelector('details').open = true")
        for width in (1280, 400):
            page.size(width)
            assert page.value("document.documentElement.scrollWidth") <= width
            for scheme in ("light", "dark"):
                media = {"name": "prefers-color-scheme", "value": scheme}
                page.call("Emulation.setEmulatedMedia", features=[media])
                contrast, text = page.value(CONTRAST)
                assert contrast >= 4.5, (scheme, text)
        assert not page.complaints
