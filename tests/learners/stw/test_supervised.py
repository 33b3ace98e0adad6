import numpy as np
import pytest
from scipy.sparse import csr_array, hstack
from sklearn.feature_extraction.text import CountVectorizer

from tests.oracles import linear_program
from treewass import EmptyDocumentWarning, SupervisedTreeWasserstein, TreeWassersteinClassifier
from treewass.documents import make_documents
from treewass.documents.synthetic import INSTRUMENTS, make_instruments
from treewass.learners.stw.smooth_variants import smooth_distances
from treewass.trees import perfect_tree

SMALL = {"arity": 3, "depth": 2, "epochs": 3, "batch_size": 20}


@pytest.fixture(scope="module")
def documents():
    X, y = make_documents(120, n_words=60, words_per_document=8, n_classes=3, random_state=0)
    return csr_array(X, dtype=float), np.array(["ant", "bee", "cow"])[y]


@pytest.fixture(scope="module")
def fitted(documents):
    return SupervisedTreeWasserstein(**SMALL).fit(*documents)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10))])
def test_synthetic_set_isolates_the_two_telling_words(seed):
    vectorizer = CountVectorizer(vocabulary=list(INSTRUMENTS))
    train, test = make_instruments(1000, random_state=seed), make_instruments(1000, random_state=seed + 100)
    X = vectorizer.transform(train.texts)
    learner = SupervisedTreeWasserstein(depth=1, margin=10, random_state=seed).fit(X, train.labels)
    nodes = learner.metric_.trees[0].word_nodes
    assert nodes[0] == nodes[1]
    assert not set(nodes[:2]) & set(nodes[2:])
    classifier = TreeWassersteinClassifier(learner.metric_, n_neighbors=1, vote="majority").fit(X, train.labels)
    assert classifier.score(vectorizer.transform(test.texts), test.labels) == 1


def test_learned_distance_is_the_optimal_transport_cost(documents, fitted):
    X, _ = documents
    distances = fitted.pairwise(X[:3])
    for first in range(3):
        for second in range(first):
            expected = linear_program(fitted.metric_, X[[first]].toarray()[0], X[[second]].toarray()[0])
            assert distances[first, second] == pytest.approx(expected, abs=1e-6)


def test_words_hang_from_their_best_scores_the_root_included(fitted):
    tree = fitted.metric_.trees[0]
    assert np.array_equal(tree.word_nodes, fitted.scores_.argmax(axis=1))
    assert np.array_equal(tree.parents, perfect_tree(3, 2).parents)
    assert (tree.leaf_lengths == 1).all()


def test_same_seed_same_tree_for_every_number_of_threads(documents, fitted):
    again = SupervisedTreeWasserstein(**SMALL, n_jobs=3).fit(*documents)
    assert np.array_equal(again.scores_, fitted.scores_)
    assert again.metric_ == fitted.metric_
    other = SupervisedTreeWasserstein(**SMALL, random_state=1).fit(*documents)
    assert other.metric_ != fitted.metric_


def test_torch_learns_the_same_tree(documents, fitted):
    learner = SupervisedTreeWasserstein(**SMALL, device="cpu").fit(*documents)
    assert np.mean(np.abs(learner.scores_ - fitted.scores_)) < 1e-4
    assert np.mean(learner.metric_.trees[0].word_nodes == fitted.metric_.trees[0].word_nodes) > 0.95
    assert [r.loss for r in learner.history_] == pytest.approx([r.loss for r in fitted.history_], abs=1e-3)


@pytest.mark.parametrize("parents", ["sparsemax", "rankmax"])
def test_other_parents_need_torch(documents, parents):
    X, y = documents
    learner = SupervisedTreeWasserstein(**SMALL, parents=parents).fit(X, y)
    assert learner.metric_.trees[0].n_nodes == 13
    assert learner.pairwise(X[:2], variant="soft-smooth").shape == (2, 2)


def test_a_tuple_sets_the_smoothness_or_the_learning_rate(documents, fitted):
    X, y = documents
    settings = {"absolute": ("tanh", 2), "optimizer": ["adam", 0.1]}  # lists come from JSON
    learner = SupervisedTreeWasserstein(**SMALL, **settings).fit(X, y)
    assert np.array_equal(learner.scores_, fitted.scores_)
    for settings in ({"absolute": ("tanh", 4.0)}, {"absolute": "huber"}, {"optimizer": ("adam", 0.05)}):
        other = SupervisedTreeWasserstein(**SMALL, **settings).fit(X, y)
        assert not np.array_equal(other.scores_, fitted.scores_)


def test_eighteen_parameters_at_most():
    assert len(SupervisedTreeWasserstein().get_params()) <= 18


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"margin": 0}, "margin as a finite number above zero"),
        ({"margin": [5, -1]}, "margin as a finite number above zero"),
        ({"margin": []}, "margin as a finite number above zero"),
        ({"margin": "10"}, "margin as a finite number above zero, or several, got '10'"),
        ({"margin": "abc"}, "margin as a finite number above zero"),
        ({"margin": None}, "margin as a finite number above zero"),
        ({"epochs": None}, "epochs as an integer of at least 1, got None"),
        ({"validation_fraction": None}, "validation_fraction from zero to below one, got None"),
        ({"margin": [5, 10], "validation_fraction": 0}, "validation_fraction above zero"),
        ({"depth": 0}, "depth as an integer of at least 1, got 0"),
        ({"arity": 1}, "arity as an integer of at least 2"),
        ({"epochs": 0}, "epochs as an integer of at least 1"),
        ({"batch_size": 1}, "batch_size as an integer of at least 2"),
        ({"absolute": ("tanh", 0)}, "absolute to be one of tanh, huber, or a tuple of a name and a finite number"),
        ({"absolute": "round"}, "absolute to be one of tanh, huber, or"),
        ({"optimizer": ("adam", np.nan)}, r"such as \('adam', 0.1\), got \('adam', nan\)"),
        ({"optimizer": ("adam", "0.1")}, "optimizer to be one of adam, lars"),
        ({"optimizer": ("adam", 0.1, 0.9)}, "optimizer to be one of adam, lars"),
        ({"validation_fraction": 1}, "validation_fraction from zero to below one"),
        ({"parents": "hardmax"}, "parents to be one of softmax, sparsemax, rankmax, got 'hardmax'"),
        ({"optimizer": "sgd"}, "optimizer to be one of adam, lars"),
    ],
)
def test_bad_parameters_are_refused(documents, parameters, message):
    with pytest.raises(ValueError, match=message):
        SupervisedTreeWasserstein(**{**SMALL, **parameters}).fit(*documents)


def test_one_class_is_refused(documents):
    X, _ = documents
    with pytest.raises(ValueError, match=r"at least two labels, got one class \(ant\)"):
        SupervisedTreeWasserstein(**SMALL).fit(X, ["ant"] * 120)
    with (
        pytest.warns(EmptyDocumentWarning),
        pytest.raises(ValueError, match=r"with words .* one class \(1\)"),
    ):
        SupervisedTreeWasserstein(**SMALL).fit([[1, 0], [1, 1], [0, 0]], [1, 1, 2])


def test_empty_documents_teach_nothing_and_unseen_words_are_unknown(documents, fitted):
    X, y = documents
    wide = csr_array(hstack([X, csr_array((120, 1))]))
    wider = csr_array(np.vstack([wide.toarray(), np.zeros((2, 61))]))
    with pytest.warns(EmptyDocumentWarning, match=r"2 document\(s\) hold no known word .* they teach nothing"):
        learner = SupervisedTreeWasserstein(**SMALL).fit(wider, [*y, "ant", "bee"])
    assert learner.metric_.masses[0, 60] == 0
    assert learner.history_[0].loss == pytest.approx(fitted.history_[0].loss, abs=0.05)
    with pytest.warns(EmptyDocumentWarning), pytest.raises(ValueError, match="X holds only zeros"):
        SupervisedTreeWasserstein(**SMALL).fit(np.zeros((4, 3)), [0, 0, 1, 1])


def test_missing_torch_is_named_with_its_pip_line(documents, fitted, monkeypatch):
    import sys
    from importlib import import_module

    monkeypatch.setitem(sys.modules, "torch", None)
    assert SupervisedTreeWasserstein(**SMALL).fit(*documents).best_epoch_ > 0
    with pytest.raises(ImportError, match=r'pip install "torch>='):
        SupervisedTreeWasserstein(**SMALL, device="cpu").fit(*documents)
    with pytest.raises(ImportError, match="parents by sparsemax needs the module 'torch'"):
        smooth_distances(fitted.metric_, documents[0], scores=fitted.scores_, parents="sparsemax")
    for name in ("learners.stw.soft_trees", "trees.torch_distances"):
        monkeypatch.delitem(sys.modules, f"treewass.{name}", raising=False)
        with pytest.raises(ImportError, match=r"needs the module 'torch'.* \"torch>="):
            import_module(f"treewass.{name}")


def test_scores_that_cannot_fit_the_memory_are_refused_with_what_they_need():
    wide = csr_array((np.ones(20), (np.arange(20), np.arange(20))), shape=(20, 30_000_000))
    with pytest.raises(
        ValueError, match=r"1874\.9 GB for the scores of 30000000 words for 3906 nodes\. Leave out rare words"
    ):
        SupervisedTreeWasserstein().fit(wide, np.arange(20) % 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"absolute": ("tanh", True)}, r"got \('tanh', True\)"),
        ({"optimizer": ("adam", np.float64(0.0))}, r"got \('adam', 0.0\)"),
        ({"margin": np.float64(0.0)}, r"got 0\.0\."),
        ({"validation_fraction": np.float64(-1.0)}, r"got -1\.0\."),
        ({"validation_fraction": False}, "got False"),
        ({"epochs": True}, "got True"),
    ],
)
def test_messages_show_plain_numbers_and_no_truth_value_is_a_number(parameters, message):
    with pytest.raises(ValueError, match=message):
        SupervisedTreeWasserstein(**parameters).fit([[1, 0], [0, 1]], [0, 1])


QUICK = {"arity": 2, "depth": 2, "epochs": 3, "batch_size": 20, "margin": 5.0}


@pytest.fixture(scope="module")
def forty():
    X, y = make_documents(40, n_words=30, words_per_document=6, n_classes=2, random_state=0)
    return np.asarray(csr_array(X).todense(), dtype=float), np.asarray(y)


def test_a_warm_start_goes_on_from_the_scores(forty):
    learner = SupervisedTreeWasserstein(**QUICK, validation_fraction=0.0, optimizer=("adam", 1e-12), warm_start=True)
    first = learner.fit(*forty).scores_.copy()
    learner.set_params(random_state=5).fit(*forty)
    assert np.allclose(learner.scores_, first, atol=1e-6)  # a seed of its own would have drawn others
    assert not np.allclose(learner.set_params(warm_start=False).fit(*forty).scores_, first, atol=1e-2)
    learner.set_params(warm_start=True, depth=1)
    with pytest.raises(ValueError, match="for 30 words and 7 nodes, got 30 words and 3 nodes"):
        learner.fit(*forty)


@pytest.mark.parametrize("vectors", [None, np.arange(60.0).reshape(30, 2) + 1])
def test_a_warm_start_on_other_documents_keeps_what_was_learned(forty, vectors):
    X, y = forty
    first, second = X * (np.arange(30) < 15), X * (np.arange(30) >= 15)
    some, others = (np.flatnonzero(part.any(axis=1)) for part in (first, second))
    settings = {**QUICK, "validation_fraction": 0.0, "warm_start": True, "word_vectors": vectors}
    learner = SupervisedTreeWasserstein(**settings).fit(first[some], y[some])
    learned, seen = learner.scores_.copy(), first.any(axis=0)
    learner.fit(second[others], y[others])
    assert learner.metric_.known_words[seen].all()
    assert np.array_equal(learner.scores_[seen], learned[seen])
    assert learner.metric_.known_words[second.any(axis=0)].all()
    assert not np.array_equal(learner.scores_[~seen], learned[~seen])


def test_scores_are_dropped_on_request_and_the_tree_stays(forty):
    X, y = forty
    whole, light = (SupervisedTreeWasserstein(**QUICK, keep_scores=keep).fit(X, y) for keep in (True, False))
    assert light.metric_ == whole.metric_
    assert not hasattr(light, "scores_")
    assert np.array_equal(light.pairwise(X, variant="smooth"), whole.pairwise(X, variant="smooth"))
    with pytest.raises(ValueError, match="fit with keep_scores=True"):
        light.pairwise(X, variant="soft-smooth")
    assert not hasattr(whole.set_params(keep_scores=False).fit(X, y), "scores_")
    with pytest.raises(ValueError, match="keep_scores=True with warm_start=True"):
        whole.set_params(warm_start=True).fit(X, y)


def test_classes_are_those_of_documents_that_have_a_weight(forty):
    X, y = forty
    names = np.where(np.arange(40) < 5, "another", np.array(["cat", "dog"])[y])
    weights = np.where(np.arange(40) < 5, 0.0, 1.0)
    learner = SupervisedTreeWasserstein(**QUICK).fit(X, names, sample_weight=weights)
    assert learner.classes_.tolist() == ["cat", "dog"]
    assert np.array_equal(learner.scores_, SupervisedTreeWasserstein(**QUICK).fit(X[5:], y[5:]).scores_)


def test_weights_count_as_repetition_in_the_loss_and_zero_leaves_out(forty):
    X, y = forty
    plain = SupervisedTreeWasserstein(**QUICK, validation_fraction=0.0)
    same = plain.fit(X, y).scores_.copy()
    assert np.array_equal(plain.fit(X, y, sample_weight=np.full(40, 2.0)).scores_, same)
    weights = np.where(np.arange(40) < 30, 1.0, 0.0)
    assert np.array_equal(plain.fit(X, y, sample_weight=weights).scores_, plain.fit(X[:30], y[:30]).scores_)
    uneven = plain.fit(X, y, sample_weight=np.linspace(0.1, 5, 40)).scores_
    assert not np.array_equal(uneven, same)
    by_torch = SupervisedTreeWasserstein(**QUICK, validation_fraction=0.0, device="cpu")
    assert np.allclose(by_torch.fit(X, y, sample_weight=np.linspace(0.1, 5, 40)).scores_, uneven, atol=1e-2)
    with pytest.raises(ValueError, match="zero or more, got -1"):
        plain.fit(X, y, sample_weight=-np.ones(40))


def test_unseen_words_hang_where_the_word_most_like_them_does(forty):
    X, y = forty
    wide = np.hstack([X, np.zeros((40, 3))])
    vectors = np.vstack([np.eye(30), 2 * np.eye(30)[4] + np.eye(30)[5], -np.eye(30)[0], np.zeros(30)])
    learner = SupervisedTreeWasserstein(**QUICK, word_vectors=vectors).fit(wide, y)
    nodes = learner.metric_.trees[0].word_nodes
    assert nodes[30] == nodes[4]
    assert learner.metric_.known_words[30:].tolist() == [True, False, False]
    assert np.array_equal(learner.scores_[30], learner.scores_[4])
    with pytest.raises(ValueError, match="one word vector for each of the 30 columns of X, got 33"):
        learner.fit(X, y)
