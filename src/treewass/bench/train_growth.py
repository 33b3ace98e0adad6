"""How a step of the paper's learner grows with the vocabulary, which it should not, and with the tree."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from treewass.bench.rows import Row, Value
from treewass.bench.train import learning_documents, random_scores
from treewass.learners.soft.batches import Batch, LabelledDocuments, rows_of_epoch
from treewass.learners.soft.compiled_engine import CompiledEngine
from treewass.learners.soft.settings import LossSettings, StepSettings
from treewass.trees.shapes import perfect_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["depth_rows", "vocabulary_rows"]

_VOCABULARIES = {5: (10_000, 30_000, 100_000), 3: (10_000, 1_000_000)}
_DEPTHS = (3, 4, 5)
_DOCUMENTS, _LENGTH, _BATCH, _ROUNDS = 500, 40, 100, 8


def vocabulary_rows(quick: bool) -> Iterator[Row]:
    """Time steps on the same documents among more and more words that none of them holds.

    Parameters
    ----------
    quick : bool
        Few words and a small tree.

    Yields
    ------
    Row
    """
    from treewass.documents.histograms import to_histograms
    from treewass.documents.synthetic import make_documents

    vocabularies = {1: (500, 1000)} if quick else _VOCABULARIES
    fewest = min(sizes[0] for sizes in vocabularies.values())
    counts, labels = make_documents(_DOCUMENTS, n_words=fewest, words_per_document=_LENGTH, n_classes=8)
    documents = LabelledDocuments(to_histograms(counts), np.asarray(labels, dtype=np.int64))
    for depth, sizes in vocabularies.items():
        yield from _rows("vocabulary", [_widened(documents, size) for size in sizes], [depth] * len(sizes))


def depth_rows(data: str | os.PathLike[str] | None, quick: bool) -> Iterator[Row]:
    """Time steps on perfect trees of several depths.

    Parameters
    ----------
    data : path-like, optional
        Folder of the text sets, for REUTERS.
    quick : bool
        Small trees and generated documents.

    Yields
    ------
    Row
    """
    documents, _ = learning_documents(data, quick)
    depths = (1, 2) if quick else _DEPTHS
    yield from _rows("depth", [documents] * len(depths), depths)


def _rows(kind: str, documents: Sequence[LabelledDocuments], depths: Sequence[int]) -> Iterator[Row]:
    """Time one step of each case in turns, again and again."""
    trees = [perfect_tree(5, depth) for depth in depths]
    engines = [
        CompiledEngine(tree, random_scores(some.histograms.shape[1], tree), LossSettings(), StepSettings())
        for tree, some in zip(trees, documents, strict=True)
    ]
    batches = rows_of_epoch(len(documents[0]), _BATCH, 0, 1)[:5]
    times = np.full((len(engines), len(batches)), np.inf)
    for turn in range(_ROUNDS + 1):
        for number, rows in enumerate(batches):
            for case, (engine, some) in enumerate(zip(engines, documents, strict=True)):
                seconds = _seconds(engine, some, rows)
                if turn:  # the first turn warms up
                    times[case, number] = min(times[case, number], seconds)
    words = np.mean([np.unique(documents[0].histograms[rows].indices).size for rows in batches])
    protocol = (
        f"mean over {len(batches)} batches of {_BATCH} documents of the smallest of {_ROUNDS} CPU times, cases in "
        "turns; row-sparse Adam, one thread; from sparse rows to new scores"
    )
    for tree, some, seconds in zip(trees, documents, times.mean(axis=1), strict=True):
        named: dict[str, Value] = {"case": kind, "words": some.histograms.shape[1], "nodes": tree.n_nodes}
        measures: dict[str, Value] = {"batch_words": round(float(words)), "step_seconds": float(f"{seconds:.4g}")}
        yield Row("train", named, measures, protocol)


def _seconds(engine: CompiledEngine, documents: LabelledDocuments, rows: NDArray[np.intp]) -> float:
    start = time.process_time()
    engine.step(Batch.of(documents.rows(rows), 5.0))
    return time.process_time() - start


def _widened(documents: LabelledDocuments, n_words: int) -> LabelledDocuments:
    """Spread the words over a larger vocabulary."""
    from scipy.sparse import csr_array

    counts = documents.histograms
    places = np.sort(np.random.default_rng(0).permutation(n_words)[: counts.shape[1]])
    wide = csr_array((counts.data, places[counts.indices], counts.indptr), shape=(counts.shape[0], n_words))
    return LabelledDocuments(wide, documents.labels)
