from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors
from typer.testing import CliRunner

from treewass import TreeIndex
from treewass.bench.commands import bench
from treewass.bench.datasets import Split
from treewass.bench.rows import Row, read_rows
from treewass.bench.speed import bench_speed, one_query_rows, random_metric, whole_set_row
from treewass.bench.speed_rivals import RIVALS, weighted_features
from treewass.bench.speed_timing import (
    geometric_mean,
    time_in_turns,
    time_with_emptied_caches,
    turns_protocol,
    write_over,
)
from treewass.documents.histograms import to_histograms
from treewass.documents.synthetic import make_documents
from treewass.search.embedding import embed


@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_finds_documents_as_near_as_ours(name):
    counts, _ = make_documents(130, n_words=400, words_per_document=15, random_state=0)
    metric = random_metric(400)
    index = TreeIndex(metric)
    index.add(counts[:120])
    prepare, search = RIVALS[name](metric, counts[:120], 7)
    for row in range(120, 130):
        found = search(prepare(counts[[row]]))
        ids = np.ravel(found[1] if isinstance(found, tuple) else found)
        distances, _ = index.distances(counts[[row]], ids=ids)
        assert np.sort(distances) == pytest.approx(index.search(counts[[row]], 7)[0][0], abs=1e-5)


def test_weighted_features_embed_histograms():
    counts, _ = make_documents(20, n_words=50, words_per_document=5, random_state=0)
    metric = random_metric(50)
    product = to_histograms(counts) @ weighted_features(metric)
    assert product.toarray() == pytest.approx(embed(metric, counts).toarray(), abs=1e-7)


@pytest.fixture
def calls(monkeypatch):
    """What was called, in order, by a clock that only `method` moves."""
    calls, now = [], [0.0]
    monkeypatch.setattr("treewass.bench.speed_timing.time.perf_counter", lambda: now[0])
    monkeypatch.setattr("treewass.bench.speed_timing.write_over", lambda memory: calls.append(memory.nbytes))

    def method(name, *seconds):
        durations = iter(seconds)

        def answer(item):
            calls.append(name + item)
            now[0] += next(durations)

        return answer

    return SimpleNamespace(made=calls, method=method)


def test_methods_take_turns_and_answer_all_items_in_succession(calls):
    methods = [calls.method("x", *[1] * 12), calls.method("y", *[1] * 12)]
    time_in_turns(methods, ["1", "2"], rounds=2, passes=3)
    assert calls.made == (["x1", "x2"] * 3 + ["y1", "y2"] * 3) * 2


def test_smallest_time_of_each_item_after_the_first_pass_counts(calls):
    quick_at_first = calls.method("x", 1, 1, 5, 4, 3, 7, 1, 1, 8, 9, 4, 6)
    steady = calls.method("y", *[2] * 12)
    times = time_in_turns([quick_at_first, steady], ["1", "2"], rounds=2, passes=3)
    assert times == pytest.approx([1e6 * (3 + 4) / 2, 2e6])


def test_protocol_says_how_many_times_are_taken():
    said = turns_protocol(20, 3, 5)
    assert said.startswith("mean over 20 queries of the smallest of 12 times")
    assert "in each of 3 rounds every method in its turn answers all queries 5 times" in said


def test_other_memory_is_written_before_every_single_answer(calls):
    methods = [calls.method("x", 9, 1, 2, 4), calls.method("y", 5, 5, 5, 50)]
    times = time_with_emptied_caches(methods, ["1", "2"], repetitions=2, megabytes=3)
    written = 3_000_000
    assert calls.made == [written, "x1", written, "y1", written, "x2", written, "y2"] * 2
    assert times == pytest.approx([3e6, 5e6])


def test_writing_over_touches_all_memory():
    memory = np.zeros(1000, dtype=np.int64)
    write_over(memory)
    assert memory.tolist() == [1] * 1000


def split_of(rows):
    counts, labels = make_documents(60, n_words=80, words_per_document=15, random_state=0)
    train, test = rows[:40], rows[40:]
    words = np.array([f"word {word}" for word in range(80)], dtype=object)
    return Split(words, counts[train], labels[train], counts[test], labels[test], [], [])


def test_one_query_is_measured_on_three_kinds_of_trees():
    splits = {"first": split_of(np.arange(60)), "second": split_of(np.arange(60)[::-1])}
    rows = list(one_query_rows(splits, quick=True))
    warm, cold = (f"one query, 500 documents, top 19{end}" for end in ("", ", caches emptied"))
    cases = Counter((row.case["measure"], row.case["tree"], row.case["data"]) for row in rows)
    trees = [(warm, "random"), (cold, "random"), (warm, "profile learner"), (warm, "paper's learner")]
    assert cases == {
        (*tree, data): len(RIVALS) for tree in trees for data in ("first", "second", "geometric mean of 2 sets")
    }
    barred = {(row.case["measure"], row.case["tree"]) for row in rows if "bar" in row.measures}
    assert barred == {(warm, "random")}
    protocols = {(row.case["measure"], row.case["tree"]): row.protocol for row in rows}
    assert protocols[warm, "random"] == turns_protocol(10, 2, 3)
    assert protocols[warm, "paper's learner"] == turns_protocol(10, 2, 3) + "; epochs of the learner: 1"
    assert "8 MB of other memory" in protocols[cold, "random"]


def test_whole_set_is_searched_before_and_after_the_rival(monkeypatch):
    calls = []

    def noting(name, search):
        def noted(*arguments, **options):
            calls.append(name)
            return search(*arguments, **options)

        return noted

    monkeypatch.setattr(TreeIndex, "search", noting("ours", TreeIndex.search))
    monkeypatch.setattr(NearestNeighbors, "kneighbors", noting("rival", NearestNeighbors.kneighbors))
    row = whole_set_row("pets", split_of(np.arange(60)), quick=True)
    assert calls == ["ours", "ours", "rival", "ours", "ours"]
    assert row.case["data"] == "pets, 20 × 40"
    assert "ours: smallest of 4" in row.protocol


def test_geometric_mean_of_ratios():
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)


def test_stored_rows_become_a_table(tmp_path):
    rows = [
        Row(
            "speed",
            {"measure": "growth with documents", "data": name},
            {"ours_us": us, "bar": None},
            "",
            environment={},
        )
        for name, us in (("small", 12.345), ("large", 98765.4))
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(row.to_json() for row in rows))
    shown = CliRunner().invoke(bench, ["speed", "--table", str(tmp_path / "rows.jsonl")]).output
    assert "### Growth with documents" in shown
    assert "| small | 12.3 |  |" in shown
    assert "| large | 98765 |  |" in shown
    assert len(read_rows(tmp_path / "rows.jsonl")) == 2


def test_what_is_measured_is_shown_as_a_table_a_measure(monkeypatch):
    def measured(quick, folder, parts):
        yield Row("speed", {"measure": "growth with threads", "data": "few"}, {"ours_us": 1.5}, "", environment={})
        yield Row("speed", {"measure": "embedding", "data": "many"}, {"ratio": 2.5}, "", environment={})

    monkeypatch.setattr("treewass.bench.speed.bench_speed", measured)
    shown = CliRunner().invoke(bench, ["speed"])
    assert "| data | ours us |" in shown.stdout
    assert "| data | ratio |" in shown.stdout
    assert "measured growth with threads, few" in shown.stderr


def test_parts_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="Expected parts among query, set"):
        list(bench_speed(parts=["growth", "height"]))


@pytest.mark.data
def test_one_part_can_be_measured_alone(data_folder):
    assert {row.case["measure"] for row in bench_speed(True, data_folder, ["embedding"])} == {
        "embedding all training documents"
    }


@pytest.mark.data
@pytest.mark.slow
def test_quick_run_measures_everything(data_folder):
    rows = list(bench_speed(quick=True, folder=data_folder))
    measures = {row.case["measure"] for row in rows}
    assert len(measures) == 10
    assert {row.case["tree"] for row in rows} == {"random", "profile learner", "paper's learner"}
    assert all(row.measures["ours_us"] > 0 for row in rows if "ours_us" in row.measures)
