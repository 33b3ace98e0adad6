import json
import logging
from copy import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from tests.distances.cases import full_wmd, topics
from treewass import EmptyDocumentWarning
from treewass.distances import SupervisedWordMover, SwmdRecord, swmd, wmd, wmd_neighbors
from treewass.distances.swmd_training import scaled_start
from treewass.documents.vector_files import read_word_vectors
from treewass.documents.word_vectors import AlignedVectors
from treewass.votes.rules import fallback_vote
from treewass_bench.datasets import load_set

QUICK = {"max_iter": 12, "batch_size": 8, "neighborhood": 10, "n_neighbors": 5}


@pytest.fixture(scope="module")
def case():
    return topics(n_documents=45, length=6)


@pytest.fixture(scope="module")
def fitted(case):
    X, y, vectors = case
    return SupervisedWordMover(vectors, **QUICK).fit(X, y)


@pytest.mark.filterwarnings("ignore::treewass.documents.EmptyDocumentWarning")
@parametrize_with_checks([SupervisedWordMover(max_iter=2, batch_size=4, neighborhood=4, n_neighbors=3)])
def test_estimator_check(estimator, check):
    check(estimator)


def test_distance_is_exact_transport_of_weighted_words_in_the_mapped_space(case, fitted):
    X, _, vectors = case
    points, weighted = vectors @ fitted.linear_map_.T, X * fitted.word_weights_
    expected = full_wmd(weighted[:6], weighted[6:12], points, "squared")
    assert fitted.pairwise(X[:6], X[6:12]) == pytest.approx(expected, abs=1e-9)
    distances = fitted.pairwise(X)
    assert np.array_equal(distances, distances.T)
    assert not distances.diagonal().any()


def test_training_lowers_the_loss_and_the_errors_of_neighbours(case):
    X, y, vectors = case
    noisy = np.hstack([vectors, 3 * np.random.RandomState(0).randn(len(vectors), 4)])  # dimensions to be unlearned
    options = {"n_neighbors": 5, "batch_size": 45, "neighborhood": 20, "validation_fraction": 0.0}
    mover = SupervisedWordMover(noisy, max_iter=30, **options).fit(X, y)
    assert mover.history_[-1].loss < 0.7 * mover.history_[0].loss

    def errors(rows):
        return (y[rows] != y[:, None]).mean()

    start = SupervisedWordMover(noisy, max_iter=0, **options).fit(X, y)
    before, after = (errors(estimator.kneighbors(return_distance=False)) for estimator in (start, mover))
    assert after < before < errors(wmd_neighbors(X, n_neighbors=5, word_vectors=noisy)[1])


def test_neighbours_are_those_of_all_distances(case, fitted):
    X, y, _ = case
    distances = fitted.pairwise(X[:7], X)
    found, rows = fitted.kneighbors(X[:7], 4)
    order = np.array([np.lexsort((np.arange(row.size), row))[:4] for row in distances])
    assert np.array_equal(rows, order)
    assert np.array_equal(found, np.take_along_axis(distances, order, axis=1))
    assert not (fitted.kneighbors(return_distance=False) == np.arange(len(X))[:, None]).any()
    votes = fallback_vote(y[fitted.kneighbors(X[:7], return_distance=False)], 3)
    assert np.array_equal(fitted.predict_proba(X[:7]), votes)
    assert np.array_equal(fitted.predict(X[:7]), votes.argmax(axis=1))


def test_result_does_not_depend_on_threads(case, fitted):
    X, y, vectors = case
    both = SupervisedWordMover(vectors, n_jobs=2, **QUICK).fit(X, y)
    assert np.array_equal(both.linear_map_, fitted.linear_map_)
    assert np.array_equal(both.word_weights_, fitted.word_weights_)


def test_result_and_checkpoints_do_not_depend_on_threads_of_linear_algebra(tmp_path):
    X, y, vectors = topics(n_documents=300, n_words=2000, n_dimensions=100, length=30)
    mover = SupervisedWordMover(vectors, **QUICK | {"max_iter": 2})
    with threadpool_limits(limits=2):
        both = clone(mover).fit(X, y)
        distances = both.pairwise(X[:5])
    with threadpool_limits(limits=1):
        one = clone(mover).fit(X, y)
        assert np.array_equal(one.linear_map_, both.linear_map_)
        assert np.array_equal(one.word_weights_, both.word_weights_)
        assert np.array_equal(one.pairwise(X[:5]), distances)


def test_a_checkpoint_is_known_by_its_inputs(case, tmp_path):
    X, y, vectors = case
    options = QUICK | {"max_iter": 10, "checkpoint": tmp_path / "training"}
    SupervisedWordMover(vectors, **options).fit(X, y)
    for other in ({"random_state": 1}, {"n_components": 3}, {"word_vectors": vectors * 2}):
        with pytest.raises(ValueError, match="these differ: documents, vectors or settings"):
            SupervisedWordMover(**{"word_vectors": vectors} | options | other).fit(X, y)


def test_a_checkpoint_that_has_gone_further_is_refused(case, tmp_path):
    X, y, vectors = case
    mover = SupervisedWordMover(vectors, checkpoint=tmp_path / "training", **QUICK).fit(X, y)
    with pytest.raises(ValueError, match=r"at most 5 steps in .*got one of 10\. Raise max_iter"):
        mover.set_params(max_iter=5).fit(X, y)


@pytest.mark.parametrize("n_neighbors", [0, -1, 2.5])
def test_numbers_of_neighbours_that_are_none_are_refused(case, fitted, n_neighbors):
    with pytest.raises(ValueError, match=f"n_neighbors as an integer of at least 1, got {n_neighbors}"):
        fitted.kneighbors(case[0], n_neighbors)


def test_distances_are_stored_and_use_the_jobs_of_the_constructor(case, fitted, tmp_path, monkeypatch):
    X, seen = case[0], []
    expected = fitted.pairwise(X[:6], checkpoint=tmp_path / "parts")
    assert np.array_equal(expected, fitted.pairwise(X[:6]))
    assert (tmp_path / "parts" / "parts.json").exists()
    monkeypatch.setattr(swmd, "pairwise_wmd", lambda *_, n_jobs, **__: seen.append(n_jobs))
    both = copy(fitted).set_params(n_jobs=2)
    both.pairwise(X)
    both.pairwise(X, n_jobs=1)
    assert seen == [2, 1]


def test_many_classes_have_neighbours_of_their_own_for_the_scale_of_the_start(monkeypatch):
    """However small a batch is: some of the documents that choose it have neighbours of their class and of others."""
    X, y, vectors = topics(n_documents=160, n_classes=40, n_words=80, length=6)
    seen = []

    def watched(documents, metric, rows, *settings):
        seen.append(documents.labels[rows])
        return scaled_start(documents, metric, rows, *settings)

    monkeypatch.setattr(swmd, "scaled_start", watched)
    SupervisedWordMover(vectors, **QUICK | {"max_iter": 0}).fit(X, y)
    assert seen[0].size == 144  # all that are not held out
    assert np.bincount(seen[0]).max() > 1


def test_history_and_callback_tell_the_steps(case, fitted):
    X, y, vectors = case
    seen = []
    SupervisedWordMover(vectors, callback=seen.append, **QUICK).fit(X, y)
    assert tuple(seen) == fitted.history_
    assert isinstance(seen[0], SwmdRecord)
    assert [record.step for record in seen] == list(range(1, 13))
    assert [record.step for record in seen if record.validation_loss is not None] == [10]
    assert fitted.n_iter_ == 12


def test_interrupt_keeps_the_best_so_far(case, caplog):
    X, y, vectors = case

    def interrupt(record):
        if record.step == 3:
            raise KeyboardInterrupt

    with caplog.at_level(logging.WARNING, logger="treewass"):
        mover = SupervisedWordMover(vectors, callback=interrupt, **QUICK).fit(X, y)
    assert mover.n_iter_ == 3
    assert "interrupted after 3 steps" in caplog.text
    assert mover.predict(X[:2]).shape == (2,)


def test_training_resumes_to_the_bit(case, tmp_path):
    X, y, vectors = case
    options = QUICK | {"max_iter": 24}
    whole = SupervisedWordMover(vectors, **options).fit(X, y)

    def interrupt(record):
        if record.step == 13:
            raise KeyboardInterrupt

    mover = SupervisedWordMover(vectors, checkpoint=tmp_path / "training", **options)
    clone(mover).set_params(callback=interrupt).fit(X, y)
    assert json.loads((tmp_path / "training" / "checkpoint.json").read_text())["records"][-1]["step"] == 10
    steps = []
    resumed = mover.set_params(callback=lambda record: steps.append(record.step)).fit(X, y)
    assert steps == list(range(11, 25))
    assert resumed.history_ == whole.history_
    assert np.array_equal(resumed.linear_map_, whole.linear_map_)
    assert np.array_equal(resumed.word_weights_, whole.word_weights_)
    with pytest.raises(ValueError, match="these differ: documents, vectors or settings"):
        mover.fit(X[1:], y[1:])
    with pytest.raises(ValueError, match="these differ: documents, vectors or settings"):
        clone(mover).set_params(learning_rate=0.5).fit(X, y)
    assert len(list((tmp_path / "training").iterdir())) == 2


def test_damaged_checkpoints_are_refused(case, tmp_path):
    X, y, vectors = case
    mover = SupervisedWordMover(vectors, checkpoint=tmp_path, **QUICK).fit(X, y)
    manifest = tmp_path / "checkpoint.json"
    whole = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({name: value for name, value in whole.items() if name != "best_loss"}))
    with pytest.raises(ValueError, match="its hash differs"):
        mover.fit(X, y)
    manifest.write_text(json.dumps(whole))
    next(tmp_path.glob("*.safetensors")).unlink()
    with pytest.raises(ValueError, match="whole checkpoint"):
        mover.fit(X, y)
    (tmp_path / "checkpoint.json").write_text("{")
    with pytest.raises(ValueError, match="cannot be read"):
        mover.fit(X, y)
    (tmp_path / "checkpoint.json").write_text('{"format": "other", "version": 1}')
    with pytest.raises(ValueError, match="describes something else"):
        mover.fit(X, y)


def test_words_and_documents_without_a_vector(case):
    X, y, vectors = case
    wide = np.hstack([X, np.full((len(X), 1), 2)])
    aligned = AlignedVectors(np.vstack([vectors, np.zeros(8)]), [True] * 60 + [False], ("yeti",))
    mover = SupervisedWordMover(aligned, **QUICK).fit(wide, y)
    only_unknown = np.zeros((1, 61))
    only_unknown[0, 60] = 3
    with pytest.warns(EmptyDocumentWarning, match="class prior"):
        assert np.array_equal(mover.predict_proba(only_unknown)[0], mover.class_prior_)
    with pytest.raises(ValueError, match=r"SupervisedWordMover expects each document .*rows of Y hold none \(rows 0\)"):
        mover.pairwise(wide[:2], only_unknown)
    with pytest.warns(EmptyDocumentWarning, match="never neighbours"):
        mover.fit(np.vstack([only_unknown, wide]), np.append([2], y))
    assert 0 not in mover.kneighbors(wide, return_distance=False)
    assert mover.kneighbors(wide[[0]], 1)[1].tolist() == [[1]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components as an integer of at least 1"),
        ({"regularization": 0.0}, "regularization as a finite number above zero"),
        ({"validation_fraction": 1.0}, "validation_fraction from zero to below one"),
        ({"word_vectors": np.eye(3)}, "one word vector for each of the 60 columns"),
        ({"word_vectors": np.full((60, 2), np.nan)}, "finite word_vectors"),
        ({"word_vectors": np.full((60, 2), 1e-160)}, "word_vectors whose squares do not vanish.*none above 1e-160"),
    ],
)
def test_bad_parameters_are_refused(parameters, message, case):
    with pytest.raises(ValueError, match=message):
        SupervisedWordMover(**parameters).fit(case[0], case[1])


def test_an_unfitted_one_says_so(case):
    with pytest.raises(NotFittedError):
        SupervisedWordMover().pairwise(case[0])


def test_distances_serve_as_a_precomputed_metric(case, fitted):
    from sklearn.neighbors import KNeighborsClassifier

    X, y, vectors = case
    for distance in (fitted.pairwise, lambda *rows: wmd(*rows, word_vectors=vectors)):
        model = KNeighborsClassifier(3, metric="precomputed").fit(distance(X), y)
        assert model.score(distance(X[:9], X), y[:9]) > 0.5


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::treewass.documents.UncoveredWordsWarning")
def test_training_lowers_the_leave_one_out_error_on_bbcsport_below_that_of_wmd(data_folder):
    split = load_set("bbcsport", data_folder).split(0)
    vectors = read_word_vectors(data_folder / "word_vectors.npz").align(split.words)
    labels = np.unique(split.y_train, return_inverse=True)[1]

    def errors(rows):
        return (fallback_vote(labels[rows], 5).argmax(axis=1) != labels).mean()

    mover = SupervisedWordMover(vectors, max_iter=20, n_jobs=2).fit(split.X_train, split.y_train)
    plain = wmd_neighbors(split.X_train, n_neighbors=19, word_vectors=vectors, n_jobs=2)[1]
    assert errors(mover.kneighbors(return_distance=False)) < errors(plain)
