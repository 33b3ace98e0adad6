"""The paper's equations word for word in float64: matrices, inverse and exponentials as they are written there."""

import numpy as np
import torch
from hypothesis import strategies as st

from tests.strategies import documents, trees
from treewass import Tree
from treewass.trees import to_matrices


def smooth_absolute(x, alpha):
    up, down = torch.exp(alpha * x), torch.exp(-alpha * x)
    return x * (up - down) / (2 + up + down)


def adjacency(tree, theta):
    """D_par of equation (4) with D₂ = softmax(Θ, dim=0)."""
    internal = torch.from_numpy(to_matrices(tree)[0].toarray())
    leaves = torch.softmax(theta, dim=0)
    zeros = torch.zeros(theta.shape[1], internal.shape[0] + theta.shape[1], dtype=torch.float64)
    return torch.cat([torch.cat([internal, leaves], dim=1), zeros])


def subtree_probabilities(tree, theta):
    """P_sub of equation (2): entry (i, j) is the probability that node j lies below node i."""
    matrix = adjacency(tree, theta)
    return torch.linalg.inv(torch.eye(len(matrix), dtype=torch.float64) - matrix)


def soft_distance(tree, theta, first, second, alpha):
    """Equation (3), all lengths those of the tree, one for the words and the root."""
    probabilities = subtree_probabilities(tree, theta)
    lengths = torch.ones(len(probabilities), dtype=torch.float64)
    lengths[1 : tree.n_nodes] = torch.tensor(tree.edge_lengths[1:].tolist(), dtype=torch.float64)
    masses = torch.cat([torch.zeros(tree.n_nodes, dtype=torch.float64), first - second])
    return (lengths * smooth_absolute(probabilities @ masses, alpha)).sum()


def algorithm_one(tree, theta, first, second):
    """Algorithm 1, line by line."""
    a = first - second
    internal = torch.from_numpy(to_matrices(tree)[0].toarray())
    A = torch.linalg.inv(torch.eye(tree.n_nodes, dtype=torch.float64) - internal)
    leaves = torch.softmax(theta, dim=0)
    one_parent = leaves.ge(leaves.max(0, keepdim=True)[0]).double()
    C = A.mm(one_parent)
    return torch.abs(C.mv(a)).sum() + torch.abs(a).sum()


def contrastive_loss(tree, theta, histograms, labels, alpha, margin):
    near, far = [], []
    for first in range(len(labels)):
        for second in range(first + 1, len(labels)):
            distance = soft_distance(tree, theta, histograms[first], histograms[second], alpha)
            if labels[first] == labels[second]:
                near.append(distance)
            else:
                far.append(torch.clamp(distance, max=margin))
    zero = torch.zeros((), dtype=torch.float64)
    return (torch.stack(near).mean() if near else zero) - (torch.stack(far).mean() if far else zero)


@st.composite
def soft_cases(draw):
    """A tree of internal nodes with lengths, scores (n_words, n_nodes), histograms and labels."""
    tree = draw(trees(max_nodes=7, max_words=5))
    counts = draw(documents(tree.n_words, min_rows=2, max_rows=5))
    random = np.random.default_rng(draw(st.integers(0, 2**20)))
    scores = random.normal(scale=draw(st.sampled_from([0.1, 1.0, 4.0])), size=(tree.n_words, tree.n_nodes))
    labels = np.array(draw(st.lists(st.integers(0, 2), min_size=len(counts), max_size=len(counts))))
    return Tree(tree.parents, tree.edge_lengths), scores, counts / counts.sum(axis=1, keepdims=True), labels
