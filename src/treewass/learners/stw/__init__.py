"""The paper's learner in parts: soft trees, the contrastive loss, training, checkpoints."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
