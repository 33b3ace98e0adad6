import numpy as np
import ot
import pytest
from hypothesis import given, settings
from sklearn.exceptions import ConvergenceWarning

from tests.distances.cases import comparisons, each_pair, topics, word_costs
from treewass.distances import sinkhorn, wmd

PRECISE = {"tolerance": 1e-10, "max_iter": 20_000}


def full_sinkhorn(X, Y, vectors, regularization):
    """POT's plan over the words of both documents, and its cost."""
    costs = word_costs(vectors)

    def distance(x, y):
        own = costs[np.ix_(x > 0, y > 0)]
        options = {"method": "sinkhorn_log", "stopThr": 1e-12, "numItermax": 20_000}
        return (ot.sinkhorn(x[x > 0], y[y > 0], own, regularization, **options) * own).sum()

    return each_pair(distance, X, Y)


@pytest.mark.parametrize("device", [None, "cpu"])
def test_equals_pot(device):
    X, _, vectors = topics(n_documents=8)
    found = sinkhorn(X[:3], X[3:], word_vectors=vectors, regularization=1.0, device=device, **PRECISE)
    assert found == pytest.approx(full_sinkhorn(X[:3], X[3:], vectors, 1.0), abs=1e-8)


def test_torch_and_numpy_agree():
    X, _, vectors = topics(n_documents=12)
    options = {"word_vectors": vectors, "regularization": 1.0}
    assert sinkhorn(X, device="cpu", **options) == pytest.approx(sinkhorn(X, **options), abs=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@given(comparisons())
@settings(max_examples=30)
def test_is_never_below_the_exact_distance(case):
    X, Y, vectors = case
    for cost in ("euclidean", "squared"):
        exact = wmd(X, Y, word_vectors=vectors, cost=cost)
        for iterations in (1, 20):
            found = sinkhorn(X, Y, word_vectors=vectors, cost=cost, max_iter=iterations)
            assert np.isfinite(found).all()
            assert (found >= exact - 1e-9).all()


def test_comes_down_to_the_exact_distance_as_the_regularization_falls():
    random_state = np.random.RandomState(0)
    X, vectors = random_state.rand(6, 10), random_state.randn(10, 3)
    exact = wmd(X[:3], X[3:], word_vectors=vectors)
    gaps = []
    for regularization in (1.0, 0.3, 0.1, 0.03, 0.01):
        options = {"regularization": regularization, "tolerance": 1e-3, "max_iter": 20_000}
        gaps.append((sinkhorn(X[:3], X[3:], word_vectors=vectors, **options) - exact).max())
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 0.01 < 0.1 < gaps[0]


def test_small_regularizations_do_not_overflow():
    X, _, vectors = topics(n_documents=6, length=4)
    options = {"regularization": 1e-4, "max_iter": 50}
    with pytest.warns(ConvergenceWarning, match=r"did not converge for \d+ pair\(s\) within 50 iterations"):
        found = sinkhorn(X, word_vectors=vectors * 1000, **options)
    assert np.isfinite(found).all()
    assert (found >= wmd(X, word_vectors=vectors * 1000) - 1e-9).all()


def test_is_symmetric_and_does_not_depend_on_threads_or_batches(monkeypatch):
    X, _, vectors = topics(n_documents=20)
    options = {"word_vectors": vectors, "regularization": 1.0}
    found = sinkhorn(X, **options)
    assert np.array_equal(found, found.T)
    assert np.array_equal(sinkhorn(X, n_jobs=2, **options), found)
    monkeypatch.setattr("treewass.distances.entropic._CELLS", 500)
    assert sinkhorn(X, **options) == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("name", ["regularization", "tolerance", "max_iter"])
@pytest.mark.parametrize("value", [0, -1, np.inf, np.nan])
def test_settings_out_of_range_are_refused(name, value):
    with pytest.raises(ValueError, match=f"Expected {name}"):
        sinkhorn([[1]], word_vectors=[[0.0]], **{name: value})


@pytest.mark.parametrize("cost", ["euclidean", "squared"])
def test_a_penalty_that_vanishes_beside_the_costs_is_refused(cost):
    vectors = [[0.0], [1e10], [3e10]]
    with pytest.raises(ValueError, match=r"at least 1e-300 times the largest cost.*got 1e-305"):
        sinkhorn([[1, 1, 0]], [[0, 1, 1]], word_vectors=vectors, cost=cost, regularization=1e-305)
