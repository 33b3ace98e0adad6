"""Documents in batches: their words, and for each word the documents that hold it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["MASS", "ContrastiveBatch", "LabelledHistograms", "batches_of_epoch", "rows_of_epoch"]

MASS = 5.0  # of a document in training, as in the paper (section 3.5)


@dataclass(frozen=True, slots=True)
class LabelledHistograms:
    """Documents to learn from: rows of mass one, int64 labels, and weights above zero, all one by default."""

    histograms: csr_array
    labels: NDArray[np.int64]
    weights: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return int(self.labels.size)

    def rows(self, rows: NDArray[np.intp]) -> LabelledHistograms:
        """Take some of the documents."""
        weights = None if self.weights is None else self.weights[rows]
        return LabelledHistograms(self.histograms[rows], self.labels[rows], weights)


@dataclass(frozen=True, slots=True)
class ContrastiveBatch:
    """Some documents, word by word.

    `words` are those that occur, ascending. The entries of each word begin and end at its `bounds`: the documents that
    hold it, ascending, and its masses in them. There is one label and one weight for each document.

    Examples
    --------
    >>> from treewass.documents import to_histograms
    >>> documents = LabelledHistograms(to_histograms([[1, 0, 1], [0, 0, 2]]), np.array([0, 1]))
    >>> ContrastiveBatch.of(documents)
    ContrastiveBatch(words=array([0, 2]), bounds=array([0, 1, 3]), documents=array([0, 0, 1]), masses=array([2.5, ...
    """

    words: NDArray[np.int64]
    bounds: NDArray[np.int64]
    documents: NDArray[np.int64]
    masses: NDArray[np.float32]
    labels: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, documents: LabelledHistograms, mass: float = MASS) -> ContrastiveBatch:
        """List the documents of each word, in time that does not depend on the vocabulary."""
        rows = documents.histograms
        order = np.argsort(rows.indices, kind="stable")  # documents stay in order within a word
        words = rows.indices[order].astype(np.int64)
        bounds = np.append(np.flatnonzero(np.diff(words, prepend=-1)), words.size).astype(np.int64)
        document_of = np.repeat(np.arange(len(documents)), np.diff(rows.indptr))
        masses = (mass * rows.data[order]).astype(np.float32)
        weights = np.ones(len(documents)) if documents.weights is None else documents.weights
        return cls(words[bounds[:-1]], bounds, document_of[order], masses, documents.labels, weights)

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return int(self.labels.size)

    @property
    def postings(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Words, bounds, documents and masses, as compiled loops take them."""
        return self.words, self.bounds, self.documents, self.masses

    def leaf_distances(self, smoothness: float, absolute: str) -> NDArray[np.float64]:
        """Compute the words' part of all distances, whose edges have length one, shape (n_documents, n_documents)."""
        from treewass.learners.stw.contrastive_kernels import leaf_distances

        distances: NDArray[np.float64] = leaf_distances(
            *self.postings[1:], self.n_documents, smoothness, absolute == "huber"
        )
        return distances

    def pair_weights(self) -> tuple[float, float]:
        """Compute one over the weight of pairs of equal labels, and of different ones; zero where there is none.

        A pair weighs as much as the product of its documents' weights.
        """
        classes = np.unique(self.labels, return_inverse=True)[1]
        sums, squares = (np.bincount(classes, values) for values in (self.weights, self.weights**2))
        single = np.bincount(classes) == 1
        near = float(np.where(single, 0.0, sums**2 - squares).sum() / 2)  # |D_p|
        far = float(sums.sum() ** 2 - (sums**2).sum()) / 2 if sums.size > 1 else 0.0  # |D_n|
        return (1 / near if near else 0.0), (1 / far if far else 0.0)


def batches_of_epoch(
    documents: LabelledHistograms, batch_size: int, seed: int, epoch: int
) -> Iterator[ContrastiveBatch]:
    """Yield all documents in random batches of about equal size.

    The order depends on seed and epoch. Validation documents always come in the order of epoch 0.
    """
    for rows in rows_of_epoch(len(documents), batch_size, seed, epoch):
        yield ContrastiveBatch.of(documents.rows(rows))


def rows_of_epoch(n_documents: int, batch_size: int, seed: int, epoch: int) -> list[NDArray[np.intp]]:
    """Choose the documents of each batch of an epoch."""
    order = np.random.default_rng([seed, epoch]).permutation(n_documents)
    return [np.sort(rows) for rows in np.array_split(order, max(1, round(n_documents / batch_size)))]
