"""Benchmarks of treewass: each measure is a command, its figures are rows."""
