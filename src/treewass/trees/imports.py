"""Trees from other programs: networkx graphs, Newick strings, SciPy's linkage matrices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.arguments import shown
from treewass.documents.histograms import first_few
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["from_linkage", "from_networkx", "from_newick"]

_TOKENS = re.compile(r"\[[^\]]*\]|'(?:[^']|'')*'|[(),:;]|[^\s(),:;'\[\]]+")


def from_networkx(graph: Any, *, length: str = "length", root: Any = None) -> tuple[Tree, list[Any]]:
    """Read a tree from a networkx graph; the vertices without children become words.

    If one of them has the attribute ``label``, those that have none become internal nodes without words.

    Parameters
    ----------
    graph : networkx.DiGraph or networkx.Graph
        A tree with edges from parents to children, as `to_networkx` makes it, or an undirected tree.
    length : str, default="length"
        The attribute of edges that holds their length, one where it is missing. If it is missing everywhere, edges
        must have no other attributes: pass ``"weight"`` where that is the length.
    root : vertex, optional
        The root of an undirected tree. A directed one has it: the vertex without a parent.

    Returns
    -------
    tree : Tree
        Words are in the order of the graph's vertices.
    words : list
        The attribute ``label`` of each word's vertex, or else the vertex itself; each word once.

    Examples
    --------
    >>> import networkx
    >>> graph = networkx.DiGraph([("animal", "cat"), ("animal", "dog"), ("thing", "animal"), ("thing", "car")])
    >>> tree, words = from_networkx(graph)
    >>> words, tree.word_distances([0, 0], [1, 2])
    (['cat', 'dog', 'car'], array([2., 3.]))
    """
    if not hasattr(graph, "is_multigraph"):
        raise TypeError(f"Expected a networkx.DiGraph or Graph, got {type(graph).__name__}.")
    if graph.is_multigraph():
        raise TypeError(
            f"Expected a networkx.DiGraph or Graph, got {type(graph).__name__}, which may hold several edges between "
            "two vertices. Convert it: networkx.DiGraph(graph), or networkx.Graph(graph)."
        )
    vertices = list(graph.nodes)
    if not vertices:
        raise ValueError("Expected a graph with at least one vertex, got none.")
    others = {attribute for *_, held in graph.edges(data=True) for attribute in held}
    if others and length not in others:
        raise ValueError(
            f"Expected the length of edges in their attribute {length!r}, but they only have "
            f"{first_few(sorted(map(repr, others)))}. Name the right one, such as from_networkx(graph, "
            "length='weight'); for edges of length one remove the attributes."
        )
    number = {vertex: place for place, vertex in enumerate(vertices)}
    root = _root(graph, root)
    parents, lengths = [-1] * len(vertices), [1.0] * len(vertices)
    seen, waiting = {root}, [root]
    while waiting:
        vertex = waiting.pop()
        for child in graph.adj[vertex]:
            if not graph.is_directed() and number[child] == parents[number[vertex]]:
                continue
            if child in seen:
                raise ValueError(f"Expected a tree, got a second way to the vertex {child!r}.")
            seen.add(child)
            waiting.append(child)
            parents[number[child]] = number[vertex]
            lengths[number[child]] = float(graph.edges[vertex, child].get(length, 1.0))
    if len(seen) < len(vertices):
        missed = [vertex for vertex in vertices if vertex not in seen]
        raise ValueError(f"Expected one tree, got vertices that the root does not reach: {missed[:5]}.")
    labelled = ["label" in graph.nodes[vertex] for vertex in vertices]
    tree, leaves = _assemble(parents, lengths, labelled)
    return tree, _unique([graph.nodes[vertices[leaf]].get("label", vertices[leaf]) for leaf in leaves])


def from_newick(text: str) -> tuple[Tree, list[str]]:
    """Read a tree in Newick format; its leaves become words.

    Parameters
    ----------
    text : str
        One tree, with quoted names or plain ones. Branches without a length have length one; comments in brackets are
        passed over.

    Returns
    -------
    tree : Tree
        Words are in the order of the text.
    words : list of str
        Names of the leaves, each once; empty where they have none.

    Examples
    --------
    >>> tree, words = from_newick("((cat:1,'it''s':2)animal:0.5,car:3);")
    >>> words, tree.word_distances([0, 0], [1, 2])
    (['cat', "it's", 'car'], array([3. , 4.5]))
    """
    if not isinstance(text, str):
        raise TypeError(f"Expected a tree in Newick format as str, got {type(text).__name__}.")
    left = _TOKENS.sub("", text).strip()
    if left:
        raise ValueError(f"Expected a tree in Newick format, got a quote or bracket not closed near {left[:20]!r}.")
    parents, lengths, names = [-1], [1.0], [""]
    vertex, before = 0, ""
    pieces = _words_of(text)
    for piece in pieces:
        if piece == "(":
            _demand(before in ("", "(", ","), piece, before)
            parents.append(vertex)
            vertex = len(parents) - 1
        elif piece == ",":
            _demand(vertex > 0, piece, before)
            parents.append(parents[vertex])
            vertex = len(parents) - 1
        elif piece == ")":
            _demand(vertex > 0, piece, before)
            vertex = parents[vertex]
        elif piece == ":":
            lengths[vertex] = _length(next(pieces, ""))
        elif piece == ";":
            break
        else:
            _demand(before in ("", "(", ",", ")"), piece, before)
            names[vertex] = piece[1:-1].replace("''", "'") if piece.startswith("'") else piece
        lengths += [1.0] * (len(parents) - len(lengths))
        names += [""] * (len(parents) - len(names))
        before = piece
    else:
        raise ValueError("Expected a tree in Newick format that ends with a semicolon, but ';' is missing. Add it.")
    if vertex != 0 or next(pieces, None) is not None:
        raise ValueError("Expected one tree in Newick format, got unmatched brackets, or more text after ';'.")
    tree, leaves = _assemble(parents, lengths, [True] * len(parents))
    return tree, _unique([names[leaf] for leaf in leaves])


def from_linkage(Z: ArrayLike) -> Tree:
    """Turn a hierarchical clustering of SciPy into a tree whose distances are the cophenetic ones.

    Parameters
    ----------
    Z : array-like of shape (n_words - 1, 4)
        As `scipy.cluster.hierarchy.linkage` returns it, or ``AgglomerativeClustering`` after stacking its children and
        distances. Distances must not fall from a cluster to the one that holds it, as they may with centroid and
        median linkage.

    Returns
    -------
    Tree
        The words are the points, in their order. The path between two of them is as long as the distance at which
        their clusters were joined.

    Examples
    --------
    >>> from scipy.cluster.hierarchy import linkage
    >>> tree = from_linkage(linkage([[0.0], [1.0], [5.0]], "average"))
    >>> tree.word_distances([0, 0], [1, 2])
    array([1. , 4.5])
    """
    joined = np.asarray(Z, dtype=np.float64)
    if joined.ndim != 2 or joined.shape[1] != 4 or not joined.shape[0]:
        raise ValueError(f"Expected a linkage matrix of shape (n_words - 1, 4), got {joined.shape}.")
    n_words = joined.shape[0] + 1
    clusters = joined[:, :2].astype(np.int64)
    own = np.arange(n_words, 2 * n_words - 1)
    if not np.array_equal(np.sort(clusters, axis=None), np.arange(2 * n_words - 2)) or (clusters >= own[:, None]).any():
        raise ValueError("Expected each point and each cluster but the last to be joined once, after it was made.")
    above = np.zeros(2 * n_words - 1, dtype=np.int64)  # the cluster that each one is joined into
    above[clusters] = own[:, None]
    heights = np.concatenate([np.zeros(n_words), joined[:, 2]]) / 2
    lengths = heights[above] - heights
    lengths[-1] = 1.0  # the root's never counts
    fallen = np.flatnonzero(lengths < 0)
    if fallen.size:
        raise ValueError(
            f"Expected distances that do not fall from a cluster to the one that holds it, but those of clusters "
            f"{first_few(fallen)} do. Use another linkage method, such as average."
        )
    last = 2 * n_words - 2
    inner = np.arange(last, n_words - 1, -1)  # the root first
    parents = last - above[inner]
    parents[0] = -1
    return Tree(parents, lengths[inner], last - above[:n_words], lengths[:n_words])


def _root(graph: Any, given: Any) -> Any:
    """Find the root of a directed tree; check the one given for an undirected tree."""
    if not graph.is_directed():
        if given not in graph:
            raise ValueError(
                f"Expected root= as one of the vertices of an undirected tree, such as {next(iter(graph))!r}, got "
                f"{shown(given)}."
            )
        return given
    tops = [vertex for vertex in graph.nodes if graph.in_degree(vertex) == 0]
    if len(tops) != 1:
        raise ValueError(f"Expected one vertex without a parent, the root, got {len(tops)}: {tops[:5]}.")
    return tops[0]


def _unique(words: list[Any]) -> list[Any]:
    """Refuse words that come more than once, but for leaves without a name."""
    again = [word for word, times in Counter(words).items() if times > 1 and word != ""]
    if again:
        raise ValueError(
            f"Expected words that differ from each other, but {first_few(list(map(repr, again)))} name several leaves. "
            "Rename them."
        )
    return words


def _assemble(parents: Sequence[int], lengths: Sequence[float], labelled: Sequence[bool]) -> tuple[Tree, list[int]]:
    """Make a tree of vertices in any order, given their parents; also return the vertices that are words.

    These are the labelled leaves, or all leaves where none is labelled.
    """
    children: list[list[int]] = [[] for _ in parents]
    for vertex, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(vertex)
    root = list(parents).index(-1)
    leaves = [vertex for vertex, below in enumerate(children) if not below and vertex != root]
    leaves = [leaf for leaf in leaves if labelled[leaf]] or leaves
    if not leaves:
        raise ValueError("Expected a tree with at least one leaf below its root, to be a word, got a single vertex.")
    words = set(leaves)
    order = [root]
    for vertex in order:
        order += [child for child in children[vertex] if child not in words]
    place = {vertex: node for node, vertex in enumerate(order)}
    return Tree(
        [-1, *(place[parents[vertex]] for vertex in order[1:])],
        [lengths[vertex] for vertex in order],
        [place[parents[leaf]] for leaf in leaves],
        [lengths[leaf] for leaf in leaves],
    ), leaves


def _words_of(text: str) -> Iterator[str]:
    return (token for token in _TOKENS.findall(text) if not token.startswith("["))


def _length(token: str) -> float:
    try:
        return float(token)
    except ValueError as error:
        raise ValueError(f"Expected a number after ':', got {token!r}.") from error


def _demand(true: bool, token: str, before: str) -> None:
    if not true:
        raise ValueError(f"Expected a tree in Newick format, got {token!r} after {before!r}.")
