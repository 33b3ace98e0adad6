"""``treewass bench tool``: the CPU time of a command, from the start of Python to its last line."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from treewass.bench.rows import Row, Value
from treewass.documents.synthetic import make_documents
from treewass.learners.profile import ProfileTreeWasserstein
from treewass.model.document_model import DocumentModel

__all__ = ["bench_tool"]

_N_WORDS, _N_CLASSES = 20_000, 10
_BARS = {"search": 1.0, "predict": 1.0}


def bench_tool(documents: int, words: int, repetitions: int) -> Iterator[Row]:
    """Measure commands on a model of generated documents, each in new processes.

    Parameters
    ----------
    documents : int
        Documents in the model.
    words : int
        Mean number of words of a document.
    repetitions : int
        Processes a command.

    Yields
    ------
    Row
        Of ``search``, ``predict`` and ``explain``, each for one text.
    """
    counts, labels = make_documents(
        documents, n_words=_N_WORDS, words_per_document=words, n_classes=_N_CLASSES, random_state=0
    )
    texts = [_text(counts, row) for row in range(documents)]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "model")
        learner = ProfileTreeWasserstein(refine=False)
        DocumentModel(learner=learner, calibrate=False).fit(texts, labels).save(target)
        megabytes = sum(path.stat().st_size for path in target.rglob("*") if path.is_file()) / 1e6
        query = texts[documents // 2]
        Path(folder, "query.jsonl").write_text(f'{{"text": "{query}"}}\n', encoding="utf-8")
        commands = {
            "search": ["search", str(target), query, "-k", "10"],
            "predict": ["predict", str(target), str(Path(folder, "query.jsonl"))],
            "explain": ["explain", str(target), query],
        }
        for name, arguments in commands.items():
            seconds = [_cpu_seconds(arguments) for _ in range(repetitions + 1)][1:]
            case: dict[str, Value] = {"command": name, "documents": documents, "words_a_document": words}
            measures: dict[str, Value] = {
                "cpu_seconds": round(min(seconds), 3),
                "largest_cpu_seconds": round(max(seconds), 3),
                "model_megabytes": round(megabytes, 1),
            }
            if name in _BARS:
                measures["cpu_seconds_bar"] = _BARS[name]
            protocol = (
                f"whole processes, user and system time, smallest and largest of {repetitions} after one to warm up"
            )
            yield Row("tool", case, measures, protocol)


def _text(counts: object, row: int) -> str:
    """Write a row of counts as a text of made-up words."""
    bounds = counts.indptr[row : row + 2]  # type: ignore[attr-defined]
    span = slice(*bounds)
    pairs = zip(counts.indices[span].tolist(), counts.data[span].tolist(), strict=True)  # type: ignore[attr-defined]
    return " ".join(f"word{word}" for word, count in pairs for _ in range(int(count)))


def _cpu_seconds(arguments: list[str]) -> float:
    """Return the CPU time of a command in a new process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "treewass", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
