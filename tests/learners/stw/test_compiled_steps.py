import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.learners.stw import literal
from treewass import Tree
from treewass.documents import to_histograms
from treewass.learners.stw.compiled_steps import CompiledEngine
from treewass.learners.stw.contrastive_batches import ContrastiveBatch, LabelledHistograms, batches_of_epoch
from treewass.learners.stw.epochs import StepSettings
from treewass.learners.stw.torch_steps import TorchEngine
from treewass.trees import perfect_tree


@pytest.fixture(scope="module")
def documents():
    random = np.random.default_rng(0)
    counts = random.poisson(0.3, (40, 50))
    counts[:, 0] += 1
    return LabelledHistograms(to_histograms(counts), random.integers(0, 3, 40))


def scores_of(n_words, tree, dtype=np.float32):
    return np.random.default_rng(1).normal(size=(n_words, tree.n_nodes)).astype(dtype)


def train(engine, documents, epochs=2):
    return [engine.step(batch) for epoch in range(epochs) for batch in batches_of_epoch(documents, 10, 0, epoch)]


@given(literal.soft_cases(), st.sampled_from([1.0, 10.0]))
@settings(max_examples=40)
def test_loss_and_gradient_of_a_compiled_step_are_the_literal_ones(case, margin):
    tree, scores, histograms, labels = case
    scores = scores.astype(np.float32)
    engine = CompiledEngine(tree, scores.copy(), StepSettings(margin=margin))
    batch = ContrastiveBatch.of(LabelledHistograms(to_histograms(histograms), labels.astype(np.int64)), 5.0)
    theta = torch.tensor(scores.T.astype(float), requires_grad=True)
    expected = literal.contrastive_loss(tree, theta, 5 * torch.tensor(histograms), labels, 2.0, margin)
    assert engine.loss(batch) == pytest.approx(float(expected.detach()), rel=1e-6, abs=1e-6)
    assert engine.step(batch) == pytest.approx(float(expected.detach()), rel=1e-6, abs=1e-6)
    gradient = np.zeros_like(theta.detach().numpy())
    if expected.requires_grad:
        gradient = torch.autograd.grad(expected, theta)[0].numpy()
    lengths = max(1.0, float(tree.edge_lengths.max()))
    assert np.allclose(engine.first / 0.1, gradient.T, rtol=0, atol=1e-6 * lengths * tree.n_nodes)


@pytest.mark.parametrize("absolute", ["tanh", "huber"])
@pytest.mark.parametrize("optimizer", ["adam", "lars"])
@pytest.mark.parametrize("tree", [perfect_tree(3, 2), Tree([-1, 0, 0, 1, 2, 2, 0, 3])], ids=["perfect", "any"])
def test_compiled_loops_and_torch_take_the_same_steps(documents, absolute, optimizer, tree):
    step = StepSettings(margin=3.0, absolute=absolute, optimizer=optimizer)
    start = scores_of(50, tree)
    compiled = CompiledEngine(tree, start.copy(), step)
    exact = TorchEngine(tree, start.astype(float), step)
    assert np.allclose(train(compiled, documents), train(exact, documents), atol=1e-6)
    assert np.abs(compiled.scores - start).max() > 0.2
    assert np.allclose(compiled.scores, exact.scores, atol=2e-3)  # small gradients are all rounding in Adam
    assert np.mean(np.abs(compiled.scores - exact.scores)) < 1e-5


@pytest.mark.parametrize("absolute", ["tanh", "huber"])
@pytest.mark.parametrize(("smoothness", "mass"), [(2.0, 5.0), (1e4, 5.0), (1e6, 5.0), (2.0, 1e6)])
def test_gradient_stays_right_where_the_absolute_value_is_nearly_the_true_one(documents, absolute, smoothness, mass):
    tree = perfect_tree(3, 2)
    step = StepSettings(margin=1e9, smoothness=smoothness, absolute=absolute)
    start = scores_of(50, tree)
    compiled = CompiledEngine(tree, start.copy(), step)
    exact = TorchEngine(tree, start.astype(float), step)
    batch = ContrastiveBatch.of(documents, mass)
    assert compiled.step(batch) == pytest.approx(exact.step(batch), rel=1e-4, abs=1e-6 * mass)
    gradient = exact.state()["first"]
    assert np.allclose(compiled.first, gradient, rtol=0, atol=1e-4 * np.abs(gradient).max())


def test_steps_on_all_words_are_those_of_torch_adam(documents):
    tree = perfect_tree(3, 1)
    start = scores_of(50, tree, np.float64)
    batch = ContrastiveBatch.of(documents)
    assert batch.words.size == 50
    ours, other = (TorchEngine(tree, start.copy(), StepSettings()) for _ in range(2))
    theta = torch.tensor(start, requires_grad=True)
    optimizer = torch.optim.Adam([theta], lr=0.1)
    for _ in range(5):
        ours.step(batch)
        optimizer.zero_grad()
        other.batch_loss(batch, theta).backward()
        optimizer.step()
    assert np.allclose(ours.scores, theta.detach().numpy(), atol=1e-9)


def test_words_outside_a_batch_rest(documents):
    tree = perfect_tree(3, 1)
    start = scores_of(50, tree)
    batch = ContrastiveBatch.of(documents.rows(np.arange(3)), 5.0)
    others = np.setdiff1d(np.arange(50), batch.words)
    for engine in (
        CompiledEngine(tree, start.copy(), StepSettings()),
        TorchEngine(tree, start.copy(), StepSettings()),
    ):
        engine.step(batch)
        assert np.array_equal(engine.scores[others], start[others])
        assert not np.array_equal(engine.scores[batch.words], start[batch.words])


@pytest.mark.parametrize("make", [CompiledEngine, TorchEngine])
@pytest.mark.parametrize("step", [StepSettings(), StepSettings(optimizer="lars")])
def test_restored_state_goes_on_bit_by_bit(documents, make, step):
    tree = perfect_tree(3, 1)
    engine = make(tree, scores_of(50, tree), step)
    train(engine, documents, 1)
    state, steps = {name: array.copy() for name, array in engine.state().items()}, engine.steps
    train(engine, documents, 1)
    other = make(tree, scores_of(50, tree) * 0, step)
    other.restore(state, steps)
    train(other, documents, 1)
    for name, array in engine.state().items():
        assert np.array_equal(array, other.state()[name])


def test_number_of_threads_changes_nothing(documents):
    tree = perfect_tree(3, 2)
    step = StepSettings(optimizer="lars")
    engines = [CompiledEngine(tree, scores_of(50, tree), step, n_jobs) for n_jobs in (None, 3)]
    assert train(engines[0], documents) == train(engines[1], documents)
    assert np.array_equal(engines[0].scores, engines[1].scores)


@pytest.mark.parametrize("parents", ["sparsemax", "rankmax"])
def test_other_parents_learn_too(documents, parents):
    tree = perfect_tree(3, 2)
    engine = TorchEngine(tree, scores_of(50, tree), StepSettings(parents=parents))
    losses = train(engine, documents, 12)
    assert np.mean(losses[-4:]) < np.mean(losses[:4]) - 0.1


def test_not_a_number_comes_out_as_such(documents):
    tree = perfect_tree(3, 1)
    batch = ContrastiveBatch.of(documents, 5.0)
    for make in (CompiledEngine, TorchEngine):
        engine = make(tree, scores_of(50, tree), StepSettings(learning_rate=1e37))
        assert not np.isfinite([engine.step(batch) for _ in range(3)]).all()
