"""Tree-Wasserstein distances as a part of networks: gradients by documents, lengths, masses and probable parents."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.extras import require
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    import torch
else:
    torch = require("torch", purpose="treewass.trees.TreeWassersteinLoss", extra="train")

__all__ = ["SubtreeSums", "TreeWassersteinLoss", "tree_wasserstein"]

_LEARNED = ("edge_lengths", "leaf_lengths", "masses", "parents")
_SURE = 4.0  # score of a word's own node at the start, where parents are learned


class SubtreeSums:
    """Sums over subtrees, level by level: the product with the inverse of equation (5), without an inverse.

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
        self._arities: list[int] = []  # of each level whose nodes all have so many children, in order; else zero
        self._parents: list[torch.Tensor] = []
        for above, level in zip(tree.levels, tree.levels[1:], strict=False):
            parents = places[tree.parents[level]]
            arity = level.size // above.size
            regular = level.size % above.size == 0 and np.array_equal(parents, np.arange(level.size) // arity)
            self._arities.append(arity if regular else 0)
            self._parents.append(torch.as_tensor(parents, device=device))
        self._order = torch.as_tensor(order, device=device)
        self._back = torch.as_tensor(np.argsort(order), device=device)

    def __call__(self, values: torch.Tensor) -> torch.Tensor:
        """Add up, for each node, the values of the nodes in its subtree, shape (n_rows, n_nodes)."""
        levels = list(torch.split(values[:, self._order], self._sizes, dim=1))
        for depth in range(len(levels) - 1, 0, -1):
            below, above, arity = levels[depth], levels[depth - 1], self._arities[depth - 1]
            if arity:
                levels[depth - 1] = above + below.reshape(-1, above.shape[1], arity).sum(dim=2)
            else:
                levels[depth - 1] = above.index_add(1, self._parents[depth - 1], below)
        return torch.cat(levels, dim=1)[:, self._back]


def tree_wasserstein(
    first: torch.Tensor,
    second: torch.Tensor,
    tree: Tree,
    *,
    edge_lengths: torch.Tensor | None = None,
    leaf_lengths: torch.Tensor | None = None,
    masses: torch.Tensor | None = None,
    parents: torch.Tensor | None = None,
) -> torch.Tensor:
    """Compute tree-Wasserstein distances with gradients, equation (1), between documents pair by pair.

    Parameters
    ----------
    first, second : Tensor of shape (..., n_words)
        Counts or weights of zero or more, each document with a word that has mass; of shapes that broadcast together.
        Integers are computed with in torch's default kind of floating point.
    tree : Tree
        The tree, and the values of what is not given.
    edge_lengths : Tensor of shape (n_nodes,), optional
        Lengths of the edges above internal nodes; the root's never counts.
    leaf_lengths : Tensor of shape (n_words,), optional
        Lengths of the words' edges.
    masses : Tensor of shape (n_words,), optional
        Mass factors of words, one by default.
    parents : Tensor of shape (n_words, n_nodes), optional
        Probability of each internal node to be the word's parent, as in the paper's equation (3), in the place of the
        nodes that the tree hangs words from. The absolute value is the true one.

    Returns
    -------
    Tensor of shape (...)

    Notes
    -----
    Mass is moved in floating point. The gradient by an edge that has the same mass on both sides is zero there, one of
    the subgradients.

    Examples
    --------
    >>> tree = Tree([-1, 0, 0], word_nodes=[1, 1, 2])
    >>> documents = torch.eye(3, requires_grad=True)
    >>> distances = tree_wasserstein(documents[:, None], documents[None], tree)
    >>> distances
    tensor([[0., 2., 4.],
            [2., 0., 4.],
            [4., 4., 0.]], grad_fn=...)
    """
    difference = _normalized(first, masses, tree, "first") - _normalized(second, masses, tree, "second")
    edges = difference.new_tensor(tree.edge_lengths.tolist()) if edge_lengths is None else edge_lengths
    leaves = difference.new_tensor(tree.leaf_lengths.tolist()) if leaf_lengths is None else leaf_lengths
    rows = difference.reshape(-1, tree.n_words)
    if parents is None:
        nodes = torch.as_tensor(tree.word_nodes.astype(np.int64), device=rows.device)
        below = rows.new_zeros(rows.shape[0], tree.n_nodes).index_add(1, nodes, rows)
    else:
        below = rows @ parents
    crossing = SubtreeSums(tree, rows.device)(below)[:, 1:]
    distances = crossing.abs() @ edges[1:] + rows.abs() @ leaves
    return distances.reshape(difference.shape[:-1])


class TreeWassersteinLoss(torch.nn.Module):
    """The distance of a tree metric as a layer or loss of a network, with parameters that are learned if you want.

    Parameters
    ----------
    metric : TreeMetric
        One tree or several.
    learn : collection of str, default=()
        What is learned, among ``"edge_lengths"``, ``"leaf_lengths"``, ``"masses"`` and ``"parents"``. Lengths and
        masses are those of the metric times the exponential of a parameter, so that they stay positive, and zeros stay
        zero. Parents are the softmax of scores, which begin near the metric's own tree.
    dtype : torch.dtype, default=torch.float32
        Of the computation; documents of another kind are converted.

    See Also
    --------
    tree_wasserstein : The same as a function, with tensors of your own.
    TorchTreeDistance : Distances of many documents, without gradients by the tree.

    Examples
    --------
    >>> metric = TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 1, 2]))
    >>> loss = TreeWassersteinLoss(metric, learn=["masses", "parents"])
    >>> predicted = torch.softmax(torch.zeros(5, 3, requires_grad=True), dim=-1)
    >>> loss(predicted, torch.eye(3)[[0, 1, 2, 0, 1]]).mean().backward()
    >>> [name for name, _ in loss.named_parameters()]
    ['masses_0', 'parents_0']
    """

    def __init__(self, metric: TreeMetric, *, learn: Collection[str] = (), dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        unknown = sorted(set([learn] if isinstance(learn, str) else learn) - set(_LEARNED))
        if unknown:
            raise ValueError(f"Expected learn to hold names among {', '.join(_LEARNED)}, got {', '.join(unknown)}.")
        self._metric = metric
        for number, (tree, masses) in enumerate(zip(metric.trees, metric.masses, strict=True)):
            given = {"edge_lengths": tree.edge_lengths, "leaf_lengths": tree.leaf_lengths, "masses": masses}
            for name, values in given.items():
                self.register_buffer(f"given_{name}_{number}", torch.tensor(values.tolist(), dtype=dtype))
                if name in learn:
                    logarithms = torch.nn.Parameter(torch.zeros(len(values), dtype=dtype))
                    self.register_parameter(f"{name}_{number}", logarithms)
            if "parents" in learn:
                scores = torch.zeros(tree.n_words, tree.n_nodes, dtype=dtype)
                scores[torch.arange(tree.n_words), torch.as_tensor(tree.word_nodes.astype(np.int64))] = _SURE
                self.register_parameter(f"parents_{number}", torch.nn.Parameter(scores))

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """Compute the distances of documents, pair by pair.

        Parameters
        ----------
        first, second : Tensor of shape (..., n_words)
            Counts, weights or probabilities, of shapes that broadcast together: ``first[:, None]`` and
            ``second[None]`` give all pairs.

        Returns
        -------
        Tensor of shape (...)
        """
        kind = self.get_buffer("given_masses_0").dtype  # that of the module, also after .double()
        first, second = first.to(kind), second.to(kind)
        total: Any = 0.0
        for number, tree in enumerate(self._metric.trees):
            scores = getattr(self, f"parents_{number}", None)
            total = total + tree_wasserstein(
                first,
                second,
                tree,
                edge_lengths=self._values("edge_lengths", number),
                leaf_lengths=self._values("leaf_lengths", number),
                masses=self._values("masses", number),
                parents=None if scores is None else torch.softmax(scores, dim=-1),
            )
        return total  # type: ignore[no-any-return]

    def metric(self) -> TreeMetric:
        """Return what was learned as a TreeMetric, each word below its most probable parent."""
        trees, factors = [], []
        for number, tree in enumerate(self._metric.trees):
            edges, leaves, masses = (
                self._values(name, number).detach().double().cpu().numpy()
                for name in ("edge_lengths", "leaf_lengths", "masses")
            )
            scores = getattr(self, f"parents_{number}", None)
            nodes = tree.word_nodes if scores is None else scores.detach().argmax(dim=-1).cpu().numpy()
            trees.append(Tree(tree.parents, edges, nodes, leaves))
            factors.append(masses)
        return TreeMetric(trees, np.array(factors))

    def _values(self, name: str, number: int) -> torch.Tensor:
        given = self.get_buffer(f"given_{name}_{number}")
        learned = getattr(self, f"{name}_{number}", None)
        return given if learned is None else given * learned.exp()


def _normalized(documents: torch.Tensor, masses: torch.Tensor | None, tree: Tree, name: str) -> torch.Tensor:
    """Give each document mass one; refuse those that have none, and weights that are no finite number from zero."""
    if documents.shape[-1] != tree.n_words:
        raise ValueError(f"Expected {name} of shape (..., {tree.n_words}), got {tuple(documents.shape)}.")
    if not bool((torch.isfinite(documents) & (documents >= 0)).all()):
        raise ValueError(f"Expected finite weights of zero or more in {name}, got negative ones, NaN or infinity.")
    if not documents.is_floating_point():
        documents = documents.to(torch.get_default_dtype())
    weighted = documents if masses is None else documents * masses
    totals = weighted.sum(dim=-1, keepdim=True)
    if not bool((totals > 0).all()):
        raise ValueError(f"Expected a word with mass in every document of {name}, got one without.")
    return weighted / totals
