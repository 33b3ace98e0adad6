from .barycenters import barycenter as barycenter
from .clusters import cluster_tree as cluster_tree
from .embedding import embed as embed
from .exports import (
    from_json as from_json,
)
from .exports import (
    to_json as to_json,
)
from .exports import (
    to_networkx as to_networkx,
)
from .exports import (
    to_newick as to_newick,
)
from .imports import from_linkage as from_linkage
from .imports import from_networkx as from_networkx
from .imports import from_newick as from_newick
from .matrices import (
    from_matrices as from_matrices,
)
from .matrices import (
    subtree_matrix as subtree_matrix,
)
from .matrices import (
    to_matrices as to_matrices,
)
from .metric import PrecisionWarning as PrecisionWarning
from .metric import TreeMetric as TreeMetric
from .pairwise_distances import pairwise as pairwise
from .quadtrees import quadtree as quadtree
from .shapes import perfect_tree as perfect_tree
from .shapes import star_tree as star_tree
from .torch_distances import TorchTreeDistance as TorchTreeDistance
from .torch_losses import TreeWassersteinLoss as TreeWassersteinLoss
from .torch_losses import tree_wasserstein as tree_wasserstein
from .tree import Tree as Tree
