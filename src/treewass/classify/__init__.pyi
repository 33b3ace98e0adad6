from .classifier import TreeWassersteinClassifier as TreeWassersteinClassifier
from .compared import ComparedNeighbors as ComparedNeighbors
from .tree_neighbors import TreeNeighbors as TreeNeighbors
