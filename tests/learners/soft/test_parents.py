import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from treewass.learners.soft.parents import PARENTS, parent_probabilities


def by_bisection(scores, raised):
    """Find the threshold τ at which the entries raised(z − τ) add up to one."""
    low, high = scores.min() - 10, scores.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if raised(scores - middle).sum() > 1 else (low, middle)
    return raised(scores - low)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8), st.sampled_from(sorted(PARENTS)))
def test_probabilities_add_up_to_one_and_keep_the_order(values, kind):
    scores = torch.tensor([values], dtype=torch.float64)
    found = parent_probabilities(scores, kind)[0].numpy()
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    assert found[int(np.argmax(values))] == found.max()
    assert np.allclose(parent_probabilities(scores + 7, kind)[0], found)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8))
def test_sparsemax_and_entmax_solve_their_equations(values):
    scores = np.array(values)
    tensor = torch.tensor(values, dtype=torch.float64)
    assert np.allclose(
        parent_probabilities(tensor, "sparsemax"), by_bisection(scores, lambda x: np.maximum(x, 0)), atol=1e-9
    )
    expected = by_bisection(scores / 2, lambda x: np.maximum(x, 0) ** 2)
    assert np.allclose(parent_probabilities(tensor, "entmax"), expected, atol=1e-9)


def test_rankmax_by_hand():
    found = parent_probabilities(torch.tensor([[2.0, 1.5, 0.9, -4.0]]), "rankmax")
    assert torch.allclose(found, torch.tensor([[1 / 1.5, 0.5 / 1.5, 0.0, 0.0]]))


@pytest.mark.parametrize("kind", sorted(PARENTS))
def test_gradients(kind):
    scores = torch.tensor([[0.1, 0.45, -0.3, 0.8], [2.0, 0.0, 1.7, -1.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda given: parent_probabilities(given, kind), (scores,))
