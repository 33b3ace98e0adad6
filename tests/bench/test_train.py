import itertools

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from treewass.bench.train import CASES, bench_train, learning_documents, random_scores
from treewass.bench.train_baselines import DenseAlgorithm, PairLoop, one_torch_thread
from treewass.cli import app
from treewass.learners.soft.batches import batches_of_epoch
from treewass.learners.soft.compiled_engine import CompiledEngine
from treewass.learners.soft.settings import LossSettings, StepSettings
from treewass.trees import perfect_tree


def test_dense_baseline_computes_the_same_loss_and_step():
    documents, _ = learning_documents(None, quick=True)
    tree = perfect_tree(3, 2)
    start = random_scores(documents.histograms.shape[1], tree)
    dense = DenseAlgorithm(tree, start.copy())
    ours = CompiledEngine(tree, start.copy(), LossSettings(), StepSettings(updates="dense"))
    for batch in batches_of_epoch(documents, 100, 5.0, 0, 1):
        assert dense.step(batch) == pytest.approx(ours.step(batch), abs=2e-6)
    change = dense._theta.detach().numpy().T - ours.scores
    assert np.mean(np.abs(change)) < 0.01 * np.mean(np.abs(ours.scores - start))


def test_pair_loop_is_extrapolated_to_all_pairs(monkeypatch):
    documents, _ = learning_documents(None, quick=True)
    tree = perfect_tree(3, 1)
    batch = next(batches_of_epoch(documents, 20, 5.0, 0, 1))
    clock = itertools.count()
    monkeypatch.setattr("time.process_time", lambda: next(clock))  # one second a look
    seconds = PairLoop(tree, random_scores(documents.histograms.shape[1], tree)).seconds_of_a_step(batch)
    assert seconds == 1 + 190 / 4


def test_torch_gets_its_threads_back():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_torch_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


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
    assert "algorithm 1" in CliRunner().invoke(app, ["bench", "train", "--help"]).stdout
