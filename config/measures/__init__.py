# SPDX-License-Identifier: Apache-2.0
"""The [streams.NAME] tables: what each kind of measure needs to be told."""
