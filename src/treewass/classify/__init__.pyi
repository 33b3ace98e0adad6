from .classifier import TreeWassersteinClassifier as TreeWassersteinClassifier
from .compared_neighbors import ComparedNeighbors as ComparedNeighbors
from .medoids import TreeKMedoids as TreeKMedoids
from .tree_neighbors import TreeNeighbors as TreeNeighbors
