import builtins
import json
import re

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import metrics, trees
from treewass import Tree, TreeMetric
from treewass.trees import from_json, perfect_tree, to_json, to_networkx, to_newick


def parse_newick(text):
    """Read a Newick string into {name: (parent's name, length)}, by a plain recursive descent."""
    tokens = re.findall(r"'(?:[^']|'')*'|[(),:;]|[^(),:;']+", text)
    edges, position = {}, 0

    def node():
        nonlocal position
        children = []
        if tokens[position] == "(":
            position += 1
            children.append(node())
            while tokens[position] == ",":
                position += 1
                children.append(node())
            assert tokens[position] == ")"
            position += 1
        name = tokens[position][1:-1].replace("''", "'")
        position += 1
        length = None
        if tokens[position] == ":":
            length = float(tokens[position + 1])
            position += 2
        for child, child_length in children:
            edges[child] = (name, child_length)
        return name, length

    root, _ = node()
    assert tokens[position:] == [";"]
    return root, edges


@given(trees())
def test_newick_holds_every_edge(tree):
    root, edges = parse_newick(to_newick(tree))
    expected = {f"node{v}": (f"node{tree.parents[v]}", tree.edge_lengths[v]) for v in range(1, tree.n_nodes)}
    expected |= {f"word{w}": (f"node{tree.word_nodes[w]}", tree.leaf_lengths[w]) for w in range(tree.n_words)}
    assert root == "node0"
    assert edges == expected


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4, unique=True))
def test_newick_quotes_any_word(words):
    names = [f"w{word}" for word in words]
    _, edges = parse_newick(to_newick(Tree([-1], word_nodes=[0] * len(names)), names))
    assert set(edges) == set(names)


@given(trees())
def test_networkx_has_the_same_distances(tree):
    graph = to_networkx(tree)
    assert networkx.is_arborescence(graph)
    lengths = dict(networkx.all_pairs_dijkstra_path_length(graph.to_undirected(), weight="length"))
    for first in range(tree.n_words):
        for second in range(tree.n_words):
            expected = lengths["word", first]["word", second]
            assert tree.word_distances(first, second) == pytest.approx(expected, abs=1e-12)


@given(st.one_of(trees(), metrics(max_components=3)))
def test_json_round_trip_keeps_every_bit(value):
    assert from_json(to_json(value)) == value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "forest"}, "kind"),
        ({"version": 2}, "Expected version 1, got 2"),
        ({"parents": [-1, 1]}, "come after its parent"),
        ({"edge_lengths": [1, -1]}, "non-negative"),
        ({"word_nodes": [7]}, "between 0 and 1"),
        ({"edge_lengths": None}, "a list in the field 'edge_lengths'"),
    ],
)
def test_changed_json_is_refused(change, message):
    fields = json.loads(to_json(perfect_tree(1, 1).with_words([1])))
    with pytest.raises(ValueError, match=message):
        from_json(json.dumps(fields | change))


@pytest.mark.parametrize("field", ["trees", "masses", "fraction_bits"])
@pytest.mark.parametrize("value", [None, [-7], "x"])
def test_changed_metrics_are_refused(field, value):
    fields = json.loads(to_json(TreeMetric(perfect_tree(1, 1).with_words([1]))))
    with pytest.raises((ValueError, TypeError), match="Expected"):
        from_json(json.dumps(fields | {field: value}))


def test_json_keeps_the_fraction_bits():
    metric = TreeMetric(perfect_tree(1, 1).with_words([1]), fraction_bits=5)
    assert from_json(to_json(metric)).fraction_bits == 5


def test_deep_trees_are_written_without_recursion():
    text = to_newick(Tree(range(-1, 50_000), word_nodes=[50_000]))
    assert text.count("(") == text.count(")") == 50_001


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"kind": "tree", "version": 1}'])
def test_other_json_is_refused(text):
    with pytest.raises(ValueError, match="Expected"):
        from_json(text)


def test_only_trees_and_metrics_become_json():
    with pytest.raises(TypeError, match="Expected a Tree or a TreeMetric, got dict"):
        to_json({})


def test_wrong_number_of_names_is_refused():
    tree = Tree([-1], word_nodes=[0, 0])
    for export in (to_newick, to_networkx):
        with pytest.raises(ValueError, match=r"one name per word \(2\), got 1"):
            export(tree, ["a"])


def test_missing_networkx_is_named(monkeypatch):
    real = builtins.__import__

    def without_networkx(name, *arguments, **options):
        if name == "networkx":
            raise ModuleNotFoundError("No module named 'networkx'", name="networkx")
        return real(name, *arguments, **options)

    monkeypatch.setattr("treewass.compute.extras.import_module", without_networkx)
    with pytest.raises(ImportError, match="pip install networkx"):
        to_networkx(Tree([-1]))
