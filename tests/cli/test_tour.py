import io
import json
import re

import numpy as np
import pytest
from rich.console import Console

from treewass.cli import tour
from treewass.cli.tour import run_demo
from treewass.documents import load_docstrings


def test_demo_shows_the_whole_flow(tmp_path):
    output = io.StringIO()
    figures = run_demo(Console(file=output, width=80), report=str(tmp_path / "report.html"))
    text = output.getvalue()
    for heading in ("The corpus", "What was learned", "Test error", "Five neighbours", "most telling branches"):
        assert heading in text
    rows = re.findall(r"│ (bag-of-words|TF-IDF|treewass) +│ +([\d.]+) % │ +([\d.]+) % │", text)
    errors = {name: (float(plain), float(default)) for name, plain, default in rows}
    assert errors["treewass"] < errors["TF-IDF"] < errors["bag-of-words"]
    assert errors["treewass"][1] < errors["bag-of-words"][1]
    neighbours = re.findall(r"^│ +(\d\.\d{4}) │ (\w+) +│ ([\w.]+) +│", text, flags=re.M)
    assert len(neighbours) == 5
    assert [float(distance) for distance, *_ in neighbours] == sorted(float(distance) for distance, *_ in neighbours)
    assert {f"scipy.{label}.{name}" for _, label, name in neighbours} <= set(load_docstrings().titles)
    assert f"Per query: the {figures['held_out']} test documents in one batch" in " ".join(text.split())
    assert json.loads(json.dumps(figures)) == figures
    for method in figures["methods"]:
        shown = (round(100 * method["fallback_error"], 1), round(100 * method["error"], 1))
        assert errors[method["method"]] == shown
    assert figures["report"] == str(tmp_path / "report.html")
    assert "A report on all of this" in text
    assert "SciPy&#39;s docstrings" in (tmp_path / "report.html").read_text("utf-8")


class Pipe(io.StringIO):
    """A file that knows what has left its buffer."""

    flushed = ""

    def flush(self):
        self.flushed = self.getvalue()


def test_what_is_waited_for_is_said_before_it_begins_where_there_is_no_terminal(monkeypatch):
    pipe = Pipe()

    def compiling(_):
        assert pipe.flushed.endswith("\nCompiling: a few seconds on the first run, then kept …\n")
        raise KeyboardInterrupt

    monkeypatch.setattr(tour, "_warm_up", compiling)
    with pytest.raises(KeyboardInterrupt):
        run_demo(Console(file=pipe))


def test_query_times_are_of_the_same_queries_in_turn_after_a_warm_up(monkeypatch):
    calls, clock = [], [0.0]

    class Timed:
        def __init__(self, name, seconds):
            self.name, self.seconds = name, iter(seconds)

        def predict(self, queries):
            calls.append((self.name, queries))
            clock[0] += next(self.seconds)

    monkeypatch.setattr(tour.time, "perf_counter", lambda: clock[0])
    queries = np.ones((2, 3))
    found = tour._query_seconds([Timed("a", [1, 8, 6, 8]), Timed("b", [1, 4, 4, 2])], queries)
    assert found == [3.0, 1.0]
    assert [name for name, _ in calls] == ["a", "b"] * 4
    assert all(asked is queries for _, asked in calls)
