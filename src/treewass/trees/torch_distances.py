"""Tree-Wasserstein distances by torch, on any device: the batch form of the paper's algorithm 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.arguments import shown
from treewass.compute.extras import require
from treewass.documents.histograms import first_few
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
else:
    torch = require("torch", purpose="treewass.trees.TorchTreeDistance", extra="train")

__all__ = ["TorchTreeDistance"]

_BYTES = 2**28


class TorchTreeDistance(torch.nn.Module):
    """Distances between batches of documents under a tree metric, algorithm 1 for inference.

    Words are multiplied by the matrix of the nodes above them, C of line 7, which is sparse and computed once; the
    distance is the L1 distance of the products, line 8. Unlike `TreeMetric.pairwise` it is not in fixed point: results
    differ by rounding from device to device.

    Parameters
    ----------
    metric : TreeMetric
        One tree or several.
    memory : int, default=2**28
        Bytes for documents at a time, dense and embedded; the result comes on top.
    dtype : torch.dtype, default=torch.float32
        Of the computation.

    Examples
    --------
    >>> from treewass import Tree
    >>> distance = TorchTreeDistance(TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 1, 2])))
    >>> distance(torch.tensor([[1, 0, 0]]), torch.eye(3))
    tensor([[0., 2., 4.]])
    """

    def __init__(self, metric: TreeMetric, *, memory: int = _BYTES, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        if memory < 1:
            raise ValueError(f"Expected memory as a positive number of bytes, got {shown(memory)}.")
        self.memory = memory
        self._n_words = metric.n_words
        for number, (tree, words, masses) in enumerate(
            zip(metric.trees, metric.word_features, metric.masses, strict=True)
        ):
            lengths = np.concatenate([tree.edge_lengths[1:], tree.leaf_lengths])
            matrix = words.multiply(lengths[None, :]).tocoo()
            places = torch.from_numpy(np.stack([matrix.col, matrix.row]).astype(np.int64))
            features = torch.sparse_coo_tensor(
                places, torch.from_numpy(matrix.data).to(dtype), (lengths.size, metric.n_words), check_invariants=True
            )
            self.register_buffer(f"features_{number}", features.coalesce())
            self.register_buffer(f"masses_{number}", torch.tensor(masses.tolist(), dtype=dtype))
        self.n_components = metric.n_components

    def forward(self, queries: Any, documents: Any) -> torch.Tensor:
        """Compute the distance between each query and each document.

        Parameters
        ----------
        queries, documents : Tensor, ndarray or sparse matrix of shape (n_documents, n_words)
            Counts or weights, each row with a known word; moved to the module's device.

        Returns
        -------
        Tensor of shape (n_queries, n_documents)

        Raises
        ------
        ValueError
            For a wrong number of words, values that are negative or not finite, or rows without a known word.
        """
        first, second = self._sliceable(queries, "queries"), self._sliceable(documents, "documents")
        total = self.get_buffer("masses_0").new_zeros(first.shape[0], second.shape[0])
        for number in range(self.n_components):
            size = self._rows_at_a_time(number)
            for start in range(0, first.shape[0], size):
                rows = self._embedded(self._counts(first, start, size, "queries"), number, "queries", start)
                for other in range(0, second.shape[0], size):
                    columns = self._embedded(self._counts(second, other, size, "documents"), number, "documents", other)
                    total[start : start + size, other : other + size] += torch.cdist(rows, columns, p=1)
        return total

    def _rows_at_a_time(self, number: int) -> int:
        """Divide the memory by that of a query and a document, dense and embedded."""
        features = self.get_buffer(f"features_{number}")
        return max(1, self.memory // (2 * features.element_size() * (self._n_words + features.shape[0])))

    def _sliceable(self, given: Any, name: str) -> Any:
        """Bring documents into a form that gives some rows at a time; sparse ones stay sparse."""
        if hasattr(given, "tocsr"):
            given = given.tocsr()
        elif not isinstance(given, torch.Tensor):
            given = np.asarray(given)
        elif given.layout != torch.strided:
            given = given.to_sparse(layout=torch.sparse_coo).coalesce()
        if given.ndim != 2 or given.shape[1] != self._n_words:
            raise ValueError(f"Expected {name} of shape (n, {self._n_words}), got {tuple(given.shape)}.")
        return given

    def _counts(self, given: Any, start: int, size: int, name: str) -> torch.Tensor:
        """Bring some rows to the module's device and type, dense."""
        masses = self.get_buffer("masses_0")
        stop = min(start + size, given.shape[0])
        if hasattr(given, "tocsr"):
            kind = np.float64 if masses.dtype == torch.float64 else np.float32
            some = given[start:stop].astype(kind).toarray()
        elif isinstance(given, torch.Tensor) and given.layout != torch.strided:
            some = given.index_select(0, torch.arange(start, stop, device=given.device)).to_dense()
        else:
            some = given[start:stop]
        counts = torch.as_tensor(some, device=masses.device).to(masses.dtype)
        wrong = (~(counts.isfinite() & (counts >= 0))).any(dim=1).nonzero()[:, 0] + start
        if wrong.numel():
            raise ValueError(f"Expected finite counts of zero or more in {name}, got others in rows {_listed(wrong)}.")
        return counts

    def _embedded(self, counts: torch.Tensor, number: int, name: str, start: int) -> torch.Tensor:
        """Embed documents: rows of mass one times the matrix of nodes above words."""
        weighted = counts * self.get_buffer(f"masses_{number}")
        totals = weighted.sum(dim=1, keepdim=True)
        unknown = (totals[:, 0] <= 0).nonzero()[:, 0] + start
        if unknown.numel():
            raise ValueError(f"Expected a known word in every row of {name}, got none in rows {_listed(unknown)}.")
        above: torch.Tensor = torch.sparse.mm(self.get_buffer(f"features_{number}"), (weighted / totals).T)
        return above.T.contiguous()


def _listed(rows: torch.Tensor) -> str:
    numbers: NDArray[np.int64] = rows.cpu().numpy()
    return first_few(numbers)
