"""One version of the library at work for `treewass_bench.against`: a process that uses public names alone.

It is run by its path, with the version's folder on PYTHONPATH, reads orders as lines of JSON and answers each with one.
It imports nothing of treewass_bench, which belongs to the newer version.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer

import treewass
from treewass import Tree, TreeIndex, TreeMetric


class Searches:
    """The queries of a case and the index that answers them."""

    def __init__(self, place: str, k: int) -> None:
        with np.load(place, allow_pickle=False) as arrays:
            metric, documents, queries = _metric(arrays), _rows(arrays, "documents"), _rows(arrays, "queries")
        self._index = TreeIndex(metric)
        self._index.add(documents)
        self._queries = [queries[[row]] for row in range(queries.shape[0])]
        self._k = k

    def digest(self) -> str:
        """Answer all queries, and sum up distances and ids."""
        summed = hashlib.sha256()
        for query in self._queries:
            distances, ids = self._index.search(query, self._k)
            summed.update(np.ascontiguousarray(distances).tobytes() + np.ascontiguousarray(ids).tobytes())
        return summed.hexdigest()

    def times(self, passes: int) -> list[float]:
        """Answer all queries once to warm up, then so many times; return the CPU seconds of each pass."""
        found = []
        for _ in range(passes + 1):
            start = time.process_time()
            for query in self._queries:
                self._index.search(query, self._k)
            found.append(time.process_time() - start)
        return found[1:]


def fit(place: str, estimator: str) -> list[float]:
    """Fit a default estimator to texts after a fit to a few; return CPU seconds of fit and queries, and megabytes."""
    content = json.loads(Path(place).read_text("utf-8"))
    documents, queries, labels = content["texts"], content["queries"], np.array(content["labels"])
    if estimator == "TreeWassersteinClassifier":
        vectorizer = CountVectorizer()
        documents, queries = vectorizer.fit_transform(documents), vectorizer.transform(queries)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        few = slice(None, None, max(1, labels.size // 200))
        getattr(treewass, estimator)().fit(documents[few], labels[few]).predict_proba(queries[:300])
        start = time.process_time()
        model = getattr(treewass, estimator)().fit(documents, labels)
        fitted = time.process_time()
        model.predict_proba(queries)
        asked = time.process_time()
    if estimator == "TreeWassersteinClassifier":
        size = len(pickle.dumps(model))
    else:
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder, "model"))
            size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return [fitted - start, asked - fitted, size / 1e6]


def _metric(arrays: Any) -> TreeMetric:
    n_trees = sum(name.startswith("parents_") for name in arrays)
    parts = ("parents", "edge_lengths", "word_nodes", "leaf_lengths")
    trees = [Tree(*(arrays[f"{part}_{number}"] for part in parts)) for number in range(n_trees)]
    return TreeMetric(trees, arrays["masses"], fraction_bits=int(arrays["fraction_bits"]))


def _rows(arrays: Any, name: str) -> csr_array:
    data, indices, indptr, shape = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape"))
    return csr_array((data, indices, indptr), shape=tuple(shape))


def main() -> None:
    """Answer orders until there are no more."""
    searches: Searches | None = None
    for line in sys.stdin:
        order = json.loads(line)
        answer: Any = treewass.__file__
        if order["order"] == "load":
            searches = None  # so that two collections are never held at once
            searches = Searches(order["place"], order["k"])
            answer = searches.digest()
        elif order["order"] == "fit":
            answer = fit(order["place"], order["estimator"])
        elif order["order"] == "round" and searches is not None:
            answer = searches.times(order["passes"])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
