"""Refine the masses and lengths of a tree metric by gradient: documents of one class are to be soft neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.histograms import histogram_prints, short_bounds, to_histograms
from treewass.learners.profile.class_profiles import ClassProfiles
from treewass.learners.profile.soft_neighbors import LogMultipliers, NeighborBatch, loss_and_gradient
from treewass.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RefinementRecord", "RefinementSettings", "leave_one_out_documents", "refine"]

_FIRST_DECAY, _SECOND_DECAY = 0.9, 0.999  # of Adam
_BLOCK = 1 << 13  # documents looked at together
_START_SCALE = 1.5
_PASSES = 4
_FEWEST_STEPS = 40  # small sets make one or two steps a pass: four passes would leave them where they began
_MOST_STEPS = 100  # after these, further passes over many documents take time and no longer lower the error
_PARTNERS = 5  # documents of its class that a document should meet in a batch, where there are many classes


@dataclass(frozen=True, slots=True)
class RefinementSettings:
    """How to refine: see the parameters of `ProfileTreeWasserstein`."""

    epochs: int | None
    learning_rate: float
    batch_size: int
    word_dropout: float
    pull_back: float

    def passes(self, n_documents: int) -> int:
        """Count the passes over so many documents: the epochs, or four, or as many as make 40 to 100 steps.

        Examples
        --------
        >>> settings = RefinementSettings(None, 0.02, 500, 0.2, 0.001)
        >>> [settings.passes(n_documents) for n_documents in (500, 5_000, 20_000, 10**6)]
        [40, 4, 2, 1]
        """
        if self.epochs is not None:
            return self.epochs
        steps = self.steps(n_documents)
        return min(max(_PASSES, -(-_FEWEST_STEPS // steps)), max(1, _MOST_STEPS // steps))

    def steps(self, n_documents: int) -> int:
        """Count the batches of a pass."""
        return max(1, round(n_documents / self.batch_size))


@dataclass(frozen=True, slots=True)
class RefinementRecord:
    """What one pass over the documents came to.

    Parameters
    ----------
    tree : int
        Which tree, from zero.
    epoch : int
        Which pass, from one.
    loss : float
        Mean over its batches: minus the logarithm of the share of a document's own class among its soft neighbours.
    scale : float
        What distances are multiplied by in the soft neighbours.
    """

    tree: int
    epoch: int
    loss: float
    scale: float


def leave_one_out_documents(
    counts: Any,
    labels: NDArray[np.intp],
    weights: NDArray[np.float64],
    profiles: ClassProfiles,
    floor: float,
) -> NeighborBatch:
    """Prepare documents for refinement: give each word the mass that it would have without the document's label.

    The labels have built the masses, so that a document looks better placed than a new one will be. Its counts are
    therefore multiplied by the mass of each word without the document over that with it; words of no other
    document vanish, as they are unknown in a new one. Equal documents of one class become one of their weight, and
    the order is that of a hash: the result depends neither on the order given nor on how weight is written.

    The profiles must be counted on these documents, rows of a sparse or dense matrix, whose weights are positive;
    `floor` is the mass factor of a word that says nothing. Documents without a word left are left out. Counts come in
    single precision, that of the refinement; some documents at a time are looked at, so that there is no other copy.
    """
    from scipy.sparse import csr_array, issparse

    prints = histogram_prints(counts)
    _, first, place = np.unique(
        np.stack([prints, labels.astype(np.uint64)]), axis=1, return_index=True, return_inverse=True
    )
    weights = np.bincount(place.ravel(), weights).astype(np.float64)
    labels, prints = labels[first], prints[first]
    sizes, end = [np.zeros(0, np.intp)], 0
    room = counts.nnz if issparse(counts) else np.count_nonzero(counts)
    words, values = np.empty(room, np.int32), np.empty(room, np.float32)
    for start in range(0, first.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        chosen = to_histograms(counts[first[block]])
        left = profiles.without_own(chosen, labels[block], weights[block])
        chosen.data *= np.where(left < 0, 0.0, (left + floor) / (profiles.informativeness[chosen.indices] + floor))
        chosen.eliminate_zeros()
        sizes.append(np.diff(chosen.indptr))
        own = slice(end, end + chosen.nnz)
        words[own], values[own] = chosen.indices, chosen.data
        end = own.stop
    lengths = np.concatenate(sizes)
    kept = np.flatnonzero(lengths)  # the others hold no entry
    bounds = short_bounds(np.append(0, np.cumsum(lengths[kept])))
    scaled = csr_array((values[:end], words[:end], bounds), shape=(kept.size, counts.shape[1]))
    _, groups = np.unique(prints[kept], return_inverse=True)
    return NeighborBatch(scaled, labels[kept], groups, weights[kept].astype(np.float32))


def refine(
    documents: NeighborBatch,
    tree: Tree,
    masses: NDArray[np.float64],
    settings: RefinementSettings,
    random_state: np.random.RandomState,
    number: int,
    report: Callable[[RefinementRecord], None],
) -> LogMultipliers:
    """Learn factors on masses and lengths by Adam, from documents that `leave_one_out_documents` has prepared.

    `masses` and the lengths of `tree` are those before refinement. `report` is called with the record of each epoch,
    which names the tree by its `number`.
    """
    words = np.flatnonzero(np.bincount(documents.counts.indices))  # the others would learn nothing
    places = np.zeros(tree.n_words, dtype=np.int32)
    places[words] = np.arange(words.size)
    documents = documents.with_columns(places[documents.counts.indices], words.size)
    small = tree.with_words(tree.word_nodes[words], tree.leaf_lengths[words])
    learned = LogMultipliers.start(words.size, tree.n_nodes, float(np.log(_START_SCALE)))
    adam = _Adam(learned, settings)
    for epoch in range(1, settings.passes(documents.labels.size) + 1):
        losses = []
        for rows in _batches(documents, settings, random_state):
            batch = _with_words_left_out(documents.rows(rows), settings.word_dropout, random_state)
            loss, gradient = loss_and_gradient(batch, small, masses[words], learned)
            losses.append(loss)
            adam.step(gradient)
        mean = float(np.mean(losses)) if losses else 0.0
        report(RefinementRecord(number, epoch, mean, float(np.exp(learned.scale[0]))))
    whole = LogMultipliers.start(tree.n_words, tree.n_nodes, 0.0)
    whole.masses[words], whole.leaves[words] = learned.masses, learned.leaves
    return whole._replace(edges=learned.edges, scale=learned.scale)


class _Adam:
    """Changes logarithms step by step; every step also pulls them towards zero, but for that of the scale."""

    def __init__(self, learned: LogMultipliers, settings: RefinementSettings) -> None:
        self._learned, self._settings = learned, settings
        self._means = [np.zeros_like(array) for array in learned]
        self._squares = [np.zeros_like(array) for array in learned]
        self._n_steps = 0

    def step(self, gradient: LogMultipliers) -> None:
        """Go a step down."""
        self._n_steps += 1
        corrected = np.sqrt(1 - _SECOND_DECAY**self._n_steps) / (1 - _FIRST_DECAY**self._n_steps)
        rate = self._settings.learning_rate * corrected
        for value, slope, mean, square in zip(self._learned, gradient, self._means, self._squares, strict=True):
            mean += (1 - _FIRST_DECAY) * (slope - mean)
            square += (1 - _SECOND_DECAY) * (slope**2 - square)
            pull = 0.0 if value is self._learned.scale else self._settings.pull_back
            value -= rate * mean / (np.sqrt(square) + 1e-8) + pull * value


def _batches(
    documents: NeighborBatch, settings: RefinementSettings, random_state: np.random.RandomState
) -> Iterator[NDArray[np.intp]]:
    """Yield all documents in random batches; with many classes, several documents of a class at a time."""
    n_documents = documents.labels.size
    order = random_state.permutation(n_documents)
    together = _PARTNERS * (int(documents.labels.max(initial=0)) + 1) // settings.batch_size
    if together > 1:
        order = order[np.argsort(documents.labels[order], kind="stable")]
        chunks = np.array_split(order, max(1, n_documents // together))
        order = np.concatenate([chunks[chunk] for chunk in random_state.permutation(len(chunks))])
    if n_documents > 1:
        for rows in np.array_split(order, settings.steps(n_documents)):
            yield np.sort(rows)


def _with_words_left_out(batch: NeighborBatch, share: float, random_state: np.random.RandomState) -> NeighborBatch:
    """Leave entries out at random; a document that would lose all of them keeps all."""
    from scipy.sparse import csr_array

    counts = batch.counts
    document_of = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    kept = random_state.random_sample(counts.nnz) >= share
    sizes = np.bincount(document_of[kept], minlength=counts.shape[0])
    kept |= (sizes == 0)[document_of]
    bounds = np.append(0, np.cumsum(np.bincount(document_of[kept], minlength=counts.shape[0])))
    thinned = csr_array((counts.data[kept], counts.indices[kept], bounds), shape=counts.shape)
    return batch._replace(counts=thinned)
