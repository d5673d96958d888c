"""`python -m murmurate`: the command line."""

from murmurate.agents.cli.main import main

main()
