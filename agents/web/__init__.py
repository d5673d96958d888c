# SPDX-License-Identifier: Apache-2.0
"""The page and the live stream of releases."""
