"""``python -m treewass_bench fit --cases passes``: how often refinement should go over many documents."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from treewass import ProfileTreeWasserstein, TreeWassersteinClassifier
from treewass.documents.histograms import EmptyDocumentWarning
from treewass_bench.datasets import load_set
from treewass_bench.methods import folds_of
from treewass_bench.rows import Row, Value

__all__ = ["bench_passes", "passages"]

_LENGTHS = {"20news": 45, "amazon": 10, "ohsumed": 10}  # words of a passage: each set becomes 25 000 and more
_PASSES = (0, 1, 2, 3, 4)
_SHARES = (0.5, 1.0)  # of the passages, so that number and length can be told apart
_SEEDS, _FOLDS, _QUERIES = 2, 5, 4000
_PROTOCOL = (
    f"training documents of the first split in {_FOLDS} parts, equal ones together; passages of four of them, all or "
    f"a half drawn, and the error on at most {_QUERIES} passages of the fifth: k = 19, distance vote, not calibrated; "
    f"mean of {_SEEDS} seeds; CPU seconds of the fit; no test document is read"
)


def bench_passes(data: str | os.PathLike[str] | None = None) -> Iterator[Row]:
    """Measure errors on passages of held-out training documents, by the number of passes of refinement.

    Parameters
    ----------
    data : path-like, optional
        Folder of the text sets; that of the variable TREEWASS_DATA by default.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    for name, length in _LENGTHS.items():
        text_set = load_set(name, data)
        split, words_of = text_set.split(0), text_set.vectorizer().build_analyzer()
        train, held = (
            passages([words_of(split.train_texts[row]) for row in rows], split.y_train[rows], length)
            for rows in folds_of(split.X_train, split.y_train, _FOLDS)[0]
        )
        counter = CountVectorizer(token_pattern=r"\S+", lowercase=False)
        X_train, X_held = counter.fit_transform(train[0]), counter.transform(held[0])
        asked = np.random.RandomState(0).permutation(len(held[0]))[:_QUERIES]
        for share, n_passes in product(_SHARES, _PASSES):
            taken = np.random.RandomState(1).permutation(X_train.shape[0])[: int(share * X_train.shape[0])]
            errors, seconds = _errors(n_passes, X_train[taken], train[1][taken], X_held[asked], held[1][asked])
            case: dict[str, Value] = {"case": "passes", "set": name, "words": length, "passes": n_passes}
            measures: dict[str, Value] = {
                "error_percent": round(100 * float(np.mean(errors)), 2),
                "seconds": round(float(np.mean(seconds)), 2),
            }
            yield Row("fit", {**case, "documents": taken.size}, measures, _PROTOCOL)


def passages(texts: list[list[str]], labels: Any, length: int) -> tuple[list[str], Any]:
    """Cut texts into passages of so many words; the last one of a text may be shorter, down to half of that.

    Examples
    --------
    >>> passages([["a", "b", "c", "d", "e"], ["f"]], np.array([0, 1]), 4)
    (['a b c d', 'f'], array([0, 1]))
    """
    starts = [range(0, max(len(words) - length // 2 + 1, 1), length) for words in texts]
    cut = [" ".join(words[n : n + length]) for words, own in zip(texts, starts, strict=True) for n in own]
    return cut, np.repeat(labels, [len(own) for own in starts])


def _errors(n_passes: int, X: Any, y: Any, queries: Any, truth: Any) -> tuple[list[float], list[float]]:
    errors, seconds = [], []
    for seed in range(_SEEDS):
        learner = ProfileTreeWasserstein(epochs=n_passes, random_state=seed)
        model = TreeWassersteinClassifier(learner, calibrate=False, linear=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyDocumentWarning)  # a passage of words that no other one holds
            model.fit(X[:_QUERIES], y[:_QUERIES])  # compiles the loops
            start = time.process_time()
            model.fit(X, y)
            seconds.append(time.process_time() - start)
            errors.append(float(np.mean(model.predict(queries) != truth)))
    return errors, seconds
