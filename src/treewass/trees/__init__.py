"""Trees over words: values, shapes, conversions."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.trees.exports import from_json, to_json, to_networkx, to_newick
    from treewass.trees.matrices import from_matrices, subtree_matrix, to_matrices
    from treewass.trees.metric import TreeMetric
    from treewass.trees.shapes import perfect_tree, star_tree
    from treewass.trees.tree import Tree

__all__ = [
    "Tree",
    "TreeMetric",
    "from_json",
    "from_matrices",
    "perfect_tree",
    "star_tree",
    "subtree_matrix",
    "to_json",
    "to_matrices",
    "to_networkx",
    "to_newick",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "Tree": ".tree",
        "TreeMetric": ".metric",
        "from_json": ".exports",
        "from_matrices": ".matrices",
        "perfect_tree": ".shapes",
        "star_tree": ".shapes",
        "subtree_matrix": ".matrices",
        "to_json": ".exports",
        "to_matrices": ".matrices",
        "to_networkx": ".exports",
        "to_newick": ".exports",
    },
)
