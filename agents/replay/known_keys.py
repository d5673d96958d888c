# SPDX-License-Identifier: Apache-2.0
"""Secrets that everybody knows: for runs to be compared, and for made-up data. They protect nobody."""

from __future__ import annotations

import hashlib

from murmurate.config.secrets import NAMES


def known_secrets(deployment: str) -> dict[str, bytes]:
    """Secrets that everybody knows, for runs to be compared and for made-up data."""
    return {name: hashlib.sha256(f"murmurate known {deployment} {name}".encode()).digest() for name in NAMES}
