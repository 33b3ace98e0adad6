"""Report: one HTML file that says what a model has learned, and what of its documents deserves a look."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
