import io
import re

from rich.console import Console

from treewass.demo import run_demo


def test_demo_shows_the_whole_flow():
    output = io.StringIO()
    run_demo(Console(file=output, width=120))
    text = output.getvalue()
    for heading in ("The corpus", "What was learned", "Test error", "Five neighbours", "most telling branches"):
        assert heading in text
    errors = dict(re.findall(r"│ (bag-of-words kNN|TF-IDF kNN|treewass) +│ +([\d.]+) %", text))
    assert float(errors["treewass"]) < float(errors["bag-of-words kNN"]) < 50
    neighbours = re.findall(r"^│ +(\d\.\d{4}) │ +(\S+)", text, flags=re.M)
    assert len(neighbours) == 5
    assert [float(distance) for distance, _ in neighbours] == sorted(float(distance) for distance, _ in neighbours)
