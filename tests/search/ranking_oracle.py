"""The definition of a score, document by document, in Python's whole numbers."""

from math import log2

import numpy as np
from scipy.sparse import csr_array

from tests.search import integer_oracle

K1_TIMES_REST, K1_TIMES_B = 3, 9  # 1.2 · (1 − 0.75) and 1.2 · 0.75, in tenths


def rank(metric, queries, documents, ids, k, *, among=None):
    """Rank documents for each query: lists of (score, id), the best first. `among` are the only ids to return."""
    queries, documents = np.asarray(queries).astype(int), np.asarray(documents).astype(int)
    inner, bits = internal_values(metric, documents), 30
    n_documents, total = int((documents.sum(axis=1) > 0).sum()), int(documents.sum())
    frequencies = (documents > 0).sum(axis=0)
    found = []
    for query, values in zip(queries, internal_values(metric, queries), strict=True):
        weights = weigh(query[: documents.shape[1]], frequencies, n_documents)
        hits = []
        for number, document, others in zip(ids, documents, inner, strict=True):
            score = sum(
                weight * share(int(document[word]), int(document.sum()), n_documents, total)
                for word, weight in weights.items()
                if document[word]
            )
            if score and (among is None or number in among):
                both = sum(values) + sum(others)
                shared = sum(map(min, values, others))
                score += 2**13 * ((2 * shared << 14) // max(1, both))
                hits.append((-score, number))
        found.append([(-score / 2**bits, number) for score, number in sorted(hits)[:k]])
    return found


def weigh(query, frequencies, n_documents):
    rarities = {
        word: max(1, logarithm(2 * n_documents + 2) - logarithm(2 * int(frequencies[word]) + 1))
        * min(255, int(query[word]))
        for word in np.flatnonzero(query)
        if frequencies[word]
    }
    return {word: (rarity << 16) // sum(rarities.values()) for word, rarity in rarities.items()}


def logarithm(number):
    """The logarithm by squaring, sixteen bits of it: near the real one, though the last bit may differ."""
    exponent = number.bit_length() - 1
    rest, result = (number << 31) >> exponent, exponent << 16
    for bit in range(15, -1, -1):
        rest = rest * rest >> 31
        if rest >= 1 << 32:
            rest, result = rest >> 1, result + (1 << bit)
    assert abs(result / 2**16 - log2(number)) < 2**-13
    return result


def share(count, length, n_documents, total):
    """count / (count + k₁ (1 − b + b · length / mean length)), rounded down at each step."""
    count = min(count, 255)
    factor = (K1_TIMES_B * n_documents << 32) // (10 * total)
    factor -= factor % 2 ** max(0, factor.bit_length() - 7)
    added = min(((K1_TIMES_REST << 32) // 10 + length * factor) >> 22, 2**30)
    return (count << 24) // ((count << 10) + added)


def scores_of_large(metric, queries, documents):
    """The scores of all documents, query by query, for large collections: sparse products of whole numbers."""
    lengths = np.asarray(documents.sum(axis=1)).ravel().astype(int)
    n_documents, total = int((lengths > 0).sum()), int(lengths.sum())
    frequencies = np.asarray((documents > 0).sum(axis=0)).ravel()
    shares = csr_array(documents.astype(np.int64))
    places = np.repeat(np.arange(lengths.size), np.diff(shares.indptr))
    pairs, inverse = np.unique(np.stack([shares.data, lengths[places]]), axis=1, return_inverse=True)
    shares.data = np.array([share(count, length, n_documents, total) for count, length in pairs.T.tolist()])[inverse]
    inner, nodes = _internal(metric, documents), _internal(metric, queries)
    by_node, branches = inner.tocsc(), np.asarray(inner.sum(axis=1)).ravel()
    for row in range(queries.shape[0]):
        query = queries[[row]].toarray()[0].astype(int)
        weights = weigh(query, frequencies, n_documents)
        columns = shares[:, sorted(weights)]
        words = columns @ np.array([weights[word] for word in sorted(weights)], dtype=np.int64)
        shared, own = np.zeros(lengths.size, dtype=np.int64), nodes[[row]]
        for node, value in zip(own.indices, own.data, strict=True):
            entries = slice(by_node.indptr[node], by_node.indptr[node + 1])
            shared[by_node.indices[entries]] += np.minimum(by_node.data[entries], value)
        topic = (shared << 15) // np.maximum(1, branches + own.data.sum())
        yield np.where(words > 0, words + 2**13 * topic, 0)


def _internal(metric, counts):
    """The same as `internal_values`, as a sparse matrix."""
    units, first, inner = integer_oracle.units(metric, counts), 0, []
    for tree in metric.trees:
        inner += range(first, first + tree.n_nodes - 1)
        first += tree.n_nodes - 1 + tree.n_words
    units = csr_array(units[:, inner])
    units.data >>= max(0, int(metric.height * 2.0**metric.fraction_bits).bit_length() - 15)
    return units


def internal_values(metric, counts):
    """The values of each document's internal nodes, less their last bits."""
    highest = int(metric.height * 2.0**metric.fraction_bits)
    lost, inner, first = max(0, highest.bit_length() - 15), [], 0
    for tree in metric.trees:
        inner += range(first, first + tree.n_nodes - 1)
        first += tree.n_nodes - 1 + tree.n_words
    units = integer_oracle.units(metric, counts[:, : metric.n_words]).toarray()[:, inner]
    return [[int(value) >> lost for value in row] for row in units]
