import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.learners.soft import literal
from treewass import Tree
from treewass.documents import to_histograms
from treewass.learners.soft.arithmetic import exponentials, tangent
from treewass.learners.soft.batches import Batch, LabelledDocuments, batches_of_epoch
from treewass.learners.soft.compiled_engine import CompiledEngine
from treewass.learners.soft.settings import LossSettings, StepSettings
from treewass.learners.soft.torch_engine import TorchEngine
from treewass.trees import perfect_tree


@pytest.fixture(scope="module")
def documents():
    random = np.random.default_rng(0)
    counts = random.poisson(0.3, (40, 50))
    counts[:, 0] += 1
    return LabelledDocuments(to_histograms(counts), random.integers(0, 3, 40))


def scores_of(n_words, tree, dtype=np.float32):
    return np.random.default_rng(1).normal(size=(n_words, tree.n_nodes)).astype(dtype)


def train(engine, documents, epochs=2):
    return [engine.step(batch) for epoch in range(epochs) for batch in batches_of_epoch(documents, 10, 5.0, 0, epoch)]


@given(literal.soft_cases(), st.sampled_from([1.0, 10.0]))
@settings(max_examples=40)
def test_loss_and_gradient_of_a_compiled_step_are_the_literal_ones(case, margin):
    tree, scores, histograms, labels = case
    scores = scores.astype(np.float32)
    engine = CompiledEngine(tree, scores.copy(), LossSettings(margin=margin), StepSettings())
    batch = Batch.of(LabelledDocuments(to_histograms(histograms), labels.astype(np.int64)), 5.0)
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
@pytest.mark.parametrize("updates", ["sparse", "dense"])
@pytest.mark.parametrize("tree", [perfect_tree(3, 2), Tree([-1, 0, 0, 1, 2, 2, 0, 3])], ids=["perfect", "any"])
def test_compiled_loops_and_torch_take_the_same_steps(documents, absolute, optimizer, updates, tree):
    loss, step = LossSettings(margin=3.0, absolute=absolute), StepSettings(optimizer=optimizer, updates=updates)
    start = scores_of(50, tree)
    compiled = CompiledEngine(tree, start.copy(), loss, step)
    exact = TorchEngine(tree, start.astype(float), loss, step)
    assert np.allclose(train(compiled, documents), train(exact, documents), atol=1e-6)
    assert np.abs(compiled.scores - start).max() > 0.2
    assert np.allclose(compiled.scores, exact.scores, atol=2e-3)  # small gradients are all rounding in Adam
    assert np.mean(np.abs(compiled.scores - exact.scores)) < 1e-5


@pytest.mark.parametrize("absolute", ["tanh", "huber"])
@pytest.mark.parametrize(("smoothness", "mass"), [(2.0, 5.0), (1e4, 5.0), (1e6, 5.0), (2.0, 1e6)])
def test_gradient_stays_right_where_the_absolute_value_is_nearly_the_true_one(documents, absolute, smoothness, mass):
    tree = perfect_tree(3, 2)
    loss = LossSettings(margin=1e9, smoothness=smoothness, absolute=absolute, mass=mass)
    start = scores_of(50, tree)
    compiled = CompiledEngine(tree, start.copy(), loss, StepSettings())
    exact = TorchEngine(tree, start.astype(float), loss, StepSettings())
    batch = Batch.of(documents, mass)
    assert compiled.step(batch) == pytest.approx(exact.step(batch), rel=1e-4, abs=1e-6 * mass)
    gradient = exact.state()["first"]
    assert np.allclose(compiled.first, gradient, rtol=0, atol=1e-4 * np.abs(gradient).max())


def test_dense_updates_are_those_of_torch_adam(documents):
    tree = perfect_tree(3, 1)
    start = scores_of(50, tree, np.float64)
    ours = TorchEngine(tree, start.copy(), LossSettings(), StepSettings(updates="dense"))
    train(ours, documents)
    theta = torch.tensor(start, requires_grad=True)
    optimiser = torch.optim.Adam([theta], lr=0.1)
    other = TorchEngine(tree, start.copy(), LossSettings(), StepSettings())
    for epoch in range(2):
        for batch in batches_of_epoch(documents, 10, 5.0, 0, epoch):
            optimiser.zero_grad()
            other._batch_loss(batch, [theta[torch.tensor(batch.words)]]).backward()
            optimiser.step()
    assert np.allclose(ours.scores, theta.detach().numpy(), atol=1e-9)


def test_sparse_updates_leave_other_words_alone(documents):
    tree = perfect_tree(3, 1)
    start = scores_of(50, tree)
    batch = Batch.of(documents.rows(np.arange(3)), 5.0)
    others = np.setdiff1d(np.arange(50), batch.words)
    for engine in (
        CompiledEngine(tree, start.copy(), LossSettings(), StepSettings()),
        TorchEngine(tree, start.copy(), LossSettings(), StepSettings()),
    ):
        engine.step(batch)
        assert np.array_equal(engine.scores[others], start[others])
        assert not np.array_equal(engine.scores[batch.words], start[batch.words])


@pytest.mark.parametrize("make", [CompiledEngine, TorchEngine])
def test_short_state_takes_nearly_the_same_steps(documents, make):
    tree = perfect_tree(3, 2)
    start = scores_of(50, tree)
    short = make(tree, start.copy(), LossSettings(), StepSettings(state="bfloat16"))
    whole = make(tree, start.copy(), LossSettings(), StepSettings())
    assert np.allclose(train(short, documents, 4), train(whole, documents, 4), atol=0.02)
    assert short.state()["first"].dtype == np.uint16
    assert np.mean(np.abs(short.scores - whole.scores)) < 0.01


@pytest.mark.parametrize("make", [CompiledEngine, TorchEngine])
@pytest.mark.parametrize("step", [StepSettings(), StepSettings(optimizer="lars", state="bfloat16")])
def test_restored_state_goes_on_bit_by_bit(documents, make, step):
    tree = perfect_tree(3, 1)
    engine = make(tree, scores_of(50, tree), LossSettings(), step)
    train(engine, documents, 1)
    state, steps = {name: array.copy() for name, array in engine.state().items()}, engine.steps
    train(engine, documents, 1)
    other = make(tree, scores_of(50, tree) * 0, LossSettings(), step)
    other.restore(state, steps)
    train(other, documents, 1)
    for name, array in engine.state().items():
        assert np.array_equal(array, other.state()[name])


def test_number_of_threads_changes_nothing(documents):
    tree = perfect_tree(3, 2)
    step = StepSettings(optimizer="lars", updates="dense")
    engines = [CompiledEngine(tree, scores_of(50, tree), LossSettings(), step, n_jobs) for n_jobs in (None, 3)]
    assert train(engines[0], documents) == train(engines[1], documents)
    assert np.array_equal(engines[0].scores, engines[1].scores)


@pytest.mark.parametrize("parents", ["sparsemax", "entmax", "rankmax"])
def test_other_parents_learn_too(documents, parents):
    engine = TorchEngine(
        perfect_tree(3, 2), scores_of(50, perfect_tree(3, 2)), LossSettings(parents=parents), StepSettings()
    )
    losses = train(engine, documents, 12)
    assert np.mean(losses[-4:]) < np.mean(losses[:4]) - 0.1


def test_lengths_and_tree_are_learned_where_asked(documents):
    tree = perfect_tree(2, 2)
    engine = TorchEngine(tree, scores_of(50, tree), LossSettings(), StepSettings(learn_lengths=True, learn_tree=True))
    start = engine.learned_parents()
    assert start.tolist() == tree.parents.tolist()
    losses = train(engine, documents, 12)
    assert np.mean(losses[-4:]) < np.mean(losses[:4]) - 0.1
    edges, leaves = engine.learned_lengths()
    assert (edges > 0).all()
    assert np.ptp(edges[1:]) > 0.01
    assert np.ptp(leaves) > 0.01
    parents = engine.learned_parents()
    assert (parents[1:] < np.arange(1, tree.n_nodes)).all()


def test_not_a_number_comes_out_as_such(documents):
    tree = perfect_tree(3, 1)
    batch = Batch.of(documents, 5.0)
    for make in (CompiledEngine, TorchEngine):
        engine = make(tree, scores_of(50, tree), LossSettings(), StepSettings(learning_rate=1e37))
        assert not np.isfinite([engine.step(batch) for _ in range(3)]).all()


def test_polynomials_are_exact_to_float32():
    x = np.linspace(-80, 0, 5001, dtype=np.float32)
    out = np.empty_like(x)
    exponentials(x, np.float32(0), out)
    assert np.allclose(out, np.exp(x.astype(float)), rtol=3e-7, atol=0)
    x = np.linspace(-12, 12, 5001, dtype=np.float32)
    assert np.allclose([tangent(value) for value in x], np.tanh(x.astype(float)), rtol=5e-7, atol=0)
