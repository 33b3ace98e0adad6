"""20 newsgroups, fetched by scikit-learn."""

from __future__ import annotations

from treewass.documents.corpus import Corpus

__all__ = ["fetch_newsgroups"]

_SECONDS = 0.1  # before scikit-learn tries once more


def fetch_newsgroups() -> Corpus:
    """Fetch the 20 newsgroups, split by date, without headers.

    Returns
    -------
    Corpus
        With parts: training documents first.

    Raises
    ------
    ValueError
        If scikit-learn has no copy of the set and cannot fetch it.
    """
    from sklearn.datasets import fetch_20newsgroups

    texts: list[str] = []
    labels: list[str] = []
    parts: list[str] = []
    for part in ("train", "test"):
        try:
            fetched = fetch_20newsgroups(subset=part, remove=("headers",), shuffle=False, n_retries=1, delay=_SECONDS)
        except OSError as error:
            raise ValueError(
                f"Expected scikit-learn to fetch the 20 newsgroups, but its server cannot be reached ({error}): "
                "connect to the network and try again."
            ) from error
        texts += fetched.data
        labels += [fetched.target_names[number] for number in fetched.target]
        parts += [part] * len(fetched.data)
    return Corpus("20news", tuple(texts), tuple(labels), parts=tuple(parts))
