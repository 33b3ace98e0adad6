"""Trees for other programs: networkx graphs, Newick strings, JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treewass.compute.extras import require
from treewass.trees.metric import TreeMetric
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    import networkx

__all__ = ["from_json", "to_json", "to_networkx", "to_newick"]

_VERSION = 1
_TREE_FIELDS = ("parents", "edge_lengths", "word_nodes", "leaf_lengths")


def to_networkx(tree: Tree, words: Sequence[str] | None = None) -> networkx.DiGraph:
    """Turn a tree into a directed graph with edges from parents to children.

    Parameters
    ----------
    tree : Tree
        Any tree.
    words : sequence of str, length n_words, optional
        Stored as the attribute ``label`` of the words' nodes.

    Returns
    -------
    networkx.DiGraph
        Internal nodes are ``("node", v)`` and words ``("word", w)``; edges have the attribute ``length``.

    Examples
    --------
    >>> graph = to_networkx(Tree([-1, 0], word_nodes=[1, 1]), words=["cat", "dog"])
    >>> graph.number_of_nodes(), graph.nodes["word", 1]["label"]
    (4, 'dog')
    """
    networkx = require("networkx", package="networkx", purpose="to_networkx")
    labels = _labels(tree, words)
    graph = networkx.DiGraph()
    graph.add_nodes_from(("node", node) for node in range(tree.n_nodes))
    graph.add_nodes_from((("word", word), {"label": label}) for word, label in enumerate(labels))
    for node in range(1, tree.n_nodes):
        graph.add_edge(("node", int(tree.parents[node])), ("node", node), length=float(tree.edge_lengths[node]))
    for word, node in enumerate(tree.word_nodes.tolist()):
        graph.add_edge(("node", node), ("word", word), length=float(tree.leaf_lengths[word]))
    return graph


def to_newick(tree: Tree, words: Sequence[str] | None = None) -> str:
    """Write a tree in Newick format, with quoted names and branch lengths.

    Parameters
    ----------
    tree : Tree
        Any tree. Internal nodes without words below them are written as leaves named ``node7``.
    words : sequence of str, length n_words, optional
        Names of the leaves; ``word0``, ``word1``, … by default. Internal nodes are named ``node0``, ``node1``, …:
        a word of such a name differs from them by being a leaf.

    Returns
    -------
    str

    Examples
    --------
    >>> to_newick(Tree([-1, 0], word_nodes=[1, 0], leaf_lengths=[2, 3]), words=["cat", "it's"])
    "('it''s':3.0,('cat':2.0)'node1':1.0)'node0';"
    """
    leaves: list[list[str]] = [[] for _ in range(tree.n_nodes)]
    for word, label in enumerate(_labels(tree, words)):
        leaves[tree.word_nodes[word]].append(f"{_quoted(label)}:{tree.leaf_lengths[word]}")
    children: list[list[int]] = [[] for _ in range(tree.n_nodes)]
    for node, parent in enumerate(tree.parents.tolist()[1:], start=1):
        children[parent].append(node)
    pieces: list[str] = []
    waiting = [(0, False)]
    while waiting:
        node, is_open = waiting.pop()
        is_group = bool(leaves[node] or children[node])
        if is_open or not is_group:
            length = f":{tree.edge_lengths[node]}" if node else ";"
            separator = "," if node and children[tree.parents[node]][-1] != node else ""
            pieces.append(f"{')' if is_group else ''}'node{node}'{length}{separator}")
            continue
        pieces.append("(" + ",".join(leaves[node]) + ("," if leaves[node] and children[node] else ""))
        waiting.append((node, True))
        waiting.extend((child, False) for child in reversed(children[node]))
    return "".join(pieces)


def to_json(value: Tree | TreeMetric) -> str:
    """Write a tree or a metric as JSON; numbers keep every bit.

    Parameters
    ----------
    value : Tree or TreeMetric
        What to write.

    Returns
    -------
    str

    Examples
    --------
    >>> to_json(Tree([-1]))
    '{"kind": "tree", "version": 1, "parents": [-1], "edge_lengths": [1.0], ...}'
    """
    if isinstance(value, Tree):
        return json.dumps({"kind": "tree", "version": _VERSION, **_tree_fields(value)})
    if isinstance(value, TreeMetric):
        fields = {
            "trees": [_tree_fields(tree) for tree in value.trees],
            "masses": value.masses.tolist(),
            "fraction_bits": value.fraction_bits,
        }
        return json.dumps({"kind": "metric", "version": _VERSION, **fields})
    raise TypeError(f"Expected a Tree or a TreeMetric, got {type(value).__name__}.")


def from_json(text: str) -> Tree | TreeMetric:
    """Read what `to_json` wrote, checking every invariant again.

    Examples
    --------
    >>> from_json(to_json(Tree([-1, 0], word_nodes=[1])))
    Tree(n_nodes=2, n_words=1, depth=1)
    """
    try:
        fields = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"Expected JSON written by to_json, got text that is not JSON: {error}.") from error
    if not isinstance(fields, dict) or fields.get("kind") not in ("tree", "metric"):
        raise ValueError('Expected a JSON object of "kind" "tree" or "metric", as to_json writes it.')
    if fields.get("version") != _VERSION:
        raise ValueError(f"Expected version {_VERSION}, got {fields.get('version')!r}: written by another release?")
    if fields["kind"] == "tree":
        return _tree(fields)
    trees = [_tree(tree) for tree in _list_of(fields, "trees")]
    bits = fields.get("fraction_bits")
    if not isinstance(bits, int):
        raise ValueError(f"Expected the field 'fraction_bits' to hold an integer, got {bits!r}.")
    return TreeMetric(trees, _list_of(fields, "masses"), bits)


def _tree_fields(tree: Tree) -> dict[str, list[float]]:
    return {name: getattr(tree, name).tolist() for name in _TREE_FIELDS}


def _tree(fields: Any) -> Tree:
    return Tree(*(_list_of(fields, name) for name in _TREE_FIELDS))


def _list_of(fields: Any, name: str) -> list[Any]:
    """Return a field that must hold a list, as a JSON object holds it."""
    value = fields.get(name) if isinstance(fields, dict) else None
    if not isinstance(value, list):
        raise ValueError(f"Expected a JSON object with a list in the field {name!r}, as to_json writes it.")
    return value


def _labels(tree: Tree, words: Sequence[str] | None) -> list[str]:
    labels = [f"word{word}" for word in range(tree.n_words)] if words is None else [str(word) for word in words]
    if len(labels) != tree.n_words:
        raise ValueError(f"Expected one name per word ({tree.n_words}), got {len(labels)}.")
    return labels


def _quoted(label: str) -> str:
    return "'" + label.replace("'", "''") + "'"
