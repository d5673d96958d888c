# SPDX-License-Identifier: Apache-2.0
"""`python -m murmurate`: the command line."""

from murmurate.agents.cli.main import main

main()
