import pytest

from treewass.bench.results.drawing import panels
from treewass.bench.results.small_trees import draw_tree
from treewass.bench.results.synthetic import draw_instruments, synthetic_markdown
from treewass.trees import Tree, TreeMetric

from .rows import SYNTHETIC


def test_errors_stand_below_the_published_ones():
    written = synthetic_markdown(SYNTHETIC)
    assert written.splitlines()[:5] == [
        "| test error in % | Quadtree | STW |",
        "|---|---|---|",
        "| published | 0.3 | 0.0 |",
        "| ours, fall-back vote from k = 19 | 3.0 ± 1.0 | 0.0 ± 0.0 |",
        "| ours, nearest neighbour alone | 1.5 ± 0.5 | 0.0 ± 0.0 |",
    ]
    assert "over 2 corpora" in written
    assert "lacks contrabass and harpsichord" in written


def test_missing_words_are_only_named_where_there_are_some():
    assert "lacks" not in synthetic_markdown([row for row in SYNTHETIC if row.case["method"] == "stw"])


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_same_rows_give_the_same_trees(tmp_path, ending):
    for name in "ab":
        draw_instruments(SYNTHETIC, tmp_path / f"{name}.{ending}")
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_a_tree_that_is_missing_is_left_out(tmp_path):
    draw_instruments([row for row in SYNTHETIC if row.case["method"] != "tsw-1"], tmp_path / "two.svg")
    draw_instruments(SYNTHETIC, tmp_path / "three.svg")
    assert 0 < (tmp_path / "two.svg").stat().st_size < (tmp_path / "three.svg").stat().st_size


def test_every_word_with_mass_is_named_at_its_distance_from_the_root():
    _, (ax,) = panels(1, 1, (4, 3))
    tree = Tree([-1, 0, 0], [1.0, 2.0, 1.0], [1, 1, 0, 0], [0.5, 1.5, 1.0, 1.0])
    draw_tree(ax, TreeMetric(tree, [1.0, 1.0, 1.0, 0.0]), ["cello", "violin", "flute", "lur"], telling=["violin"])
    *names, left_out = ax.texts
    places = {name.get_text(): name.xy for name in names}
    assert {word: place[0] for word, place in places.items()} == {"violin": 3.5, "cello": 2.5, "flute": 1.0}
    assert len({place[1] for place in places.values()}) == 3
    assert left_out.get_text() == "without a vector: lur"
    low, high = ax.get_ylim()
    assert all(low < place[1] < high for place in places.values())
