"""The notebooks: every one runs, and the gallery shows all of them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=[notebook.stem for notebook in NOTEBOOKS])
def test_notebooks_run(notebook, tmp_path):
    """In a folder of its own; a cell that fails ends the command with its traceback."""
    shutil.copy(notebook, tmp_path)
    command = [sys.executable, "-m", "jupyter", "execute", notebook.name, "--timeout=600"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [notebook.name], "a notebook leaves no file behind"


def test_the_gallery_shows_every_notebook():
    page = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    assert NOTEBOOKS
    for notebook in NOTEBOOKS:
        assert f"../examples/{notebook.name}" in page
