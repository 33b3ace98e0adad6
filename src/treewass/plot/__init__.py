"""Pictures of trees, plans, confusions and learning (matplotlib), and a tree to click on (plotly)."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
