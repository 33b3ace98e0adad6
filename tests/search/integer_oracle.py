"""The definition of the distance in plain scipy and numpy: slow, obvious, whole numbers only."""

import numpy as np
from scipy.sparse import csr_array, hstack

from treewass.documents.histograms import check_counts
from treewass.trees.embedding import MASS_BITS, mass_units


def scaled_units(metric, X):
    """Masses that add up exactly, summed over subtrees by a sparse product, times the lengths of the edges."""
    counts = check_counts(X)
    blocks = []
    for component, (tree, features) in enumerate(zip(metric.trees, metric.word_features, strict=True)):
        block = mass_units(metric, counts, component) @ features
        lengths = np.concatenate([tree.edge_lengths[1:], tree.leaf_lengths])
        data = block.data * np.ldexp(lengths, metric.fraction_bits - MASS_BITS)[block.indices]
        blocks.append(csr_array((data, block.indices, block.indptr), shape=block.shape))
    embedded = csr_array(hstack(blocks, format="csr"))
    embedded.sort_indices()
    embedded.eliminate_zeros()
    return embedded


def units(metric, X):
    """The embedding that every distance is defined by, int64."""
    scaled = scaled_units(metric, X)
    embedded = csr_array((np.rint(scaled.data).astype(np.int64), scaled.indices, scaled.indptr), shape=scaled.shape)
    embedded.eliminate_zeros()
    return embedded


def unit_distances(metric, X, Y):
    """L1 distances of all rows, in units."""
    rows, others = units(metric, X).toarray(), units(metric, Y).toarray()
    return np.array([abs(others - row).sum(axis=1) for row in rows]).reshape(len(rows), len(others))


def shared_distances(metric, X, Y):
    """The same for large collections: norms less twice what is shared, feature by feature, in whole numbers."""
    rows, by_feature = units(metric, X), units(metric, Y).tocsc()
    norms = np.asarray(by_feature.sum(axis=1))
    for row in range(rows.shape[0]):
        query = rows[[row]]
        distances = norms + query.data.sum()
        for feature, value in zip(query.indices, query.data, strict=True):
            entries = slice(by_feature.indptr[feature], by_feature.indptr[feature + 1])
            distances[by_feature.indices[entries]] -= 2 * np.minimum(by_feature.data[entries], value)
        yield distances


def nearest(distances, ids, k):
    """Sort by distance, then id."""
    order = np.lexsort((ids, distances))[:k]
    return distances[order], np.asarray(ids)[order]


def known(metric, X):
    """Which documents hold a known word."""
    return (np.asarray(X) @ metric.known_words) > 0
