"""One process learns and saves now and then; another serves over HTTP, and takes up the new model
when the file changes.
"""

import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import mixable as mx

FILE = Path("vehicle.model")
X, y, names = mx.datasets.load_vehicle()
learner = mx.GAFClassifier().partial_fit(
    X[:400], [names.classes[label] for label in y[:400]], classes=names.classes
)
mx.save(learner, FILE)  # in one step: a reader sees the old file or the new one


class Serve(BaseHTTPRequestHandler):
    """POST a JSON list of 18 numbers, get probabilities."""

    model, stamp = None, None

    def do_POST(self):  # the name that http.server calls
        """Answer one request."""
        if Serve.stamp != FILE.stat().st_mtime_ns:
            Serve.stamp, Serve.model = FILE.stat().st_mtime_ns, mx.load(FILE)
        row = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = dict(
            zip(
                Serve.model.classes_.tolist(),
                Serve.model.predict_proba([row])[0].round(2).tolist(),
                strict=True,
            )
        )
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_):
        """Keep quiet."""


server = HTTPServer(("127.0.0.1", 0), Serve)
threading.Thread(target=server.serve_forever, daemon=True).start()


def ask(row):
    """What a client does."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.server_port}", data=json.dumps(row.tolist()).encode()
    )
    return urllib.request.urlopen(request).read().decode()


print("after 400 examples:", ask(X[840]))
mx.save(learner.partial_fit(X[400:840], [names.classes[label] for label in y[400:840]]), FILE)
print("after 840 examples:", ask(X[840]), "- it was", names.classes[y[840]])
server.shutdown()

# Output:
# after 400 examples: {"bus": 0.01, "opel": 0.55, "saab": 0.38, "van": 0.07}
# after 840 examples: {"bus": 0.0, "opel": 0.31, "saab": 0.67, "van": 0.02} - it was opel
