# SPDX-License-Identifier: Apache-2.0
"""The deployment file: one `murmurate.toml` for one promise."""
