"""Trees over words: values, shapes, conversions."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
_WITH_EXTRA = ("TorchTreeDistance", "TreeWassersteinLoss", "tree_wasserstein")
__all__ = [name for name in __all__ if name not in _WITH_EXTRA]  # so that import * works without extras
