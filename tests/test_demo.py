import io
import json
import re

from rich.console import Console

from treewass.demo import run_demo


def test_demo_shows_the_whole_flow(tmp_path):
    output = io.StringIO()
    figures = run_demo(Console(file=output, width=160), report=str(tmp_path / "report.html"))
    text = output.getvalue()
    for heading in ("The corpus", "What was learned", "Test error", "Five neighbours", "most telling branches"):
        assert heading in text
    rows = re.findall(r"│ (bag-of-words|TF-IDF|treewass) +│ +([\d.]+) % │ +([\d.]+) % │", text)
    errors = {name: (float(plain), float(default)) for name, plain, default in rows}
    assert errors["treewass"] < errors["TF-IDF"] < errors["bag-of-words"]
    assert errors["treewass"][1] < errors["bag-of-words"][1]
    neighbours = re.findall(r"^│ +(\d\.\d{4}) │ +(\S+)", text, flags=re.M)
    assert len(neighbours) == 5
    assert [float(distance) for distance, _ in neighbours] == sorted(float(distance) for distance, _ in neighbours)
    assert json.loads(json.dumps(figures)) == figures
    for method in figures["methods"]:
        shown = (round(100 * method["fallback_error"], 1), round(100 * method["error"], 1))
        assert errors[method["method"]] == shown
    assert figures["report"] == str(tmp_path / "report.html")
    assert "A report on all of this" in text
    assert "SciPy&#39;s docstrings" in (tmp_path / "report.html").read_text("utf-8")
