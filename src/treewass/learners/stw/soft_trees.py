"""The paper's equations in torch: probable parents, smooth absolute values, the soft distance, the contrastive loss.

Everything runs on any device and has gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treewass.compute.arguments import check_choice
from treewass.compute.extras import require
from treewass.trees.torch_losses import SubtreeSums
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    import torch
else:
    torch = require("torch", purpose="treewass.learners.stw.soft_trees", extra="train")

__all__ = [
    "PARENTS",
    "contrastive_loss",
    "pair_distances",
    "parent_probabilities",
    "rankmax",
    "smooth_absolute",
    "smooth_sign",
    "soft_distances",
    "softmax",
    "sparsemax",
]

ABSOLUTES = ("tanh", "huber")
_MOST_NUMBERS = 2**24  # differences held at a time


def parent_probabilities(scores: torch.Tensor, kind: str = "softmax") -> torch.Tensor:
    """Turn each row of scores into probabilities that add up to one (section 3.4 of the paper).

    Parameters
    ----------
    scores : Tensor of shape (n_words, n_nodes)
        The paper's Θ, transposed.
    kind : {"softmax", "sparsemax", "rankmax"}, default="softmax"
        The function. All keep the order of the scores, so that the most probable parent has the largest score.

    Returns
    -------
    Tensor of shape (n_words, n_nodes)
        The paper's D₂, transposed.

    Examples
    --------
    >>> parent_probabilities(torch.tensor([[0.0, 0.5, 2.0]]), "sparsemax")
    tensor([[0., 0., 1.]])
    """
    return PARENTS[check_choice("parents", kind, PARENTS)](scores)


def softmax(scores: torch.Tensor) -> torch.Tensor:
    """Make probabilities proportional to exponentials: the paper's choice."""
    return torch.softmax(scores, dim=-1)


def sparsemax(scores: torch.Tensor) -> torch.Tensor:
    """Project each row onto the probabilities, in the Euclidean sense (Martins and Astudillo 2016)."""
    scores = scores - scores.amax(dim=-1, keepdim=True).detach()
    ordered = scores.sort(dim=-1, descending=True).values
    sums = ordered.cumsum(dim=-1) - 1
    ranks = torch.arange(1, scores.shape[-1] + 1, device=scores.device, dtype=scores.dtype)
    support = (ranks * ordered > sums).sum(dim=-1, keepdim=True)
    return torch.relu(scores - sums.gather(-1, support - 1) / support)


def rankmax(scores: torch.Tensor) -> torch.Tensor:
    """Make probabilities proportional to max(0, 1 + score − best score) (Kong et al. 2020).

    Rankmax adapts the projection to a target entry, which gets rank one. A word has no target parent, so its best one
    is taken instead.
    """
    raised = torch.relu(1 + scores - scores.amax(dim=-1, keepdim=True))
    return raised / raised.sum(dim=-1, keepdim=True)


PARENTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "softmax": softmax,
    "sparsemax": sparsemax,
    "rankmax": rankmax,
}


def smooth_absolute(values: torch.Tensor, smoothness: float, kind: str = "tanh") -> torch.Tensor:
    r"""Approximate the absolute value by a smooth function, as :math:`|x|_\alpha` in equation (3).

    The paper's :math:`x (e^{\alpha x} - e^{-\alpha x}) / (2 + e^{\alpha x} + e^{-\alpha x})` overflows for
    :math:`|\alpha x| > 88` in float32. It equals :math:`x \tanh(\alpha x / 2)`, which does not.

    Parameters
    ----------
    values : Tensor
        Any numbers.
    smoothness : float
        The larger, the closer to the absolute value (:math:`\alpha`).
    kind : {"tanh", "huber"}, default="tanh"
        The paper's function, or :math:`\sqrt{x^2 + 1/\alpha^2} - 1/\alpha`.

    Returns
    -------
    Tensor
        Zero at zero, and positive elsewhere.

    Examples
    --------
    >>> smooth_absolute(torch.tensor([-1e6, 0.0, 0.001]), 2.0)
    tensor([1.0000e+06, 0.0000e+00, 1.0000e-06])
    """
    if check_choice("absolute", kind, ABSOLUTES) == "tanh":
        return values * torch.tanh(0.5 * smoothness * values)
    squares, least = values.square(), 1 / smoothness
    return squares / (torch.sqrt(squares + least**2) + least)


def smooth_sign(values: torch.Tensor, smoothness: float, kind: str = "tanh") -> torch.Tensor:
    """Compute the derivative of `smooth_absolute`."""
    if kind == "huber":
        return values / torch.sqrt(values.square() + 1 / smoothness**2)
    scaled = 0.5 * smoothness * values
    rise = torch.tanh(scaled)
    return rise + scaled * (1 - rise.square())


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
        The internal nodes and their lengths. Its own words are ignored; the words' edges have length one.
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


def contrastive_loss(
    distances: torch.Tensor, labels: torch.Tensor, margin: float, weights: torch.Tensor | None = None
) -> torch.Tensor:
    """Compute the paper's contrastive loss over all pairs of different documents (section 3.4).

    Parameters
    ----------
    distances : Tensor of shape (n_documents, n_documents)
        Symmetric; only the upper triangle is read.
    labels : Tensor of int, shape (n_documents,)
    margin : float
        Distance beyond which documents of different labels are far enough.
    weights : Tensor of shape (n_documents,), optional
        Weights of documents; a pair weighs as much as their product. By default all weigh the same.

    Returns
    -------
    Tensor
        A number: the mean distance of equal labels, less the mean over different labels of the distance or the margin,
        whichever is smaller. A mean over no pair is zero.

    Examples
    --------
    >>> distances = torch.tensor([[0.0, 1.0, 9.0], [1.0, 0.0, 3.0], [9.0, 3.0, 0.0]])
    >>> contrastive_loss(distances, torch.tensor([0, 0, 1]), margin=5.0)
    tensor(-3.)
    """
    first, second = torch.triu_indices(len(distances), len(distances), offset=1, device=distances.device)
    pairs = distances[first, second]
    same = labels[first] == labels[second]
    shares = torch.ones_like(pairs) if weights is None else weights[first] * weights[second]
    near, far = shares[same], shares[~same]
    loss = pairs.new_zeros(())
    if near.numel():
        loss = loss + (near * pairs[same]).sum() / near.sum()
    if far.numel():
        loss = loss - (far * pairs[~same].clamp(max=margin)).sum() / far.sum()
    return loss


def pair_distances(
    X: torch.Tensor, Y: torch.Tensor, lengths: torch.Tensor, smoothness: float, absolute: str = "tanh"
) -> torch.Tensor:
    """Sum lengths times smooth absolute differences, between each row of `X` and each row of `Y`.

    Differences are computed a few rows at a time, and again for the gradient, so that memory is that of the results.
    Lengths, one for each column, get no gradient. Infinite smoothness takes the true absolute value.
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
        by_row, by_other = torch.empty_like(X), torch.zeros_like(Y)
        size = _rows_at_a_time(Y)
        for start in range(0, X.shape[0], size):
            weights = gradients[0][start : start + size]
            differences = X[start : start + size, None] - Y[None]
            slopes = _sign(differences, context.smoothness, context.absolute) * lengths * weights[:, :, None]
            by_row[start : start + size] = slopes.sum(dim=1)
            by_other -= slopes.sum(dim=0)
        return by_row, by_other, None, None, None


def _rows_at_a_time(Y: torch.Tensor) -> int:
    return max(1, _MOST_NUMBERS // max(1, Y.numel()))


def _absolute(values: torch.Tensor, smoothness: float, kind: str) -> torch.Tensor:
    return values.abs() if smoothness == float("inf") else smooth_absolute(values, smoothness, kind)


def _sign(values: torch.Tensor, smoothness: float, kind: str) -> torch.Tensor:
    return values.sign() if smoothness == float("inf") else smooth_sign(values, smoothness, kind)
