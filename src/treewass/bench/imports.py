"""``treewass bench import``: how long importing takes, and what it loads."""

from __future__ import annotations

import resource
import subprocess
import sys

from treewass.bench.rows import Row, Value

__all__ = ["bench_import"]

_HEAVY = ("numpy", "scipy", "sklearn", "numba", "torch", "matplotlib", "plotly")


def bench_import(repetitions: int = 10) -> list[Row]:
    """Measure the CPU time that ``import treewass`` adds to starting Python.

    Parameters
    ----------
    repetitions : int, default=10
        Starts of Python with and without the import, in turns.

    Returns
    -------
    list of Row
        One row, with the smallest times seen.
    """
    bare, with_import = [], []
    for _ in range(repetitions):
        bare.append(_cpu_seconds("pass"))
        with_import.append(_cpu_seconds("import treewass"))
    check = f"import sys, treewass; sys.stdout.write(' '.join(m for m in {_HEAVY} if m in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout
    measures: dict[str, Value] = {
        "cpu_seconds": round(max(0.0, min(with_import) - min(bare)), 4),
        "python_start_cpu_seconds": round(min(bare), 4),
        "heavy_modules_loaded": loaded or "none",
    }
    protocol = f"CPU time of child processes, smallest of {repetitions}, bare start of Python subtracted"
    return [Row("import", {"statement": "import treewass"}, measures, protocol)]


def _cpu_seconds(statement: str) -> float:
    """Return the CPU time of a new Python that runs one statement."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
