"""What the site's button copies from a block can be pasted (docs/copy.js)."""

from pathlib import Path

import browser
import pytest

SCRIPT = Path(__file__).parent.parent / "docs" / "copy.js"
BLOCKS = {
    "x = 1\n": "x = 1\n",
    ">>> def f():\n...     return 1\n>>> f()\n1\n": "def f():\n    return 1\n\nf()\n",
    ">>> for i in (1, 2):\n...     print(i)\n1\n2\n": "for i in (1, 2):\n    print(i)\n\n",
    "$ mixable --version\nmixable 0...\n$ ls\n": "mixable --version\nls\n",
}


@pytest.mark.skipif(browser.CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.xdist_group("browser")
def test_prompts_and_output_are_not_copied(tmp_path):
    page = tmp_path / "page.html"
    blocks = [f"<code id=b{i}>{text}</code>" for i, text in enumerate(BLOCKS)]
    buttons = [f'<button data-clipboard-target="#b{i}"></button>' for i in range(len(BLOCKS))]
    page.write_text(
        "<pre>" + "".join(blocks + buttons) + f"</pre><script>{SCRIPT.read_text()}</script>"
    )
    clicked = """[...document.querySelectorAll("button")].map(
        (button) => (button.click(), button.dataset.clipboardText))"""
    with browser.opened(page.as_uri(), tmp_path / "profile") as opened:
        opened.until("document.querySelectorAll('button').length == 4")
        assert opened.value(clicked) == list(BLOCKS.values())
