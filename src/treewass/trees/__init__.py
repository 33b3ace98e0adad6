"""Trees over words: values, shapes, conversions."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.trees.clusters import cluster_tree
    from treewass.trees.exports import from_json, to_json, to_networkx, to_newick
    from treewass.trees.matrices import from_matrices, subtree_matrix, to_matrices
    from treewass.trees.metric import TreeMetric
    from treewass.trees.quadtrees import quadtree
    from treewass.trees.shapes import perfect_tree, star_tree
    from treewass.trees.tree import Tree

__all__ = [
    "Tree",
    "TreeMetric",
    "cluster_tree",
    "from_json",
    "from_matrices",
    "perfect_tree",
    "quadtree",
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
        "cluster_tree": ".clusters",
        "from_json": ".exports",
        "from_matrices": ".matrices",
        "perfect_tree": ".shapes",
        "quadtree": ".quadtrees",
        "star_tree": ".shapes",
        "subtree_matrix": ".matrices",
        "to_json": ".exports",
        "to_matrices": ".matrices",
        "to_networkx": ".exports",
        "to_newick": ".exports",
    },
)
