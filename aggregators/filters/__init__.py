# SPDX-License-Identifier: Apache-2.0
"""Filters: the best current estimate from all reports so far."""
