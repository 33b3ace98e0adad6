"""Warnings that the library raises; its errors are Python's and scikit-learn's own."""

__all__ = ["EmptyDocumentWarning", "UncoveredWordsWarning"]


class EmptyDocumentWarning(UserWarning):
    """Some documents hold no known word, so that they have no distance to any other."""


class UncoveredWordsWarning(UserWarning):
    """Some words of the vocabulary have no word vector."""
