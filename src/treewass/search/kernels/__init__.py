"""Compiled loops of the search, each imported on first use: importing numba takes a moment."""
