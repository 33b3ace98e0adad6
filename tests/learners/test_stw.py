import numpy as np
import pytest
from scipy.sparse import csr_array, hstack
from sklearn.feature_extraction.text import CountVectorizer

from tests.oracles import linear_program
from treewass import EmptyDocumentWarning, SupervisedTreeWasserstein, Tree, TreeWassersteinClassifier
from treewass.documents import make_documents, to_histograms
from treewass.documents.instruments import INSTRUMENTS, make_instruments
from treewass.learners.fingerprints import fingerprints
from treewass.learners.soft.batches import LabelledDocuments
from treewass.learners.soft.fitting import split_documents
from treewass.learners.soft.variants import SmoothDistance
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


def test_given_tree_and_placement(documents):
    X, y = documents
    nodes = Tree([-1, 0, 0, 1, 1], edge_lengths=[1, 2, 1, 0.5, 0.5])
    place = np.arange(60) % 5
    learner = SupervisedTreeWasserstein(tree=nodes, start=place, epochs=1, learning_rate=1e-6).fit(X, y)
    assert np.array_equal(learner.metric_.trees[0].word_nodes, place)
    assert np.array_equal(learner.metric_.trees[0].edge_lengths, nodes.edge_lengths)
    with pytest.raises(ValueError, match="a node for each of 60 words, got 2"):
        SupervisedTreeWasserstein(tree=nodes, start=[0, 1]).fit(X, y)
    with pytest.raises(ValueError, match="between 0 and 4"):
        SupervisedTreeWasserstein(tree=nodes, start=np.full(60, 5)).fit(X, y)
    with pytest.raises(TypeError, match="tree as a Tree"):
        SupervisedTreeWasserstein(tree=[-1, 0]).fit(X, y)


@pytest.mark.parametrize("options", [{"learn_lengths": True}, {"learn_tree": True}, {"parents": "entmax"}], ids=str)
def test_options_that_need_torch(documents, options):
    X, y = documents
    learner = SupervisedTreeWasserstein(**SMALL, **options).fit(X, y)
    tree = learner.metric_.trees[0]
    assert (np.ptp(tree.edge_lengths) > 0) == ("learn_lengths" in options)
    assert learner.pairwise(X[:2], variant="soft-smooth").shape == (2, 2)


def test_variants_of_the_distance(documents, fitted):
    X, _ = documents
    first, second = X[:4], X[4:10]
    plain = fitted.pairwise(first, second)
    smooth = fitted.pairwise(first, second, variant="smooth", smoothness=1e6)
    assert np.allclose(smooth, plain, atol=1e-4)
    assert (fitted.pairwise(first, second, variant="smooth") < plain).all()
    soft = fitted.pairwise(first, second, variant="soft-smooth")
    assert np.array_equal(soft, fitted.pairwise(first, second, variant="soft-smooth", smoothness=10.0, n_jobs=2))
    assert np.allclose(fitted.pairwise(first, variant="soft-smooth").diagonal(), 0)
    for variant in ("smooth", "soft-smooth"):
        distances = fitted.pairwise(X, variant=variant)
        assert np.array_equal(distances, distances.T)
    with pytest.raises(ValueError, match='variant to be "stw", "smooth" or "soft-smooth"'):
        fitted.pairwise(first, variant="hard")
    with pytest.raises(ValueError, match="smoothness as a finite number above zero"):
        fitted.pairwise(first, variant="smooth", smoothness=0)
    with pytest.raises(ValueError, match="smoothness as a finite number above zero, got 'a'"):
        fitted.pairwise(first, variant="smooth", smoothness="a")


@pytest.mark.parametrize("absolute", ["tanh", "huber"])
def test_variants_agree_with_equation_three(documents, absolute):
    import torch

    from treewass.learners.soft import parent_probabilities, soft_distances

    X, y = documents
    learner = SupervisedTreeWasserstein(**SMALL, absolute=absolute).fit(X, y)
    rows = torch.tensor(to_histograms(X[:6]).toarray())
    hard = torch.nn.functional.one_hot(torch.tensor(learner.scores_.argmax(axis=1)), 13).double()
    soft = parent_probabilities(torch.tensor(learner.scores_).double())
    for variant, parents in (("smooth", hard), ("soft-smooth", soft)):
        expected = soft_distances(rows, rows, parents, perfect_tree(3, 2), smoothness=4.0, absolute=absolute)
        found = learner.pairwise(X[:6], variant=variant, smoothness=4.0)
        assert np.allclose(found, expected, atol=1e-6)


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
        ({"mass": None}, "mass as a finite number above zero, got None"),
        ({"validation_share": None}, "validation_share from zero to below one, got None"),
        ({"margin": [5, 10], "validation_share": 0}, "validation_share above zero"),
        ({"depth": 0}, "depth as an integer of at least 1, got 0"),
        ({"arity": 1}, "arity as an integer of at least 2"),
        ({"epochs": 0}, "epochs as an integer of at least 1"),
        ({"batch_size": 1}, "batch_size as an integer of at least 2"),
        ({"smoothness": 0}, "smoothness as a finite number above zero"),
        ({"learning_rate": np.nan}, "learning_rate as a finite number above zero"),
        ({"validation_share": 1}, "validation_share from zero to below one"),
        ({"parents": "hardmax"}, "parents to be one of softmax, sparsemax, entmax, rankmax, got 'hardmax'"),
        ({"optimizer": "sgd"}, "optimizer to be one of adam, lars"),
        ({"state": "float16"}, "state to be one of"),
    ],
)
def test_bad_parameters_are_refused(documents, parameters, message):
    with pytest.raises(ValueError, match=message):
        SupervisedTreeWasserstein(**{**SMALL, **parameters}).fit(*documents)


def test_one_class_is_refused(documents):
    X, _ = documents
    with pytest.raises(ValueError, match=r"at least two labels, got one class \(np.str_\('ant'\)\)"):
        SupervisedTreeWasserstein(**SMALL).fit(X, ["ant"] * 120)
    with (
        pytest.warns(EmptyDocumentWarning),
        pytest.raises(ValueError, match=r"with words .* one class \(np.int64"),
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


def test_equal_documents_are_held_out_together():
    counts = np.repeat(np.eye(20), 3, axis=0)
    held = split_documents(LabelledDocuments(to_histograms(counts), np.arange(60) % 2), 0.2, seed=0)
    assert held.sum() == 12
    assert (held.reshape(20, 3).sum(axis=1) % 3 == 0).all()


def hold_out(counts, labels, seed, share=0.2):
    return split_documents(LabelledDocuments(to_histograms(counts), labels), share, seed)


@pytest.mark.parametrize("n_equal", [15, 60])
def test_many_equal_documents_do_not_end_the_choice(n_equal):
    counts = np.vstack([np.tile(np.eye(121)[0], (n_equal, 1)), np.eye(121)[1 : 121 - n_equal]])
    for seed in range(10):
        held = hold_out(counts, np.arange(120) % 2, seed)
        assert 22 <= held.sum() <= 24
        assert held[:n_equal].sum() in (0, n_equal)
        assert n_equal < 24 or not held[0]


def test_every_class_keeps_a_document_to_learn_from():
    labels = np.repeat([0, 1, 2], [56, 3, 1])
    counts = np.eye(60)
    counts[57] = counts[58] = counts[56]  # all of a class, equal
    for seed in range(10):
        held = hold_out(counts, labels, seed, share=0.5)
        assert held.sum() == 30
        assert set(labels[~held]) == {0, 1, 2}


@pytest.mark.parametrize("seed", range(5))
def test_otherwise_documents_are_held_out_in_their_random_order(seed):
    random = np.random.default_rng(seed)
    counts = np.repeat(np.eye(200), random.integers(1, 4, 200), axis=0)
    held = hold_out(counts, random.integers(0, 3, len(counts)), seed)
    groups = np.unique(fingerprints(to_histograms(counts)), return_inverse=True)[1]
    sizes = np.bincount(groups)
    order = np.random.default_rng([seed, 1]).permutation(200)
    assert np.array_equal(held, np.isin(groups, order[np.cumsum(sizes[order]) <= 0.2 * len(counts)]))


def test_missing_torch_is_named_with_its_pip_line(documents, fitted, monkeypatch):
    import sys
    from importlib import import_module

    monkeypatch.setitem(sys.modules, "torch", None)
    assert SupervisedTreeWasserstein(**SMALL).fit(*documents).best_epoch_ > 0
    with pytest.raises(ImportError, match=r'pip install "treewass\[train\]"'):
        SupervisedTreeWasserstein(**SMALL, device="cpu").fit(*documents)
    distance = SmoothDistance(fitted.metric_, fitted.scores_, "entmax", 2.0, "tanh")
    with pytest.raises(ImportError, match="parents by entmax needs the module 'torch'"):
        distance(documents[0])
    for name in (
        "learners.soft.absolutes",
        "learners.soft.parents",
        "learners.soft.distances",
        "search.torch_distances",
    ):
        monkeypatch.delitem(sys.modules, f"treewass.{name}", raising=False)
        with pytest.raises(ImportError, match=r"needs the module 'torch'.* \"treewass\[train\]\""):
            import_module(f"treewass.{name}")
