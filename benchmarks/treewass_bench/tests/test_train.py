import itertools

import numpy as np
import pytest
from typer.testing import CliRunner

from treewass.learners.stw.compiled_steps import CompiledEngine
from treewass.learners.stw.contrastive_batches import batches_of_epoch
from treewass.learners.stw.epochs import StepSettings
from treewass.trees import perfect_tree
from treewass_bench.commands import app
from treewass_bench.train import CASES, bench_train, learning_documents, random_scores
from treewass_bench.train_baselines import DenseAlgorithm, PairLoop


def test_dense_baseline_computes_the_same_loss_and_step():
    documents, _ = learning_documents(None, quick=True)
    tree = perfect_tree(3, 2)
    start = random_scores(documents.histograms.shape[1], tree)
    dense = DenseAlgorithm(tree, start.copy())
    ours = CompiledEngine(tree, start.copy(), StepSettings())
    (whole,) = batches_of_epoch(documents, len(documents), 0, 1)  # so that no word rests
    for batch in [whole] * 3:
        assert dense.step(batch) == pytest.approx(ours.step(batch), abs=2e-6)
    change = dense._theta.detach().numpy().T - ours.scores
    assert np.mean(np.abs(change)) < 0.01 * np.mean(np.abs(ours.scores - start))


def test_pair_loop_is_extrapolated_to_all_pairs(monkeypatch):
    documents, _ = learning_documents(None, quick=True)
    tree = perfect_tree(3, 1)
    batch = next(batches_of_epoch(documents, 20, 0, 1))
    clock = itertools.count()
    monkeypatch.setattr("time.process_time", lambda: next(clock))  # one second a look
    seconds = PairLoop(tree, random_scores(documents.histograms.shape[1], tree)).seconds_of_a_step(batch)
    assert seconds == 1 + 190 / 4


@pytest.mark.parametrize("case", CASES)
def test_every_case_gives_rows(case):
    rows = list(bench_train([case], quick=True))
    assert rows
    for row in rows:
        assert row.benchmark == "train"
        assert all(value is None or np.isfinite(value) for value in row.measures.values())


def test_unknown_case_is_refused():
    with pytest.raises(ValueError, match="Expected cases among dense"):
        list(bench_train(["magic"]))
    assert "algorithm 1" in CliRunner().invoke(app, ["train", "--help"]).stdout
