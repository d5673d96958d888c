# SPDX-License-Identifier: Apache-2.0
"""What a stream measures: a class a kind, asked by everything that shows, plans, scores or follows a stream."""
