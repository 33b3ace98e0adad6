import pytest
from matplotlib import pyplot

from treewass import DocumentModel, plot
from treewass.explain import Explanation, Move
from treewass.learners.profile.refinement import RefinementRecord
from treewass.model import Evaluation


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


def test_dollars_are_no_formulas(tmp_path):
    broken, price = r"$\frac$", r"\$5"
    ax = plot.confusion(Evaluation((broken, price), ((1, 0), (0, 1)), 2, {}))
    plot.save_picture(ax, tmp_path / "confusion.png")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [broken, price]
    model = DocumentModel(n_neighbors=1).fit(["cats purr", "dogs bark"], [broken, price])
    ax = plot.tree(model.outline())
    plot.save_picture(ax, tmp_path / "tree.png")
    assert any(price in text.get_text() and not text.get_parse_math() for text in ax.texts)
