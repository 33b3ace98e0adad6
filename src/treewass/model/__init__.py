"""Models of labelled texts: one object from texts to labels, neighbours and explanations, and its folder on disk."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
