"""Pictures of a learned tree: one to print, branches from left to right, and one to click on, by plotly."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.cards.colors import GREY, ink_on, share_color
from treewass.compute.extras import require
from treewass.explain.branches import OutlineNode, OutlineWord, TreeOutline, stands_out
from treewass.plot.charts import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewass.model.document_model import DocumentModel

__all__ = ["interactive_tree", "tree"]

_MOST_BRANCHES, _MOST_WORDS = 6, 6  # of a node that get a line each; the others share one
_LABEL_LENGTH = 46
_LEVELS = 3  # that the tree to click on shows at a time
_NAMED, _NAME_LENGTH = 3, 22  # words that name a branch there, and their characters
_FOLDED = 0.05  # of the size of the others that all folded branches have together


@dataclass(slots=True, eq=False)
class _Part:
    """A word, some words together, or a branch; an opened branch has parts to its right."""

    label: str
    mass: float
    code: int
    share: float
    depth: int
    node: OutlineNode | None = None
    inside: list[_Part] = field(default_factory=list)
    height: float = 0.0

    def rows(self) -> Iterator[_Part]:
        """Yield what gets a line, from the top."""
        if not self.inside:
            yield self
        for part in self.inside:
            yield from part.rows()


def tree(source: DocumentModel | TreeOutline, *, max_rows: int = 36, ax: Axes | None = None) -> Axes:
    """Draw a learned tree, the branches that tell most opened until the picture is full.

    Branches in which no class stands out, such as that of the commonest words, share one grey line, the last.

    Parameters
    ----------
    source : DocumentModel or TreeOutline
        A fitted model, or the outline of a tree.
    max_rows : int, default=36
        Most lines: words of small trees, branches with their heaviest words of large ones.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure of a fitting height by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from treewass import Tree, TreeMetric
    >>> from treewass.explain import tree_outline
    >>> metric = TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 1, 2]))
    >>> outline = tree_outline(metric, [[2, 1, 0], [0, 0, 1]], ["pet", "car"], ["cat", "dog", "wheel"])
    >>> [text.get_text() for text in tree(outline).texts]
    ['cat', '  pet 100 %', 'dog', '  pet 100 %', 'wheel', '  car 100 %']
    """
    outline = source if isinstance(source, TreeOutline) else source.outline()
    root = _opened(outline, max_rows)
    rows = list(root.rows())
    ax = new_axes(ax, (9.0, 0.7 + 0.27 * len(rows)))
    for number, row in enumerate(rows):
        row.height = -float(number)
    _place(root)
    right = max(row.depth for row in rows)
    _draw_branches(ax, root, right, len(outline.classes))
    for row in rows:
        _draw_label(ax, row, right, outline)
    ax.set_axis_off()
    ax.set_xlim(-0.05, right / 0.36)
    ax.set_ylim(-len(rows) + 0.3, 0.7)
    return ax


def _opened(outline: TreeOutline, max_rows: int) -> _Part:
    """Open branches, those first whose insides tell most beyond the branch itself, while there is room."""
    root = _branch(outline.nodes[0], 0)
    waiting: list[tuple[float, int, _Part, list[_Part]]] = []
    n_rows = 1

    def offer(part: _Part) -> None:
        if part is not root and not stands_out(part.share, len(outline.classes)):
            return
        if part.node is not None and (inside := _inside(outline, part.node, part.depth + 1, max_rows)):
            gain = sum(_score(entry, outline) for entry in inside) - _score(part, outline)
            heapq.heappush(waiting, (-gain if part is not root else -np.inf, part.node.node, part, inside))

    offer(root)
    while waiting:
        _, _, part, inside = heapq.heappop(waiting)
        if part is not root and n_rows - 1 + len(inside) > max_rows:
            continue
        part.inside = inside
        n_rows += len(inside) - 1
        for entry in inside:
            offer(entry)
    return root


def _score(part: _Part, outline: TreeOutline) -> float:
    """Weigh how far a part's main class stands out by its mass."""
    return part.mass * max(part.share - 1 / len(outline.classes), 0.0)


def _branch(node: OutlineNode, depth: int) -> _Part:
    code = int(np.argmax(node.classes))
    return _Part(_listed(node.words, node.n_words), node.mass, code, node.classes[code], depth, node)


def _inside(outline: TreeOutline, node: OutlineNode, depth: int, max_rows: int) -> list[_Part]:
    """List the branches below a node and its own words; those that tell least are put together at the end."""
    told, mixed = outline.told_and_mixed(node.node)
    children = told + mixed
    n_own = node.n_words - sum(child.n_words for child in children)
    own = [_Part(word.word, word.mass, word.code, word.share, depth) for word in node.own_words]
    if n_own > len(own) or len(own) > (max_rows if node.parent < 0 else _MOST_WORDS):
        own = [_joined_words(outline, node, children, n_own, depth)]
    most = max(max_rows - 1, 1) if node.parent < 0 else _MOST_BRANCHES
    if len(told) + bool(mixed) > most:
        told, mixed = told[: most - 1], told[most - 1 :] + mixed
    every = [_branch(child, depth) for child in told] + (own if n_own else [])
    every += [_joined_branches(mixed, depth)] if mixed else []
    if len(every) > 1 or node.parent < 0:
        return every
    return _inside(outline, every[0].node, depth, max_rows) if every and every[0].node is not None else []


def _joined_branches(nodes: list[OutlineNode], depth: int) -> _Part:
    words = tuple(sorted((word for node in nodes for word in node.words), key=lambda word: -word.mass))
    mass = sum(node.mass for node in nodes)
    shares = sum(node.mass * np.array(node.classes) for node in nodes) / mass
    code = int(np.argmax(shares))
    return _Part(_listed(words, sum(node.n_words for node in nodes)), mass, code, float(np.max(shares)), depth)


def _joined_words(
    outline: TreeOutline, node: OutlineNode, children: list[OutlineNode], count: int, depth: int
) -> _Part:
    """Put a node's own words together: what its branches leave of it."""
    shares = node.mass * np.array(node.classes) - sum(child.mass * np.array(child.classes) for child in children)
    mass = max(node.mass - sum(child.mass for child in children), 0.0)
    code = int(np.argmax(shares))
    share = float(shares[code] / shares.sum()) if shares.sum() > 0 else 1 / len(outline.classes)
    return _Part(_listed(node.own_words, count), mass, code, share, depth)


def _listed(words: tuple[OutlineWord, ...], count: int) -> str:
    """Name the heaviest words and say how many there are beside them."""
    shown: list[str] = []
    for word in words:
        if shown and len(", ".join([*shown, word.word])) > _LABEL_LENGTH:
            break
        shown.append(word.word)
    return ", ".join(shown) + (f" +{count - len(shown)}" if count > len(shown) else "")


def _place(part: _Part) -> float:
    """Put every branch in the middle of what lies right of it."""
    if part.inside:
        heights = [_place(entry) for entry in part.inside]
        part.height = (heights[0] + heights[-1]) / 2
    return part.height


def _draw_branches(ax: Axes, part: _Part, right: int, n_classes: int) -> None:
    middle = part.depth + 0.4
    heights = [entry.height for entry in part.inside]
    ax.plot([part.depth, middle], [part.height] * 2, color=GREY, linewidth=1.2)
    ax.plot([middle] * 2, [min(heights), max(heights)], color=GREY, linewidth=1.2, solid_capstyle="projecting")
    for entry in part.inside:
        color = _color(entry, n_classes)
        width = min(0.8 + 9.0 * entry.mass**0.5, 6.0)
        end = part.depth + 1
        ax.plot([middle, end], [entry.height] * 2, color=color, linewidth=width, solid_capstyle="butt")
        if entry.inside:
            _draw_branches(ax, entry, right, n_classes)
        elif end < right:
            ax.plot([end, right], [entry.height] * 2, color=color, linewidth=0.7, linestyle=":")


def _draw_label(ax: Axes, row: _Part, right: int, outline: TreeOutline) -> None:
    text = ax.text(right + 0.04 * right, row.height, row.label, va="center", fontsize=9, parse_math=False)
    n_classes = len(outline.classes)
    if n_classes == 1:
        return
    name = f"{outline.classes[row.code]} {100 * row.share:.0f} %" if stands_out(row.share, n_classes) else "mixed"
    ax.annotate(
        f"  {name}", xy=(1, 0.5), xycoords=text, parse_math=False,
        va="center", fontsize=8, color=_color(row, n_classes), fontweight="bold",
    )  # fmt: skip


def _color(part: _Part, n_classes: int) -> str:
    """Return the colour of a part: that of its main class, grey where none stands out."""
    return (
        share_color(part.code, part.share, n_classes) if stands_out(part.share, n_classes) or n_classes == 1 else GREY
    )


def interactive_tree(
    source: DocumentModel | TreeOutline, *, max_words: int = 8, classes: Sequence[Any] | None = None
) -> Any:
    """Make a map of a learned tree: branches within branches, as large as their mass; a click opens one.

    Branches that tell most about a class come first. Those right below the root that tell next to nothing, such as
    that of the commonest words, are drawn last, folded: closed, and small whatever their mass.

    Parameters
    ----------
    source : DocumentModel or TreeOutline
        A fitted model, or the outline of a tree.
    max_words : int, default=8
        Most words to show of each node, beside the branches below it.
    classes : sequence, optional
        Labels in the order of their colours; by default those of the model or the outline.

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
    known = source.classes if isinstance(source, TreeOutline) else source.contents_.classes
    ordered = list(classes or known or outline.classes)  # without labels, the outline has one group
    drawing = _Drawing(outline, [ordered.index(label) for label in outline.classes], max_words)
    drawing.add(outline.nodes[0])
    figure = graph_objects.Figure(
        graph_objects.Treemap(
            **drawing.columns(),
            hovertemplate="%{customdata}<extra></extra>",
            branchvalues="remainder",
            maxdepth=_LEVELS,
            sort=False,
            tiling={"pad": 2},
            pathbar={"visible": True},
            root={"color": "rgba(0,0,0,0)"},
        )
    )
    figure.update_layout(
        margin={"l": 0, "r": 0, "t": 28, "b": 0},
        height=620,
        uniformtext={"minsize": 10, "mode": "hide"},
        paper_bgcolor="rgba(0,0,0,0)",
        font={"family": "inherit"},
    )
    return figure


class _Drawing:
    """The parts of a map of a tree, in the order in which they are drawn."""

    def __init__(self, outline: TreeOutline, codes: list[int], max_words: int) -> None:
        self._outline = outline
        self._codes = codes  # of the colours of the outline's classes
        self._max_words = max_words
        self._parts: list[tuple[str, str, str, float, str, str]] = []

    def columns(self) -> dict[str, Any]:
        """Return the parts as plotly takes them."""
        ids, parents, labels, values, colors, hover = zip(*self._parts, strict=True)
        marker = {"colors": colors, "line": {"width": 0.5}, "pad": {"t": 22, "l": 2, "r": 2, "b": 2}, "cornerradius": 3}
        return {
            "ids": ids, "parents": parents, "labels": labels, "values": values, "marker": marker, "customdata": hover,
            "textfont": {"size": 13, "color": list(map(ink_on, colors))},
        }  # fmt: skip

    def add(self, node: OutlineNode, folded_mass: float | None = None) -> None:
        """Append a branch and all below it; one that is folded is closed, and as large as it is told to be."""
        own = node.own_words[: self._max_words]
        told, mixed = self._outline.told_and_mixed(node.node)
        if node.parent >= 0:  # further down, mixed ones are small as they are
            told, mixed = told + mixed, []
        inside = sum(child.mass for child in told + mixed) + sum(word.mass for word in own)
        rest = max(node.mass - inside, 0.0) if folded_mass is None else folded_mass
        self._append_branch(node, rest, is_folded=folded_mass is not None)
        if folded_mass is not None:
            return
        for child in told:
            self.add(child)
        for word in own:
            self._append_word(node, word)
        most = _FOLDED * sum(child.mass for child in told)
        for child in mixed:
            self.add(child, min(child.mass, most / len(mixed)))

    def _append_branch(self, node: OutlineNode, value: float, is_folded: bool) -> None:
        label, share = self._outline.main_class(node)
        name = "mixed" if is_folded else "all words" if node.parent < 0 else self._name(node)
        words = ", ".join(escape(word.word) for word in node.words[:12])
        shares = sorted(zip(node.classes, self._outline.classes, strict=True), key=lambda pair: -pair[0])[:3]
        shown = [f"<br>{escape(str(cls))} {100 * part:.0f} %" for part, cls in shares if part >= 0.01]
        classes = "".join(shown) if len(self._outline.classes) > 1 else ""
        hover = f"<b>{words}</b><br>{node.n_words} words, {100 * node.mass:.1f} % of the mass{classes}"
        parent = f"node{node.parent}" if node.parent >= 0 else ""
        color = GREY if is_folded else self._color(self._outline.classes.index(label), share)
        self._parts.append((f"node{node.node}", parent, name, value, color, hover))

    def _name(self, node: OutlineNode) -> str:
        """Name a branch by its heaviest words: some that fit a line right below the root, one further down."""
        most = _NAME_LENGTH if node.parent == 0 else 0
        named = [word.word for word in node.words[:_NAMED]]
        while len(named) > 1 and len(", ".join(named)) > most:
            named.pop()
        return ", ".join(map(escape, named))

    def _append_word(self, node: OutlineNode, word: OutlineWord) -> None:
        name, main = escape(word.word), escape(str(self._outline.classes[word.code]))
        hover = f"<b>{name}</b><br>{100 * word.mass:.2f} % of the mass"
        hover += f"<br>{main} {100 * word.share:.0f} %" if len(self._outline.classes) > 1 else ""
        color = self._color(word.code, word.share)
        self._parts.append((f"node{node.node}/{word.word}", f"node{node.node}", name, word.mass, color, hover))

    def _color(self, code: int, share: float) -> str:
        return share_color(self._codes[code], share, len(self._outline.classes))
