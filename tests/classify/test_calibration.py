import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from treewass import TreeWassersteinClassifier
from treewass.classify.calibration import PENALTIES, walk
from treewass.documents import make_documents
from treewass.votes.pooled_vote import fit_pool


@pytest.mark.parametrize("best", range(len(PENALTIES)))
def test_the_walk_finds_the_lowest_of_a_valley(best):
    tried = []

    def loss(penalty):
        tried.append(penalty)
        return 1 + abs(PENALTIES.index(penalty) - best)

    assert walk(loss) == PENALTIES[best]
    assert len(tried) == len(set(tried)) <= abs(best - PENALTIES.index(1.0)) + 3


def test_a_flat_loss_keeps_the_usual_penalty():
    assert walk(lambda penalty: 1 - 1e-5 * penalty) == 1.0


@pytest.fixture(scope="module")
def corpus():
    return make_documents(160, n_words=120, words_per_document=12, n_classes=3, random_state=1)


def test_without_the_channel_the_neighbours_alone_decide(corpus):
    X, y = corpus
    model = TreeWassersteinClassifier(linear=False).fit(X, y)
    assert model.channels_ == model.penalties_ == {}
    assert model.pooled_vote_.channel_weights == ()
    listening = TreeWassersteinClassifier().fit(X, y)
    assert list(listening.channels_) == ["linear"]
    assert listening.metric_ == model.metric_
    np.testing.assert_array_equal(listening.kneighbors(X)[0], model.kneighbors(X)[0])


def test_parts_add_up_to_the_logarithm_of_the_probabilities(corpus):
    X, y = corpus
    model = TreeWassersteinClassifier().fit(X, y)
    distances, rows = model.kneighbors(X)
    parts = model.pooled_vote_.parts(model._labels[rows], distances, [model.channels_["linear"].scores(X)])
    logarithms = np.log(model.predict_proba(X))
    total = parts.neighbors + parts.channels[0] + parts.prior
    differences = (total - logarithms) - (total - logarithms)[:, :1]
    np.testing.assert_allclose(differences, 0, atol=1e-9)


def test_sums_are_in_one_order_whatever_the_number_of_threads(corpus, monkeypatch):
    threads = []

    def watched(*arguments):
        threads.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return fit_pool(*arguments)

    monkeypatch.setattr("treewass.classify.calibration.fit_pool", watched)
    with threadpool_limits(2):
        TreeWassersteinClassifier("bow").fit(*corpus)
    assert set(threads) == {1}


@pytest.mark.parametrize("settings", [{"vote": "fallback"}, {"calibrate": False}])
def test_a_vote_that_is_not_calibrated_has_no_channel(corpus, settings):
    assert TreeWassersteinClassifier("bow", **settings).fit(*corpus).channels_ == {}


def test_a_channel_mends_neighbours_that_say_nothing():
    """Each document holds one telling word among many that hide it from the distance between bags of words."""
    random = np.random.RandomState(0)
    y = random.randint(0, 2, 300)
    X = random.poisson(1.0, (300, 100))
    X[np.arange(300), y] += 1
    X[np.arange(300), 1 - y] = 0
    errors = [
        (TreeWassersteinClassifier("bow", linear=linear).fit(X[:200], y[:200]).predict(X[200:]) != y[200:]).mean()
        for linear in (False, True)
    ]
    assert errors[1] < errors[0] / 2


def drawn(n_train, n_classes, seed, noise=0.0, skew=None, n_words=400):
    """Draw topical documents to learn from and 400 to test on; some labels wrong, or one class larger than others.

    Return both with labels that may be wrong, and the right ones of the latter.
    """
    X, y = make_documents(3000, n_words=n_words, words_per_document=12, n_classes=n_classes, random_state=seed)
    random = np.random.RandomState(seed)
    if skew is not None:
        y = np.minimum(y, 1)
        shares = np.where(y == 0, skew / (y == 0).mean(), (1 - skew) / (y == 1).mean())
        rows = random.choice(3000, n_train + 400, replace=False, p=shares / shares.sum())
    else:
        rows = random.permutation(3000)[: n_train + 400]
    train, test = rows[:n_train], rows[n_train:]
    given = y.copy()
    wrong = np.flatnonzero(random.rand(y.size) < noise)
    given[wrong] = (y[wrong] + random.randint(1, n_classes, wrong.size)) % n_classes  # never the right one
    return X[train], given[train], X[test], given[test], y[test]


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        {"n_train": 20, "n_classes": 3},
        {"n_train": 50, "n_classes": 4},
        {"n_train": 200, "n_classes": 4},
        {"n_train": 20, "n_classes": 3, "noise": 0.2},
        {"n_train": 50, "n_classes": 3, "noise": 0.2},
        {"n_train": 200, "n_classes": 3, "noise": 0.2},
        {"n_train": 50, "n_classes": 3, "skew": 0.95},
        {"n_train": 200, "n_classes": 3, "skew": 0.95},
    ],
    ids=str,
)
@pytest.mark.parametrize("linear", [True, False])
def test_calibration_does_not_collapse(case, linear):
    """Over six draws its labels are no worse than those of the plain vote, but for noise, and its log-loss is lower.

    Errors count against right labels. The log-loss is that of labels as wrong as those learned from: their
    probabilities are what calibration fits.
    """
    errors, losses = [], []
    for seed in range(6):
        X, y, X_test, given, truth = drawn(seed=seed, **case)
        for settings in ({"calibrate": False}, {"linear": linear}):
            model = TreeWassersteinClassifier(**settings).fit(X, y)
            probabilities = model.predict_proba(X_test)
            known = np.isin(given, model.classes_)
            own = probabilities[known, np.searchsorted(model.classes_, given[known])]
            errors.append((model.classes_[probabilities.argmax(axis=1)] != truth).mean())
            losses.append(-np.log(np.maximum(own, 1e-12)).mean())
    plain, calibrated = np.reshape(errors, (6, 2)).T
    noise = np.sqrt(plain.mean() * (1 - plain.mean()) / 400)
    assert calibrated.mean() <= plain.mean() + noise
    assert (calibrated <= plain + 4 * noise).all()
    plain_loss, calibrated_loss = np.reshape(losses, (6, 2)).T
    assert calibrated_loss.mean() <= plain_loss.mean()
