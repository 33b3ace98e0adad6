"""One step of training by compiled loops, on the processor; needs no torch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.threads import run_in_blocks
from treewass.learners.stw.contrastive_batches import ContrastiveBatch
from treewass.learners.stw.contrastive_kernels import (
    add_subtrees,
    gradient_norms,
    pair_losses,
    push_down,
    update_rows,
    word_sums,
)
from treewass.learners.stw.epochs import StepSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.trees.tree import Tree

__all__ = ["LEAST_DIVISOR", "CompiledEngine", "adam_rates", "trust_ratio"]

LEAST_DIVISOR = 1e-8
_TRUST = 0.02
_PARTS = 4  # sums are split so, whatever the number of threads
_ROWS = 64


def adam_rates(number: int, learning_rate: float) -> tuple[float, float]:
    """Compute the rate of one step of Adam, and the factor of the running root mean square."""
    return learning_rate / (1 - 0.9**number), 1 / math.sqrt(1 - 0.999**number)


def trust_ratio(score_norm: float, gradient_norm: float) -> float:
    """Compute by how much LARS scales a gradient: a share of the norm of all scores over that of the gradient."""
    return _TRUST * score_norm / gradient_norm if score_norm and gradient_norm else 1.0


class CompiledEngine:
    """Scores of words for internal nodes, and how to improve them, with parents by softmax.

    The tree has the internal nodes alone. Scores, float32 of shape (n_words, n_nodes), are changed in place. Words
    outside a batch rest: neither their scores nor their running means change. The result does not depend on the
    threads.
    """

    def __init__(
        self, tree: Tree, scores: NDArray[np.float32], settings: StepSettings, n_jobs: int | None = None
    ) -> None:
        self.scores = scores  # Theta, transposed
        self.first, self.second = np.zeros_like(scores), np.zeros_like(scores)
        self.steps = 0
        self._squares = np.zeros(scores.shape[0])
        self._parents = tree.parents.astype(np.int64)
        self._lengths = tree.edge_lengths.astype(np.float32)  # w_v
        self._lengths[0] = 0  # both documents have all their mass below the root
        self._settings, self._n_jobs = settings, n_jobs
        if settings.optimizer == "lars":
            self._measure_rows()

    def loss(self, batch: ContrastiveBatch) -> float:
        """Compute the contrastive loss of a batch."""
        masses, _ = self._forward(batch)
        return self._pairs(batch, masses, np.zeros((_PARTS, 0, 0), np.float32))

    def step(self, batch: ContrastiveBatch) -> float:
        """Compute the loss of a batch and take one step; not a number if any score becomes one."""
        masses, softmax = self._forward(batch)
        parts = np.zeros((_PARTS, *masses.shape), np.float32)
        loss = self._pairs(batch, masses, parts)
        slopes = parts.sum(axis=0)
        push_down(slopes, self._parents)
        self.steps += 1
        self._update(batch, softmax, slopes)
        return loss if np.isfinite(self._squares[batch.words]).all() else math.nan

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all arrays that a later step depends on, by name."""
        return {"scores": self.scores, "first": self.first, "second": self.second, "squares": self._squares}

    def restore(self, state: dict[str, NDArray[Any]], steps: int) -> None:
        """Take over the arrays of `state` after so many steps."""
        for name, array in self.state().items():
            np.copyto(array, state[name])
        self.steps = steps

    def _forward(self, batch: ContrastiveBatch) -> tuple[NDArray[np.float32], tuple[Any, Any]]:
        """Compute the documents' masses below each node: level by level, without an inverse, equation (5)."""
        n_words = batch.words.size
        softmax = np.empty(n_words, np.float32), np.empty(n_words, np.float32)
        parts = np.zeros((_PARTS, batch.n_documents, self.scores.shape[1]), np.float32)

        def work(start: int, stop: int) -> None:
            for part in range(start, stop):
                low, high = n_words * part // _PARTS, n_words * (part + 1) // _PARTS
                word_sums(self.scores, batch.postings, low, high, *softmax, parts[part])

        run_in_blocks(work, _PARTS, self._n_jobs, block=1)
        masses = parts.sum(axis=0)
        add_subtrees(masses, self._parents)
        return masses, softmax

    def _pairs(self, batch: ContrastiveBatch, masses: NDArray[np.float32], gradient: NDArray[np.float32]) -> float:
        """Sum the loss over all pairs, and its gradient by node mass where there is room for it."""
        settings = self._settings
        leaves = batch.leaf_distances(settings.smoothness, settings.absolute)
        absolute = np.float32(settings.smoothness), settings.absolute == "huber"
        weights, losses = batch.pair_weights(), np.zeros(_PARTS)

        def work(start: int, stop: int) -> None:
            for part in range(start, stop):
                losses[part] = pair_losses(
                    masses, leaves, batch.labels, self._lengths, absolute, float(settings.margin), weights,
                    batch.weights, part, _PARTS, gradient[part],
                )  # fmt: skip

        run_in_blocks(work, _PARTS, self._n_jobs, block=1)
        return float(losses.sum())

    def _update(self, batch: ContrastiveBatch, softmax: tuple[Any, Any], slopes: NDArray[np.float32]) -> None:
        """Take one step of Adam on the rows of a batch."""
        factor = self._trust(batch, softmax, slopes) if self._settings.optimizer == "lars" else 1.0
        rate, spread = adam_rates(self.steps, self._settings.learning_rate)
        step = tuple(np.float32(number) for number in (factor, rate, spread, LEAST_DIVISOR))
        arrays = self.scores, self.first, self.second, batch.postings, softmax, slopes, step

        def work(start: int, stop: int) -> None:
            update_rows(*arrays, start, stop, self._squares)

        run_in_blocks(work, batch.words.size, self._n_jobs, block=_ROWS)

    def _trust(self, batch: ContrastiveBatch, softmax: tuple[Any, Any], slopes: NDArray[np.float32]) -> float:
        """Compute the trust ratio from the norms of all scores and of the batch's gradient."""
        norms = np.zeros(batch.words.size)

        def work(start: int, stop: int) -> None:
            gradient_norms(self.scores, batch.postings, softmax, slopes, start, stop, norms)

        run_in_blocks(work, batch.words.size, self._n_jobs, block=_ROWS)
        return trust_ratio(math.sqrt(self._squares.sum()), math.sqrt(norms.sum()))

    def _measure_rows(self) -> None:
        """Sum the squares of every row of scores, without a copy of them all."""
        for start in range(0, self.scores.shape[0], _ROWS):
            rows = self.scores[start : start + _ROWS]
            self._squares[start : start + _ROWS] = np.einsum("ij,ij->i", rows, rows)
