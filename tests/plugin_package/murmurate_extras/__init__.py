# SPDX-License-Identifier: Apache-2.0
"""A package of its own that adds one thing of each kind to Murmurate."""
