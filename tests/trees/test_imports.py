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


def word_names(tree):
    return [f"word{word}" for word in range(tree.n_words)]


@given(trees())
def test_trees_come_back_from_networkx(tree):
    read, names = from_networkx(to_networkx(tree))
    assert names == word_names(tree)
    assert (read.n_nodes, read.n_words) == (tree.n_nodes, tree.n_words)
    assert tree_distances(read) == pytest.approx(tree_distances(tree), abs=1e-9)


@given(trees())
def test_trees_come_back_from_newick_with_their_empty_nodes_as_words(tree):
    read, names = from_newick(to_newick(tree))
    places = [names.index(name) for name in word_names(tree)]
    assert tree_distances(read)[np.ix_(places, places)] == pytest.approx(tree_distances(tree), abs=1e-9)


def test_leaves_without_a_label_are_no_words_beside_those_that_have_one():
    tree = Tree([-1, 0, 0], [1, 2, 3], word_nodes=[1, 1])
    assert from_networkx(to_networkx(tree, ["cat", "dog"])) == (tree, ["cat", "dog"])
    graph = networkx.DiGraph([("thing", "cat"), ("thing", "dog")])
    graph.nodes["thing"]["label"] = "a label of the root"
    assert from_networkx(graph)[1] == ["cat", "dog"]


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
    assert names == word_names(tree)
    assert tree_distances(read) == pytest.approx(np.array(expected), abs=1e-9)


def test_newick_with_comments_spaces_and_missing_lengths():
    tree, words = from_newick(" ( (a[first], b:2.5e0)c , 'd e':1 ) ;\n")
    assert words == ["a", "b", "d e"]
    assert tree.word_distances([0, 0, 1], [1, 2, 2]).tolist() == [3.5, 3.0, 4.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("((a,b);", "unmatched brackets"),
        ("(a,b)", "semicolon, but ';' is missing"),
        ("(a:1,a:2);", "differ from each other, but 'a' name several leaves"),
        ("(a,b));", "got '\\)' after"),
        ("(a,b);c;", "or more text"),
        ("(a:x,b);", "number after ':', got 'x'"),
        ("(a 'b', c);", "after 'a'"),
        ("(a,'b);", "not closed"),
        ("(a:-1,b);", "leaf_lengths"),
        ("a;", "one leaf below its root"),
        (";", "one leaf below its root"),
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
        (networkx.empty_graph(1, create_using=networkx.DiGraph), "one leaf below its root"),
        (networkx.Graph([(0, 1)]), "root= as one of the vertices of an undirected tree, such as 0, got None"),
        (networkx.DiGraph([(0, 1, {"weight": 5}), (0, 2)]), "attribute 'length', but they only have 'weight'"),
    ],
)
def test_graphs_that_are_no_trees_are_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        from_networkx(graph)


def test_lengths_under_another_name_and_words_of_one_name():
    graph = networkx.DiGraph([(0, 1, {"weight": 5}), (0, 2, {"weight": 7})])
    assert from_networkx(graph, length="weight")[0].leaf_lengths.tolist() == [5, 7]
    graph.nodes[1]["label"] = graph.nodes[2]["label"] = "cat"
    with pytest.raises(ValueError, match="'cat' name several leaves"):
        from_networkx(graph, length="weight")


def test_what_is_no_tree_at_all_is_refused_by_its_type():
    with pytest.raises(TypeError, match="Newick format as str, got int"):
        from_newick(5)
    with pytest.raises(TypeError, match="Graph, got NoneType"):
        from_networkx(None)


@pytest.mark.parametrize("kind", [networkx.MultiDiGraph, networkx.MultiGraph])
def test_graphs_of_several_edges_are_refused(kind):
    with pytest.raises(TypeError, match=f"DiGraph or Graph, got {kind.__name__}.* Convert it"):
        from_networkx(kind([("a", "b"), ("a", "c")]), root="a")


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
