"""Tables and figures of the benchmarks, made from rows alone."""
