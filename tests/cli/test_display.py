"""The live line and the summary of a stream."""

import io

from rich.console import Console

from mixable.cli.display import _line, live, summary
from mixable.cli.stream import _design
from mixable.streaming.loop import Stream
from mixable.streaming.model import StreamModel
from mixable.streaming.options import Options
from mixable.streaming.stops import Stops


def test_a_live_line_and_a_summary_tell_what_became_of_the_events(tmp_path):
    (tmp_path / "in.csv").write_text("a,y\n1,up\n2,down\n1\n")
    options = Options(
        model=tmp_path / "model", target="y", source=tmp_path / "in.csv", out=tmp_path / "out.csv"
    )
    model = StreamModel(
        _design(None, dict.fromkeys(("lam", "beta", "alpha", "drift"))), classes=("up", "down")
    )
    stream = Stream(options, model, lambda text: None)
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=200)
    with Stops() as stops, live(console, stream) as tick:
        stream.run(stops, tick)
    stream.close()
    assert "3 events" in shown.getvalue()
    assert _line({**stream.figures(), "log_loss": None}).endswith("1 rejected")
    text = summary(stream)
    assert text.startswith("3 events: 2 predicted, 1 rejected (the first at line 4: 1 fields")
    assert "log loss" in text
