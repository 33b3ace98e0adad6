"""Every kind of segment that an index can hold, however few documents there are."""

from treewass.search import segments

# The limits to set for each kind.
KINDS = {
    "wide": {"WIDE_LIMIT": 10**6},
    "narrow, one tile": {"WIDE_LIMIT": 0},
    "narrow, many tiles": {"WIDE_LIMIT": 0, "TILE": 64},
}


def use_kind(patch, kind):
    """Make every segment one of a kind, until the patch is undone."""
    for name, limit in KINDS[kind].items():
        patch.setattr(segments, name, limit)


def assert_kind(index, kind):
    """Make sure that the documents of an index, 100 or more, are held as they should be."""
    segment = index._snapshot.segments[0]
    assert segment.is_narrow == (kind != "wide")
    assert (segment.dense.shape[0] > 1) == (kind == "narrow, many tiles")
