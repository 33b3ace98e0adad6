"""Let ``python -m treewass`` run the command line."""

from treewass.cli.app import main

if __name__ == "__main__":
    main()
