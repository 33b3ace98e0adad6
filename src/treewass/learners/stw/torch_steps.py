"""One step of training by torch, on any device, with every kind of parents."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from treewass.learners.stw.compiled_steps import LEAST_DIVISOR, adam_rates, trust_ratio
from treewass.learners.stw.contrastive_batches import ContrastiveBatch
from treewass.learners.stw.epochs import StepSettings
from treewass.learners.stw.soft_trees import contrastive_loss, pair_distances, parent_probabilities
from treewass.trees.torch_losses import SubtreeSums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.trees.tree import Tree

__all__ = ["TorchEngine"]


class TorchEngine:
    """Scores of words for internal nodes, and how to improve them; as `CompiledEngine`, with every kind of parents.

    Scores may be float32 or float64, and are moved to the device.
    """

    def __init__(
        self, tree: Tree, scores: NDArray[np.floating], settings: StepSettings, device: torch.device | str = "cpu"
    ) -> None:
        self._settings, self._device = settings, torch.device(device)
        self._scores = torch.from_numpy(scores).to(self._device)  # Theta, transposed
        self._first, self._second = torch.zeros_like(self._scores), torch.zeros_like(self._scores)
        self.steps = 0
        self._sums = SubtreeSums(tree, self._device)
        self._lengths = torch.tensor(tree.edge_lengths.tolist(), dtype=self._scores.dtype, device=self._device)  # w_v
        self._lengths[0] = 0  # both documents have all their mass below the root

    @property
    def scores(self) -> NDArray[Any]:
        """The scores, shape (n_words, n_nodes)."""
        return self._scores.cpu().numpy()

    def loss(self, batch: ContrastiveBatch) -> float:
        """Compute the contrastive loss of a batch."""
        with torch.no_grad():
            return float(self.batch_loss(batch, self._scores[self._words(batch)]))

    def step(self, batch: ContrastiveBatch) -> float:
        """Compute the loss of a batch and take one step; not a number if any score becomes one."""
        words = self._words(batch)
        taken = self._scores[words].requires_grad_()
        loss = self.batch_loss(batch, taken)
        (gradient,) = torch.autograd.grad(loss, taken)
        self._update(words, gradient)
        finite = bool(self._scores[words].square().sum().isfinite())
        return float(loss.detach()) if finite else math.nan

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all arrays that a later step depends on, by name."""
        return {name: tensor.cpu().numpy() for name, tensor in self._tensors().items()}

    def restore(self, state: dict[str, NDArray[Any]], steps: int) -> None:
        """Take over the arrays of `state` after so many steps."""
        for name, tensor in self._tensors().items():
            tensor.copy_(torch.from_numpy(np.array(state[name])))
        self.steps = steps

    def batch_loss(self, batch: ContrastiveBatch, scores: torch.Tensor) -> torch.Tensor:
        """Compute the contrastive loss from the scores of a batch's words."""
        probabilities = parent_probabilities(scores, self._settings.parents)  # D_2, transposed
        absolute = self._settings.smoothness, self._settings.absolute
        dense = np.zeros((batch.n_documents, batch.words.size), dtype=np.float32)
        dense[batch.documents, np.repeat(np.arange(batch.words.size), np.diff(batch.bounds))] = batch.masses
        documents = torch.as_tensor(dense, device=self._device).to(scores.dtype)
        leaves = torch.as_tensor(batch.leaf_distances(*absolute)).to(documents)
        below = self._sums(documents @ probabilities)
        distances = leaves + pair_distances(below, below, self._lengths, *absolute)
        labels = torch.as_tensor(batch.labels, device=self._device)
        weights = torch.as_tensor(batch.weights, device=self._device).to(documents)
        return contrastive_loss(distances, labels, self._settings.margin, weights)

    def _update(self, words: torch.Tensor, gradient: torch.Tensor) -> None:
        """Take one step of Adam, given the gradient by some rows."""
        self.steps += 1
        if self._settings.optimizer == "lars":
            gradient = gradient * trust_ratio(float(self._scores.norm()), float(gradient.norm()))
        first = 0.9 * self._first[words] + 0.1 * gradient
        second = 0.999 * self._second[words] + 0.001 * gradient.square()
        rate, spread = adam_rates(self.steps, self._settings.learning_rate)
        self._scores[words] -= rate * first / (second.sqrt() * spread + LEAST_DIVISOR)
        self._first[words], self._second[words] = first, second

    def _words(self, batch: ContrastiveBatch) -> torch.Tensor:
        return torch.as_tensor(batch.words, device=self._device)

    def _tensors(self) -> dict[str, torch.Tensor]:
        return {"scores": self._scores, "first": self._first, "second": self._second}
