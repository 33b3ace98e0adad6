"""From scores to the probabilities of a word's parents: softmax and its sparse relatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treewass.extras import require

if TYPE_CHECKING:
    import torch
else:
    torch = require("torch", purpose="treewass.learners.soft.parent_probabilities", extra="train")

__all__ = ["PARENTS", "entmax", "parent_probabilities", "rankmax", "softmax", "sparsemax"]


def parent_probabilities(scores: torch.Tensor, kind: str = "softmax") -> torch.Tensor:
    """Turn each row of scores into probabilities that add up to one (section 3.4 of the paper).

    Parameters
    ----------
    scores : Tensor of shape (n_words, n_nodes)
        The paper's Θ, transposed.
    kind : {"softmax", "sparsemax", "entmax", "rankmax"}, default="softmax"
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
    if kind not in PARENTS:
        raise ValueError(f"Expected parents to be one of {', '.join(PARENTS)}, got {kind!r}.")
    return PARENTS[kind](scores)


def softmax(scores: torch.Tensor) -> torch.Tensor:
    """Make probabilities proportional to exponentials: the paper's choice."""
    return torch.softmax(scores, dim=-1)


def sparsemax(scores: torch.Tensor) -> torch.Tensor:
    """Project each row onto the probabilities, in the Euclidean sense (Martins and Astudillo 2016)."""
    return _projected(_Sparsemax, scores)


def entmax(scores: torch.Tensor) -> torch.Tensor:
    """Take entmax with exponent 1.5, half-way between softmax and sparsemax (Peters, Niculae and Martins 2019)."""
    return _projected(_Entmax, scores)


def rankmax(scores: torch.Tensor) -> torch.Tensor:
    """Make probabilities proportional to max(0, 1 + score − best score) (Kong et al. 2020).

    Rankmax adapts the projection to a target entry, which gets rank one. A word has no target parent, so that its best
    one stands for it.
    """
    raised = torch.relu(1 + scores - scores.amax(dim=-1, keepdim=True))
    return raised / raised.sum(dim=-1, keepdim=True)


class _Projection(torch.autograd.Function):
    """A projection p of scores whose Jacobian is diag(s) − s sᵀ / Σs for some s of p."""

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> torch.Tensor:
        (slopes,) = context.saved_tensors
        weighted = slopes * gradients[0]
        means = weighted.sum(dim=-1, keepdim=True) / slopes.sum(dim=-1, keepdim=True)
        result: torch.Tensor = weighted - slopes * means
        return result


class _Sparsemax(_Projection):
    @staticmethod
    def forward(context: Any, scores: torch.Tensor) -> torch.Tensor:
        scores = scores - scores.amax(dim=-1, keepdim=True)
        ordered = scores.sort(dim=-1, descending=True).values
        sums = ordered.cumsum(dim=-1) - 1
        ranks = torch.arange(1, scores.shape[-1] + 1, device=scores.device, dtype=scores.dtype)
        support = (ranks * ordered > sums).sum(dim=-1, keepdim=True)
        threshold = sums.gather(-1, support - 1) / support
        result = torch.relu(scores - threshold)
        context.save_for_backward((result > 0).to(result.dtype))
        return result


class _Entmax(_Projection):
    @staticmethod
    def forward(context: Any, scores: torch.Tensor) -> torch.Tensor:
        scores = (scores - scores.amax(dim=-1, keepdim=True)) / 2
        ordered = scores.sort(dim=-1, descending=True).values
        ranks = torch.arange(1, scores.shape[-1] + 1, device=scores.device, dtype=scores.dtype)
        means = ordered.cumsum(dim=-1) / ranks
        spreads = ordered.square().cumsum(dim=-1) - ranks * means.square()
        thresholds = means - torch.sqrt(torch.clamp((1 - spreads) / ranks, min=0))
        support = (thresholds <= ordered).sum(dim=-1, keepdim=True)
        root = torch.relu(scores - thresholds.gather(-1, support - 1))
        context.save_for_backward(root)
        return root.square()


def _projected(function: type[_Projection], scores: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = function.apply(scores)  # type: ignore[no-untyped-call]
    return result


PARENTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "softmax": softmax,
    "sparsemax": sparsemax,
    "entmax": entmax,
    "rankmax": rankmax,
}
