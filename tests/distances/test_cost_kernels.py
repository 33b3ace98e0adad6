import numpy as np
import pytest
from scipy.spatial.distance import cdist

from treewass.distances.cost_kernels import fill_costs, transport_problem


def costs_between(points, others, squared=False):
    found = np.empty((len(points), len(others)))
    fill_costs(points, np.ascontiguousarray(others.T), squared, found)
    return found


@pytest.mark.parametrize("n_dimensions", [1, 3, 4, 7, 100])
def test_costs_are_distances(n_dimensions):
    points = np.random.RandomState(0).randn(9, n_dimensions)
    assert costs_between(points, points[:5]) == pytest.approx(cdist(points, points[:5]))
    assert costs_between(points, points[:5], True) == pytest.approx(cdist(points, points[:5], "sqeuclidean"))


def test_costs_are_the_same_both_ways_and_zero_for_equal_points():
    points = 1e3 + np.random.RandomState(0).randn(40, 50)
    found = costs_between(points, points)
    assert np.array_equal(found, found.T)
    assert not found.diagonal().any()
    assert np.array_equal(costs_between(points[[7]], points[[3]]), found[7:8, 3:4])


def problem(query, document, shared_stays=True):
    points = np.arange(5.0)[:, None]
    places, others = np.flatnonzero(query).astype(np.int32), np.flatnonzero(document).astype(np.int32)
    masses, other_masses = query[places] / query.sum(), document[others] / document.sum()
    table = costs_between(points, points[places])
    return transport_problem(table, places, masses, others, other_masses, shared_stays)


def test_mass_at_a_shared_point_stays_there():
    sources, targets, costs = problem(np.array([2.0, 2, 0, 0, 0]), np.array([0.0, 1, 3, 0, 0]))
    assert sources.tolist() == [0.75]
    assert targets.tolist() == [0.5, 0.25]
    assert costs.tolist() == [[2.0, 1.0]] or costs.tolist() == [[2.0], [1.0]]


def test_without_the_triangle_inequality_all_mass_may_move():
    sources, targets, costs = problem(np.array([2.0, 2, 0, 0, 0]), np.array([0.0, 1, 3, 0, 0]), shared_stays=False)
    assert (sources.tolist(), targets.tolist()) == ([0.5, 0.5], [0.25, 0.75])
    assert costs.shape == (2, 2)


@pytest.mark.parametrize("shared_stays", [True, False])
def test_the_problem_is_the_same_both_ways(shared_stays):
    random_state = np.random.RandomState(0)
    for _ in range(200):
        query, document = random_state.randint(0, 3, (2, 5)).astype(float)
        query[0] += 1
        document[1] += 1
        for one, other in zip(
            problem(query, document, shared_stays), problem(document, query, shared_stays), strict=True
        ):
            assert np.array_equal(one, other)
