# SPDX-License-Identifier: Apache-2.0
"""The keys of the edge zone, as its stages need them."""

from __future__ import annotations

from typing import NamedTuple

from murmurate.randomizers import Pepper, Secrets


class EdgeSecrets(NamedTuple):
    """The keys of the devices, the pepper of pseudonyms, and the key that seals perturb's state."""

    devices: Secrets
    pepper: Pepper
    state: bytes

    def fingerprints(self) -> dict[str, str]:
        """The fingerprints of the keys on which the ledger rests."""
        split = self.devices.split.fingerprint
        return {"pepper": self.pepper.fingerprint, "slots": self.devices.slots.fingerprint, "split": split}
