"""The memory of training by the paper's learner: the peak of a process that does nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from treewass.bench.rows import Row, Value

__all__ = ["measure_memory", "memory_rows"]

_EPOCHS = 2
_BYTES = {"float32": 4, "bfloat16": 2}


def memory_rows(depth: int, data: str | os.PathLike[str] | None, quick: bool) -> Iterator[Row]:
    """Measure the peak memory of training, each case in a process of its own.

    Parameters
    ----------
    depth : int
        Of the perfect 5-ary tree.
    data : path-like, optional
        Folder of the text sets.
    quick : bool
        Small generated documents.

    Yields
    ------
    Row
    """
    for state in _BYTES:
        folder = None if data is None else os.fspath(data)
        call = f"measure_memory({depth}, {folder!r}, {quick}, {state!r})"
        call = f"from treewass.bench.train_memory import measure_memory; {call}"
        done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(f"Expected a measurement from another process, it failed: {done.stderr[-500:]}")
        found = json.loads(done.stdout)
        measures: dict[str, Value] = {
            "held_megabytes": round(found["held"] / 1e6, 1),
            "peak_megabytes": round(found["peak"] / 1e6, 1),
            "ratio": round(found["peak"] / found["held"], 3),
        }
        protocol = (
            f"fit with {_EPOCHS} epochs and validation in a process of its own: peak resident memory of the process, "
            "Python, libraries, documents and the best scores included, over that of scores and the state of Adam"
        )
        yield Row("train", {"case": "memory", "set": found["set"], "state": state}, measures, protocol)


def measure_memory(depth: int, data: str | None, quick: bool, state: str) -> None:
    """Fit and print the peak of this process, as JSON."""
    from treewass.bench.train import learning_documents
    from treewass.learners.stw import SupervisedTreeWasserstein

    documents, name = learning_documents(data, quick)
    learner = SupervisedTreeWasserstein(depth=depth, epochs=_EPOCHS, state=state)
    learner.fit(documents.histograms, documents.labels)
    held = learner.scores_.size * (4 + 2 * _BYTES[state])
    sys.stdout.write(json.dumps({"held": held, "peak": _peak(), "set": name}))


def _peak() -> int:
    """Return the largest resident memory of this process, in bytes; that of the parent does not count."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(status.read_text().split("VmHWM:")[1].split()[0])
    import resource

    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
