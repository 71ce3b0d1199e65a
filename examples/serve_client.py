"""Asks a service for forecasts, and brings the labels later; starts `mixable serve` for itself."""

import json
import re
import subprocess
import sys
import tempfile
from urllib.request import Request, urlopen


class Client:
    """A client of `mixable serve`."""

    def __init__(self, address, token=None):
        self.address = address
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def call(self, path, **body):
        request = Request(self.address + path, json.dumps(body).encode(), self.headers)
        with urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def predict(self, key, **features):
        return self.call("predict", id=key, features=features)["probabilities"]

    def learn(self, key, label):
        return self.call("learn", id=key, label=label)["step"]


with tempfile.TemporaryDirectory() as folder:
    command = [sys.executable, "-m", "mixable", "serve", f"{folder}/rain", "--port", "0"]
    service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    client = Client(re.search(r"http://\S+", service.stderr.readline()).group())
    for day in range(30):
        client.predict(day, wind=day % 3, sun=day % 2)  # in the morning
        client.learn(day, "rain" if day % 3 else "dry")  # in the evening
    p = client.predict("today", wind=2, sun=1)
    print("learned:", client.learn("today", "rain"))
    print("rain was likely:", p["rain"] > 0.8)
    service.terminate()
    service.communicate()
    print("ended with", service.returncode)

# Output:
# learned: 31
# rain was likely: True
# ended with 0
