from collections import Counter

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors
from typer.testing import CliRunner

from treewass import TreeIndex
from treewass.documents import make_documents, to_histograms
from treewass.trees.embedding import embed
from treewass_bench.commands import app
from treewass_bench.datasets import Split
from treewass_bench.rows import Row, RowFiles
from treewass_bench.speed import bench_speed, one_query_rows, whole_set_row
from treewass_bench.speed_rivals import RIVALS, random_metric, weighted_features
from treewass_bench.timing import turns_protocol


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
    assert protocols[warm, "random"] == turns_protocol(10, 2, 2)
    assert protocols[warm, "paper's learner"] == turns_protocol(10, 2, 2) + "; epochs of the learner: 1"
    assert "8 MB of other memory" in protocols[cold, "random"]


def test_whole_set_is_searched_in_turns(monkeypatch):
    calls = []

    def noting(name, search):
        def noted(*arguments, **options):
            calls.append(name)
            return search(*arguments, **options)

        return noted

    monkeypatch.setattr(TreeIndex, "search", noting("ours", TreeIndex.search))
    monkeypatch.setattr(NearestNeighbors, "kneighbors", noting("rival", NearestNeighbors.kneighbors))
    row = whole_set_row("pets", split_of(np.arange(60)), quick=True)
    assert calls == ["ours", "rival"] * 2
    assert row.case["data"] == "pets, 20 × 40"
    assert "median of 2 CPU times of each, in turns" in row.protocol


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
    shown = CliRunner().invoke(app, ["speed", "--table", str(tmp_path / "rows.jsonl")]).output
    assert "### Growth with documents" in shown
    assert "| small | 12.3 |  |" in shown
    assert "| large | 98765 |  |" in shown
    assert len(RowFiles(tmp_path / "rows.jsonl").rows("speed")) == 2


def test_what_is_measured_is_shown_as_a_table_a_measure(monkeypatch):
    def measured(quick, folder, parts):
        yield Row("speed", {"measure": "growth with threads", "data": "few"}, {"ours_us": 1.5}, "", environment={})
        yield Row("speed", {"measure": "embedding", "data": "many"}, {"ratio": 2.5}, "", environment={})

    monkeypatch.setattr("treewass_bench.speed.bench_speed", measured)
    shown = CliRunner().invoke(app, ["speed"])
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
    assert len(measures) == 11
    assert {row.case["tree"] for row in rows} == {"random", "profile learner", "paper's learner"}
    assert all(row.measures["ours_us"] > 0 for row in rows if "ours_us" in row.measures)
