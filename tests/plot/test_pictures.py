from itertools import pairwise

import numpy as np
import pytest
from matplotlib import pyplot

from treewass import DocumentModel, plot
from treewass.documents import make_documents
from treewass.explain import Explanation, Move, tree_outline
from treewass.learners.refinement import RefinementRecord
from treewass.model import Evaluation
from treewass.plot.colors import class_color


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def small():
    return DocumentModel(n_neighbors=1).fit(
        ["cats purr $x$", "dogs bark", "cats sleep", "dogs sleep"], ["cat", "dog"] * 2
    )


@pytest.fixture(scope="module")
def large():
    from treewass import ProfileTreeWasserstein

    X, y = make_documents(400, n_words=5000, words_per_document=60, n_classes=6, random_state=0)
    metric = ProfileTreeWasserstein(refine=False, arity=8, depth=3, min_split=1).fit(X, y).metric_
    return tree_outline(metric, X, y, [f"word{number}" for number in range(5000)])


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


def test_pictures_go_where_they_are_told(small, tmp_path):
    _, ax = pyplot.subplots()
    explanation = small.explain("cats purr", "dogs sleep")
    assert plot.tree(small, ax=ax) is ax
    assert plot.plan(explanation, ax=ax) is ax
    assert plot.history([{"epoch": 1, "loss": 1.0}], ax=ax) is ax
    assert plot.confusion(Evaluation(("a", "b"), ((1, 0), (0, 1)), 2, {}), ax=ax) is ax
    plot.save_picture(ax, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert not pyplot.get_fignums()


def test_bands_of_a_plan_are_as_wide_as_their_mass():
    moves = tuple(Move(f"from{number}", f"to{number}", 0.02, 0.1) for number in range(25))
    ax = plot.plan(Explanation(2.5, (Move("same", "same", 0.5, 0.0),), moves, ()), max_words=6)
    names = [text.get_text() for text in ax.texts]
    assert "other words (20)" in names
    assert names.count("same") == 2
    heights = [path.get_paths()[0].get_extents().height for path in ax.collections]
    assert len(heights) == 26
    assert min(heights) >= 0.02 - 1e-9


def test_confusion_writes_every_count():
    ax = plot.confusion(Evaluation(("a", "b"), ((7, 3), (0, 0)), 5, {}))
    assert sorted(text.get_text() for text in ax.texts) == ["3", "7"]


def test_history_has_a_line_a_tree():
    records = [RefinementRecord(tree, epoch, 1 / epoch, 1.0) for tree in (0, 1) for epoch in (1, 2, 3)]
    ax = plot.history(records)
    assert [line.get_ydata().tolist() for line in ax.lines] == [[1, 0.5, 1 / 3]] * 2
    assert len(ax.get_legend().get_texts()) == 2
    runs = [
        {"run": "margin 10", "epoch": 1, "loss": 2.0, "validation_loss": 3.0},
        {"run": "all", "epoch": 1, "loss": 1.0},
    ]
    labels = [text.get_text() for text in plot.history(runs).get_legend().get_texts()]
    assert labels == ["margin 10", "margin 10, validation", "all"]
    with pytest.raises(ValueError, match="got none"):
        plot.history([])
    with pytest.raises(ValueError, match="loss is missing"):
        plot.history([{"epoch": 1}])


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


def test_dollars_are_no_formulas(tmp_path):
    broken, price = r"$\frac$", r"\$5"
    ax = plot.confusion(Evaluation((broken, price), ((1, 0), (0, 1)), 2, {}))
    plot.save_picture(ax, tmp_path / "confusion.png")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [broken, price]
    model = DocumentModel(n_neighbors=1).fit(["cats purr", "dogs bark"], [broken, price])
    ax = plot.tree(model.outline())
    plot.save_picture(ax, tmp_path / "tree.png")
    assert any(price in text.get_text() and not text.get_parse_math() for text in ax.texts)
