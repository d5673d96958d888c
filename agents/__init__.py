# SPDX-License-Identifier: Apache-2.0
"""Everything that runs: the command line."""
