"""The keys of the edge that a perturb worker holds."""

from __future__ import annotations

from typing import NamedTuple

from murmurate.randomizers import Pepper, Secrets


class EdgeSecrets(NamedTuple):
    """What a perturb worker holds."""

    devices: Secrets
    pepper: Pepper
    state: bytes

    def fingerprints(self) -> dict[str, str]:
        """The fingerprints of the keys on which the ledger rests."""
        split = self.devices.split.fingerprint
        return {"pepper": self.pepper.fingerprint, "slots": self.devices.slots.fingerprint, "split": split}
