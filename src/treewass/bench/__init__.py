"""Benchmarks: each measure is a command, its figures are rows."""
