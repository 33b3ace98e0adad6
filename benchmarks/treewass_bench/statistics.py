"""Statistics of text sets beside those of the paper's table 1."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treewass_bench.cells import Cell, run_cells
from treewass_bench.layout import figure, in_paper_order, table
from treewass_bench.rows import Row, Value

if TYPE_CHECKING:
    from treewass.documents import WordVectors
    from treewass_bench.datasets import TextSet

__all__ = [
    "PUBLISHED",
    "Published",
    "bench_statistics",
    "compare",
    "set_statistics",
    "statistics_cells",
    "statistics_markdown",
]

_PROTOCOL = (
    "words of the whole set, training and test documents, after the paper's cleaning; with_vector: only words that "
    "have a word vector, as in the paper's sets; paper: table 1. The verdict compares dimension, and words_a_document "
    "with a vector where there are vectors, else without"
)
_COLUMNS = (
    "documents",
    "classes",
    "train / test",
    "splits",
    "words (paper)",
    "words a document",
    "with a vector (paper)",
)


@dataclass(frozen=True, slots=True)
class Published:
    """What is published about a set; None where nothing is.

    Parameters
    ----------
    classes, train, documents : int or None
        Classes, training documents and documents, as in the word mover papers.
    dimension : int or None
        Distinct words of the set: "bow dimension" of the paper's table 1.
    words_a_document : str or None
        Mean of the distinct words of a document, with the digits of table 1.
    """

    classes: int
    train: int
    documents: int | None
    dimension: int | None = None
    words_a_document: str | None = None


PUBLISHED: Mapping[str, Published] = {
    "twitter": Published(3, 2176, 3108, 6344, "9.9"),
    "classic": Published(4, 4965, None, 24277, "38.6"),
    "amazon": Published(4, 5600, 8000, 42063, "45.0"),
    "bbcsport": Published(5, 517, 737, 13243, "117"),
    "ohsumed": Published(10, 3999, 9152, 31789, "59.2"),
    "reuters": Published(8, 5485, 7674, 22425, "37.1"),
    "20news": Published(20, 11314, 18846),
}

"""Table 1 of the paper with the sizes of the sets; 20 newsgroups, which it lacks, as scikit-learn fetches it."""


def set_statistics(text_set: TextSet, vectors: WordVectors | None = None) -> dict[str, Value]:
    """Count documents, classes and words of a set.

    Parameters
    ----------
    text_set : TextSet
        The set.
    vectors : WordVectors, optional
        The word vectors to count words with.

    Returns
    -------
    dict
        ``documents``, ``classes``, ``train``, ``test`` (of the first split), ``splits``, ``dimension`` (distinct words
        of the set), ``words_a_document`` (mean of a document's distinct words), and both of these again with the ending
        ``_with_vector``, None without `vectors`.

    Examples
    --------
    >>> from treewass_bench.datasets import TextSet
    >>> from treewass.documents import Corpus, WordVectors
    >>> corpus = Corpus("pets", ("the cat sat", "A dog, a DOG!"), ("cat", "dog"))
    >>> pets = TextSet(corpus, (np.array([0]),), stop_words=("the", "a"))
    >>> counted = set_statistics(pets, WordVectors(("cat", "dog"), [[1.0], [2.0]]))
    >>> counted["dimension"], counted["words_a_document"], counted["dimension_with_vector"]
    (3, 1.5, 2)
    """
    vectorizer = text_set.vectorizer().set_params(binary=True)
    occurs = vectorizer.fit_transform(text_set.corpus.texts)
    n_documents, n_words = occurs.shape
    n_train = len(text_set.train_rows[0])
    statistics: dict[str, Value] = {
        "documents": n_documents,
        "classes": len(text_set.corpus.classes),
        "train": n_train,
        "test": n_documents - n_train,
        "splits": len(text_set.train_rows),
        "dimension": n_words,
        "words_a_document": occurs.nnz / n_documents,
        "dimension_with_vector": None,
        "words_a_document_with_vector": None,
    }
    if vectors is not None:
        known = frozenset(vectors.words)
        has_vector = np.array([word in known for word in vectorizer.get_feature_names_out()])
        statistics["dimension_with_vector"] = int(has_vector.sum())
        statistics["words_a_document_with_vector"] = occurs[:, has_vector].nnz / n_documents
    return statistics


def compare(statistics: Mapping[str, Value], published: Published) -> str:
    """Say in words whether a set agrees with what is published about it.

    Parameters
    ----------
    statistics : mapping
        As `set_statistics` returns them.
    published : Published
        What to compare them with.

    Returns
    -------
    str
        ``"agrees"``, or ``"differs: …"`` with every difference: counts as numbers, figures of words in per cent.

    Examples
    --------
    >>> counted = {"classes": 3, "train": 2176, "documents": 3110, "dimension": 6344, "words_a_document": 9.93}
    >>> compare(counted, PUBLISHED["twitter"])
    'differs: documents +2'
    """
    differences = []
    for name in ("documents", "classes", "train"):
        found, expected = statistics[name], getattr(published, name)
        if expected is not None and found != expected:
            differences.append(f"{name} {_number(found) - expected:+.0f}")
    if published.dimension is not None and statistics["dimension"] != published.dimension:
        differences.append(f"dimension {_per_cent(statistics['dimension'], published.dimension)}")
    if published.words_a_document is not None:
        mean = statistics.get("words_a_document_with_vector") or statistics["words_a_document"]
        digits = len(published.words_a_document.partition(".")[2])
        if f"{_number(mean):.{digits}f}" != published.words_a_document:
            differences.append(f"words a document {_per_cent(mean, float(published.words_a_document))}")
    return f"differs: {', '.join(differences)}" if differences else "agrees"


def bench_statistics(data: str | os.PathLike[str] | None = None) -> Iterator[Row]:
    """Count the words of each set of a folder, beside table 1 of the paper.

    Yields
    ------
    Row
        One per set: the measures of `set_statistics`, the paper's figures, and the verdict of `compare`.

    Raises
    ------
    ValueError
        If the folder has no sets, or a file is broken.
    """
    return run_cells(statistics_cells(data))


def statistics_cells(data: str | os.PathLike[str] | None = None, sets: Sequence[str] | None = None) -> list[Cell]:
    """List the sets whose words are to be counted.

    Parameters
    ----------
    data : path-like, optional
        As in `bench_statistics`.
    sets : sequence of str, optional
        Names of sets; all of the folder by default.
    """
    from treewass_bench.datasets import data_folder, set_names

    folder = data_folder(data)
    names = set_names(folder) if sets is None else sets
    if not names:
        raise ValueError(f"Expected text sets in {folder}, found none. Make them with python -m treewass_bench data.")
    return [
        Cell("statistics", {"set": name}, partial(_counted, name, os.fspath(folder)), _PROTOCOL, seconds=3.0)
        for name in names
    ]


def _counted(name: str, folder: str) -> dict[str, Value]:
    from treewass_bench.datasets import load_set

    measures = set_statistics(load_set(name, folder), _vectors(Path(folder) / "word_vectors.npz"))
    return measures | _beside(measures, PUBLISHED.get(name))


@lru_cache(maxsize=1)
def _vectors(path: Path) -> WordVectors | None:
    from treewass.documents import read_word_vectors

    return read_word_vectors(path) if path.exists() else None


def _beside(statistics: Mapping[str, Value], published: Published | None) -> dict[str, Value]:
    """Give the paper's figures for a set, and the verdict."""
    if published is None:
        return {"paper_dimension": None, "paper_words_a_document": None, "verdict": "nothing published"}
    mean = None if published.words_a_document is None else float(published.words_a_document)
    return {
        "paper_dimension": published.dimension,
        "paper_words_a_document": mean,
        "verdict": compare(statistics, published),
    }


def _number(value: Value) -> float:
    return float(value or 0)


def _per_cent(found: Value, expected: float) -> str:
    return f"{100 * (_number(found) / expected - 1):+.1f} %"


def statistics_markdown(rows: Iterable[Row]) -> str:
    """Lay out the statistics of the text sets, the paper's beside them."""
    found = {str(row.case["set"]): row.measures for row in rows}
    lines = []
    for name in in_paper_order(found):
        own = found[name]
        entries = [
            str(own["documents"]),
            str(own["classes"]),
            f"{own['train']} / {own['test']}",
            str(own["splits"]),
            f"{own['dimension']} ({figure(own['paper_dimension'], '.0f')})",
            figure(own["words_a_document"]),
            f"{figure(own['words_a_document_with_vector'])} ({figure(own['paper_words_a_document'])})",
        ]
        lines.append((name.upper(), entries))
    return table("set", _COLUMNS, lines)
