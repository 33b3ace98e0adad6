"""The paper's synthetic corpus: documents of ten instruments, two classes."""

from __future__ import annotations

import numpy as np

from treewass.documents.corpus import Corpus
from treewass.documents.synthetic import generator_of, positive_integer

__all__ = ["INSTRUMENTS", "make_instruments"]

INSTRUMENTS = (
    "piano",
    "violin",
    "cello",
    "viola",
    "contrabass",
    "trumpet",
    "trombone",
    "clarinet",
    "flute",
    "harpsichord",
)
_TELLING = {"piano", "violin"}


def make_instruments(n_documents: int = 1000, *, random_state: int | np.random.Generator = 0) -> Corpus:
    """Make the paper's synthetic corpus: ten words, each present or not, and two classes.

    A document's label is ``"with piano or violin"`` if it contains at least one of these two words and
    ``"without"`` otherwise. The paper (section 4.3) does not say how documents are drawn. Here each word
    is present with probability 1/2, independently, and an empty document is drawn again: every non-empty
    set of words is equally likely, and about three documents in four have a piano or a violin.
    Repeated documents are likely: there are 1023 different ones.

    Parameters
    ----------
    n_documents : int, default=1000
        How many documents to draw; at least 1.
    random_state : int or numpy.random.Generator, default=0
        Seed, or the generator to draw from.

    Returns
    -------
    corpus : Corpus
        Each text holds its words once, in the order of `INSTRUMENTS`, with a space between.

    Examples
    --------
    >>> corpus = make_instruments(4)
    >>> corpus.texts[1], corpus.labels[1]
    ('cello viola clarinet harpsichord', 'without')
    >>> corpus.class_counts()
    {'with piano or violin': 2, 'without': 2}
    """
    size = positive_integer("n_documents", n_documents)
    sets = generator_of(random_state).integers(1, 2 ** len(INSTRUMENTS), size=size)
    present = sets[:, np.newaxis] >> np.arange(len(INSTRUMENTS)) & 1
    documents = [[word for word, stands in zip(INSTRUMENTS, row, strict=True) if stands] for row in present.tolist()]
    return Corpus(
        "instruments",
        tuple(" ".join(words) for words in documents),
        tuple("without" if _TELLING.isdisjoint(words) else "with piano or violin" for words in documents),
    )
