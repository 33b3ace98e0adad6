"""``python -m treewass_bench speed --against SRC``: this version's search beside another's, in one run.

Each version runs in a process of its own, which imports nothing but its public names. Both are given the same trees,
documents and queries, and take turns round by round; the ratio is new over old, so less than one is faster.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import treewass
from treewass import ProfileTreeWasserstein, TreeMetric
from treewass_bench.datasets import PAPER_SETS, load_set
from treewass_bench.rows import Row, Value
from treewass_bench.speed_rivals import drawn_documents, known_documents, random_metric
from treewass_bench.speed_scale import drawn_collection
from treewass_bench.timing import Timing, geometric_mean, rounded

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["bench_against", "worker"]

_TREES = ("random", "profile learner")
_ROUNDS, _PASSES = 15, 4
_WORKER = Path(__file__).with_name("version_worker.py")
_Case = tuple[dict[str, Value], TreeMetric, "csr_array", "csr_array", int]  # named, metric, documents, queries, k


def bench_against(
    source: str | os.PathLike[str], quick: bool = False, folder: str | os.PathLike[str] | None = None
) -> Iterator[Row]:
    """Measure one query of this version and of another.

    Parameters
    ----------
    source : path-like
        The folder that holds the other version's package, such as the ``src`` of a worktree.
    quick : bool, default=False
        Two sets, and a hundredth of the large collections.
    folder : path-like, optional
        Where the text sets are.

    Yields
    ------
    Row
        ``ratio`` with its quartiles over the rounds, and whether both gave the same distances and ids.
    """
    other = Path(source).resolve()
    if not (other / "treewass" / "__init__.py").exists():
        raise ValueError(f"Expected a folder with the package treewass, such as src, but {other} has none.")
    own = Path(treewass.__file__).resolve().parents[1]
    ratios: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name, worker(own) as new, worker(other) as old:
        for number, case in enumerate(_cases(quick, folder)):
            place = Path(name, f"{number}.npz")
            row = _row(case, place, new, old)
            place.unlink()
            if row.case["measure"] == "one query, 500 documents":
                ratios.setdefault(str(row.case["tree"]), []).append(float(str(row.measures["ratio"])))
            yield row
    for tree, found in ratios.items():
        case_named: dict[str, Value] = {"measure": "one query, 500 documents", "tree": tree}
        case_named["data"] = f"geometric mean of {len(found)} sets"
        measures: dict[str, Value] = {"ratio": rounded(geometric_mean(found)), "highest_ratio": max(found)}
        yield Row("against", case_named, measures, "geometric mean of the rows of the sets")


class _Version:
    """A version of the library in its own process, which is told one line and answers one."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, **order: Any) -> Any:
        """Send an order; return the answer."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise OSError("The process of a version has no pipes.")
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise ValueError(
                "Expected an answer of the process that runs a version, but it ended; see its error above."
            )
        return json.loads(line)


@contextmanager
def worker(source: Path) -> Iterator[_Version]:
    """Run a version until the end of the block."""
    variables = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    command = [sys.executable, "-P", str(_WORKER)]
    with ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen(command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        )
        stack.callback(process.terminate)
        version = _Version(process)
        found = Path(version.ask(order="where")).resolve()
        if found.parents[1] != source:
            raise ValueError(f"Expected the package of {source}, but Python imports {found}.")
        yield version


def _cases(quick: bool, folder: str | os.PathLike[str] | None) -> Iterator[_Case]:
    """List what is searched: 500 documents of each set, then large collections, on two kinds of trees."""
    for name in PAPER_SETS[:2] if quick else PAPER_SETS:
        split = load_set(name, folder).split(0)
        for tree in _TREES:
            metric = random_metric(split.X_train.shape[1])
            if tree != "random":
                metric = ProfileTreeWasserstein().fit(split.X_train, split.y_train).metric_
            documents, queries = drawn_documents(metric, split, 500, 10 if quick else 40)
            yield (
                {"measure": "one query, 500 documents", "tree": tree, "data": name},
                metric,
                documents,
                _stack(queries),
                19,
            )
    for size in (1000, 10_000) if quick else (100_000, 1_000_000):
        documents, others, labels = drawn_collection(size)
        for tree in _TREES:
            metric = random_metric(documents.shape[1])
            if tree != "random":
                metric = ProfileTreeWasserstein().fit(documents[:20_000], labels[:20_000]).metric_
            named: dict[str, Value] = {"measure": "one query, many documents", "tree": tree}
            yield named | {"data": f"{size} documents"}, metric, documents, known_documents(metric, others), 10


def _row(case: _Case, place: Path, new: _Version, old: _Version) -> Row:
    """Let both versions answer in turns."""
    named, metric, documents, queries, k = case
    _write_case(place, metric, documents, queries)
    few = 2 if documents.shape[0] > 10_000 else _PASSES
    answers = [version.ask(order="load", place=str(place), k=k) for version in (new, old)]
    seconds = np.empty((2, _ROUNDS, few))
    for turn in range(_ROUNDS):
        for number, version in enumerate((new, old)):
            seconds[number, turn] = version.ask(order="round", passes=few)
    ours, theirs = (Timing(own / queries.shape[0]) for own in seconds)
    ratio, low, high = ours.over(theirs)
    measures: dict[str, Value] = {
        "new_us": rounded(ours.microseconds),
        "old_us": rounded(theirs.microseconds),
        "ratio": rounded(ratio),
        "ratio_low": rounded(low),
        "ratio_high": rounded(high),
        "same_answers": answers[0] == answers[1],
    }
    protocol = (
        f"CPU time of a query, median over {_ROUNDS} rounds of {few} passes over {queries.shape[0]} queries, top {k}, "
        "one thread; the versions take turns, after a pass to warm up in each round; low and high are quartiles"
    )
    return Row("against", named, measures, protocol)


def _write_case(place: Path, metric: TreeMetric, documents: csr_array, queries: csr_array) -> None:
    """Write what both versions read: trees, masses, fraction bits, documents and queries."""
    arrays: dict[str, Any] = {"masses": metric.masses, "fraction_bits": metric.fraction_bits}
    for number, tree in enumerate(metric.trees):
        for part in ("parents", "edge_lengths", "word_nodes", "leaf_lengths"):
            arrays[f"{part}_{number}"] = getattr(tree, part)
    for name, rows in (("documents", documents), ("queries", queries)):
        arrays |= {f"{name}_{part}": getattr(rows, part) for part in ("data", "indices", "indptr", "shape")}
    with place.open("wb") as file:
        np.savez(file, **arrays)


def _stack(rows: list[csr_array]) -> csr_array:
    from scipy.sparse import csr_array, vstack

    return csr_array(vstack(rows, format="csr"))
