"""Let ``python -m treewass_bench`` run the benchmarks."""

from treewass_bench.commands import main

if __name__ == "__main__":
    main()
