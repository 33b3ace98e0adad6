"""Explain: transport plans, distances and predictions in words, and what the branches of a tree say."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
