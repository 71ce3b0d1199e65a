"""A page in headless Chromium, by its own protocol through pipes: no driver is needed."""

import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import time

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]


class Page:
    """A page; `requests` are the addresses it asked for, `complaints` what its console shows."""

    def __init__(self, folder):
        (read, self._out), (self._in, write) = os.pipe(), os.pipe()
        low = [os.dup(each) for each in (read, write)]

        def connect():
            # Numbers that nothing else has: dup2 would close what another pipe needs.
            high = [fcntl.fcntl(each, fcntl.F_DUPFD, 100) for each in low]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._process = subprocess.Popen(
            [CHROMIUM, *OPTIONS, f"--user-data-dir={folder}"],
            preexec_fn=connect,
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for each in (read, write, *low):
            os.close(each)
        self._number, self._rest, self._session = 0, b"", None
        self.requests, self.complaints = [], []

    def start(self):
        """Let the browser have a page, and report what happens in it."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """Call a method of the protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            got = self._next()
            if got.get("id") == self._number:
                assert "error" not in got, got
                return got["result"]
            self._note(got)

    def _next(self):
        while b"\0" not in self._rest:
            assert select.select([self._in], [], [], 60)[0], "the browser says nothing"
            piece = os.read(self._in, 1 << 16)
            assert piece, "the browser has ended"
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def _note(self, message):
        name, about = message.get("method"), message.get("params", {})
        if name == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif name in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(about)

    def value(self, expression):
        """The value of an expression of JavaScript."""
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return got["result"].get("value")

    def until(self, expression, seconds=30.0):
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.value(expression):
            assert time.monotonic() < end, self.value("document.body.innerText")
            time.sleep(0.05)

    def size(self, width, height=900):
        """Let the window have a size."""
        shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **shape)

    def close(self):
        self._process.kill()
        self._process.wait()
        for each in (self._in, self._out):
            os.close(each)


@contextlib.contextmanager
def opened(address, folder):
    """A page while a test runs."""
    page = Page(folder)
    try:
        page.start()
        page.call("Page.navigate", url=address)
        yield page
    finally:
        page.close()
