# SPDX-License-Identifier: Apache-2.0
"""Searches for what is frequent when nobody knows the list: strings, items and sets of items.

Contract: pure functions from estimates and variances to what is asked next and what was found; no stream, no clock, no
chance.  Not here: the methods of a stream that call them, phase by phase (aggregators/methods).
"""
