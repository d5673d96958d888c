# SPDX-License-Identifier: Apache-2.0
"""What a worker shows of itself: metrics, health, logs."""
