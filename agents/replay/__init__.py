# SPDX-License-Identifier: Apache-2.0
"""Replay: recorded or synthetic streams through every stage, with their truth beside them."""
