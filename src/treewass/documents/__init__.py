"""Documents: reading corpora, histograms, word vectors, the built-in corpora."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.documents.corpus import Corpus
    from treewass.documents.docstrings import load_docstrings
    from treewass.documents.histograms import to_histograms
    from treewass.documents.instruments import make_instruments
    from treewass.documents.latent_vectors import svd_vectors
    from treewass.documents.readers import read_corpus
    from treewass.documents.synthetic import make_documents
    from treewass.documents.word_vectors import AlignedVectors, WordVectors, read_word_vectors

__all__ = [
    "AlignedVectors",
    "Corpus",
    "WordVectors",
    "load_docstrings",
    "make_documents",
    "make_instruments",
    "read_corpus",
    "read_word_vectors",
    "svd_vectors",
    "to_histograms",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "AlignedVectors": ".word_vectors",
        "Corpus": ".corpus",
        "WordVectors": ".word_vectors",
        "load_docstrings": ".docstrings",
        "make_documents": ".synthetic",
        "make_instruments": ".instruments",
        "read_corpus": ".readers",
        "read_word_vectors": ".word_vectors",
        "svd_vectors": ".latent_vectors",
        "to_histograms": ".histograms",
    },
)
