"""Serve: a model as a web service, with JSON endpoints and a page to search, compare and browse."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
_WITH_EXTRA = ("create_app",)
__all__ = [name for name in __all__ if name not in _WITH_EXTRA]  # so that import * works without extras
