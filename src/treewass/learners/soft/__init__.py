"""The paper's learner in parts: soft trees, the contrastive loss, training, checkpoints."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.learners.soft.absolutes import smooth_absolute
    from treewass.learners.soft.distances import contrastive_loss, soft_distances
    from treewass.learners.soft.parents import parent_probabilities
    from treewass.learners.soft.settings import EpochRecord

__all__ = ["EpochRecord", "contrastive_loss", "parent_probabilities", "smooth_absolute", "soft_distances"]
__getattr__, __dir__ = attach(
    __name__,
    {
        "EpochRecord": ".settings",
        "contrastive_loss": ".distances",
        "parent_probabilities": ".parents",
        "smooth_absolute": ".absolutes",
        "soft_distances": ".distances",
    },
)
