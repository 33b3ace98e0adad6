"""The commands of ``treewass``: one module each."""
