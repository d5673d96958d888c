# SPDX-License-Identifier: Apache-2.0
"""Stages: pure folds over ordered logs. Two runtimes run the same ones."""
