# SPDX-License-Identifier: Apache-2.0
"""Simulation of methods, filters and plans on synthetic users, whose counts are drawn at once, without any stage."""
