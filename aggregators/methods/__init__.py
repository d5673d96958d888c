# SPDX-License-Identifier: Apache-2.0
"""Methods: what to ask in each period, and what to release."""
