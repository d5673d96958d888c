# SPDX-License-Identifier: Apache-2.0
"""Memory that is freed between what stays in use leaves the process, where the allocator can be told."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from murmurate.agents.kafka import memory

LEAVES_HOLES = """
import ctypes, sys
from murmurate.agents.kafka import memory
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS:"))
blocks = [libc.malloc(64_000) for _ in range(1_000)]
for block in blocks:
    ctypes.memset(block, 1, 64_000)
for k, block in enumerate(blocks):
    if k % 8 != 7:
        libc.free(block)
before = resident()
assert memory.give_back()
print(before - resident())
"""


def test_holes_between_what_stays_are_given_back() -> None:
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):  # not glibc, which alone can be told
        assert not memory.give_back()
        return
    done = subprocess.run([sys.executable, "-c", LEAVES_HOLES], check=True, capture_output=True, text=True)
    assert int(done.stdout) > 40_000  # kilobytes, of 56 000 that were freed


def test_without_an_allocator_that_can_be_told_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    memory._trim.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not memory.give_back()
    memory._trim.cache_clear()
