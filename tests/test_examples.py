"""The gallery: every script runs, and the page shows all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
WRITTEN = {
    "classify_texts": ["confusion.png"],
    "find_wrong_labels": ["report.html"],
    "learned_tree": ["tree.html", "tree.png"],
    "search_and_explain": ["plan.png"],
}


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=[script.stem for script in SCRIPTS])
def test_examples_run(script, tmp_path):
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "error", "-W", "ignore::SyntaxWarning", "-W", "ignore::DeprecationWarning", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == WRITTEN[script.stem]
    assert all(path.stat().st_size > 1000 for path in tmp_path.iterdir())


def test_the_gallery_shows_every_script():
    page = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    assert SCRIPTS
    for script in SCRIPTS:
        assert f"../examples/{script.name}" in page
