import pytest

from treewass_bench import time_tables
from treewass_bench.datasets import PAPER_SETS
from treewass_bench.depth import FULL_DEPTHS
from treewass_bench.rows import Row
from treewass_bench.time_tables import TITLES, cpu_markdown, query_markdown, time_markdown, times_markdown


def row(name, method, form, batch, depth, milliseconds, documents=500, queries=100):
    case = {"measure": "batch", "set": name, "method": method, "form": form, "batch": batch}
    case |= {} if depth is None else {"depth": depth}
    measures = {"ms_for_500": milliseconds, "query_ms": milliseconds, "documents": documents, "queries": queries}
    return Row("time", case, measures, "", environment={})


@pytest.fixture
def rows():
    made = []
    for place, name in enumerate(PAPER_SETS):
        for number, (method, form) in enumerate(TITLES):
            depth = FULL_DEPTHS.get(method)
            made += [row(name, method, form, 500, depth, 0.01 * 2**number * (place + 1), queries=100 - number)]
            made += [row(name, method, form, "all", depth, 0.1 * (place + 1), 5600)]
            if depth is not None:
                made += [row(name, method, form, 500, level, 0.5 * level) for level in (depth - 2, depth - 1)]
        case = {"measure": "one query, whole training set", "set": name, "method": "svm"}
        made.append(Row("time", case, {"query_ms": 0.5, "documents": 5600, "queries": 7}, "", environment={}))
    return made


def test_table_has_methods_in_order_and_says_where_queries_are_few(rows):
    note, _, fold, _, *lines = time_markdown(rows).splitlines()
    assert note.startswith("All distances between one document and a batch")
    assert fold.startswith("<details>")
    assert lines[0] == "| ms for 500 documents | TWITTER | AMAZON | CLASSIC | BBCSPORT | OHSUMED | REUTERS |"
    assert [line.split(" | ")[0][2:] for line in lines[2 : 2 + len(TITLES)]] == list(TITLES.values())
    assert lines[2].split(" | ")[1] == "0.0100"
    assert lines[3].split(" | ")[1] == "0.0200 (99)"


def test_tables_without_rows_are_left_out():
    assert times_markdown([]) == ""
    only = times_markdown([row("twitter", "wmd", "exact", 500, None, 10.0)])
    assert "### One document against 500" in only
    assert "By depth" not in only
    assert "published" not in only


def test_table_of_the_cpu_has_published_figures_and_ratios(rows):
    table = cpu_markdown(rows)
    assert "| published: Quadtree, C++ | 0.13 | 0.25 | 0.16 | 0.77 | 0.39 | 0.17 |" in table
    assert "| published: STW, SciPy | 1.78 | 4.79 | 3.77 | 7.65 | 6.42 | 4.49 |" in table
    assert "STW in SciPy takes 0.25 times as long as STW here" in table  # two doublings earlier in the made rows
    assert "another machine" in table
    assert "<details>" not in table  # short enough to stay open


def test_batches_and_depths_do_not_mix(rows):
    text = times_markdown(rows)
    assert "| ms for 500 documents | 500 | 5600 |" in text
    assert "| STW, **treewass**, depth 3 | 1.50 |" in text
    assert "| STW, **treewass**, depth 5 | 328 |" in text
    assert "| TSW-1, SciPy, depth 6 |" in text
    assert "STW, **treewass**, depth 6" not in text


def test_table_of_queries(rows):
    assert "| linear SVM | 0.500 (7) |" in query_markdown(rows)


@pytest.mark.parametrize(
    ("draw", "n_sets"), [("draw_times", 2), ("draw_batch_times", 1), ("draw_batch_times", 6), ("draw_depth_times", 2)]
)
def test_same_rows_give_the_same_picture(rows, tmp_path, draw, n_sets):
    some = [made for made in rows if made.case["set"] in PAPER_SETS[:n_sets]]
    for name in ("one.svg", "other.svg"):
        getattr(time_tables, draw)(some, tmp_path / name)
    picture = (tmp_path / "one.svg").read_bytes()
    assert picture == (tmp_path / "other.svg").read_bytes()
    assert picture.startswith(b"<?xml")
    assert b"<dc:date>" not in picture
