# SPDX-License-Identifier: Apache-2.0
"""Everything a device needs to answer a question privately, and what a server needs to read the answers.

    from murmurate.randomizers import OUE, Key

    oue = OUE(d=128, epsilon=1.0)               or mechanism({"name": "oue", "d": 128, "epsilon": 1.0})
    key = Key(secret, deployment="shop")        secret: 32 random bytes or more
    draw = key.draw(users, round=digest)        users: uint8[n, 16] pseudonyms; nothing is drawn yet
    reports = oue.perturb(values, draw)         uint8[n, 16]: constant length, the same bytes for the same inputs
    support = oue.support(reports)              int64[128], additive over batches and machines
    oue.estimate(support, n=len(reports))       unbiased frequencies
    oue.variance(len(reports), .1)              exact

Mechanisms   of frequencies: GRR, OUE, OLH, SubsetSelection, HadamardResponse, SUE, THE, BLH (SHE (ORACLES: a stream may
             use them), BasicRAPPOR, RAPPOR; of numbers: SR, PM, HM, ValueAndPresence, SW, WaveAndPresence;
             OLHCounts for searches, whose values nobody lists; `mechanism(spec)` builds any of them by name,
             docs/MECHANISMS.md says which is good for what
Questions    Viewed(view, mechanism) where a value is more than one code: Prefix, LongPrefix, Extensions, TrieLeaf,
             Marginal, Level, Size, Padded, Itemsets, Clipped for numbers up to a threshold; Branches for groups of
             users, Weighted for public numbers, Faked where the mixing zone adds fake reports; `question(spec)` builds
             what a round names
Randomness   Key, Draw: a keyed PRF of round, user and value; no key, no output
Guarding     Terms (what was promised), Device (one user), DeviceArray (a partition of them): who may answer what,
             once, within the promise; Pepper turns names into pseudonyms
Proving      `law` gives exact probabilities; audit.audit_exact and audit.measure check them
"""

from murmurate.randomizers.branches import Branches
from murmurate.randomizers.device import Device
from murmurate.randomizers.devices import Answers, DeviceArray, Grant
from murmurate.randomizers.errors import (
    FrozenFactsError,
    ParameterError,
    RandomnessError,
    ReportError,
    SnapshotError,
    ValueRefusedError,
)
from murmurate.randomizers.faked import Faked
from murmurate.randomizers.frequency import (
    BLH,
    GRR,
    OLH,
    OUE,
    RAPPOR,
    SHE,
    SUE,
    THE,
    BasicRAPPOR,
    HadamardResponse,
    OLHCounts,
    SubsetSelection,
)
from murmurate.randomizers.guard import Ask, Refusal, Secrets
from murmurate.randomizers.identity import Pepper
from murmurate.randomizers.mechanism import Mechanism
from murmurate.randomizers.numeric import HM, PM, SR, SW, ValueAndPresence, WaveAndPresence
from murmurate.randomizers.numeric.clipped import Clipped, clipped, view_clipped
from murmurate.randomizers.padding import Itemsets, Padded
from murmurate.randomizers.question import Question
from murmurate.randomizers.randomness import Draw, DrawOne, Key
from murmurate.randomizers.registry import MECHANISMS, ORACLES, STREAMED, VIEWS, mechanism, question, streamed, view
from murmurate.randomizers.row_views import Level, Marginal
from murmurate.randomizers.sampled_prefix import SampledPrefix
from murmurate.randomizers.string_views import Extensions, LongPrefix
from murmurate.randomizers.terms import StreamTerms, Terms
from murmurate.randomizers.trie_view import TrieLeaf
from murmurate.randomizers.viewed import Viewed
from murmurate.randomizers.views import Prefix, Size, View, Whole
from murmurate.randomizers.weighted import Weighted

__all__ = [
    "BLH",
    "GRR",
    "HM",
    "MECHANISMS",
    "OLH",
    "ORACLES",
    "OUE",
    "PM",
    "RAPPOR",
    "SHE",
    "SR",
    "STREAMED",
    "SUE",
    "SW",
    "THE",
    "VIEWS",
    "Answers",
    "Ask",
    "BasicRAPPOR",
    "Branches",
    "Clipped",
    "Device",
    "DeviceArray",
    "Draw",
    "DrawOne",
    "Extensions",
    "Faked",
    "FrozenFactsError",
    "Grant",
    "HadamardResponse",
    "Itemsets",
    "Key",
    "Level",
    "LongPrefix",
    "Marginal",
    "Mechanism",
    "OLHCounts",
    "Padded",
    "ParameterError",
    "Pepper",
    "Prefix",
    "Question",
    "RandomnessError",
    "Refusal",
    "ReportError",
    "SampledPrefix",
    "Secrets",
    "Size",
    "SnapshotError",
    "StreamTerms",
    "SubsetSelection",
    "Terms",
    "TrieLeaf",
    "ValueAndPresence",
    "ValueRefusedError",
    "View",
    "Viewed",
    "WaveAndPresence",
    "Weighted",
    "Whole",
    "clipped",
    "mechanism",
    "question",
    "streamed",
    "view",
    "view_clipped",
]
