"""One step of training by compiled loops, on the processor; needs no torch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.learners.soft.batches import Batch
from treewass.learners.soft.settings import LossSettings, StepSettings
from treewass.search.threads import run_in_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.trees.tree import Tree

__all__ = ["LEAST_DIVISOR", "TRUST", "CompiledEngine", "adam_step"]

LEAST_DIVISOR = 1e-8
TRUST = 0.02
_PARTS = 4  # sums are split so, whatever the number of threads
_ROWS = 64


def adam_step(number: int, learning_rate: float, factor: float = 1.0) -> tuple[np.float32, ...]:
    """Compute the numbers of one step of Adam: factor of the gradient, rate, factor of the spread, least divisor.

    Examples
    --------
    >>> adam_step(1, 0.1)[1]
    np.float32(1.0)
    """
    rate, spread = learning_rate / (1 - 0.9**number), 1 / math.sqrt(1 - 0.999**number)
    return np.float32(factor), np.float32(rate), np.float32(spread), np.float32(LEAST_DIVISOR)


class CompiledEngine:
    """Scores of words for internal nodes, and how to improve them.

    Parameters
    ----------
    tree : Tree
        The internal nodes with their lengths, without words.
    scores : ndarray of float32, shape (n_words, n_nodes)
        Where to start; changed in place.
    loss : LossSettings
        Parents by softmax.
    step : StepSettings
        Neither lengths nor the tree are learned.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    """

    def __init__(
        self, tree: Tree, scores: NDArray[np.float32], loss: LossSettings, step: StepSettings, n_jobs: int | None = None
    ) -> None:
        short = step.state == "bfloat16"
        self.scores = scores  # Theta, transposed
        self.first = np.zeros(scores.shape, np.uint16 if short else np.float32)
        self.second = np.zeros_like(self.first)
        self.steps = 0
        self._short = short
        self._squares = np.zeros(scores.shape[0])
        self._seen = np.zeros(scores.shape[0], dtype=bool)
        self._parents = tree.parents.astype(np.int64)
        self._lengths = tree.edge_lengths.astype(np.float32)  # w_v
        self._lengths[0] = 0  # both documents have all their mass below the root
        self._absolute = np.float32(loss.smoothness), loss.absolute == "huber"
        self._loss, self._step, self._n_jobs = loss, step, n_jobs
        if step.optimizer == "lars":
            self._measure_rows()

    def loss(self, batch: Batch) -> float:
        """Compute the contrastive loss of a batch."""
        masses, _ = self._forward(batch)
        return self._pairs(batch, masses, np.zeros((_PARTS, 0, 0), np.float32))

    def step(self, batch: Batch) -> float:
        """Compute the loss of a batch and take one step; not a number if any score becomes one."""
        from treewass.learners.soft.kernels import push_down

        masses, softmax = self._forward(batch)
        parts = np.zeros((_PARTS, *masses.shape), np.float32)
        loss = self._pairs(batch, masses, parts)
        slopes = push_down(parts, self._parents)
        self.steps += 1
        self._seen[batch.words] = True
        factor = self._trust(batch, softmax, slopes) if self._step.optimizer == "lars" else 1.0
        self._update(batch.postings, softmax, slopes, factor)
        if self._step.updates == "dense":
            self._move_on(batch, slopes)
        return loss if np.isfinite(self._squares[batch.words]).all() else math.nan

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all arrays that a later step depends on, by name."""
        moments = {"scores": self.scores, "first": self.first, "second": self.second}
        return {**moments, "seen": self._seen, "squares": self._squares}

    def learned_lengths(self) -> None:
        """Return None: lengths stay what they were."""

    def learned_parents(self) -> None:
        """Return None: the tree stays what it was."""

    def restore(self, state: dict[str, NDArray[Any]], steps: int) -> None:
        """Take over the arrays of `state` after so many steps."""
        for name, array in self.state().items():
            np.copyto(array, state[name])
        self.steps = steps

    def _forward(self, batch: Batch) -> tuple[NDArray[np.float32], tuple[Any, Any]]:
        """Compute the documents' masses below each node: level by level, without an inverse, equation (5)."""
        from treewass.learners.soft.kernels import node_masses, word_sums

        n_words = batch.words.size
        softmax = np.empty(n_words, np.float32), np.empty(n_words, np.float32)
        parts = np.zeros((_PARTS, batch.n_documents, self.scores.shape[1]), np.float32)

        def work(start: int, stop: int) -> None:
            for part in range(start, stop):
                low, high = n_words * part // _PARTS, n_words * (part + 1) // _PARTS
                word_sums(self.scores, batch.postings, low, high, *softmax, parts[part])

        run_in_blocks(work, _PARTS, self._n_jobs, block=1)
        return node_masses(parts, self._parents), softmax

    def _pairs(self, batch: Batch, masses: NDArray[np.float32], gradient: NDArray[np.float32]) -> float:
        """Sum the loss over all pairs, and its gradient by node mass where there is room for it."""
        from treewass.learners.soft.kernels import pair_losses

        leaves = batch.leaf_distances(self._loss.smoothness, self._loss.absolute)
        weights, losses = batch.pair_weights(), np.zeros(_PARTS)

        def work(start: int, stop: int) -> None:
            for part in range(start, stop):
                losses[part] = pair_losses(
                    masses, leaves, batch.labels, self._lengths, self._absolute, float(self._loss.margin), weights,
                    part, _PARTS, gradient[part],
                )  # fmt: skip

        run_in_blocks(work, _PARTS, self._n_jobs, block=1)
        return float(losses.sum())

    def _trust(self, batch: Batch, softmax: tuple[Any, Any], slopes: NDArray[np.float32]) -> float:
        """Compute the trust ratio: the norm of all scores over that of the gradient, times a constant."""
        from treewass.learners.soft.row_kernels import gradient_norms

        norms = np.zeros(batch.words.size)

        def work(start: int, stop: int) -> None:
            gradient_norms(self.scores, batch.postings, softmax, slopes, start, stop, norms)

        run_in_blocks(work, batch.words.size, self._n_jobs, block=_ROWS)
        size, slope = math.sqrt(self._squares.sum()), math.sqrt(norms.sum())
        return TRUST * size / slope if size and slope else 1.0

    def _update(self, postings: tuple[Any, ...], softmax: Any, slopes: NDArray[np.float32], factor: float) -> None:
        """Take one step of Adam on some rows."""
        from treewass.learners.soft.row_kernels import update_rows, update_short_rows

        numbers = adam_step(self.steps, self._step.learning_rate, factor)
        arrays = self.scores, self.first, self.second, postings, softmax, slopes, numbers

        def work(start: int, stop: int) -> None:
            if self._short:
                seed = 2 * self.steps * self.scores.shape[0]
                update_short_rows(*arrays, seed, start, stop, self._squares)
            else:
                update_rows(*arrays, start, stop, self._squares)

        run_in_blocks(work, postings[0].size, self._n_jobs, block=_ROWS)

    def _move_on(self, batch: Batch, slopes: NDArray[np.float32]) -> None:
        """Let the words outside a batch follow their running means; those never seen have none."""
        idle = self._seen.copy()
        idle[batch.words] = False
        words = np.flatnonzero(idle).astype(np.int64)
        postings = words, np.zeros(words.size + 1, np.int64), batch.documents[:0], batch.masses[:0]
        empty = np.zeros(words.size, np.float32)
        self._update(postings, (empty, empty), slopes, 1.0)

    def _measure_rows(self) -> None:
        """Sum the squares of every row of scores, without a copy of them all."""
        for start in range(0, self.scores.shape[0], _ROWS):
            rows = self.scores[start : start + _ROWS]
            self._squares[start : start + _ROWS] = np.einsum("ij,ij->i", rows, rows)
