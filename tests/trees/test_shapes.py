import numpy as np
import pytest

from treewass.trees import perfect_tree, star_tree


@pytest.mark.parametrize(("arity", "depth"), [(1, 0), (1, 6), (2, 4), (5, 3), (5, 5), (7, 1)])
def test_perfect_trees_have_full_levels(arity, depth):
    tree = perfect_tree(arity, depth)
    assert [level.size for level in tree.levels] == [arity**level for level in range(depth + 1)]
    inner = np.bincount(tree.parents[1:], minlength=tree.n_nodes)
    assert set(inner[tree.depths < depth]) <= {arity}
    assert (inner[tree.depths == depth] == 0).all()


@pytest.mark.parametrize(("arity", "depth"), [(0, 2), (2, -1), (10, 12)])
def test_impossible_shapes_are_refused(arity, depth):
    with pytest.raises(ValueError, match="Expected"):
        perfect_tree(arity, depth)


def test_star_trees_hang_every_word_from_the_root():
    tree = star_tree(3, [1, 2, 3])
    assert tree.word_nodes.tolist() == [0, 0, 0]
    assert tree.word_distances([0, 1], [1, 2]).tolist() == [3, 5]
