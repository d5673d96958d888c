# SPDX-License-Identifier: Apache-2.0
"""Sessions: horizons, their bills, and what users tell in them."""
