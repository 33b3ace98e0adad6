import numpy as np
import pytest

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
