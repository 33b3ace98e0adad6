import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from tests.oracles import tree_distances
from tests.strategies import trees
from treewass import Tree, TreeMetric
from treewass.trees import from_linkage, from_networkx, from_newick, quadtree, to_networkx, to_newick


def of_words(tree, names, n_words):
    """Distances of the words named word0, word1, …; nodes that have nothing below them are leaves, too."""
    places = [names.index(f"word{word}") for word in range(n_words)]
    return tree.word_distances(np.array(places)[:, None], places)


@given(trees())
def test_trees_come_back_from_networkx_and_newick(tree):
    expected = tree_distances(tree)
    for read, names in (from_networkx(to_networkx(tree)), from_newick(to_newick(tree))):
        assert of_words(read, names, tree.n_words) == pytest.approx(expected, abs=1e-9)


@given(st.integers(3, 9).flatmap(lambda n: hnp.arrays(np.float64, (n, 2), elements=st.integers(-9, 9).map(float))))
def test_linkage_gives_cophenetic_distances(points):
    for method in ("average", "complete", "single", "ward"):
        joined = linkage(points, method)
        tree = from_linkage(joined)
        words = np.arange(len(points))
        assert tree.word_distances(words[:, None], words) == pytest.approx(squareform(cophenet(joined)), abs=1e-9)


@given(trees(min_words=2))
def test_undirected_trees_hang_from_any_root(tree):
    graph = to_networkx(tree).to_undirected()
    found = dict(networkx.all_pairs_dijkstra_path_length(graph, weight="length"))
    read, names = from_networkx(graph, root=("node", 0))
    expected = [[found["word", a]["word", b] for b in range(tree.n_words)] for a in range(tree.n_words)]
    assert of_words(read, names, tree.n_words) == pytest.approx(np.array(expected), abs=1e-9)


def test_newick_with_comments_spaces_and_missing_lengths():
    tree, words = from_newick(" ( (a[first], b:2.5e0)c , 'd e':1 ) ;\n")
    assert words == ["a", "b", "d e"]
    assert tree.word_distances([0, 0, 1], [1, 2, 2]).tolist() == [3.5, 3.0, 4.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("((a,b);", "unmatched brackets"),
        ("(a,b)", "ends with ';'"),
        ("(a,b));", "got '\\)' after"),
        ("(a,b);c;", "or more text"),
        ("(a:x,b);", "number after ':', got 'x'"),
        ("(a 'b', c);", "after 'a'"),
        ("(a,'b);", "not closed"),
        ("(a:-1,b);", "leaf_lengths"),
    ],
)
def test_damaged_newick_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        from_newick(text)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (networkx.DiGraph(), "at least one vertex"),
        (networkx.DiGraph([(0, 1), (2, 1)]), "one vertex without a parent, the root, got 2"),
        (networkx.DiGraph([(0, 1), (0, 2), (1, 3), (2, 3)]), "second way to the vertex 3"),
        (networkx.DiGraph([(0, 1), (2, 3), (3, 2)]), "does not reach: \\[2, 3\\]"),
        (networkx.Graph([(0, 1)]), "root of an undirected tree .* got None"),
    ],
)
def test_graphs_that_are_no_trees_are_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        from_networkx(graph)


def test_damaged_linkage_is_refused():
    with pytest.raises(ValueError, match=r"shape \(n_words - 1, 4\)"):
        from_linkage([[0, 1, 2]])
    with pytest.raises(ValueError, match="joined once"):
        from_linkage([[0, 0, 1.0, 2], [1, 3, 2.0, 3]])
    with pytest.raises(ValueError, match=r"do not fall .* clusters 3 do"):
        from_linkage([[0, 1, 2.0, 2], [2, 3, 1.0, 3]])


def test_a_metric_from_vectors_by_any_tree():
    points = np.random.RandomState(0).normal(size=(12, 3))
    by_linkage = TreeMetric.from_word_vectors(points, lambda given: from_linkage(linkage(given, "average")))
    assert by_linkage.pairwise(np.eye(12)) == pytest.approx(squareform(cophenet(linkage(points, "average"))), abs=1e-6)
    assert TreeMetric.from_word_vectors(points, quadtree).trees == (quadtree(points),)
    two = TreeMetric.from_word_vectors(points, lambda given: [quadtree(given), Tree([-1], word_nodes=[0] * 12)])
    assert two.n_components == 2
