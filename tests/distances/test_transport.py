import numpy as np
import pytest

from treewass.distances import wmd
from treewass.distances.transport import transport_cost


@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (1, 1)])
def test_a_single_source_or_target_needs_no_solver(shape, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ot", None)
    random_state = np.random.RandomState(0)
    sources, targets = (random_state.rand(length) for length in shape)
    costs = random_state.rand(*shape)
    sources, targets = sources / sources.sum(), targets / targets.sum()
    assert transport_cost(sources, targets, costs, caller="test") == pytest.approx(sources @ costs @ targets)


def test_nothing_to_move_costs_nothing():
    assert transport_cost(np.empty(0), np.empty(0), np.empty((0, 0)), caller="test") == 0.0
    assert transport_cost(np.ones(2) / 2, np.ones(3) / 3, np.zeros((2, 3)), caller="test") == 0.0


def test_without_pot_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ot", None)
    with pytest.raises(ImportError, match=r'wmd needs the module .ot.*"treewass\[ot\]"'):
        transport_cost(np.ones(2) / 2, np.ones(2) / 2, np.eye(2), caller="wmd")


@pytest.mark.filterwarnings("ignore:numItermax reached")
def test_an_unsolved_problem_is_an_error(monkeypatch):
    monkeypatch.setattr("treewass.distances.transport._MOST_PIVOTS", 1)
    costs = np.random.RandomState(0).rand(30, 30)
    with pytest.raises(ValueError, match=r"POT can solve, but for 30 × 30 words"):
        transport_cost(np.ones(30) / 30, np.ones(30) / 30, costs, caller="test")


@pytest.mark.parametrize("cost", ["euclidean", "squared"])
@pytest.mark.parametrize("exponent", [-199, -60, -27, 27, 60, 199])
def test_distances_scale_with_the_vectors(cost, exponent):
    """From 1e-60 to 1e60; points stand in the order of their bits, so that sums may be rounded differently."""
    random_state = np.random.RandomState(0)
    X, vectors = random_state.poisson(1.0, size=(5, 12)) + np.eye(5, 12), random_state.normal(size=(12, 3))
    found = wmd(X, word_vectors=np.ldexp(vectors, exponent), cost=cost)
    expected = np.ldexp(wmd(X, word_vectors=vectors, cost=cost), exponent * (2 if cost == "squared" else 1))
    assert found == pytest.approx(expected, rel=1e-12, abs=0.0)
