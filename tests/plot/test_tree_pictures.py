from itertools import pairwise

import numpy as np
import pytest

from treewass import plot
from treewass.cards.colors import class_color
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


def test_the_icicle_holds_the_tree(large):
    trace = plot.interactive_tree(large, max_words=3).data[0]
    parents = dict(zip(trace.ids, trace.parents, strict=True))
    assert len(parents) == len(trace.ids)
    assert {f"node{node.node}" for node in large.nodes} <= set(parents)
    assert all(parent in parents for name, parent in parents.items() if name != "node0")
    totals = dict(zip(trace.ids, trace.values, strict=True))
    assert sum(totals.values()) == pytest.approx(1)
    assert min(totals.values()) >= 0


def test_markup_in_words_stays_text():
    words = ["<b>x</b>", "y", "z"]
    from treewass import Tree, TreeMetric

    outline = tree_outline(TreeMetric(Tree([-1, 0], word_nodes=[1, 1, 0])), np.eye(3), ["a", "<i>", "c"], words)
    trace = plot.interactive_tree(outline).data[0]
    assert not any("<b>x" in text for text in trace.labels)
    assert all("<b>x" not in text and "<i>" not in text for text in trace.customdata)


def test_colours_differ():
    assert len({class_color(code) for code in range(60)}) == 60
