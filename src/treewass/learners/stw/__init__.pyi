from .epochs import EpochRecord as EpochRecord
from .soft_trees import contrastive_loss as contrastive_loss
from .soft_trees import parent_probabilities as parent_probabilities
from .soft_trees import smooth_absolute as smooth_absolute
from .soft_trees import soft_distances as soft_distances
