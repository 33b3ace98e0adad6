"""Every kind of segment that an index can hold, however few documents there are."""

from treewass.search import segments

# The limits to set for each kind; documents of the last one are compared again from their words.
KINDS = {
    "wide": {"WIDE_LIMIT": 10**6},
    "narrow, in pieces": {"WIDE_LIMIT": 0, "PIECE": 64},
    "narrow, many tiles": {"WIDE_LIMIT": 0, "PIECE": 64, "TILE": 64},
    "narrow, from words": {"WIDE_LIMIT": 0, "PIECE": 64, "TILE": 64, "EMBEDDED_LIMIT": 0},
}


def use_kind(patch, kind):
    """Make every segment one of a kind, until the patch is undone."""
    for name, limit in KINDS[kind].items():
        patch.setattr(segments, name, limit)


def assert_kind(index, kind):
    """Make sure that the documents of an index, 100 or more, are held as they should be."""
    segment = index._snapshot.segments[0]
    n_tiles, n_pieces, _, _ = segment.dense.shape
    assert segment.is_narrow == (kind != "wide")
    assert (n_pieces > 1) == (kind == "narrow, in pieces")
    assert (n_tiles > 1) == (kind in ("narrow, many tiles", "narrow, from words"))
    is_embedded = segment.embedded.get(index.metric, segment) is not None
    assert is_embedded == (kind in ("narrow, in pieces", "narrow, many tiles"))
