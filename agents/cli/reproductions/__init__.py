# SPDX-License-Identifier: Apache-2.0
"""What `murmurate reproduce` computes again: one file or a few for each comparison."""
