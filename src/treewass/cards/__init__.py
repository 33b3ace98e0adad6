"""Cards: what objects show in a notebook's cell, in the report's looks, and the colours of classes."""
