import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from treewass import SupervisedTreeWasserstein
from treewass.learners.stw.compiled_steps import CompiledEngine

SMALL = {"arity": 3, "depth": 2, "epochs": 6, "batch_size": 20}


@pytest.fixture(scope="module")
def uninterrupted(documents):
    return SupervisedTreeWasserstein(**SMALL).fit(*documents)


def test_best_epoch_has_the_lowest_validation_loss(uninterrupted):
    losses = [record.validation_loss for record in uninterrupted.history_]
    assert uninterrupted.best_epoch_ == 1 + int(np.argmin(losses))
    assert [record.epoch for record in uninterrupted.history_] == [1, 2, 3, 4, 5, 6]
    assert uninterrupted.history_[-1].loss < uninterrupted.history_[0].loss


def test_scores_are_those_of_the_best_epoch(documents, uninterrupted):
    settings = {**SMALL, "epochs": uninterrupted.best_epoch_}
    assert np.array_equal(SupervisedTreeWasserstein(**settings).fit(*documents).scores_, uninterrupted.scores_)


def test_patience_ends_a_training_that_gets_no_better(documents):
    learner = SupervisedTreeWasserstein(**{**SMALL, "epochs": 60}, patience=2, margin=1).fit(*documents)
    assert len(learner.history_) == learner.best_epoch_ + 2 < 60


def test_interrupt_from_the_keyboard_keeps_the_best_tree(documents, epochs):
    epochs.last = 3
    with pytest.warns(ConvergenceWarning, match=r"stopped after 3 epoch\(s\); the tree is that of epoch"):
        learner = SupervisedTreeWasserstein(**SMALL).fit(*documents)
    expected = SupervisedTreeWasserstein(**{**SMALL, "epochs": 2}).fit(*documents)
    assert [record.loss for record in learner.history_[:2]] == [record.loss for record in expected.history_]
    epochs.last = None
    assert learner.metric_ == SupervisedTreeWasserstein(**{**SMALL, "epochs": 3}).fit(*documents).metric_


def interrupt_step(monkeypatch, number):
    """Press Ctrl-C in a step, counted from one."""
    step, taken = CompiledEngine.step, []

    def interrupted(engine, batch):
        taken.append(batch)
        if len(taken) == number:
            signal.raise_signal(signal.SIGINT)
        return step(engine, batch)

    monkeypatch.setattr(CompiledEngine, "step", interrupted)


def test_interrupt_before_the_first_epoch_is_finished_goes_to_the_caller(documents, monkeypatch, interrupts):
    interrupt_step(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        SupervisedTreeWasserstein(**SMALL).fit(*documents)


def test_interrupt_early_in_a_later_training_keeps_the_first(documents, uninterrupted, monkeypatch, interrupts):
    interrupt_step(monkeypatch, 6 * 5 + 2)  # five batches an epoch
    with pytest.warns(ConvergenceWarning, match=r"stopped after 6 epoch\(s\); the tree is that of epoch \d"):
        learner = SupervisedTreeWasserstein(**SMALL, margin=[10, 5]).fit(*documents)
    assert learner.metric_ == uninterrupted.metric_


def test_interrupt_without_validation_keeps_the_last_step(documents, monkeypatch, interrupts):
    interrupt_step(monkeypatch, 3 * 6 + 2)  # six batches an epoch
    with pytest.warns(ConvergenceWarning, match=r"the tree is that of the last step, after epoch 3"):
        SupervisedTreeWasserstein(**SMALL, validation_fraction=0).fit(*documents)


def test_interrupt_while_the_best_epoch_is_copied_keeps_it(documents, monkeypatch, interrupts):
    monkeypatch.setattr("treewass.learners.stw.epochs.copy_scores", lambda _: signal.raise_signal(signal.SIGINT))
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 epoch\(s\); the tree is that of epoch 1"):
        learner = SupervisedTreeWasserstein(**SMALL).fit(*documents)
    monkeypatch.undo()
    assert learner.metric_ == SupervisedTreeWasserstein(**{**SMALL, "epochs": 1}).fit(*documents).metric_


def test_interrupt_after_the_last_epoch_stops_nothing_but_what_would_follow(documents, uninterrupted, epochs):
    epochs.last = 6
    learner = SupervisedTreeWasserstein(**SMALL).fit(*documents)
    assert learner.metric_ == uninterrupted.metric_
    with pytest.warns(ConvergenceWarning, match=r"stopped after 6 epoch\(s\)"):
        learner.set_params(margin=[10, 5]).fit(*documents)
    assert learner.metric_ == uninterrupted.metric_


def test_progress_goes_to_the_logger_and_a_bar_to_standard_error(documents, caplog, capsys):
    with caplog.at_level(logging.INFO, logger="treewass"):
        SupervisedTreeWasserstein(**{**SMALL, "epochs": 2}, verbose=True).fit(*documents)
    assert "margin 10, epoch 2: loss" in caplog.text
    assert "error" in caplog.text
    captured = capsys.readouterr()
    assert not captured.out
    assert "epoch 2" in captured.err


@pytest.mark.parametrize("device", [None, "cpu"])
def test_loss_that_is_not_a_number_names_epoch_and_batch(documents, device):
    with pytest.raises(ValueError, match=r"finite loss, got nan in epoch 1, batch \d+, of the training 'margin 10'"):
        SupervisedTreeWasserstein(**SMALL, optimizer=("adam", 1e37), device=device).fit(*documents)


def test_margin_with_the_lowest_validation_error_is_taken(documents):
    learner = SupervisedTreeWasserstein(**SMALL, margin=[1, 5, 10]).fit(*documents)
    errors = {}
    for margin in (1.0, 5.0, 10.0):
        records = [record for record in learner.history_ if record.run == f"margin {margin:g}"]
        errors[margin] = min(records, key=lambda record: record.validation_loss).validation_error
    assert learner.margin_ == min(errors, key=errors.get)
    alone = SupervisedTreeWasserstein(**SMALL, margin=learner.margin_).fit(*documents)
    assert alone.metric_ == learner.metric_


def test_parameters_may_be_numbers_of_numpy(documents, uninterrupted, tmp_path):
    whole = {name: np.int64(value) for name, value in SMALL.items()}
    real = {"absolute": ("tanh", np.float32(2)), "optimizer": ("adam", np.float64(0.1)), "margin": np.float32(10)}
    learner = SupervisedTreeWasserstein(**whole, **real, patience=np.int32(9), checkpoint=tmp_path).fit(*documents)
    assert np.array_equal(learner.scores_, uninterrupted.scores_)


@pytest.fixture(scope="module")
def finished(documents, tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    SupervisedTreeWasserstein(**SMALL, checkpoint=folder).fit(*documents)
    return folder


@pytest.mark.parametrize("options", [{}, {"optimizer": "lars"}, {"parents": "sparsemax"}], ids=str)
def test_training_goes_on_from_a_checkpoint_bit_by_bit(documents, tmp_path, options, epochs):
    learner = SupervisedTreeWasserstein(**SMALL, **options, checkpoint=tmp_path / "training")
    epochs.last = 3
    with pytest.warns(ConvergenceWarning):
        learner.fit(*documents)
    resumed = learner.fit(*documents)
    assert epochs.epochs == [1, 2, 3, 4, 5, 6]
    epochs.last = None
    expected = SupervisedTreeWasserstein(**SMALL, **options).fit(*documents)
    assert np.array_equal(resumed.scores_, expected.scores_)
    assert resumed.metric_ == expected.metric_
    assert [record.loss for record in resumed.history_] == [record.loss for record in expected.history_]


def test_training_goes_on_after_kill_9_bit_by_bit(documents, uninterrupted, tmp_path):
    program = textwrap.dedent(
        f"""
        import logging, os, signal
        from treewass import SupervisedTreeWasserstein
        from treewass.documents import make_documents

        class Killer(logging.Handler):
            def emit(self, record):
                if "epoch 4:" in record.getMessage():
                    os.kill(os.getpid(), signal.SIGKILL)

        logging.getLogger("treewass").addHandler(Killer())
        logging.getLogger("treewass").setLevel(logging.INFO)
        X, y = make_documents(120, n_words=60, words_per_document=8, n_classes=3, random_state=0)
        SupervisedTreeWasserstein(**{SMALL}, checkpoint={str(tmp_path)!r}).fit(X, y)
        """
    )
    done = subprocess.run([sys.executable, "-c", program], env=dict(os.environ), check=False)
    assert done.returncode == -signal.SIGKILL
    resumed = SupervisedTreeWasserstein(**SMALL, checkpoint=tmp_path).fit(*documents)
    assert np.array_equal(resumed.scores_, uninterrupted.scores_)
    assert resumed.best_epoch_ == uninterrupted.best_epoch_


def test_finished_training_is_not_repeated_and_can_be_prolonged(documents, uninterrupted, tmp_path):
    SupervisedTreeWasserstein(**{**SMALL, "epochs": 4}, checkpoint=tmp_path).fit(*documents)
    learner = SupervisedTreeWasserstein(**SMALL, checkpoint=tmp_path).fit(*documents)
    assert np.array_equal(learner.scores_, uninterrupted.scores_)
    files = sorted(file.name for file in (tmp_path / "margin-10").iterdir())
    assert files == [f"best-{learner.best_epoch_}.safetensors", "epoch-6.safetensors", "training.json"]


def test_checkpoint_that_has_gone_further_is_refused(documents, tmp_path):
    SupervisedTreeWasserstein(**SMALL, checkpoint=tmp_path).fit(*documents)
    with pytest.raises(ValueError, match="at most 4 epochs of the training 'margin 10', got one of 6"):
        SupervisedTreeWasserstein(**{**SMALL, "epochs": 4}, checkpoint=tmp_path).fit(*documents)


def test_checkpoints_of_other_settings_or_documents_are_refused(documents, tmp_path):
    X, y = documents
    SupervisedTreeWasserstein(**SMALL, checkpoint=tmp_path).fit(X, y)
    with pytest.raises(ValueError, match=r"but these differ: learning_rate\. Choose another folder"):
        SupervisedTreeWasserstein(**SMALL, optimizer=("adam", 0.2), checkpoint=tmp_path).fit(X, y)
    with pytest.raises(ValueError, match="these differ: documents"):
        SupervisedTreeWasserstein(**SMALL, checkpoint=tmp_path).fit(X, y[::-1])
    wider = np.hstack([X.toarray(), np.zeros((120, 1))])  # a word of no document
    with pytest.raises(ValueError, match="these differ: n_words"):
        SupervisedTreeWasserstein(**SMALL, checkpoint=tmp_path).fit(wider, y)


def test_checkpoint_depends_neither_on_patience_nor_on_the_width_of_indices(documents, finished, tmp_path, epochs):
    X, y = documents
    folder = shutil.copytree(finished, tmp_path / "copy")
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    SupervisedTreeWasserstein(**SMALL, patience=6, checkpoint=folder).fit(X, y)
    assert not epochs.epochs


def test_options_that_need_torch_share_a_checkpoint_with_its_device(documents, tmp_path, epochs):
    learner = SupervisedTreeWasserstein(**{**SMALL, "epochs": 1}, parents="sparsemax", checkpoint=tmp_path)
    learner.fit(*documents)
    learner.set_params(device="cpu", epochs=2).fit(*documents)
    assert epochs.epochs == [1, 2]
    assert json.loads((tmp_path / "margin-10" / "training.json").read_text())["description"]["engine"] == "torch"


def flip(file, place):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


def cut(file, n_bytes):
    file.write_bytes(file.read_bytes()[:-n_bytes])


def edit(file, **changes):
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


DAMAGES = {
    "flipped scores": ("epoch-6", lambda file: flip(file, -1)),
    "flipped header": ("epoch-6", lambda file: flip(file, 12)),
    "flipped best": ("best-", lambda file: flip(file, -100)),
    "shortened": ("epoch-6", lambda file: cut(file, 4)),
    "emptied": ("epoch-6", lambda file: file.write_bytes(b"")),
    "gone": ("best-", lambda file: file.unlink()),
    "steps": ("training", lambda file: edit(file, steps=1)),
    "records": ("training", lambda file: edit(file, records=[])),
    "another file": ("training", lambda file: edit(file, state="none")),
    "no hash": ("training", lambda file: file.write_text('{"format": "treewass training", "version": 4}')),
    "no object": ("training", lambda file: file.write_text("[]")),
    "cut manifest": ("training", lambda file: cut(file, 5)),
    "no text": ("training", lambda file: file.write_bytes(b"\xff\xfe{}")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_checkpoints_are_refused(documents, finished, tmp_path, damage):
    folder = shutil.copytree(finished, tmp_path / "copy")
    name, spoil = DAMAGES[damage]
    spoil(next((folder / "margin-10").glob(f"{name}*")))
    learner = SupervisedTreeWasserstein(**SMALL, checkpoint=folder)
    with pytest.raises(ValueError, match=r"margin-10.*(it is damaged|cannot be read|describes something else)"):
        learner.fit(*documents)


def test_checkpoints_of_another_version_are_refused(documents, finished, tmp_path):
    folder = shutil.copytree(finished, tmp_path / "copy")
    edit(folder / "margin-10" / "training.json", version=9)
    with pytest.raises(ValueError, match=r"version 4, got version 9 in .*\. Remove the folder"):
        SupervisedTreeWasserstein(**SMALL, checkpoint=folder).fit(*documents)
