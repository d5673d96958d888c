# SPDX-License-Identifier: Apache-2.0
"""AES-128 of whole blocks, or an error: what keyed randomness is made with.

Contract: it fails closed.  A cipher that cannot be used, fails, writes too little, gives a wrong known answer or
differs between its two ways of use is a RandomnessError, and nothing is drawn; no message holds a key or a block.
Source: FIPS 197; ARCHITECTURE rule 1.  Not here: which blocks are encrypted, and under which key (randomness.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from murmurate.randomizers.errors import RandomnessError

BLOCK = 16

_KNOWN_KEY = bytes(range(16))  # FIPS 197, appendix C.1
_KNOWN_PLAIN = bytes(0x11 * i for i in range(16))
_KNOWN_CIPHER = bytes.fromhex("69c4e0d86a7b0430d8cdb78070b4c55a")


def check_known_answer() -> None:
    """Refuse a cipher that gets the standard's own example wrong."""
    if aes(_KNOWN_KEY)(_KNOWN_PLAIN) != _KNOWN_CIPHER:
        raise RandomnessError("AES-128 gives a wrong known answer: nothing was drawn")


def aes(key: bytes) -> Callable[[bytes], bytes]:
    """AES-128 of whole blocks, or a RandomnessError."""

    def encrypt(data: bytes) -> bytes:
        try:
            out = cipher.update(data)
        except Exception as error:
            raise RandomnessError(f"AES-128 failed ({type(error).__name__}): nothing was drawn") from error
        if len(out) != len(data):
            raise RandomnessError(f"AES-128 gave {len(out)} bytes of {len(data)}: nothing was drawn")
        return out

    cipher = _cipher(key)
    return encrypt


def aes_into(key: bytes) -> Callable[[NDArray[Any], NDArray[Any]], None]:
    """Do what `aes` does, from array to array; the second holds at least one block more than the first."""

    def encrypt(data: NDArray[Any], out: NDArray[Any]) -> None:
        try:
            written = cipher.update_into(data.reshape(-1).view(np.uint8).data, out.reshape(-1).view(np.uint8).data)
        except Exception as error:
            raise RandomnessError(f"AES-128 failed ({type(error).__name__}): nothing was drawn") from error
        if written != data.nbytes:
            raise RandomnessError(f"AES-128 gave {written} bytes of {data.nbytes}: nothing was drawn")

    cipher = _cipher(key)
    probe, answer = np.frombuffer(_KNOWN_PLAIN, np.uint8), np.zeros(2 * BLOCK, np.uint8)
    encrypt(probe, answer)  # both ways into the cipher must agree before one of them is used
    if answer[:BLOCK].tobytes() != aes(key)(_KNOWN_PLAIN):
        raise RandomnessError("AES-128 contradicts itself: nothing was drawn")
    return encrypt


def _cipher(key: bytes) -> CipherContext:
    try:
        return Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305 - the PRF's block cipher, not an encryption
    except Exception as error:
        raise RandomnessError(f"AES-128 cannot be used ({type(error).__name__}): nothing was drawn") from error
