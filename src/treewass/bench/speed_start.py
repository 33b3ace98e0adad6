"""How much CPU time the first search of a new process takes."""

from __future__ import annotations

import subprocess
import sys
import tempfile

import numpy as np

from treewass.bench.rows import Row, Value
from treewass.bench.speed_timing import speed_row
from treewass.search.index import TreeIndex
from treewass.trees.metric import TreeMetric
from treewass.trees.shapes import perfect_tree

__all__ = ["start_row"]

_CODE = """
import sys, time
import numpy, scipy.sparse
query = scipy.sparse.csr_array(numpy.ones((1, 500)))
start = time.process_time()
from treewass import TreeIndex
index = TreeIndex.load(sys.argv[1])
opened = time.process_time()
index.search(query, 10)
sys.stdout.write(f"{opened - start} {time.process_time() - opened}")
"""


def start_row(quick: bool) -> Row:
    """Measure opening a stored index and searching it once, in new processes.

    Parameters
    ----------
    quick : bool
        Fewer processes.

    Returns
    -------
    Row
    """
    shape, random = perfect_tree(5, 3), np.random.default_rng(0)
    index = TreeIndex(TreeMetric(shape.with_words(random.integers(0, shape.n_nodes, 500))))
    index.add(random.poisson(0.1, (300, 500)) + np.eye(300, 500))
    repetitions = 2 if quick else 7
    with tempfile.TemporaryDirectory() as folder:
        index.save(folder)
        runs = []
        for _ in range(repetitions + 1):
            command = [sys.executable, "-c", _CODE, folder]
            runs.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    seconds = np.array(runs[1:], dtype=float)
    best = seconds[seconds.sum(axis=1).argmin()]
    case: dict[str, Value] = {
        "measure": "first search in a new process, CPU time",
        "data": "300 documents",
        "tree": "random",
    }
    measures: dict[str, Value] = {
        "cpu_seconds": float(best.sum()),
        "cpu_seconds_to_open": float(best[0]),
        "cpu_seconds_bar": 0.6,
    }
    protocol = f"imports of numpy and scipy.sparse aside, numba's cache warm, smallest of {repetitions} processes"
    return speed_row(case, measures, protocol)
