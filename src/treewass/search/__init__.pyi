from .index import TreeIndex as TreeIndex
from .shard_answers import Shard as Shard
from .sharded_index import ShardedIndex as ShardedIndex
from .word_lists import Statistics as Statistics
