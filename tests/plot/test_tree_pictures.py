from itertools import pairwise

import numpy as np
import pytest

from treewass import Tree, TreeMetric, plot
from treewass.cards.colors import GREY, class_color
from treewass.explain import tree_outline


def overlaps(ax):
    """Pairs of labels, left of their classes, that lie over each other."""
    renderer = ax.figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in ax.texts[::2]]
    return [(one, other) for one, other in pairwise(boxes) if one.overlaps(other)]


def test_a_small_tree_shows_every_word(small):
    ax = plot.tree(small)
    shown = [text.get_text() for text in ax.texts[::2]]
    assert set(shown) == set(small.words_)
    assert not overlaps(ax)


def test_a_large_tree_is_cut_to_what_can_be_read(large):
    ax = plot.tree(large, max_rows=30)
    shown = [text.get_text() for text in ax.texts[::2]]
    assert 10 <= len(shown) <= 30
    assert all(len(label) < 60 for label in shown)
    assert any("+" in label for label in shown)
    assert not overlaps(ax)
    everything = sum(node.mass for node in large.nodes if node.parent < 0)
    assert everything == pytest.approx(1)


def test_branches_in_which_no_class_stands_out_share_the_last_line():
    metric = TreeMetric(Tree([-1, 0, 0, 0, 1, 1], word_nodes=[4, 5, 2, 3, 3]))
    counts = [[4, 4, 2, 0, 1], [4, 4, 2, 1, 1], [4, 4, 2, 0, 3]]
    outline = tree_outline(metric, counts, ["pet", "car", "car"], ["the", "of", "a", "wheel", "road"])
    drawn = [text.get_text().strip() for text in plot.tree(outline).texts]
    assert drawn[-2:] == ["the, of, a", "mixed"]
    assert "mixed" not in drawn[:-2]
    assert plot.tree(outline).texts[-1].get_color() == GREY


def folded(outline):
    """Branches right below the root whose main class has little more than its even share."""
    even = 1 / len(outline.classes)
    return [n for n in outline.nodes if n.parent == 0 and (max(n.classes) - even) / (1 - even) <= 0.2]


def test_the_interactive_tree_holds_the_tree(large):
    trace = plot.interactive_tree(large, max_words=3).data[0]
    parents = dict(zip(trace.ids, trace.parents, strict=True))
    assert len(parents) == len(trace.ids)
    closed = {f"node{node.node}" for node in folded(large)}
    assert not closed & set(trace.parents)
    below = {name for name in map("node{}".format, range(1000)) if name in parents}
    opened = {f"node{node.node}" for node in large.nodes if not under(large, node, folded(large))}
    assert below == opened | closed
    assert all(parent in parents for name, parent in parents.items() if name != "node0")
    totals = dict(zip(trace.ids, trace.values, strict=True))
    small = sum(totals[name] for name in closed)
    mixed = sum(node.mass for node in folded(large))
    assert sum(totals.values()) - small == pytest.approx(1 - mixed)
    assert small <= 0.05
    assert min(totals.values()) >= 0


def under(outline, node, tops):
    """Tell whether a branch is one of some, or lies below one."""
    nodes = {entry.node: entry for entry in outline.nodes}
    while node.parent > 0:
        node = nodes[node.parent]
    return node in tops


def test_the_interactive_tree_leads_with_what_tells_and_folds_what_does_not():
    metric = TreeMetric(Tree([-1, 0, 0, 0], word_nodes=[1, 2, 3, 3]))
    counts = [[8, 1, 0, 0], [8, 0, 1, 1], [8, 0, 1, 0]]
    outline = tree_outline(metric, counts, ["pet", "car", "car"], ["the", "cat", "road", "wheel"])
    trace = plot.interactive_tree(outline).data[0]
    assert [name for name, parent in zip(trace.ids, trace.parents, strict=True) if parent == "node0"] == [
        "node3", "node2", "node1",
    ]  # fmt: skip
    assert dict(zip(trace.ids, trace.labels, strict=True))["node1"] == "mixed"
    assert dict(zip(trace.ids, trace.values, strict=True))["node1"] < 0.02
    plain = tree_outline(metric, [[1, 0, 0, 0], [1, 0, 0, 0]], ["pet", "car"], ["the", "cat", "road", "wheel"])
    assert "mixed" not in plot.interactive_tree(plain).data[0].labels  # nothing tells, so nothing is folded


def test_colours_are_those_of_all_classes():
    metric = TreeMetric(Tree([-1, 0], word_nodes=[1, 1]))
    outline = tree_outline(metric, [[1, 0], [0, 1]], ["b", "c"], ["x", "y"])
    trace = plot.interactive_tree(outline, classes=["a", "b", "c"]).data[0]
    assert dict(zip(trace.ids, trace.marker.colors, strict=True))["node1/x"] == class_color(1)


def test_markup_in_words_stays_text():
    words = ["<b>x</b>", "y", "z"]
    outline = tree_outline(TreeMetric(Tree([-1, 0], word_nodes=[1, 1, 0])), np.eye(3), ["a", "<i>", "c"], words)
    trace = plot.interactive_tree(outline).data[0]
    assert not any("<b>x" in text for text in trace.labels)
    assert all("<b>x" not in text and "<i>" not in text for text in trace.customdata)


def test_colours_differ():
    assert len({class_color(code) for code in range(60)}) == 60
