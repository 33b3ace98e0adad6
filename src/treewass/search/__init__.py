"""Search: embedding documents, distances, the exact index."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.search.distance_matrix import pairwise
    from treewass.search.embedding import embed
    from treewass.search.index import TreeIndex
    from treewass.search.torch_distances import TorchTreeDistance

__all__ = ["TorchTreeDistance", "TreeIndex", "embed", "pairwise"]
__getattr__, __dir__ = attach(
    __name__,
    {
        "TorchTreeDistance": ".torch_distances",
        "TreeIndex": ".index",
        "embed": ".embedding",
        "pairwise": ".distance_matrix",
    },
)
