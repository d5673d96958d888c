# SPDX-License-Identifier: Apache-2.0
"""What may be done to estimates after the fact, at no cost in privacy."""
