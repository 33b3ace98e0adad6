from .files import build_shards as build_shards
from .files import fit as fit
from .files import predict as predict
from .remote_shards import open_shards as open_shards
from .remote_shards import search as search
