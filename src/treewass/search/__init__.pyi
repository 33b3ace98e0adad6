from .index import TreeIndex as TreeIndex
