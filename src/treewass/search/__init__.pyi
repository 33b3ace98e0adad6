from .index import TreeIndex as TreeIndex
from .sharded_index import ShardedIndex as ShardedIndex
from .shards import Shard as Shard
from .word_lists import Statistics as Statistics
