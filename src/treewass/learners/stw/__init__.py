"""The paper's learner in parts: soft trees, the contrastive loss, training, checkpoints."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
_WITH_EXTRA = ("contrastive_loss", "parent_probabilities", "smooth_absolute", "soft_distances")
__all__ = [name for name in __all__ if name not in _WITH_EXTRA]  # so that import * works without extras
