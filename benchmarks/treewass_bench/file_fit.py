"""``python -m treewass_bench file``: what ``treewass fit`` costs on a table of generated texts, from file to model."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import treewass
from treewass.documents import make_documents
from treewass_bench.rows import Row, Value

__all__ = ["bench_file", "write_table"]

_PROTOCOL = (
    "CPU seconds, user and system, and the peak of resident memory of one process of `treewass fit`, which reads the "
    "table, learns, measures on a share held out, learns again and saves; loops compiled before"
)
_FIND_PANDAS = "import importlib.util, sys; sys.exit(importlib.util.find_spec('pandas') is None)"


def bench_file(
    n_rows: int = 100_000, words_per_row: int = 35, source: str | None = None, python: str = sys.executable
) -> Iterator[Row]:
    """Measure ``treewass fit`` on a CSV file.

    Parameters
    ----------
    n_rows : int, default=100_000
        Rows of the table.
    words_per_row : int, default=35
        Mean number of words of a text.
    source : str, optional
        The folder that holds another version's package, which is measured too.
    python : str, optional
        The interpreter that runs ``treewass``. scikit-learn loads pandas, and with it PyArrow, wherever it finds them.
    """
    own = str(Path(treewass.__file__).resolve().parents[1])
    with tempfile.TemporaryDirectory() as folder:
        table, tenth = Path(folder, "rows.csv"), Path(folder, "tenth.csv")
        write_table(table, n_rows, words_per_row)
        write_table(tenth, max(n_rows // 10, 300), words_per_row)  # 300 rows need not all of the loops that many need
        for version, path in (("this", own), ("other", source)):
            if path is None:
                continue
            _fit(tenth, Path(folder, "tenth"), path, python)
            seconds, megabytes = _fit(table, Path(folder, version), path, python)
            case: dict[str, Value] = {"version": version, "rows": n_rows, "words_per_row": words_per_row}
            case["pandas"] = subprocess.run([python, "-c", _FIND_PANDAS], check=False).returncode == 0
            measures: dict[str, Value] = {"cpu_seconds": round(seconds, 2), "peak_megabytes": round(megabytes, 1)}
            yield Row("file", case, {**measures, "file_megabytes": round(table.stat().st_size / 1e6, 1)}, _PROTOCOL)


def write_table(path: Path, n_rows: int, words_per_row: int) -> None:
    """Write a CSV file of generated texts: 20 000 words, topical, of 8 classes, in random order."""
    counts, labels = make_documents(n_rows, words_per_document=words_per_row, random_state=0)
    random = np.random.default_rng(0)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("text", "label"))
        for row, label in enumerate(labels.tolist()):
            entries = slice(*counts.indptr[row : row + 2].tolist())
            words = random.permutation(np.repeat(counts.indices[entries], counts.data[entries]))
            writer.writerow((" ".join(f"word{word}" for word in words.tolist()), f"class{label}"))


def _fit(table: Path, model: Path, source: str, python: str) -> tuple[float, float]:
    """Run ``treewass fit`` of a version; return its CPU seconds and its peak in megabytes."""
    command = [python, "-m", "treewass", "fit", str(table), "-o", str(model), "--json"]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": source}, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"treewass fit ended with {process.returncode}.")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6
