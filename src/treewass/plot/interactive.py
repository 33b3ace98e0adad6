"""A tree to click on: an icicle of branches and words, by plotly."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from treewass.explain.outline import OutlineNode, TreeOutline
from treewass.extras import require
from treewass.plot.colors import share_color

if TYPE_CHECKING:
    from treewass.model.document_model import DocumentModel

__all__ = ["interactive_tree"]

_LEVELS = 3
_NAMED = 3  # words that name a branch


def interactive_tree(source: DocumentModel | TreeOutline, *, max_words: int = 8) -> Any:
    """Make an icicle of a learned tree: a click opens a branch, the top of the picture leads back.

    Parameters
    ----------
    source : DocumentModel or TreeOutline
        A fitted model, or the outline of a tree.
    max_words : int, default=8
        Most words to show of each node, beside the branches below it.

    Returns
    -------
    plotly.graph_objects.Figure
        The ids of its parts are ``node7`` for branches and ``node7/cat`` for words.

    Examples
    --------
    >>> from treewass import Tree, TreeMetric
    >>> from treewass.explain import tree_outline
    >>> metric = TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 1, 2]))
    >>> outline = tree_outline(metric, [[2, 1, 0], [0, 0, 1]], ["pet", "car"], ["cat", "dog", "wheel"])
    >>> interactive_tree(outline).data[0].ids
    ('node0', 'node1', 'node1/cat', 'node1/dog', 'node2', 'node2/wheel')
    """
    graph_objects = require("plotly.graph_objects", purpose="interactive_tree", extra="plot")
    outline = source if isinstance(source, TreeOutline) else source.outline()
    parts: dict[str, list[Any]] = {key: [] for key in ("ids", "parents", "labels", "values", "colors", "hover")}
    for node in outline.nodes:
        _add_branch(parts, outline, node, max_words)
    figure = graph_objects.Figure(
        graph_objects.Icicle(
            ids=parts["ids"],
            parents=parts["parents"],
            labels=parts["labels"],
            values=parts["values"],
            marker={"colors": parts["colors"], "line": {"width": 0.5}},
            customdata=parts["hover"],
            hovertemplate="%{customdata}<extra></extra>",
            branchvalues="remainder",
            maxdepth=_LEVELS,
            tiling={"orientation": "h"},
            pathbar={"visible": True},
            textfont={"size": 13},
        )
    )
    figure.update_layout(
        margin={"l": 0, "r": 0, "t": 28, "b": 0},
        height=620,
        uniformtext={"minsize": 9, "mode": "hide"},
        paper_bgcolor="rgba(0,0,0,0)",
        font={"family": "inherit"},
    )
    return figure


def _add_branch(parts: dict[str, list[Any]], outline: TreeOutline, node: OutlineNode, max_words: int) -> None:
    """Append a branch and its own words; what it holds beyond them is the remainder of its value."""
    label, share = outline.main_class(node)
    color = share_color(outline.classes.index(label), share, len(outline.classes))
    own = node.own_words[:max_words]
    inside = sum(child.mass for child in outline.children(node.node))
    name = "all words" if node.parent < 0 else ", ".join(escape(word.word) for word in node.words[:_NAMED])
    words = ", ".join(escape(word.word) for word in node.words[:12])
    shares = sorted(zip(node.classes, outline.classes, strict=True), key=lambda pair: -pair[0])[:3]
    classes = "<br>".join(f"{escape(str(cls))} {100 * part:.0f} %" for part, cls in shares if part >= 0.01)
    _append(
        parts,
        f"node{node.node}",
        f"node{node.parent}" if node.parent >= 0 else "",
        name,
        max(node.mass - inside - sum(word.mass for word in own), 0.0),
        color,
        f"<b>{words}</b><br>{node.n_words} words, {100 * node.mass:.1f} % of the mass<br>{classes}",
    )
    for word in own:
        name, main = escape(word.word), escape(str(outline.classes[word.code]))
        hover = f"<b>{name}</b><br>{100 * word.mass:.2f} % of the mass<br>{main} {100 * word.share:.0f} %"
        color = share_color(word.code, word.share, len(outline.classes))
        _append(parts, f"node{node.node}/{word.word}", f"node{node.node}", name, word.mass, color, hover)


def _append(parts: dict[str, list[Any]], *values: Any) -> None:
    for column, value in zip(parts.values(), values, strict=True):
        column.append(value)
