"""Everything that runs: the command line."""
