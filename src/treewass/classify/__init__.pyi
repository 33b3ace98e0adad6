from .classifier import TreeWassersteinClassifier as TreeWassersteinClassifier
from .compared import ComparedNeighbors as ComparedNeighbors
from .medoids import TreeKMedoids as TreeKMedoids
from .tree_neighbors import TreeNeighbors as TreeNeighbors
