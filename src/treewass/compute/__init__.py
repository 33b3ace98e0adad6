"""Compute: numba, threads, records, and what is imported only where it is used."""
