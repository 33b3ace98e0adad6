import time

import numpy as np
import pytest
from typer.testing import CliRunner

from treewass import TreeIndex
from treewass.bench.commands import bench
from treewass.bench.rows import Row, read_rows
from treewass.bench.speed import bench_speed, random_metric
from treewass.bench.speed_rivals import RIVALS, weighted_features
from treewass.bench.speed_timing import geometric_mean, time_in_turns
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


def test_times_are_means_of_minima_in_microseconds():
    def wait(seconds):
        time.sleep(seconds)

    short, long = time_in_turns([lambda _: None, wait], [0.002, 0.004], 2)
    assert short < 1000
    assert 3000 <= long < 100_000


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


@pytest.mark.data
@pytest.mark.slow
def test_quick_run_measures_everything(data_folder):
    rows = list(bench_speed(quick=True, folder=data_folder))
    measures = {row.case["measure"] for row in rows}
    assert len(measures) == 9
    assert all(row.measures["ours_us"] > 0 for row in rows if "ours_us" in row.measures)
