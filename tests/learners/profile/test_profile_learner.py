import logging
from dataclasses import FrozenInstanceError

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array, hstack, vstack
from sklearn.base import clone
from sklearn.metrics import accuracy_score

from tests.oracles import linear_program
from treewass import EmptyDocumentWarning, ProfileTreeWasserstein, TreeWassersteinClassifier
from treewass.documents import make_documents


@pytest.fixture(scope="module")
def documents():
    X, y = make_documents(240, n_words=150, words_per_document=10, n_classes=3, random_state=2)
    return csr_array(X, dtype=float), np.array(["ant", "bee", "cow"])[y]


@pytest.fixture(scope="module")
def fitted(documents):
    return ProfileTreeWasserstein(epochs=2, batch_size=60).fit(*documents)


@pytest.mark.parametrize("n_trees", [1, 2])
def test_learned_distance_is_the_optimal_transport_cost(documents, n_trees):
    X, y = documents
    chosen = X[:, :30]
    kept = np.diff(chosen.indptr) > 1
    learner = ProfileTreeWasserstein(n_trees=n_trees, learning_rate=0.1).fit(chosen[kept], y[kept])
    assert np.ptp(learner.metric_.trees[0].leaf_lengths) > 0.1
    assert np.ptp(learner.metric_.trees[0].edge_lengths) > 0.1
    few = chosen[kept][:4]
    distances = learner.pairwise(few)
    for first in range(4):
        for second in range(first):
            expected = linear_program(learner.metric_, few[[first]].toarray()[0], few[[second]].toarray()[0])
            assert distances[first, second] == pytest.approx(expected, abs=1e-6)


def test_refinement_lowers_the_loss_and_keeps_its_records(documents):
    X, y = documents
    learner = ProfileTreeWasserstein().fit(X, y)
    losses = [record.loss for record in learner.history_]
    assert np.mean(losses[-3:]) < np.mean(losses[:3])
    assert [record.epoch for record in learner.history_] == list(range(1, len(losses) + 1))
    with pytest.raises(FrozenInstanceError):
        learner.history_[0].loss = 0.0


def test_result_is_the_same_for_every_number_of_threads(documents):
    X, y = documents
    settings = {"n_trees": 3, "epochs": 1, "batch_size": 40}
    one, other = (ProfileTreeWasserstein(**settings, n_jobs=jobs).fit(X, y) for jobs in (1, 3))
    assert one.metric_ == other.metric_
    assert one.history_ == other.history_
    different = ProfileTreeWasserstein(**settings, random_state=1).fit(X, y)
    assert different.metric_ != one.metric_


def test_order_of_documents_does_not_matter(documents, fitted):
    X, y = documents
    order = np.random.RandomState(0).permutation(len(y))
    assert ProfileTreeWasserstein(epochs=2, batch_size=60).fit(X[order], y[order]).metric_ == fitted.metric_


def test_scale_of_documents_does_not_matter(documents, fitted):
    X, y = documents
    assert ProfileTreeWasserstein(epochs=2, batch_size=60).fit(3 * X, y).metric_ == fitted.metric_


@pytest.mark.parametrize("refine", [False, True])
def test_weight_is_repetition(documents, refine):
    X, y = documents
    weights = np.random.RandomState(0).randint(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = ProfileTreeWasserstein(refine=refine, epochs=1).fit(X, y, sample_weight=weights)
    assert weighted.metric_ == ProfileTreeWasserstein(refine=refine, epochs=1).fit(X[rows], y[rows]).metric_


def test_partial_fit_in_parts_equals_fit(documents):
    X, y = documents
    whole = ProfileTreeWasserstein(refine=False).fit(X, y)
    order = np.argsort(y, kind="stable")  # classes come one after the other
    with_classes, without = ProfileTreeWasserstein(refine=False), ProfileTreeWasserstein(refine=False)
    for part in np.array_split(order, 4):
        with_classes.partial_fit(X[part], y[part], classes=np.unique(y))
        without.partial_fit(X[part], y[part])
    assert with_classes.metric_ == without.metric_ == whole.metric_
    assert without.classes_.tolist() == ["ant", "bee", "cow"]
    with pytest.raises(ValueError, match="149 features"):
        without.partial_fit(X[:, 1:], y)


def test_update_with_new_words_and_classes_equals_fit_without_refinement(documents):
    X, y = documents
    early = np.flatnonzero(y != "bee")[:100]
    late = np.setdiff1d(np.arange(len(y)), early)
    narrow = X[early][:, :100]
    learner = ProfileTreeWasserstein(refine=False).fit(narrow, y[early]).update(X[late], y[late])
    wide = csr_array(hstack([narrow, csr_array((len(early), 50))]))
    expected = ProfileTreeWasserstein(refine=False).fit(
        csr_array(vstack([wide, X[late]])), np.append(y[early], y[late])
    )
    assert learner.metric_ == expected.metric_
    assert learner.n_features_in_ == 150


def test_update_keeps_what_refinement_learned(documents):
    X, y = documents
    learner = ProfileTreeWasserstein(learning_rate=0.1).fit(X[:120, :100], y[:120])
    before = learner.metric_.trees[0]
    learner.update(X[120:], np.where(np.arange(120) < 5, "new", y[120:]))
    after = learner.metric_.trees[0]
    assert np.array_equal(after.parents, before.parents)
    assert np.array_equal(after.edge_lengths, before.edge_lengths)
    assert np.array_equal(after.leaf_lengths[:100], before.leaf_lengths)
    assert (after.leaf_lengths[100:] == learner.leaf_length).all()
    assert "new" in learner.classes_
    rows = np.flatnonzero(np.diff(X.indptr) > 2)
    assert np.isfinite(learner.pairwise(X[rows])).all()
    narrower = X[:, :50]
    with pytest.raises(ValueError, match="50 features"):
        learner.update(narrower, y)


def test_unlabelled_words_are_placed_by_their_vectors(documents):
    X, y = documents
    vectors = np.random.RandomState(0).randn(151, 5).astype(np.float32)
    informative = int(ProfileTreeWasserstein().fit(X, y).informativeness_.argmax())
    vectors[150] = vectors[informative]  # never seen, but like the most informative word
    wide = csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], 151))
    without = ProfileTreeWasserstein().fit(wide, y)
    assert not without.metric_.known_words[150]
    with_vectors = ProfileTreeWasserstein(word_vectors=vectors).fit(wide, y)
    assert with_vectors.metric_.known_words[150]
    vectors[150] = 0  # no vector
    assert not ProfileTreeWasserstein(word_vectors=vectors).fit(wide, y).metric_.known_words[150]


def test_unlabelled_words_do_not_shape_the_tree(documents):
    X, y = documents
    vectors = np.random.RandomState(0).randn(200, 5).astype(np.float32)
    wide = csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], 200))
    narrow, wider = (ProfileTreeWasserstein(word_vectors=vectors).fit(matrix, y).metric_ for matrix in (X, wide))
    assert np.array_equal(narrow.trees[0].parents, wider.trees[0].parents)
    assert np.array_equal(narrow.trees[0].word_nodes, wider.trees[0].word_nodes[:150])
    np.testing.assert_allclose(narrow.masses[0], wider.masses[0, :150], rtol=1e-5)


def test_update_with_vectors_equals_fit_without_refinement(documents):
    X, y = documents
    vectors = np.random.RandomState(0).randn(150, 5)
    learner = ProfileTreeWasserstein(refine=False, word_vectors=vectors)
    whole, parts = learner.fit(X, y).metric_, clone(learner).fit(X[:60], y[:60]).update(X[60:], y[60:]).metric_
    assert np.array_equal(whole.trees[0].word_nodes, parts.trees[0].word_nodes)
    assert np.array_equal(whole.masses, parts.masses)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((3, 2)), r"at least 150"),
        (np.full((150, 2), np.nan), "finite"),
        (np.ones(150), "one row for each"),
    ],
)
def test_wrong_vectors_are_refused(documents, vectors, message):
    with pytest.raises(ValueError, match=message):
        ProfileTreeWasserstein(word_vectors=vectors).fit(*documents)


def test_class_of_one_document_and_word_in_every_document():
    X = np.array([[1, 1, 0, 0], [1, 2, 0, 0], [1, 0, 1, 0], [1, 0, 3, 0], [1, 0, 0, 1]])
    learner = ProfileTreeWasserstein().fit(X, [0, 0, 1, 1, 2])
    assert learner.informativeness_[0] == pytest.approx(0, abs=1e-12)
    assert learner.informativeness_[1:].min() > 0.04
    assert np.isfinite(learner.pairwise(X)).all()


def test_hundreds_of_classes_and_a_wide_vocabulary():
    random = np.random.RandomState(0)
    y = np.arange(900) % 300
    words = np.concatenate(
        [3000 * y[:, None] + random.randint(0, 5, (900, 4)), random.randint(0, 10**6, (900, 3))], axis=1
    )
    X = csr_array((np.ones(words.size), (np.repeat(np.arange(900), 7), words.ravel())), shape=(900, 10**6))
    learner = ProfileTreeWasserstein(batch_size=100).fit(X, y)
    assert len(learner.classes_) == 300
    assert learner.metric_.trees[0].n_nodes <= 1 + 30 + 900
    assert learner.history_[-1].loss < learner.history_[0].loss


def test_one_class_and_documents_without_words():
    with pytest.warns(EmptyDocumentWarning, match="nothing is learned"):
        learner = ProfileTreeWasserstein().fit([[1, 2], [0, 0], [2, 1]], [0, 0, 0])
    assert learner.pairwise([[1, 0]], [[0, 1]]) > 0


def test_shuffled_labels_teach_nothing():
    X, y = make_documents(450, n_words=300, words_per_document=12, n_classes=3, random_state=3)
    y = np.random.RandomState(0).permutation(np.where(y == 0, 1, y))  # a majority of two thirds
    accuracy = accuracy_score(y[250:], TreeWassersteinClassifier().fit(X[:250], y[:250]).predict(X[250:]))
    majority = np.mean(y[250:] == 1)
    assert accuracy <= majority + 2 * np.sqrt(majority * (1 - majority) / 200)


def test_progress_goes_to_the_logger_and_a_bar_to_standard_error(documents, caplog, capsys):
    with caplog.at_level(logging.INFO, logger="treewass"):
        ProfileTreeWasserstein(epochs=1, batch_size=6).fit(*documents)
    assert "epoch 1" in caplog.text
    assert capsys.readouterr() == ("", "")
    ProfileTreeWasserstein(epochs=1, batch_size=6, verbose=True).fit(*documents)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "refining" in captured.err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"arity": 1}, "arity as an integer of at least 2"),
        ({"depth": -1}, "depth as an integer of at least 0"),
        ({"n_trees": 0}, "n_trees as an integer of at least 1"),
        ({"smoothing": 0.0}, "smoothing as a finite number above zero"),
        ({"floor": 0.0}, "floor as a finite number above zero"),
        ({"word_dropout": 1.0}, "word_dropout from zero to below one"),
    ],
)
def test_wrong_parameters_are_refused(documents, parameters, message):
    with pytest.raises(ValueError, match=message):
        ProfileTreeWasserstein(**parameters).fit(*documents)
    with pytest.raises(ValueError, match="sample_weight of shape"):
        ProfileTreeWasserstein().fit(*documents, sample_weight=[1.0])


def test_a_refused_call_leaves_the_learner_as_it_was():
    X, y = make_documents(40, n_words=30, n_classes=3, random_state=0)
    learner = ProfileTreeWasserstein(refine=False).partial_fit(X, y)
    before = learner.metric_
    with pytest.raises(ValueError, match="Negative"):
        learner.partial_fit(-X.toarray(), y + 5)
    wide = np.hstack([X.toarray(), X.toarray()])
    with pytest.raises(ValueError, match="sample_weight"):
        learner.update(wide, y, sample_weight=[1])
    assert learner.metric_ == before
    assert learner.transform(X).shape[0] == 40
    twice = ProfileTreeWasserstein(refine=False).fit(np.vstack([X.toarray()] * 2), np.concatenate([y, y]))
    assert learner.partial_fit(X, y).metric_ == twice.metric_


def test_update_keeps_words_in_their_columns():
    X, y = make_documents(40, n_words=30, n_classes=3, random_state=0)
    names = [f"w{word}" for word in range(30)]
    learner = ProfileTreeWasserstein(refine=False).fit(pandas.DataFrame(X.toarray(), columns=names), y)
    wide = pandas.DataFrame(np.hstack([X.toarray(), np.ones((40, 1))]), columns=[*names, "new"])
    for scrambled in (wide[[*names[::-1], "new"]], wide.to_numpy()):
        with pytest.raises(ValueError, match="first 30 columns are the words seen so far"):
            learner.update(scrambled, y)
    assert learner.update(wide, y).feature_names_in_.tolist() == [*names, "new"]


def test_update_takes_lists():
    learner = ProfileTreeWasserstein(refine=False).fit([[1, 0], [0, 1]], ["a", "b"])
    assert learner.update([[0, 1, 2]], ["c"]).n_features_in_ == 3


def test_text_and_numbers_do_not_mix_as_labels():
    learner = ProfileTreeWasserstein(refine=False).partial_fit([[1, 0], [0, 1]], [9, 10])
    with pytest.raises(ValueError, match="all text or all numbers"):
        learner.partial_fit([[1, 0], [0, 1]], ["9", "a"])


def test_epochs_are_the_passes_that_are_made(documents):
    assert len(ProfileTreeWasserstein(epochs=3).fit(*documents).history_) == 3
    assert len(ProfileTreeWasserstein(epochs=0).fit(*documents).history_) == 0
    assert len(ProfileTreeWasserstein(batch_size=2).fit(*documents).history_) == 1  # a pass makes 120 steps
    with pytest.raises(ValueError, match="epochs"):
        ProfileTreeWasserstein(epochs=-1).fit(*documents)
