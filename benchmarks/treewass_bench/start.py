"""``python -m treewass_bench import``, ``tool`` and ``start``: the CPU time of new processes, compiling included.

A process is measured from the start of Python to its last line. ``start`` gives each first use an empty folder for the
loops that numba compiles, and then runs it again with what the first run left there.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from treewass import DocumentModel, ProfileTreeWasserstein, TreeIndex
from treewass_bench.datasets import generated_texts
from treewass_bench.rows import Row, Value
from treewass_bench.speed_rivals import random_metric
from treewass_bench.speed_scale import drawn_collection
from treewass_bench.timing import alternate_processes, rounded

__all__ = ["STARTS", "bench_import", "bench_start", "bench_tool", "checked_opening_row", "first_search_row"]

STARTS = ("fit", "search", "report", "demo")
_HEAVY = ("numpy", "scipy", "sklearn", "numba", "torch", "matplotlib", "plotly")
_LOADED = f"import sys, treewass; sys.stdout.write(' '.join(m for m in {_HEAVY} if m in sys.modules))"
_FIRST_SEARCH = """
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
_CHECKED_OPENING = """
import sys, time
import numba, numpy, scipy.sparse
from treewass import TreeIndex
from treewass.search import index_folder
query = scipy.sparse.csr_array(numpy.loadtxt(sys.argv[2], ndmin=2))
times = [time.process_time()]
index = TreeIndex.load(sys.argv[1])
times.append(time.process_time())
len(index)  # whatever asks for documents first has the files checked
times.append(time.process_time())
index.search(query, 10)
times.append(time.process_time())
index.search(query, 10)
times.append(time.process_time())
sys.stdout.write(" ".join(str(end - start) for start, end in zip(times, times[1:])))
"""
_BARS = {"search": 1.0, "predict": 1.0}


def bench_import(rounds: int = 10) -> list[Row]:
    """Measure the CPU time that ``import treewass`` adds to starting Python, and name the heavy modules it loads."""
    commands = {"bare": ["-c", "pass"], "import": ["-c", "import treewass"]}
    found = alternate_processes(commands, rounds=rounds)
    loaded = alternate_processes({"loaded": ["-c", _LOADED]}, rounds=1, warm_up=False)["loaded"].answer
    measures: dict[str, Value] = {
        "cpu_seconds": round(max(0.0, found["import"].median - found["bare"].median), 4),
        "python_start_cpu_seconds": round(found["bare"].median, 4),
        "heavy_modules_loaded": loaded or "none",
    }
    protocol = f"CPU time of processes in turns, median of {rounds}, bare start of Python subtracted"
    return [Row("import", {"statement": "import treewass"}, measures, protocol)]


def bench_tool(documents: int, words: int, rounds: int) -> Iterator[Row]:
    """Measure ``treewass search``, ``predict`` and ``explain`` of one text on a model of generated documents.

    Parameters
    ----------
    documents : int
        Documents in the model.
    words : int
        Mean number of words of a document.
    rounds : int
        Processes of each command, after one to warm up.
    """
    texts, labels = generated_texts(documents, words=words, n_classes=10)
    with tempfile.TemporaryDirectory() as folder:
        target, query = Path(folder, "model"), texts[documents // 2]
        learner = ProfileTreeWasserstein(refine=False)
        DocumentModel(metric=learner, calibrate=False).fit(texts, labels).save(target)
        megabytes = sum(path.stat().st_size for path in target.rglob("*") if path.is_file()) / 1e6
        write_texts(Path(folder, "query.jsonl"), [query])
        commands = {
            "search": _treewass("search", target, query, "-k", "10"),
            "predict": _treewass("predict", target, Path(folder, "query.jsonl")),
            "explain": _treewass("explain", target, query),
        }
        for name, timing in alternate_processes(commands, rounds=rounds).items():
            case: dict[str, Value] = {"command": name, "documents": documents, "words_a_document": words}
            measures: dict[str, Value] = {
                "cpu_seconds": round(timing.median, 3),
                "largest_cpu_seconds": round(float(timing.seconds.max()), 3),
                "model_megabytes": round(megabytes, 1),
            }
            if name in _BARS:
                measures["cpu_seconds_bar"] = _BARS[name]
            protocol = (
                "whole processes, user and system time, commands in turns, median and largest of "
                f"{rounds} after one to warm up"
            )
            yield Row("tool", case, measures, protocol)


def bench_start(documents: int = 3000, rounds: int = 3, cases: Sequence[str] = STARTS) -> Iterator[Row]:
    """Measure first uses, each with no compiled loops on the disk, and then with those of the first.

    Parameters
    ----------
    documents : int, default=3000
        Short texts to fit, search and report on; ``treewass demo`` has its own.
    rounds : int, default=3
        Processes of each kind: an empty folder for each of the first uses, then one folder for the others.
    cases : sequence of {"fit", "search", "report", "demo"}
        What to measure.

    Yields
    ------
    Row
        ``cpu_seconds`` of the first use and ``warm_cpu_seconds``, medians, and the largest of the first.
    """
    unknown = [case for case in cases if case not in STARTS]
    if unknown:
        raise ValueError(f"Expected cases among {', '.join(STARTS)}, got {', '.join(unknown)}.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = _first_uses(folder, documents, cases)
        for case in cases:
            cold = np.empty(rounds)
            for turn in range(rounds):
                cache = {"NUMBA_CACHE_DIR": str(folder / f"loops-{case}-{turn}")}
                cold[turn] = _process_seconds(commands[case], 1, cache)
            measures: dict[str, Value] = {
                "cpu_seconds": round(float(np.median(cold)), 2),
                "largest_cpu_seconds": round(float(cold.max()), 2),
                "warm_cpu_seconds": round(_process_seconds(commands[case], rounds, cache), 2),
            }
            protocol = (
                f"whole processes, user and system time, medians of {rounds}: each first use with an empty "
                "NUMBA_CACHE_DIR, the warm ones with what a first use left there"
            )
            named: dict[str, Value] = {"case": case} | ({} if case == "demo" else {"documents": documents})
            yield Row("start", named, measures, protocol)


def first_search_row(rounds: int) -> Row:
    """Measure opening a stored index of 300 documents and searching it once, in new processes with compiled loops."""
    random = np.random.default_rng(0)
    index = TreeIndex(random_metric(500))
    index.add(random.poisson(0.1, (300, 500)) + np.eye(300, 500))
    with tempfile.TemporaryDirectory() as folder:
        index.save(folder)
        command = {"search": ["-c", _FIRST_SEARCH, folder]}
        alternate_processes(command, rounds=1, warm_up=False)
        found = [alternate_processes(command, rounds=1, warm_up=False)["search"].answer for _ in range(rounds)]
    opening, searching = np.median(np.array([line.split() for line in found], dtype=float), axis=0).tolist()
    case: dict[str, Value] = {
        "measure": "first search in a new process, CPU time",
        "data": "300 documents",
        "tree": "random",
    }
    measures: dict[str, Value] = {
        "cpu_seconds": round(opening + searching, 4),
        "cpu_seconds_to_open": round(opening, 4),
        "cpu_seconds_bar": 0.6,
    }
    protocol = f"imports of numpy and scipy.sparse aside, numba's cache warm, median of {rounds} processes"
    return Row("speed", case, measures, protocol)


def checked_opening_row(n_documents: int, rounds: int) -> Row:
    """Measure opening a stored index, checking its files on first use, and searching it, in new processes.

    Parameters
    ----------
    n_documents : int
        Documents, drawn by Zipf's law with topics, 40 words each.
    rounds : int
        Processes.
    """
    documents, queries, _ = drawn_collection(n_documents)
    index = TreeIndex(random_metric(documents.shape[1]))
    index.add(documents)
    with tempfile.TemporaryDirectory() as name:
        folder, query = Path(name, "index"), Path(name, "query.txt")
        index.save(folder)
        megabytes = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        del index, documents
        np.savetxt(query, queries[[0]].toarray())
        command = {"open": ["-c", _CHECKED_OPENING, str(folder), str(query)]}
        alternate_processes(command, rounds=1, warm_up=False)
        found = [alternate_processes(command, rounds=1, warm_up=False)["open"].answer for _ in range(rounds)]
    opening, checking, first, later = np.median(np.array([line.split() for line in found], float), axis=0).tolist()
    case: dict[str, Value] = {
        "measure": "opening a stored index and checking it on first use, CPU time",
        "data": f"topical, {n_documents} documents",
        "tree": "random",
    }
    measures: dict[str, Value] = {
        "milliseconds_to_open": rounded(1e3 * opening),
        "milliseconds_to_check": rounded(1e3 * checking),
        "milliseconds_first_search": rounded(1e3 * first),
        "milliseconds_later_search": rounded(1e3 * later),
        "index_megabytes": rounded(megabytes),
    }
    protocol = f"imports aside, numba's cache and the files in memory, top 10, median of {rounds} processes, one thread"
    return Row("speed", case, measures, protocol)


def write_texts(path: Path, texts: Sequence[str], labels: Sequence[object] | None = None) -> None:
    """Write texts as JSON lines, with their labels if there are some."""
    rows = [
        {"text": text} if labels is None else {"text": text, "label": str(labels[row])}
        for row, text in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _first_uses(folder: Path, n_documents: int, cases: Sequence[str]) -> dict[str, list[str]]:
    """Write what the commands read, and list them."""
    texts, labels = generated_texts(n_documents, words=10, n_classes=3)
    write_texts(folder / "texts.jsonl", texts, labels.tolist())
    if {"search", "report"} & set(cases):
        DocumentModel().fit(texts, labels).save(folder / "model")
    search = f"from treewass import DocumentModel; DocumentModel.load({str(folder / 'model')!r}).search({texts[0]!r})"
    return {
        "fit": _treewass("fit", folder / "texts.jsonl", "-o", folder / "fitted"),
        "search": ["-c", search],
        "report": _treewass("report", folder / "model", "-o", folder / "report.html"),
        "demo": _treewass("demo", "-o", folder / "demo.html"),
    }


def _treewass(*arguments: str | Path) -> list[str]:
    return ["-m", "treewass", *map(str, arguments)]


def _process_seconds(command: Sequence[str], rounds: int, environment: dict[str, str]) -> float:
    return alternate_processes({"": command}, rounds=rounds, warm_up=False, environment=environment)[""].median
