"""What the paper's learner is measured against: its algorithm 1 with dense matrices, and a loop over pairs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from treewass.learners.stw.contrastive_batches import ContrastiveBatch
from treewass.trees import to_matrices

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from treewass.trees import Tree

__all__ = ["DenseAlgorithm", "PairLoop"]

_BYTES = 6 * 10**9
_COPIES = 6  # tensors of differences alive at once in autograd
_PAIRS = 4
_SMOOTHNESS, _MARGIN, _RATE = 2.0, 10.0, 0.1


class _SoftTree:
    """The matrices of algorithm 1: the inverse, computed once, and the scores to learn.

    Parameters
    ----------
    tree : Tree
        The internal nodes.
    scores : ndarray of float32, shape (n_words, n_nodes)
        Where to start.
    """

    def __init__(self, tree: Tree, scores: NDArray[np.float32]) -> None:
        import torch

        internal = torch.from_numpy(to_matrices(tree)[0].toarray()).float()
        self._above = torch.linalg.inv(torch.eye(tree.n_nodes) - internal)  # A
        self._theta = torch.from_numpy(np.ascontiguousarray(scores.T)).requires_grad_()
        self._optimizer = torch.optim.Adam([self._theta], lr=_RATE)


class DenseAlgorithm(_SoftTree):
    """Algorithm 1 in its batch form: dense matrices, all documents and pairs at once, torch's autograd and Adam."""

    def step(self, batch: ContrastiveBatch) -> float:
        """Take one step; return the loss."""
        self._optimizer.zero_grad()
        loss = self.loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        return float(loss.detach())

    def loss(self, batch: ContrastiveBatch) -> torch.Tensor:
        """Compute the contrastive loss."""
        import torch

        documents = _dense_documents(batch, self._theta.shape[1])
        below = torch.mm(self._above, torch.softmax(self._theta, dim=0))  # C
        masses = torch.mm(documents, below.T)
        first, second = torch.triu_indices(len(documents), len(documents), offset=1)
        labels = torch.as_tensor(batch.labels)
        same = labels[first] == labels[second]
        parts = []
        size = max(1, _BYTES // (_COPIES * 4 * (masses.shape[1] + documents.shape[1])))
        for some, others in zip(torch.split(first, size), torch.split(second, size), strict=True):
            nodes = _smooth(masses[some] - masses[others]).sum(dim=1)
            parts.append(nodes + _smooth(documents[some] - documents[others]).sum(dim=1))
        distances = torch.cat(parts)
        return distances[same].mean() - distances[~same].clamp(max=_MARGIN).mean()


class PairLoop(_SoftTree):
    """The soft distance pair by pair, each with its own forward and backward pass, softmax and product shared."""

    def seconds_of_a_step(self, batch: ContrastiveBatch) -> float:
        """Take the CPU time of some pairs, and multiply by the number of pairs; the product is computed once a step."""
        import torch

        documents = _dense_documents(batch, self._theta.shape[1])
        start = time.process_time()
        below = torch.mm(self._above, torch.softmax(self._theta, dim=0)).detach().requires_grad_()
        shared = time.process_time() - start
        start = time.process_time()
        for other in range(1, 1 + _PAIRS):
            difference = documents[0] - documents[other]
            distance = _smooth(torch.mv(below, difference)).sum() + _smooth(difference).sum()
            torch.autograd.grad(distance, below)
        each = (time.process_time() - start) / _PAIRS
        n_pairs = len(documents) * (len(documents) - 1) // 2
        return shared + each * n_pairs


def _smooth(values: torch.Tensor) -> torch.Tensor:
    import torch

    return values * torch.tanh(0.5 * _SMOOTHNESS * values)


def _dense_documents(batch: ContrastiveBatch, n_words: int) -> torch.Tensor:
    import torch

    dense = np.zeros((batch.n_documents, n_words), dtype=np.float32)
    dense[batch.documents, np.repeat(batch.words, np.diff(batch.bounds))] = batch.masses
    return torch.from_numpy(dense)
