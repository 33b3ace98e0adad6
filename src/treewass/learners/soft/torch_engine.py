"""One step of training by torch, on any device, with every option."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from treewass.learners.soft.batches import Batch
from treewass.learners.soft.distances import SubtreeSums, contrastive_loss, pair_distances
from treewass.learners.soft.optimisers import Adam
from treewass.learners.soft.parents import parent_probabilities
from treewass.learners.soft.settings import LossSettings, StepSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.trees.tree import Tree

__all__ = ["TorchEngine"]

_SURE = 9.0  # odds of a given parent, where the parents of internal nodes are learned


class TorchEngine:
    """Scores of words for internal nodes, and how to improve them.

    Parameters
    ----------
    tree : Tree
        The internal nodes with their lengths, without words.
    scores : ndarray of float32 or float64, shape (n_words, n_nodes)
        Where to start.
    loss : LossSettings
    step : StepSettings
    device : torch.device or str, default="cpu"
        Where to compute.
    """

    def __init__(
        self,
        tree: Tree,
        scores: NDArray[np.floating],
        loss: LossSettings,
        step: StepSettings,
        device: torch.device | str = "cpu",
    ) -> None:
        self._loss, self._step, self._device = loss, step, torch.device(device)
        self._words = Adam(torch.from_numpy(scores).to(self._device), step)  # Theta, transposed
        dense = StepSettings(step.learning_rate, step.optimizer)
        kind = self._words.values.dtype
        self._sums = SubtreeSums(tree, self._device)
        self._start_lengths = torch.tensor(tree.edge_lengths.tolist(), dtype=kind, device=self._device)  # w_v
        self._lengths: Adam | None = None
        self._leaves: Adam | None = None
        self._tree: Adam | None = None
        if step.learn_lengths:
            self._lengths = Adam(torch.zeros(tree.n_nodes, 1, dtype=kind, device=self._device), dense)
            self._leaves = Adam(torch.zeros(scores.shape[0], 1, dtype=kind, device=self._device), step)
        if step.learn_tree:
            self._tree = Adam(_tree_scores(tree).to(self._device, kind), dense)

    @property
    def scores(self) -> NDArray[Any]:
        """The scores, shape (n_words, n_nodes)."""
        return self._words.values.cpu().numpy()

    @property
    def steps(self) -> int:
        """Number of steps taken."""
        return self._words.steps

    def loss(self, batch: Batch) -> float:
        """Compute the contrastive loss of a batch."""
        with torch.no_grad():
            return float(self._batch_loss(batch, self._taken(batch)))

    def step(self, batch: Batch) -> float:
        """Compute the loss of a batch and take one step; not a number if any score becomes one."""
        taken = [values.requires_grad_() for values in self._taken(batch)]
        loss = self._batch_loss(batch, taken)
        gradients = torch.autograd.grad(loss, taken)
        for learned, rows, gradient in zip(self._learned(), self._rows(batch), gradients, strict=True):
            learned.step(rows, gradient)
        finite = all(bool(adam.values[rows].square().sum().isfinite()) for adam, rows in self._learned_rows(batch))
        return float(loss.detach()) if finite else math.nan

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all arrays that a later step depends on, by name."""
        arrays = {}
        for number, adam in enumerate(self._learned()):
            suffix = f"_{number}" if number else ""
            moments = {"first": adam.first, "second": adam.second}
            for name, tensor in {"scores": adam.values, **moments, "seen": adam.seen}.items():
                whole = tensor.cpu()
                arrays[name + suffix] = (whole.view(torch.uint16) if whole.dtype == torch.bfloat16 else whole).numpy()
        return arrays

    def restore(self, state: dict[str, NDArray[Any]], steps: int) -> None:
        """Take over the arrays of `state` after so many steps."""
        for number, adam in enumerate(self._learned()):
            suffix = f"_{number}" if number else ""
            for name, tensor in (("scores", adam.values), ("first", adam.first), ("second", adam.second)):
                given = torch.from_numpy(np.array(state[name + suffix]))
                tensor.copy_(given.view(torch.bfloat16) if tensor.dtype == torch.bfloat16 else given)
            adam.seen.copy_(torch.from_numpy(np.array(state["seen" + suffix])))
            adam.steps = steps

    def learned_lengths(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the lengths of internal edges and of the words' edges, where they are learned."""
        if self._lengths is None or self._leaves is None:
            return None
        edges = self._start_lengths * self._lengths.values[:, 0].exp()
        return edges.double().cpu().numpy(), self._leaves.values[:, 0].exp().double().cpu().numpy()

    def learned_parents(self) -> NDArray[np.int64] | None:
        """Return the most probable parent of each internal node, where they are learned; -1 for the root."""
        if self._tree is None:
            return None
        probabilities = _earlier_parents(self._tree.values).cpu().numpy()
        return np.append(-1, probabilities[:, 1:].argmax(axis=0))

    def _learned(self) -> list[Adam]:
        return [adam for adam in (self._words, self._lengths, self._leaves, self._tree) if adam is not None]

    def _rows(self, batch: Batch) -> list[torch.Tensor]:
        """Return the rows of each learned tensor that a batch has a gradient for."""
        words = torch.as_tensor(batch.words, device=self._device)
        every = torch.arange(self._words.values.shape[1], device=self._device)
        rows = [words] + ([every, words] if self._lengths is not None else [])
        return rows + ([every] if self._tree is not None else [])

    def _learned_rows(self, batch: Batch) -> list[tuple[Adam, torch.Tensor]]:
        return list(zip(self._learned(), self._rows(batch), strict=True))

    def _taken(self, batch: Batch) -> list[torch.Tensor]:
        """Copy what a batch needs of each learned tensor."""
        return [adam.values[rows] for adam, rows in self._learned_rows(batch)]

    def _batch_loss(self, batch: Batch, taken: list[torch.Tensor]) -> torch.Tensor:
        """Compute the contrastive loss from the scores of a batch's words."""
        rest = iter(taken[1:])
        probabilities = parent_probabilities(taken[0], self._loss.parents)  # D_2, transposed
        documents = self._documents(batch)
        settings = self._loss.smoothness, self._loss.absolute
        lengths = self._start_lengths.clone()
        if self._lengths is None:
            leaves = torch.as_tensor(batch.leaf_distances(*settings)).to(documents)
        else:
            lengths = lengths * next(rest)[:, 0].exp()
            leaves = pair_distances(documents, documents, next(rest)[:, 0].exp(), *settings)
        lengths[0] = 0  # both documents have all their mass below the root
        below = self._subtree_masses(documents @ probabilities, next(rest, None))
        distances = leaves + pair_distances(below, below, lengths, *settings)
        return contrastive_loss(distances, torch.as_tensor(batch.labels, device=self._device), self._loss.margin)

    def _documents(self, batch: Batch) -> torch.Tensor:
        """Write a batch as a dense matrix over its own words."""
        dense = np.zeros((batch.n_documents, batch.words.size), dtype=np.float32)
        dense[batch.documents, np.repeat(np.arange(batch.words.size), np.diff(batch.bounds))] = batch.masses
        return torch.as_tensor(dense, device=self._device).to(self._words.values.dtype)

    def _subtree_masses(self, masses: torch.Tensor, tree_scores: torch.Tensor | None) -> torch.Tensor:
        """Add up the mass below each node: by levels, or for learned parents by back substitution, equation (5)."""
        if tree_scores is None:
            return self._sums(masses)
        internal = _earlier_parents(tree_scores)  # D_1
        identity = torch.eye(internal.shape[0], dtype=internal.dtype, device=internal.device)
        sums: torch.Tensor = torch.linalg.solve_triangular(
            identity - internal, masses.T, upper=True, unitriangular=True
        )
        return sums.T


def _earlier_parents(scores: torch.Tensor) -> torch.Tensor:
    """Turn each column but the first into probabilities of earlier nodes: D₁ of theorem 1."""
    later = torch.ones_like(scores, dtype=torch.bool).tril()
    later[0, 0] = False  # the root's column is set to zero below
    probabilities = scores.masked_fill(later, -math.inf).softmax(dim=0)
    return probabilities * (torch.arange(scores.shape[0], device=scores.device) > 0)


def _tree_scores(tree: Tree) -> torch.Tensor:
    """Score the given parents of internal nodes so that each has nine tenths of the probability."""
    scores = torch.zeros(tree.n_nodes, tree.n_nodes, dtype=torch.float64)
    nodes = np.arange(1, tree.n_nodes)
    odds = np.log(_SURE * np.maximum(nodes - 1, 1))
    scores[torch.tensor(tree.parents[1:].tolist()), torch.as_tensor(nodes)] = torch.as_tensor(odds)
    return scores
