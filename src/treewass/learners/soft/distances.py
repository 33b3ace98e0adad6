"""The soft tree-Wasserstein distance and the contrastive loss, for any device and with gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.extras import require
from treewass.learners.soft.absolutes import smooth_absolute, smooth_sign
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    import torch
else:
    torch = require("torch", purpose="treewass.learners.soft.soft_distances", extra="train")

__all__ = ["SubtreeSums", "contrastive_loss", "pair_distances", "soft_distances"]

_MOST_NUMBERS = 2**24  # differences held at a time


class SubtreeSums:
    """Sums over subtrees, level by level: the product with the inverse of equation (5), without an inverse.

    Parameters
    ----------
    tree : Tree
        The internal nodes.
    device : torch.device or str, default="cpu"
        Where values will be.

    Examples
    --------
    >>> SubtreeSums(Tree([-1, 0, 0, 1]))(torch.tensor([[1.0, 2.0, 4.0, 8.0]]))
    tensor([[15., 10.,  4.,  8.]])
    """

    def __init__(self, tree: Tree, device: torch.device | str = "cpu") -> None:
        places = np.zeros(tree.n_nodes, dtype=np.int64)
        for level in tree.levels:
            places[level] = np.arange(level.size)
        order = np.concatenate(tree.levels)
        self._sizes = [level.size for level in tree.levels]
        self._arities: list[int] = []
        self._parents: list[torch.Tensor] = []
        for above, level in zip(tree.levels, tree.levels[1:], strict=False):
            parents = places[tree.parents[level]]
            arity = level.size // above.size
            regular = level.size % above.size == 0 and np.array_equal(parents, np.arange(level.size) // arity)
            self._arities.append(arity if regular else 0)
            self._parents.append(torch.as_tensor(parents, device=device))
        self._in_order = np.array_equal(order, np.arange(order.size))
        self._order = torch.as_tensor(order, device=device)
        self._back = torch.as_tensor(np.argsort(order), device=device)

    def __call__(self, values: torch.Tensor) -> torch.Tensor:
        """Add up, for each node, the values of the nodes in its subtree, shape (n_rows, n_nodes)."""
        ordered = values if self._in_order else values[:, self._order]
        levels = list(torch.split(ordered, self._sizes, dim=1))
        for depth in range(len(levels) - 1, 0, -1):
            below, above, arity = levels[depth], levels[depth - 1], self._arities[depth - 1]
            if arity:
                levels[depth - 1] = above + below.reshape(-1, above.shape[1], arity).sum(dim=2)
            else:
                levels[depth - 1] = above.index_add(1, self._parents[depth - 1], below)
        sums = torch.cat(levels, dim=1)
        return sums if self._in_order else sums[:, self._back]


def soft_distances(
    X: torch.Tensor,
    Y: torch.Tensor,
    probabilities: torch.Tensor,
    tree: Tree,
    *,
    smoothness: float = 2.0,
    absolute: str = "tanh",
) -> torch.Tensor:
    r"""Compute the soft tree-Wasserstein distance, equation (3), between each row of `X` and each row of `Y`.

    Parameters
    ----------
    X, Y : Tensor of shape (n_documents, n_words)
        Histograms: rows of equal mass.
    probabilities : Tensor of shape (n_words, n_nodes)
        Probability of each internal node to be the word's parent, as `parent_probabilities` gives it.
    tree : Tree
        The internal nodes and their lengths; its own words are passed over, the words' edges have length one.
    smoothness : float, default=2.0
        :math:`\alpha`; infinity takes the true absolute value.
    absolute : {"tanh", "huber"}, default="tanh"
        Which smooth absolute value.

    Returns
    -------
    Tensor of shape (n_documents_X, n_documents_Y)
        Symmetric and zero for equal documents only, but without a triangle inequality.

    Examples
    --------
    >>> words = torch.eye(2)
    >>> soft_distances(words, words, words, Tree([-1, 0]), smoothness=float("inf"))
    tensor([[0., 3.],
            [3., 0.]])
    """
    sums = SubtreeSums(tree, probabilities.device)
    lengths = torch.tensor(tree.edge_lengths.tolist(), dtype=probabilities.dtype, device=probabilities.device)
    lengths[0] = 0  # both documents have all their mass below the root
    ones = torch.ones(X.shape[1], dtype=X.dtype, device=X.device)
    below = pair_distances(sums(X @ probabilities), sums(Y @ probabilities), lengths, smoothness, absolute)
    return below + pair_distances(X, Y, ones, smoothness, absolute)


def contrastive_loss(distances: torch.Tensor, labels: torch.Tensor, margin: float) -> torch.Tensor:
    """Compute the paper's contrastive loss over all pairs of different documents (section 3.4).

    Parameters
    ----------
    distances : Tensor of shape (n_documents, n_documents)
        Symmetric; the upper triangle is read.
    labels : Tensor of int, shape (n_documents,)
    margin : float
        Distance beyond which documents of different labels are far enough.

    Returns
    -------
    Tensor
        A number: mean distance of equal labels, less the mean of distance or margin of different ones, whichever is
        smaller. A mean over no pair is zero.

    Examples
    --------
    >>> distances = torch.tensor([[0.0, 1.0, 9.0], [1.0, 0.0, 3.0], [9.0, 3.0, 0.0]])
    >>> contrastive_loss(distances, torch.tensor([0, 0, 1]), margin=5.0)
    tensor(-3.)
    """
    first, second = torch.triu_indices(len(distances), len(distances), offset=1, device=distances.device)
    pairs = distances[first, second]
    same = labels[first] == labels[second]
    near, far = pairs[same], pairs[~same]
    return near.sum() / max(1, near.numel()) - far.clamp(max=margin).sum() / max(1, far.numel())


def pair_distances(
    X: torch.Tensor, Y: torch.Tensor, lengths: torch.Tensor, smoothness: float, absolute: str = "tanh"
) -> torch.Tensor:
    """Sum lengths times smooth absolute differences, between each row of `X` and each row of `Y`.

    Differences are computed a few rows at a time, and again for the gradient, so that memory is that of the results.

    Parameters
    ----------
    X, Y : Tensor of shape (n_rows, n_columns)
        Any numbers.
    lengths : Tensor of shape (n_columns,)
        Factors of the columns.
    smoothness : float
        As in `smooth_absolute`; infinity takes the true absolute value.
    absolute : {"tanh", "huber"}, default="tanh"
        Which smooth absolute value.

    Returns
    -------
    Tensor of shape (n_rows_X, n_rows_Y)
    """
    result: torch.Tensor = _PairDistances.apply(X, Y, lengths, smoothness, absolute)  # type: ignore[no-untyped-call]
    return result


class _PairDistances(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, X: torch.Tensor, Y: torch.Tensor, lengths: torch.Tensor, smoothness: float, absolute: str
    ) -> torch.Tensor:
        context.save_for_backward(X, Y, lengths)
        context.smoothness, context.absolute = smoothness, absolute
        parts = torch.split(X, _rows_at_a_time(Y))
        return torch.cat([_absolute(rows[:, None] - Y[None], smoothness, absolute) @ lengths for rows in parts])

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        X, Y, lengths = context.saved_tensors
        by_row, by_other, by_length = torch.empty_like(X), torch.zeros_like(Y), torch.zeros_like(lengths)
        size = _rows_at_a_time(Y)
        for start in range(0, X.shape[0], size):
            weights = gradients[0][start : start + size]
            differences = X[start : start + size, None] - Y[None]
            slopes = _sign(differences, context.smoothness, context.absolute) * lengths * weights[:, :, None]
            by_row[start : start + size] = slopes.sum(dim=1)
            by_other -= slopes.sum(dim=0)
            if context.needs_input_grad[2]:
                values = _absolute(differences, context.smoothness, context.absolute)
                by_length += torch.einsum("xy,xyc->c", weights, values)
        return by_row, by_other, by_length, None, None


def _rows_at_a_time(Y: torch.Tensor) -> int:
    return max(1, _MOST_NUMBERS // max(1, Y.numel()))


def _absolute(values: torch.Tensor, smoothness: float, kind: str) -> torch.Tensor:
    return values.abs() if smoothness == float("inf") else smooth_absolute(values, smoothness, kind)


def _sign(values: torch.Tensor, smoothness: float, kind: str) -> torch.Tensor:
    return values.sign() if smoothness == float("inf") else smooth_sign(values, smoothness, kind)
