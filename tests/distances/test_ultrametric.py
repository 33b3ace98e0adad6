import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import cdist, squareform

from treewass.distances import UltrametricWasserstein
from treewass.distances.fitted_lengths import paired_costs
from treewass.distances.ultrametric import lowered_heights, ultrametric_tree
from treewass.documents import AlignedVectors, to_histograms
from treewass.documents.synthetic import make_documents
from treewass.trees import from_linkage

COUNTS, _ = make_documents(80, n_words=40, words_per_document=6, random_state=0)
VECTORS = np.random.RandomState(0).normal(size=(40, 3))
VECTORS_APART = cdist(VECTORS, VECTORS)
EVERY_PAIR = np.triu_indices(40, 1)


def transport(apart):
    """The exact costs between all documents."""
    histograms = to_histograms(COUNTS).toarray()
    return np.array([[ot.emd2(one, other, apart) for other in histograms] for one in histograms])


def own_costs(first, second, costs):
    """The costs on the clustering alone, scaled by least squares on the pairs that are fitted."""
    clustered = from_linkage(linkage(VECTORS, "average")).word_distances(*EVERY_PAIR)
    found, rest = transport(squareform(clustered))[first, second], np.arange(costs.size) % 5 > 0
    return found * (found[rest] @ costs[rest]) / (found[rest] @ found[rest])


@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_projection_is_single_linkage_of_the_words_distances(n_words, seed):
    random = np.random.RandomState(seed)
    tree = from_linkage(linkage(random.normal(size=(n_words, 2)), "average"))
    heights = random.randint(1, 6, size=tree.n_nodes).astype(float)
    pairs = np.triu_indices(n_words, 1)
    nodes = tree.lowest_common_ancestors(tree.word_nodes[pairs[0]], tree.word_nodes[pairs[1]])
    expected = cophenet(linkage(heights[nodes], "single"))
    lowered = lowered_heights(tree.parents, heights)
    assert np.array_equal(lowered[nodes], expected)
    made = ultrametric_tree(tree, lowered)
    assert np.array_equal(made.word_distances(*pairs), 2 * expected)
    assert (made.edge_lengths > 0).all()  # nodes of equal height are one


@pytest.mark.parametrize("method", ["average", "single"])
def test_the_fitted_distance_is_an_ultrametric(method):
    learner = UltrametricWasserstein(word_vectors=VECTORS, linkage=method, n_document_pairs=200).fit(COUNTS)
    apart = squareform(learner.metric_.trees[0].word_distances(*EVERY_PAIR))
    longer = np.maximum(apart[:, :, None], apart.T[None, :, :])  # by way of any third word
    assert (apart[:, None, :] <= longer + 1e-9).all()
    assert (apart[EVERY_PAIR] > 0).all()


def test_the_loss_falls_and_is_that_of_exact_transport():
    learner = UltrametricWasserstein(word_vectors=VECTORS, n_document_pairs=400).fit(COUNTS)
    fitted, held_out = learner.losses_.T
    assert fitted[-1] < 0.9 * fitted[0]
    assert held_out[learner.n_iter_] == held_out.min() < held_out[0]
    first, second, costs = paired_costs(to_histograms(COUNTS), VECTORS, 400, np.random.RandomState(0), caller="test")
    assert np.allclose(costs[:20], transport(VECTORS_APART)[first[:20], second[:20]])
    assert np.allclose(fitted[0], np.mean((own_costs(first, second, costs) - costs)[np.arange(400) % 5 > 0] ** 2))
    differences = learner.pairwise(COUNTS)[first, second] - costs
    assert np.isclose(np.mean(differences[::5] ** 2), held_out.min(), rtol=1e-4)


def test_an_ultrametric_that_words_have_is_found():
    """Four words of an ultrametric: the clustering has it, up to a factor that pairs of documents settle."""
    vectors = [[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    learner = UltrametricWasserstein(word_vectors=vectors).fit(np.eye(4) + 1)
    assert np.allclose(learner.metric_.trees[0].word_distances([0, 0, 1], [1, 3, 2]), 2**0.5)
    assert learner.losses_.max() < 1e-12


def test_words_without_a_vector_carry_no_mass():
    covered = np.arange(40) > 3
    vectors = AlignedVectors(np.where(covered[:, None], VECTORS, 0.0), covered, ())
    metric = UltrametricWasserstein(word_vectors=vectors, n_document_pairs=50).fit(COUNTS).metric_
    assert np.array_equal(metric.known_words, covered)


def test_the_same_seed_gives_the_same_tree():
    first, second = (UltrametricWasserstein(n_document_pairs=50).fit(COUNTS).metric_ for _ in range(2))
    assert first == second


def test_refusals():
    with pytest.raises(ValueError, match="linkage"):
        UltrametricWasserstein(linkage="centroid").fit(COUNTS)
    with pytest.raises(ValueError, match="two documents or more"):
        UltrametricWasserstein(word_vectors=VECTORS).fit(COUNTS[:1])
